"""What is said about a move, an undo and a recovery. The last line counts most."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ccmove.hints import Hint, in_words
from ccmove.plan.model import Plan, Write
from ccmove.report.console import Line, Piece, Printer
from ccmove.report.result import Result
from ccmove.rewrite.compare import compare
from ccmove.text import plural
from ccmove.text import readable_size as size

MOST_FILES = 3  # on a terminal, before -v
MOST_OF_A_DIRECTORY = 10  # things left alone, also with -v
LONGEST_EXAMPLE = 100
PLACES = ("other", "index", "config")  # what matters most stands nearest to the end
DONE = {"rename": "renamed", "merge": "merged", "split": "split", "same": "kept"}
REMEMBERED = (
    "in {} Claude still refers to the old memory folder and saved results until "
    "/compact; "
    "/rewind can't go back past the move"
)


def show_result(result: Result, printer: Printer) -> None:
    """Print one result, or what went wrong; the most important line is the last."""
    if printer.as_json:
        printer.json(result.to_json(printer.config_dir))
    elif result.error is None:
        printer.say(*result_lines(result, printer))
    else:
        printer.on_stderr().lines(_failure(result, result.error))


def _failure(result: Result, error: str) -> Iterator[Line]:
    if result.rolled_back:
        yield [("good", result.rolled_back)]
    yield [("bad", "ccmove: "), ("", error)]
    yield from ([("", f"  {detail}")] for detail in result.details)
    for text, command in result.hints:
        colon = ": " if text and command else ""
        yield [
            ("title", "  -> "),
            ("", text + colon),
            *([("command", command)] if command else []),
        ]


def result_lines(result: Result, printer: Printer) -> Iterator[Line]:
    """The whole answer: what, how much,
    in detail when it is wanted, and how it ended.
    """
    plan = result.plan
    if result.rolled_back:
        yield [("good", result.rolled_back)]
    elif plan is None:
        yield [("good", "Nothing to roll back:"), ("", " no run was interrupted.")]
    if plan is None:
        return
    yield from _heading(result, plan)
    yield from _summary(result, plan, printer)
    if printer.verbose:
        yield from _details(result, plan)
    title = "Still to do afterwards" if result.status == "planned" else "Still to do"
    yield from _section(title, _still_to_do(result, printer.config_dir))
    notes = [*(w.text for w in result.warnings if not w.command), *plan.warnings]
    if plan.remembering and result.status != "planned":
        notes.append(REMEMBERED.format(plural(plan.remembering, "session")))
    yield from ([[]] if notes else [])
    yield from ([("note", "Note: "), ("", note)] for note in notes)
    yield []
    if result.status == "planned":
        yield nothing_changed(result.apply)
    elif result.backup is None:
        yield [("good", "Nothing had to be changed.")]
    else:
        yield _how_it_ended(result, plan, printer)


# With the way back: an undo is not undone, the move is made again.
def _how_it_ended(result: Result, plan: Plan, printer: Printer) -> Line:
    if result.undone:
        return [("title", "Undone since."), *_move_again(result, printer)]
    done = ("good", "Done and verified.")
    if plan.kind == "undo":
        return [done, *_move_again(result, printer)]
    return [done, ("", " To undo: "), _undo(result, printer)]


def _undo(result: Result, printer: Printer) -> Piece:
    if result.is_newest:
        return printer.command("undo")
    return printer.command("undo", str(result.backup))


def _move_again(result: Result, printer: Printer) -> Line:
    again = result.move_again or Hint()
    text, command = in_words(again, config_dir=printer.config_dir)
    return [("", f" {text[:1].upper()}{text[1:]}: "), ("command", command)]


def nothing_changed(apply: str | None) -> Line:
    how: Line = [("", " To apply: "), ("command", apply)] if apply else []
    return [("title", "Nothing was changed."), *how]


def _section(title: str, lines: Iterable[Line]) -> list[Line]:
    found = list(lines)
    return [[], [("title", title)], *found] if found else []


def _about(path: str, *remarks: str) -> list[Line]:
    return [[("", f"  {path}")], *([("", f"    {remark}")] for remark in remarks)]


def _heading(result: Result, plan: Plan) -> Iterator[Line]:
    verb = "Would move" if result.status == "planned" else "Moved"
    verb += " back" if plan.kind == "undo" else ""
    for old, new in result.moves:
        yield [("title", f"{verb}  "), ("", old)]
        yield [("dim", f"{'to':>{len(verb)}}  "), ("bold", new)]
    yield []


def _summary(result: Result, plan: Plan, printer: Printer) -> Iterator[Line]:
    """How many of what, and where; before it is done, with an example."""
    is_planned = result.status == "planned"
    rows = [("1 folder", f"renamed to {new}") for _, new in plan.folders]
    if plan.projects:
        sessions = sum(move.transcripts for move in plan.projects)
        kinds = Counter(DONE[move.kind] for move in plan.projects)
        done = ", ".join(
            f"{plural(n, 'project directory')} {kind}" for kind, n in kinds.items()
        )
        where = f"{size(sum(move.size for move in plan.projects))}; {done}"
        rows.append((plural(sessions, "session"), where))
    if plan.history is not None and plan.history.scan.lines:
        paths = [new for _, new in plan.history.scan.counts]
        where = "in history.jsonl" + _example(paths) * is_planned
        rows.append((plural(plan.history.scan.lines, "prompt"), where))
    writes = [write for write in _in_order(plan)[::-1] if write.before != write.after]
    shown = writes if printer.verbose or not printer.terminal else writes[:MOST_FILES]
    for write in shown:
        values = [row.after for row in compare(write.before, write.after)]
        where = (
            f"in {write.path}{_example(values)}" if is_planned else f"in {write.ends}"
        )
        rows.append((plural(len(values), "value"), where))
    if len(writes) > len(shown):
        rows.append((f"{len(writes) - len(shown)} more", "files (-v shows all)"))
    harmless = [item for item in plan.left_alone if not item.command]
    width = max((len(amount) for amount, _ in rows), default=0)
    for amount, where in rows:
        yield [("title", f"  {amount:{width}}   "), ("", where)]
    if harmless and not printer.verbose:
        yield [("", f"  {plural(len(harmless), 'harmless note')} (-v to show)")]
    verb, has = ("Would merge", "has") if is_planned else ("Merged", "had")
    for path, number in plan.merged:
        into = f" into a project that {has} {plural(number, 'session')} of its own"
        yield [
            ("note", f"  {verb}"),
            ("", into + (f": {path}" if len(plan.projects) > 1 else "")),
        ]


def _in_order(plan: Plan) -> list[Write]:
    return sorted(plan.writes, key=lambda write: PLACES.index(write.place))


def _example(values: Sequence[object]) -> str:
    fit = (value for value in values if value and len(str(value)) <= LONGEST_EXAMPLE)
    example = next(fit, None)
    return f"{', such as' if len(values) > 1 else ':'} {example}" if example else ""


def _details(result: Result, plan: Plan) -> Iterator[Line]:
    base = str(result.layout.projects if result.layout else "")
    directories: list[Line] = []
    for move in plan.projects:
        amount = f"{plural(move.transcripts, 'session')}, {size(move.size)}"
        directories.append(
            [("", f"  {DONE[move.kind]:8} "), ("", f"{move.source}  {amount}")]
        )
        if move.source != move.target:
            directories.append([("dim", f"  {'to':>7}  "), ("bold", move.target)])
    yield from _section(f"Project directories in {base}", directories)
    yield from _section("Differences", _differences(plan))
    yield from _section("Left alone", _left_alone(result, plan))
    reasons = [line for note in plan.notes for line in _about(*note.split(": ", 1))]
    yield from _section("Why each directory is moved or left alone", reasons)


def _differences(plan: Plan) -> Iterator[Line]:
    for write in _in_order(plan):
        yield [("bold", f"  {write.path}")]
        for row in compare(write.before, write.after):
            names = [str(name) for name in row.pointer]
            label = (
                f"{'.'.join(names[:-1])} (key)"
                if row.is_key
                else row.line or ".".join(names)
            )
            yield from _pair(label, row.before, row.after)
    if plan.history is not None:
        yield [("bold", f"  {plan.history.path}")]
        for (before, after), number in plan.history.scan.counts.items():
            yield from _pair(f"project  {plural(number, 'line')}", before, after)


def _pair(label: str, before: object, after: object) -> Iterator[Line]:
    """A value before and after;
    JSON that is spread over several lines is drawn together.
    """
    yield [("", f"    {label}")]
    for sign, style, value in (("-", "red", before), ("+", "green", after)):
        if value is not None:
            yield [
                (style, f"      {sign} "),
                (style, re.sub(r"\s*\n\s*", " ", str(value))),
            ]


def _left_alone(result: Result, plan: Plan) -> Iterator[Line]:
    """What does no harm, by directory."""
    by_directory: dict[str, list[str]] = defaultdict(list)
    harmless = [item for item in plan.left_alone if not item.command]
    shared = Counter(os.path.dirname(item.file) for item in harmless)
    for item in harmless:
        directory, name = os.path.split(item.file)
        is_alone = shared[directory] == 1  # and may well be a directory itself
        about = item.what if is_alone else f"{name}: {item.what}"
        by_directory[item.file if is_alone else directory].append(about)
    for directory, rows in sorted(by_directory.items()):
        shown = rows if result.past else rows[:MOST_OF_A_DIRECTORY]
        hidden = len(rows) - len(shown)
        yield from _about(
            directory, *shown, *([f"… and {hidden} more"] if hidden else [])
        )


def _still_to_do(result: Result, config_dir: str | None) -> Iterator[Line]:
    """What needs a hand, each with its command on a line of its own."""
    for command, rows in result.to_do(config_dir).items():
        for about in rows:
            yield from _about(*about)
        yield [("", "    "), ("command", command)]
