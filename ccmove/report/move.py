"""What is said about a move, a restore and a recovery. The last line counts most."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from ccmove.errors import Hint, in_words
from ccmove.plan.model import Plan, Write
from ccmove.report.console import Line, Piece, Printer, more
from ccmove.report.result import Result
from ccmove.rewrite.compare import Difference, compare
from ccmove.rewrite.jsonspan import Pointer
from ccmove.text import plural
from ccmove.text import readable_size as size

# How many of each are shown on a terminal before -v; a pipe gets all of them.
MOST_MOVES = 8
MOST_PROJECTS = 12
MOST_DIFFERENCES = 12
MOST_PATHS = 4
PLACES = ("other", "index", "config")  # what matters most stands nearest to the end
VERBS = {  # what is done to a directory, and what was done
    "rename": ("rename", "to", "renamed"),
    "merge": ("merge", "into", "merged"),
    "split": ("split", "into", "split"),
    "same": ("keep", "", "kept"),
}
PROGRAMS = frozenset(("ccmove", "git", "mv", "ls", "mkdir", "chmod", "df"))


def show_result(result: Result, printer: Printer) -> None:
    """Print one result, or what went wrong; the most important line is the last."""
    if printer.as_json:
        printer.json(result.to_json(printer.config_dir))
    elif result.error is not None:
        printer.on_stderr().lines(_failure(result, result.error))
    elif not printer.quiet:
        printer.lines(result_lines(result, printer))


def _failure(result: Result, error: str) -> Iterator[Line]:
    yield [("bad", "ccmove: "), ("", error)]
    yield from ([("dim", f"  {detail}")] for detail in result.details)
    for words in result.hints:
        yield [("title", "  -> "), *_hint(*words)]


def _hint(text: str, command: str) -> Line:
    """A command stands out and is never broken: it is there to be copied."""
    colon = ": " if text and command else ""
    return [("", text + colon), *([("command", command)] if command else [])]


def result_lines(result: Result, printer: Printer) -> Iterator[Line]:
    """The whole answer: what, how much, in detail when it is wanted, and how it ended."""
    if result.settled:
        yield [("note", "First "), ("", f"{result.settled}.")]
    plan = result.plan
    if plan is None and result.settled:
        yield [("good", "Settled."), ("", " Everything is as it was before that run.")]
    elif plan is None:
        yield [("good", "Nothing to settle:"), ("", " no run was interrupted.")]
    else:
        yield from _plan(result, plan, printer)


def _plan(result: Result, plan: Plan, printer: Printer) -> Iterator[Line]:
    detailed = result.status == "planned" or printer.verbose
    yield from _heading(result, plan, printer)
    yield from _summary(result, plan, detailed)
    yield from _merges(result, plan)
    if detailed:
        base = str(result.layout.projects if result.layout else "")
        title = [("title", "Project directories"), ("dim", " in "), ("path dim", base)]
        yield from _section(title, _directories(plan, printer))
        yield from _section([("title", "Differences")], _differences(plan, printer))
        yield from _section([("title", "Left alone")], _left_alone(plan))
    if printer.verbose:
        notes = [line for note in plan.notes for line in _about(*note.split(": ", 1))]
        yield from _section([("title", "Why each directory is taken or left")], notes)
    warnings = (*result.warnings, *map(Hint, plan.warnings))
    yield from ([[]] if warnings else [])
    for warning in warnings:
        words = in_words(warning, config_dir=printer.config_dir)
        yield [("note", "Note: "), *_hint(*words)]
    yield []
    if result.status == "planned":
        yield [("title", "Nothing was changed."), ("", " To do it, leave out --dry-run.")]
    elif result.backup is None:
        yield [("good", "Nothing had to be changed.")]
    else:
        undo = printer.command("restore", result.backup)
        yield [("good", "Done and verified."), ("", " To undo: "), undo]


def with_command(sentence: str) -> Line:
    """The command that ends a sentence stands out and is never broken: it is there to be copied."""
    words, colon, command = sentence.rpartition(": ")
    if command.partition(" ")[0] in PROGRAMS:
        return [("", words + colon), ("command", command)]
    return [("", sentence)]


def _section(title: Line, lines: Iterable[Line]) -> list[Line]:
    """The lines below their title, if there are any."""
    found = list(lines)
    return [[], title, *found] if found else []


def _about(path: str, *remarks: str) -> list[Line]:
    """A path, and below it what is said about it."""
    return [[("", "  "), ("path", path)], *([("dim", f"    {remark}")] for remark in remarks)]


# -- what and how much ---------------------------------------------------------------------------


def _heading(result: Result, plan: Plan, printer: Printer) -> Iterator[Line]:
    verb = "Would move" if result.status == "planned" else "Moved"
    verb += " back" if plan.kind == "restore" else ""
    moves = printer.first(result.moves, MOST_MOVES)
    for old, new in moves:
        yield [("title", f"{verb}  "), ("path", old)]
        yield [("dim", f"{'to':>{len(verb)}}  "), ("path bold", new)]
    yield from [*more(len(result.moves) - len(moves), ""), []]


def _summary(result: Result, plan: Plan, detailed: bool) -> Iterator[Line]:
    """How many of what, and where."""
    number = result.counts()
    rows: list[tuple[str, Line]] = []
    for _, new in plan.folders:
        rows.append(("1 folder", [("", "renamed to "), ("path", str(new))]))
    if plan.projects:
        total = size(sum(move.size for move in plan.projects))
        where: Line = [("", f"{total}; {_directories_by_kind(plan)}")]
        rows.append((plural(number["transcripts"], "session"), where))
    if number["history"]:
        rows.append((plural(number["history"], "prompt"), [("", "in history.jsonl")]))
    for place in ("config", "index", "other"):
        if number[place]:
            files = [change for change in plan.writes if change.place == place]
            rows.append((plural(number[place], "value"), _in_files(files, place)))
    if plan.left_alone and not detailed:
        where = [("dim", "left alone (-v says why)")]
        rows.append((plural(len(plan.left_alone), "thing"), where))
    width = max((len(amount) for amount, _ in rows), default=0)
    for amount, where in rows:
        yield [("title", f"  {amount:{width}}"), ("", "   "), *where]


def _merges(result: Result, plan: Plan) -> Iterator[Line]:
    """Every project with sessions of its own that others came to, in a line of its own."""
    planned = result.status == "planned"
    verb, has = ("Would merge", "has") if planned else ("Merged", "had")
    for path, sessions in plan.merged:
        of_its_own = f" into a project that {has} {plural(sessions, 'session')} of its own"
        where: Line = [("", ": "), ("path", path)] if len(plan.projects) > 1 else []
        yield [("note", f"  {verb}"), ("", of_its_own), *where]


def _directories_by_kind(plan: Plan) -> str:
    """`3 project directories renamed, 1 merged`: the noun stands with the first number only."""
    number = Counter(move.kind for move in plan.projects)
    words: list[str] = []
    for kind, (_, _, done) in VERBS.items():
        if number[kind]:
            how_many = str(number[kind]) if words else plural(number[kind], "project directory")
            words.append(f"{how_many} {done}")
    return ", ".join(words)


def _in_files(files: list[Write], place: str) -> Line:
    if place != "index" and len(files) == 1:
        return [("", "in "), ("path", str(files[0].ends))]
    noun = "sessions-index.json file" if place == "index" else "other file"
    return [("", f"in {plural(len(files), noun)}")]


# -- in detail -----------------------------------------------------------------------------------


def _directories(plan: Plan, printer: Printer) -> Iterator[Line]:
    shown = printer.first(plan.projects, MOST_PROJECTS)
    for move in shown:
        verb, preposition, _ = VERBS[move.kind]
        amount = f"{plural(move.transcripts, 'session')}, {size(move.size)}"
        yield [("", f"  {verb:8}"), ("path", move.source), ("dim", f"  {amount}")]
        if preposition:
            yield [("dim", f"  {preposition:>6}  "), ("path bold", move.target)]
        else:
            yield [("dim", "          both paths have this name; what names the path changes")]
    yield from more(len(plan.projects) - len(shown))


def _differences(plan: Plan, printer: Printer) -> Iterator[Line]:
    for change in sorted(plan.writes, key=lambda change: PLACES.index(change.place)):
        yield from _file(change, printer)
    if plan.history is not None:
        scan = plan.history.scan
        yield _file_line(plan.history.path, plural(scan.lines, "line"))
        shown = printer.first(list(scan.counts.items()), MOST_PATHS)
        for (before, after), number in shown:
            yield from _pair([("", "project")], plural(number, "line"), before, after)
        yield from more(len(scan.counts) - len(shown), "    ", " paths")


def _file(change: Write, printer: Printer) -> Iterator[Line]:
    """Rows of one pattern with the same before and after come together: an index repeats itself."""
    groups: dict[tuple[object, ...], list[Difference]] = {}
    for row in compare(change.before, change.after):
        key = (row.pattern, row.line, row.is_key, repr(row.before), repr(row.after))
        groups.setdefault(key, []).append(row)
    total = sum(map(len, groups.values()))
    yield _file_line(change.path, plural(total, "value"))
    # What is about the whole file first, then what stands for many: the list may be cut.
    ordered = sorted(groups.values(), key=lambda group: (len(group[0].pointer), -len(group)))
    shown = printer.first(ordered, MOST_DIFFERENCES)
    for group in shown:
        amount = plural(len(group), "value") if len(group) > 1 else ""
        yield from _pair(_label(group), amount, group[0].before, group[0].after)
    yield from more(total - sum(map(len, shown)), "    ")


def _file_line(path: object, amount: str) -> Line:
    return [("", "  "), ("path bold", str(path)), ("dim", f"  {amount}")]


def _label(group: list[Difference]) -> Line:
    """Where a value stands, as `jq` would write it; `*` for several elements of an array."""
    row = group[0]
    if row.line:
        return [("", row.line)]
    pointer = row.pointer if len(group) == 1 else row.pattern
    return [*_steps(pointer[:-1]), ("dim", " (key)")] if row.is_key else list(_steps(pointer))


def _steps(pointer: Pointer) -> Iterator[Piece]:
    for number, token in enumerate(pointer):
        if isinstance(token, int) or token == "*":
            yield ("", f"[{token}]")
        elif re.fullmatch(r"[A-Za-z_]\w*", token, re.ASCII):
            yield ("", f".{token}" if number else token)
        else:
            yield from (("", '["'), ("path", token), ("", '"]'))


def _pair(label: Line, amount: str, before: object, after: object) -> Iterator[Line]:
    """A value before and after; JSON that is spread over several lines is drawn together."""
    yield [("", "    "), *label, ("dim", f"  {amount}")]
    for sign, style, value in (("-", "red", before), ("+", "green", after)):
        if value is not None:
            text = re.sub(r"\s*\n\s*", " ", str(value))
            yield [(style, f"      {sign} "), (f"path {style}", text)]


def _left_alone(plan: Plan) -> Iterator[Line]:
    for item in plan.left_alone:
        yield from _about(item.file, item.what)
        if item.hint:
            yield [("", "    -> "), *with_command(item.hint)]
