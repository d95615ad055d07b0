"""What is said about a move, an undo and a recovery. The last line counts most."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ccmove.hints import Hint, in_words
from ccmove.report.console import Line, Piece, Printer
from ccmove.report.json import to_json
from ccmove.report.result import Change, Leftover, Result
from ccmove.text import plural
from ccmove.text import readable_size as size

MOST_FILES = 3  # on a terminal, before -v
MOST_OF_A_DIRECTORY = 10  # things left alone, also with -v
LONGEST_EXAMPLE = 100
PLACES = ("other", "index", "config")  # what matters most stands nearest to the end
DONE = {"rename": "renamed", "merge": "merged", "split": "split", "same": "kept"}
REMEMBERED = (
    "in {} Claude still refers to the old memory folder and saved results until "
    "/compact; /rewind can't go back past the move"
)
Row = tuple[str, str]  # how many of what, and where


def show_result(result: Result, printer: Printer) -> None:
    """Print one result, or what went wrong; the most important line is the last."""
    if printer.as_json:
        printer.json(to_json(result))
    elif result.error is None:
        printer.say(*result_lines(result, printer))
    else:
        printer.on_stderr().lines(_failure(result, result.error))


def _failure(result: Result, error: str) -> Iterator[Line]:
    """What went wrong, in detail, and what to do next."""
    if result.rolled_back:
        yield [("good", result.rolled_back)]
    yield [("bad", "ccmove: "), error]
    for detail in result.details:
        yield [f"  {detail}"]
    for text, command in result.hints:
        line: list[Piece] = [("title", "  -> "), text]
        if text and command:
            line.append(": ")
        if command:
            line.append(("command", command))
        yield line


def result_lines(result: Result, printer: Printer) -> Iterator[Line]:
    """The whole answer: what, how much, in detail when it is wanted, and how it
    ended.
    """
    if result.rolled_back:
        yield [("good", result.rolled_back)]
    if result.status == "recovered":
        if not result.rolled_back:
            yield [("good", "Nothing to roll back:"), " no run was interrupted."]
        return
    is_planned = result.status == "planned"
    yield from _heading(result, is_planned)
    yield from _summary(result, is_planned, printer)
    if printer.verbose:
        yield from _details(result)
    title = "Still to do afterwards" if is_planned else "Still to do"
    yield from _section(title, _still_to_do(result))
    yield from _notes(result, is_planned)
    yield []
    yield _how_it_ended(result, printer)


def _heading(result: Result, is_planned: bool) -> Iterator[Line]:
    verb = "Would move" if is_planned else "Moved"
    if result.is_undo:
        verb += " back"
    for old, new in result.moves:
        yield [("title", f"{verb}  "), old]
        yield [("dim", f"{'to':>{len(verb)}}  "), ("bold", new)]
    yield []


def _summary(result: Result, is_planned: bool, printer: Printer) -> Iterator[Line]:
    """How many of what, and where; before it is done, with an example."""
    is_short = printer.terminal and not printer.verbose
    rows = list(_folders_and_sessions(result))
    rows += _prompts(result, is_planned)
    rows += _documents(result, is_planned, is_short)
    width = 0
    for amount, _ in rows:
        width = max(width, len(amount))
    for amount, where in rows:
        yield [("title", f"  {amount:{width}}   "), where]
    harmless = result.harmless
    if harmless and not printer.verbose:
        notes = plural(len(harmless), "harmless note")
        yield [f"  {notes} (-v to show)"]
    yield from _merged(result, is_planned)


def _folders_and_sessions(result: Result) -> Iterator[Row]:
    """What is renamed: the folders themselves, and what Claude Code keeps of each."""
    for _, new in result.folders:
        yield "1 folder", f"renamed to {new}"
    if not result.projects:
        return
    sessions = total = 0
    numbers: Counter[str] = Counter()
    for project in result.projects:
        sessions += project.transcripts
        total += project.size
        numbers[DONE[project.kind]] += 1
    where = f"{size(total)}; "
    where += ", ".join(
        f"{plural(number, 'project directory')} {done}"
        for done, number in numbers.items()
    )
    yield plural(sessions, "session"), where


def _prompts(result: Result, is_planned: bool) -> Iterator[Row]:
    if result.history is not None:
        where = "in history.jsonl"
        if is_planned:
            where += _example([new for _, new, _ in result.history.paths])
        yield plural(result.history.lines, "prompt"), where


def by_document(changes: Iterable[Change]) -> list[list[Change]]:
    """The changes of each document, those that matter most last."""
    documents: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        documents.setdefault((change.file, change.ends), []).append(change)
    return sorted(documents.values(), key=lambda rows: PLACES.index(rows[0].place))


def _documents(result: Result, is_planned: bool, is_short: bool) -> Iterator[Row]:
    """Each document that changes, those that matter most first."""
    documents = by_document(result.changes)[::-1]
    most = MOST_FILES if is_short else len(documents)
    for changes in documents[:most]:
        first = changes[0]
        where = f"in {first.ends}"
        if is_planned:
            example = _example([change.after for change in changes])
            where = f"in {first.file}{example}"
        yield plural(len(changes), "value"), where
    hidden = len(documents) - most
    if hidden > 0:
        yield f"{hidden} more", "files (-v shows all)"


def _example(values: Sequence[str | None]) -> str:
    for value in values:
        if value and len(value) <= LONGEST_EXAMPLE:
            return f", such as {value}" if len(values) > 1 else f": {value}"
    return ""


def _merged(result: Result, is_planned: bool) -> Iterator[Line]:
    verb, has = ("Would merge", "has") if is_planned else ("Merged", "had")
    for path, number in result.merged:
        into = f" into a project that {has} {plural(number, 'session')} of its own"
        if len(result.projects) > 1:
            into += f": {path}"
        yield [("note", f"  {verb}"), into]


def _details(result: Result) -> Iterator[Line]:
    """Each directory, each value before and after, what was left alone, and why."""
    if result.projects:
        base = os.path.dirname(result.projects[0].directory)
        title = f"Project directories in {base}"
        yield from _section(title, _directories(result))
    yield from _section("Differences", _differences(result))
    yield from _section("Left alone", _left_alone(result))
    reasons: list[Line] = []
    for reason in result.reasons:
        reasons += _about(*reason.split(": ", 1))
    title = "Why each directory is moved or left alone"
    yield from _section(title, reasons)


def _directories(result: Result) -> Iterator[Line]:
    for project in result.projects:
        name = os.path.basename(project.directory)
        sessions = plural(project.transcripts, "session")
        about = f"{name}  {sessions}, {size(project.size)}"
        yield [f"  {DONE[project.kind]:8} ", about]
        new_name = os.path.basename(project.new_directory)
        if new_name != name:
            yield [("dim", f"  {'to':>7}  "), ("bold", new_name)]


def _differences(result: Result) -> Iterator[Line]:
    """Each document with its values, the history last."""
    for changes in by_document(result.changes):
        yield [("bold", f"  {changes[0].file}")]
        for change in changes:
            label = _label(change)
            yield from _pair(label, change.before, change.after)
    history = result.history
    if history is not None:
        yield [("bold", f"  {history.file}")]
        for before, after, number in history.paths:
            label = f"project  {plural(number, 'line')}"
            yield from _pair(label, before, after)


def _label(change: Change) -> str:
    """The way to a value, as `projects.allowedTools.0`; of what is not JSON the
    line.
    """
    if not change.pointer.startswith("/"):
        return change.pointer
    names = [
        name.replace("~1", "/").replace("~0", "~")
        for name in change.pointer.split("/")[1:]
    ]
    if change.is_key:
        return f"{'.'.join(names[:-1])} (key)"
    return ".".join(names)


def _pair(label: str, before: str | None, after: str | None) -> Iterator[Line]:
    """A value before and after; JSON that is spread over several lines is drawn
    together.
    """
    yield [f"    {label}"]
    for sign, style, value in (("-", "red", before), ("+", "green", after)):
        if value is not None:
            text = re.sub(r"\s*\n\s*", " ", value)
            yield [(style, f"      {sign} "), (style, text)]


def _left_alone(result: Result) -> Iterator[Line]:
    """What does no harm, by directory."""
    by_directory: dict[str, list[Leftover]] = defaultdict(list)
    for row in result.harmless:
        directory = os.path.dirname(row.file)
        by_directory[directory].append(row)
    abouts: dict[str, list[str]] = {}
    for directory, rows in by_directory.items():
        if len(rows) == 1:  # which may well be a directory itself
            abouts[rows[0].file] = [rows[0].what]
            continue
        abouts[directory] = [
            f"{os.path.basename(row.file)}: {row.what}" for row in rows
        ]
    for path, remarks in sorted(abouts.items()):
        hidden = len(remarks) - MOST_OF_A_DIRECTORY
        if hidden > 0 and not result.is_past:
            remarks[MOST_OF_A_DIRECTORY:] = [f"… and {hidden} more"]
        yield from _about(path, *remarks)


def _still_to_do(result: Result) -> Iterator[Line]:
    """What needs a hand, each with its command on a line of its own."""
    for command, rows in result.to_do().items():
        for row in rows:
            yield from _about(row.file, row.what)
        yield ["    ", ("command", command)]


def _notes(result: Result, is_planned: bool) -> Iterator[Line]:
    notes = list(result.warnings)
    if result.remembering and not is_planned:
        notes.append(REMEMBERED.format(plural(result.remembering, "session")))
    if notes:
        yield []
    for note in notes:
        yield [("note", "Note: "), note]


def _how_it_ended(result: Result, printer: Printer) -> Line:
    """With the way back: an undo is not undone, the move is made again."""
    if result.status == "planned":
        return nothing_changed(result.apply)
    if result.backup is None:
        return [("good", "Nothing had to be changed.")]
    again = _move_again(result, printer)
    if result.is_undone:
        return [("title", "Undone since."), *again]
    done = ("good", "Done and verified.")
    if result.is_undo:
        return [done, *again]
    return [done, " To undo: ", _undo(result, printer)]


def _undo(result: Result, printer: Printer) -> Piece:
    if result.is_newest:
        return printer.command("undo")
    return printer.command("undo", str(result.backup))


def _move_again(result: Result, printer: Printer) -> Line:
    again = result.move_again or Hint()
    text, command = in_words(again, config_dir=printer.config_dir)
    return [f" {text[:1].upper()}{text[1:]}: ", ("command", command)]


def nothing_changed(apply: str | None) -> Line:
    how: Line = [" To apply: ", ("command", apply)] if apply else []
    return [("title", "Nothing was changed."), *how]


def _section(title: str, lines: Iterable[Line]) -> list[Line]:
    rows = list(lines)
    return [[], [("title", title)], *rows] if rows else []


def _about(path: str, *remarks: str) -> Iterator[Line]:
    yield [f"  {path}"]
    for remark in remarks:
        yield [f"    {remark}"]
