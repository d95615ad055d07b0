"""What is said about a move, a restore and a recovery. The last line counts most."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ccmove.plan.model import FileChange, Plan, ProjectMove
from ccmove.report.console import Line, Piece, Printer, show_failure, with_command
from ccmove.report.result import Result, counts
from ccmove.rewrite.compare import Difference, differences
from ccmove.rewrite.jsonspan import Pointer
from ccmove.text import plural, printable
from ccmove.text import readable_size as size

# How many of each are shown on a terminal before -v; a pipe gets all of them.
MOST_MOVES = 8
MOST_PROJECTS = 12
MOST_DIFFERENCES = 12
MOST_PATHS = 4
PLACES = ("other", "index", "config")  # what matters most stands nearest to the end


def show_result(result: Result, printer: Printer) -> None:
    """Print one result; the most important line is the last."""
    if result.error is not None:
        show_failure(result, printer)
    elif printer.as_json:
        printer.json(result.to_json())
    elif not printer.quiet:
        printer.lines(result_lines(result, printer))


def result_lines(result: Result, printer: Printer) -> Iterator[Line]:
    """The whole answer: what, how much, in detail when it is wanted, and how it ended."""
    if result.settled:
        yield [("note", "First "), ("", f"{printable(result.settled)}.")]
    if result.plan is None:
        yield _recovery_line(result)
        return
    detailed = result.status == "planned" or printer.verbose
    all_of_it = printer.verbose or not printer.terminal
    yield from _heading(result, all_of_it)
    yield from _summary(result, detailed)
    if detailed:
        yield from _directories(result, all_of_it)
        yield from _differences(result, all_of_it)
        yield from _left_alone(result.plan)
    if printer.verbose:
        yield from _reasons(result.plan)
    yield from _notes(result)
    yield []
    yield from _closing(result, printer)


def _recovery_line(result: Result) -> Line:
    if result.settled:
        return [("good", "Settled."), ("", " Everything is as it was before that run.")]
    return [("good", "Nothing to settle:"), ("", " no run was interrupted.")]


# -- what and how much ---------------------------------------------------------------------------


def _heading(result: Result, all_of_it: bool) -> Iterator[Line]:
    verb = {"planned": "Would move", "moved": "Moved", "restored": "Moved back"}[result.status]
    if result.undoes and result.status == "planned":
        verb = "Would move back"
    moves = result.moves if all_of_it else result.moves[:MOST_MOVES]
    for old, new in moves:
        yield [("title", f"{verb}  "), ("path", printable(old))]
        yield [("dim", f"{'to':>{len(verb)}}  "), ("path.new", printable(new))]
    if len(moves) < len(result.moves):
        yield [("dim", f"… and {len(result.moves) - len(moves)} more (-v shows all)")]
    yield []


def _summary(result: Result, detailed: bool) -> Iterator[Line]:
    rows = list(_amounts(result, detailed))
    width = max((len(amount) for amount, _ in rows), default=0)
    for amount, where in rows:
        yield [("title", f"  {amount:{width}}"), ("", "   "), *where]


def _amounts(result: Result, detailed: bool) -> Iterator[tuple[str, Line]]:
    """How many of what, and where."""
    plan = result.plan
    assert plan is not None  # only a recovery has none
    number = counts(result)
    for _, new in plan.folders:
        yield "1 folder", [("", "renamed to "), ("path", printable(new))]
    if plan.projects:
        total = size(sum(move.size for move in plan.projects))
        amount = plural(number["transcripts"], "session")
        yield amount, [("", f"{total}; {_directories_by_kind(plan.projects)}")]
    if number["history"]:
        yield plural(number["history"], "prompt"), [("", "in history.jsonl")]
    for place in ("config", "index", "other"):
        if number[place]:
            yield plural(number[place], "value"), _in_files(plan, place)
    if plan.left_alone and not detailed:
        yield plural(len(plan.left_alone), "thing"), [("dim", "left alone (-v says why)")]


def _directories_by_kind(projects: tuple[ProjectMove, ...]) -> str:
    """`3 project directories renamed, 1 merged`: the noun stands with the first number only."""
    kinds = Counter(move.kind for move in projects)
    numbers = [(kind, kinds[kind]) for kind in _VERBS if kinds[kind]]
    first, *others = numbers
    words = [f"{plural(first[1], 'project directory')} {_VERBS[first[0]].done}"]
    words += [f"{number} {_VERBS[kind].done}" for kind, number in others]
    return ", ".join(words)


def _in_files(plan: Plan, place: str) -> Line:
    files = [change for change in plan.files if change.place == place]
    if place == "index":
        return [("", f"in {plural(len(files), 'sessions-index.json file')}")]
    if len(files) == 1:
        return [("", "in "), ("path", printable(files[0].ends))]
    return [("", f"in {plural(len(files), 'other file')}")]


# -- in detail -----------------------------------------------------------------------------------


class _Verb(NamedTuple):
    now: str
    preposition: str
    done: str


_VERBS = {
    "rename": _Verb("rename", "to", "renamed"),
    "merge": _Verb("merge", "into", "merged"),
    "split": _Verb("split", "into", "split"),
    "same": _Verb("keep", "", "kept"),
}


def _directories(result: Result, all_of_it: bool) -> Iterator[Line]:
    plan = result.plan
    if plan is None or not plan.projects:
        return
    yield []
    base = result.layout.projects if result.layout else ""
    yield [("title", "Project directories"), ("dim", " in "), ("path.dim", printable(base))]
    shown = plan.projects if all_of_it else plan.projects[:MOST_PROJECTS]
    for move in shown:
        yield from _directory(move)
    if len(shown) < len(plan.projects):
        yield [("dim", f"  … and {len(plan.projects) - len(shown)} more (-v shows all)")]


def _directory(move: ProjectMove) -> Iterator[Line]:
    verb, preposition, _ = _VERBS[move.kind]
    amount = f"{plural(move.transcripts, 'session')}, {size(move.size)}"
    yield [("", f"  {verb:8}"), ("path", printable(move.source)), ("dim", f"  {amount}")]
    if preposition:
        yield [("dim", f"  {preposition:>6}  "), ("path.new", printable(move.target))]
    else:
        yield [("dim", "          both paths have this name; what names the path changes")]


def _differences(result: Result, all_of_it: bool) -> Iterator[Line]:
    plan = result.plan
    if plan is None or not (plan.files or plan.history):
        return
    yield []
    yield [("title", "Differences")]
    for change in sorted(plan.files, key=lambda change: PLACES.index(change.place)):
        yield from _file(change, all_of_it)
    if plan.history is not None:
        yield from _prompts(result, all_of_it)


def _file(change: FileChange, all_of_it: bool) -> Iterator[Line]:
    groups = _alike(differences(change))
    total = sum(len(group) for group in groups)
    yield _file_line(change.path, plural(total, "value"))
    shown = groups if all_of_it else groups[:MOST_DIFFERENCES]
    for group in shown:
        amount = plural(len(group), "value") if len(group) > 1 else ""
        yield from _pair(_label(group), amount, group[0].before, group[0].after)
    if len(shown) < len(groups):
        hidden = total - sum(len(group) for group in shown)
        yield [("dim", f"    … and {hidden} more (-v shows all)")]


def _alike(rows: list[Difference]) -> list[list[Difference]]:
    """Rows of one pattern with the same before and after come together: an index repeats itself."""
    groups: dict[tuple[object, ...], list[Difference]] = {}
    for row in rows:
        key = (row.pattern, row.line, row.is_key, repr(row.before), repr(row.after))
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _prompts(result: Result, all_of_it: bool) -> Iterator[Line]:
    assert result.plan is not None
    assert result.plan.history is not None
    yield _file_line(result.plan.history.path, plural(result.prompts, "line"))
    rewrites = result.rewrites
    shown = rewrites if all_of_it else rewrites[:MOST_PATHS]
    for before, after, number in shown:
        yield from _pair([("", "project")], plural(number, "line"), before, after)
    if len(shown) < len(rewrites):
        yield [("dim", f"    … and {len(rewrites) - len(shown)} more paths (-v shows all)")]


def _label(group: list[Difference]) -> Line:
    """Where a value stands, as `jq` would write it; `*` for several elements of an array."""
    first = group[0]
    if first.line:
        return [("", first.line)]
    pointer = first.pointer if len(group) == 1 else first.pattern
    pieces = list(_steps(pointer[:-1] if first.is_key else pointer))
    return [*pieces, ("dim", " (key)")] if first.is_key else pieces


def _steps(pointer: Pointer) -> Iterator[Piece]:
    for number, token in enumerate(pointer):
        if isinstance(token, int) or token == "*":
            yield ("", f"[{token}]")
        elif re.fullmatch(r"[A-Za-z_]\w*", token, re.ASCII):
            yield ("", f".{token}" if number else token)
        else:
            yield from (("", '["'), ("path", printable(token)), ("", '"]'))


def _pair(label: Line, amount: str, before: object, after: object) -> Iterator[Line]:
    """A value before and after, with the part that differs standing out."""
    yield [("", "    "), *label, ("dim", f"  {amount}")]
    one, other = _text(before), _text(after)
    start, end = _common(one or "", other or "")
    for sign, style, text in (("-", "removed", one), ("+", "added", other)):
        if text is not None:
            tail = len(text) - end
            yield [
                (style, f"      {sign} "),
                (f"path.{style}", printable(text[:start])),
                (f"path.{style}.part", printable(text[start:tail])),
                (f"path.{style}", printable(text[tail:])),
            ]


def _file_line(path: Path, amount: str) -> Line:
    return [("", "  "), ("path.new", printable(path)), ("dim", f"  {amount}")]


def _text(value: object) -> str | None:
    """A value on one line; JSON that is spread over several lines is drawn together."""
    return None if value is None else re.sub(r"\s*\n\s*", " ", str(value))


def _common(one: str, other: str) -> tuple[int, int]:
    """How much two texts share at the start and at the end, in whole path components."""
    start = one.rfind("/", 0, _same_start(one, other)) + 1
    end = _same_start(one[start:][::-1], other[start:][::-1])
    slash = one.find("/", len(one) - end) if end else -1
    return start, len(one) - slash if slash >= 0 else 0


def _same_start(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _left_alone(plan: Plan) -> Iterator[Line]:
    if not plan.left_alone:
        return
    yield []
    yield [("title", "Left alone")]
    for item in plan.left_alone:
        yield [("", "  "), ("path", printable(item.file))]
        yield [("dim", f"    {printable(item.what)}")]
        if item.hint:
            yield [("", "    -> "), *with_command(printable(item.hint))]


def _reasons(plan: Plan) -> Iterator[Line]:
    if not plan.notes:
        return
    yield []
    yield [("title", "Why each directory is taken or left")]
    for note in plan.notes:
        name, _, reason = note.partition(": ")
        yield [("", "  "), ("path", printable(name))]
        yield [("dim", f"    {printable(reason)}")]


# -- how it ended --------------------------------------------------------------------------------


def _notes(result: Result) -> Iterator[Line]:
    warnings = (*result.warnings, *(result.plan.warnings if result.plan else ()))
    if warnings:
        yield []
    for warning in warnings:
        yield [("note", "Note: "), *with_command(printable(warning))]


def _closing(result: Result, printer: Printer) -> Iterator[Line]:
    if result.status == "planned":
        yield [("title", "Nothing was changed."), ("", " To do it, leave out --dry-run.")]
    elif result.backup is None:
        yield [("good", "Nothing had to be changed.")]
    else:
        undo = printer.command("restore", result.backup)
        yield [("good", "Done and verified."), ("", " To undo: "), undo]
