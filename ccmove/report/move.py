"""What is said about a move, a restore and a recovery. The last line counts most."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from ccmove.plan.model import Plan, ProjectMove, Write
from ccmove.report.console import Line, Piece, Printer, show_failure, with_command
from ccmove.report.result import Result
from ccmove.rewrite.compare import Difference, compare
from ccmove.rewrite.jsonspan import Pointer
from ccmove.text import plural, printable
from ccmove.text import readable_size as size

T = TypeVar("T")
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


def show_result(result: Result, printer: Printer) -> None:
    """Print one result; the most important line is the last."""
    if result.error is not None:
        show_failure(result, printer)
    else:
        printer.answer(result_lines(result, printer), result.to_json)


def result_lines(result: Result, printer: Printer) -> Iterator[Line]:
    """The whole answer: what, how much, in detail when it is wanted, and how it ended."""
    if result.settled:
        yield [("note", "First "), ("", f"{printable(result.settled)}.")]
    plan = result.plan
    if plan is None:
        yield _recovery_line(result)
        return
    detailed = result.status == "planned" or printer.verbose
    yield from _heading(result, printer)
    yield []
    yield from _summary(result, plan, detailed)
    if detailed:
        yield from _directories(result, plan, printer)
        yield from _differences(plan, printer)
        yield from _left_alone(plan)
    if printer.verbose and plan.notes:
        yield from ([], [("title", "Why each directory is taken or left")])
        for note in plan.notes:
            name, _, reason = note.partition(": ")
            yield [("", "  "), ("path", printable(name))]
            yield [("dim", f"    {printable(reason)}")]
    warnings = (*result.warnings, *plan.warnings)
    yield from ([[]] if warnings else [])
    for warning in warnings:
        yield [("note", "Note: "), *with_command(printable(warning))]
    yield []
    yield _closing(result, printer)


def _recovery_line(result: Result) -> Line:
    if result.settled:
        return [("good", "Settled."), ("", " Everything is as it was before that run.")]
    return [("good", "Nothing to settle:"), ("", " no run was interrupted.")]


def _closing(result: Result, printer: Printer) -> Line:
    if result.status == "planned":
        return [("title", "Nothing was changed."), ("", " To do it, leave out --dry-run.")]
    if result.backup is None:
        return [("good", "Nothing had to be changed.")]
    undo = printer.command("restore", result.backup)
    return [("good", "Done and verified."), ("", " To undo: "), undo]


def first(items: Sequence[T], most: int, printer: Printer) -> Sequence[T]:
    """As many as a person wants to see at once; a pipe and -v get all."""
    return items if printer.verbose or not printer.terminal else items[:most]


def more(hidden: int, indent: str = "  ", what: str = "") -> Iterable[Line]:
    """Says that there is more, if there is."""
    return [[("dim", f"{indent}… and {hidden} more{what} (-v shows all)")]] if hidden else []


# -- what and how much ---------------------------------------------------------------------------


def _heading(result: Result, printer: Printer) -> Iterator[Line]:
    verb = "Would move" if result.status == "planned" else "Moved"
    if result.plan is not None and result.plan.kind == "restore":
        verb += " back"
    moves = first(result.moves, MOST_MOVES, printer)
    for old, new in moves:
        yield [("title", f"{verb}  "), ("path", printable(old))]
        yield [("dim", f"{'to':>{len(verb)}}  "), ("path.new", printable(new))]
    yield from more(len(result.moves) - len(moves), "")


def _summary(result: Result, plan: Plan, detailed: bool) -> Iterator[Line]:
    rows = list(_amounts(result, plan, detailed))
    width = max((len(amount) for amount, _ in rows), default=0)
    for amount, where in rows:
        yield [("title", f"  {amount:{width}}"), ("", "   "), *where]


def _amounts(result: Result, plan: Plan, detailed: bool) -> Iterator[tuple[str, Line]]:
    """How many of what, and where."""
    number = result.counts()
    for _, new in plan.folders:
        yield "1 folder", [("", "renamed to "), ("path", printable(new))]
    if plan.projects:
        total = size(sum(move.size for move in plan.projects))
        kinds = _directories_by_kind(plan.projects)
        yield plural(number["transcripts"], "session"), [("", f"{total}; {kinds}")]
    if number["history"]:
        yield plural(number["history"], "prompt"), [("", "in history.jsonl")]
    for place in ("config", "index", "other"):
        if number[place]:
            files = [change for change in plan.writes if change.place == place]
            yield plural(number[place], "value"), _in_files(files, place)
    if plan.left_alone and not detailed:
        yield plural(len(plan.left_alone), "thing"), [("dim", "left alone (-v says why)")]


def _directories_by_kind(projects: tuple[ProjectMove, ...]) -> str:
    """`3 project directories renamed, 1 merged`: the noun stands with the first number only."""
    kinds = Counter(move.kind for move in projects)
    numbers = [(kinds[kind], done) for kind, (_, _, done) in VERBS.items() if kinds[kind]]
    words = [f"{plural(numbers[0][0], 'project directory')} {numbers[0][1]}"]
    return ", ".join([*words, *(f"{number} {done}" for number, done in numbers[1:])])


def _in_files(files: list[Write], place: str) -> Line:
    if place != "index" and len(files) == 1:
        return [("", "in "), ("path", printable(files[0].ends))]
    noun = "sessions-index.json file" if place == "index" else "other file"
    return [("", f"in {plural(len(files), noun)}")]


# -- in detail -----------------------------------------------------------------------------------


def _directories(result: Result, plan: Plan, printer: Printer) -> Iterator[Line]:
    if not plan.projects:
        return
    base = printable(result.layout.projects if result.layout else "")
    yield from ([], [("title", "Project directories"), ("dim", " in "), ("path.dim", base)])
    shown = first(plan.projects, MOST_PROJECTS, printer)
    for move in shown:
        verb, preposition, _ = VERBS[move.kind]
        amount = f"{plural(move.transcripts, 'session')}, {size(move.size)}"
        yield [("", f"  {verb:8}"), ("path", printable(move.source)), ("dim", f"  {amount}")]
        if preposition:
            yield [("dim", f"  {preposition:>6}  "), ("path.new", printable(move.target))]
        else:
            yield [("dim", "          both paths have this name; what names the path changes")]
    yield from more(len(plan.projects) - len(shown))


def _differences(plan: Plan, printer: Printer) -> Iterator[Line]:
    if not (plan.writes or plan.history):
        return
    yield from ([], [("title", "Differences")])
    for change in sorted(plan.writes, key=lambda change: PLACES.index(change.place)):
        yield from _file(change, printer)
    if plan.history is not None:
        scan = plan.history.scan
        yield _file_line(plan.history.path, plural(scan.lines, "line"))
        shown = first(list(scan.counts.items()), MOST_PATHS, printer)
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
    shown = first(ordered, MOST_DIFFERENCES, printer)
    for group in shown:
        amount = plural(len(group), "value") if len(group) > 1 else ""
        yield from _pair(_label(group), amount, group[0].before, group[0].after)
    yield from more(total - sum(map(len, shown)), "    ")


def _file_line(path: object, amount: str) -> Line:
    return [("", "  "), ("path.new", printable(path)), ("dim", f"  {amount}")]


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
            yield from (("", '["'), ("path", printable(token)), ("", '"]'))


def _pair(label: Line, amount: str, before: object, after: object) -> Iterator[Line]:
    """A value before and after; JSON that is spread over several lines is drawn together."""
    yield [("", "    "), *label, ("dim", f"  {amount}")]
    for sign, style, value in (("-", "removed", before), ("+", "added", after)):
        if value is not None:
            text = re.sub(r"\s*\n\s*", " ", str(value))
            yield [(style, f"      {sign} "), (f"path.{style}", printable(text))]


def _left_alone(plan: Plan) -> Iterator[Line]:
    yield from ([[], [("title", "Left alone")]] if plan.left_alone else [])
    for item in plan.left_alone:
        yield [("", "  "), ("path", printable(item.file))]
        yield [("dim", f"    {printable(item.what)}")]
        if item.hint:
            yield [("", "    -> "), *with_command(printable(item.hint))]
