"""Results for people: plain text when piped, colour on a terminal. The only module with rich.

Everything is first laid out as plain lines of styled pieces; rich only paints them. So a pipe
gets the same words, and a script that pipes does not wait for rich to load.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from ccmove.plan import FileChange, Plan, ProjectMove
from ccmove.printable import plural, printable, size
from ccmove.result import Result, changes_in, counts, differences

if TYPE_CHECKING:
    from ccmove.commands.restore import Backup

Line = list[tuple[str, str]]  # (style, text) pieces

MOST_DIFFERENCES = 12  # of one file, before -v
MOST_EXAMPLES = 3


@dataclass
class Printer:
    """Where output goes and how much of it there is."""

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False
    out: IO[str] = field(default_factory=lambda: sys.stdout)
    err: IO[str] = field(default_factory=lambda: sys.stderr)

    @property
    def colour(self) -> bool:
        return (
            self.out.isatty()
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM") != "dumb"
        )

    def lines(self, lines: Iterable[Line]) -> None:
        if self.colour:
            _paint(lines, self.out)
        else:
            for line in lines:
                print("".join(text for _, text in line).rstrip(), file=self.out)

    def json(self, record: Any) -> None:
        print(json.dumps(record, indent=2), file=self.out)


def _paint(lines: Iterable[Line], out: IO[str]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out, highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*((text, style) for style, text in line)))


# -- a move, a restore, a recovery ------------------------------------------------------------------------


def show_result(result: Result, printer: Printer) -> None:
    """Print one result; the most important line is the last."""
    if printer.as_json:
        printer.json(result.to_json())
    elif result.error is not None:
        show_failure(result, printer)
    elif not printer.quiet:
        printer.lines(_result_lines(result, printer))


def show_failure(result: Result, printer: Printer) -> None:
    """What went wrong, and what to type next."""
    target = Printer(printer.quiet, printer.verbose, out=printer.err, err=printer.err)
    lines: list[Line] = [[("bold red", "ccmove: "), ("", printable(result.error))]]
    lines += [[("dim", f"  {printable(detail)}")] for detail in result.details]
    if result.hint:
        lines.append([("bold", "  -> "), ("", printable(result.hint))])
    target.lines(lines)


def _result_lines(result: Result, printer: Printer) -> Iterator[Line]:
    if result.settled:
        yield [("yellow", f"First: {printable(result.settled)}.")]
    if result.plan is None:
        if not result.settled:
            yield [("", "Nothing to settle: no run was interrupted.")]
        else:
            yield [("bold green", "Settled: everything is as it was before that run.")]
        return
    yield from _heading(result)
    yield from _project_lines(result.plan)
    yield from _count_lines(result.plan)
    if result.status == "planned" or printer.verbose:
        yield from _difference_lines(result.plan, printer.verbose)
    yield from _left_alone_lines(result.plan, printer.verbose or result.status == "planned")
    if printer.verbose:
        for note in result.plan.notes:
            yield [("dim", f"  why: {printable(note)}")]
    for warning in (*result.warnings, *result.plan.warnings):
        yield [("yellow", "Note: "), ("", printable(warning))]
    yield from _closing(result)


def _heading(result: Result) -> Iterator[Line]:
    words = {"planned": "Would move", "moved": "Moved", "restored": "Restored"}
    for old, new in result.moves:
        yield [
            ("bold", f"{words[result.status]}  "),
            ("cyan", printable(old)),
            ("dim", " -> "),
            ("bold cyan", printable(new)),
        ]


def _project_lines(plan: Plan) -> Iterator[Line]:
    verbs = {
        "rename": "",
        "merge": " (merged)",
        "same": " (same directory name)",
        "split": " (split)",
    }
    for move in plan.projects:
        yield [
            ("", "  conversations  "),
            ("", f"{plural(move.transcripts, 'session')}, {size(move.size)}"),
            ("dim", f"{verbs[move.kind]}{_folder(move, plan)}"),
        ]
        if move.source != move.target:
            yield [
                ("dim", f"                 {printable(move.source)} -> {printable(move.target)}")
            ]


def _folder(move: ProjectMove, plan: Plan) -> str:
    if any(move.path == old for old, _ in plan.paths.moves):
        return ""
    return f"  {printable(move.path)}"


def _count_lines(plan: Plan) -> Iterator[Line]:
    number = counts(plan)
    if number["history"]:
        yield [("", f"  prompts        {plural(number['history'], 'line')} of history.jsonl")]
    if number["index"]:
        yield [("", f"  index          {plural(number['index'], 'value')}")]
    if number["config"]:
        yield [
            ("", f"  config file    {plural(number['config'], 'value')} (trust, tools, servers)")
        ]
    if number["other"]:
        yield [("", f"  other files    {plural(number['other'], 'value')}")]
    for old, new in plan.folders:
        yield [("", f"  folder         {printable(old)} -> {printable(new)}")]


def _difference_lines(plan: Plan, verbose: bool) -> Iterator[Line]:
    if not (plan.files or plan.history):
        return
    yield [("bold", "Differences")]
    for change in plan.files:
        yield from _file_lines(change, verbose)
    if plan.history is not None:
        yield [("underline", f"  {printable(plan.history.path)}")]
        examples = [item for part in plan.history.parts for item in part.scan.counts.items()]
        for (before, after), number in examples[: None if verbose else MOST_EXAMPLES]:
            yield from _pair_lines(f"project, {plural(number, 'line')}", before, after)
        if len(examples) > MOST_EXAMPLES and not verbose:
            yield [("dim", f"    … and {len(examples) - MOST_EXAMPLES} more paths (-v shows all)")]


def _file_lines(change: FileChange, verbose: bool) -> Iterator[Line]:
    yield [("underline", f"  {printable(change.path)}")]
    rows = differences(change)
    for pointer, before, after in rows[: None if verbose else MOST_DIFFERENCES]:
        yield from _pair_lines(pointer, before, after)
    if len(rows) > MOST_DIFFERENCES and not verbose:
        yield [("dim", f"    … and {changes_in(change) - MOST_DIFFERENCES} more (-v shows all)")]


def _pair_lines(pointer: str, before: object, after: object) -> Iterator[Line]:
    yield [("dim", f"    {printable(pointer) or '(whole file)'}")]
    if before is not None:
        yield [("red", f"    - {printable(before)}")]
    if after is not None:
        yield [("green", f"    + {printable(after)}")]


def _left_alone_lines(plan: Plan, whole: bool) -> Iterator[Line]:
    if not plan.left_alone:
        return
    if not whole:
        number = plural(len(plan.left_alone), "thing")
        yield [("dim", f"  left alone     {number} (-v lists them)")]
        return
    yield [("bold", "Left alone")]
    for item in plan.left_alone:
        yield [("", f"  {printable(item.file)}: {printable(item.what)}")]
        if item.hint:
            yield [("dim", f"    -> {printable(item.hint)}")]


def _closing(result: Result) -> Iterator[Line]:
    if result.status == "planned":
        yield [("bold", "Nothing was changed."), ("", " Run it without --dry-run to do it.")]
    elif result.backup is None:
        yield [("bold green", "Nothing had to be changed.")]
    else:
        yield [
            ("bold green", "Done and verified."),
            ("", " To undo: "),
            ("bold", f"ccmove restore {result.backup}"),
        ]


# -- backups -----------------------------------------------------------------------------------------------


def show_backups(backups: list[Backup], printer: Printer) -> None:
    if printer.as_json:
        printer.json({"schema": 1, "backups": [_backup_record(row) for row in backups]})
        return
    if not backups:
        printer.lines([[("", "No backups: nothing was moved yet.")]])
        return
    printer.lines(_backup_line(row) for row in backups)


def _backup_record(row: Backup) -> dict[str, Any]:
    return {
        "id": row.identifier,
        "kind": row.kind,
        "moves": [{"old": old, "new": new} for old, new in row.moves],
        "undoes": row.undoes,
        "stands": row.stands,
        "bytes": row.size,
        "error": row.problem,
    }


def _backup_line(row: Backup) -> Line:
    if row.problem is not None:
        return [("red", f"{row.identifier}  {printable(row.problem)}")]
    moves = ", ".join(f"{printable(old)} -> {printable(new)}" for old, new in row.moves[:2])
    more = f" and {len(row.moves) - 2} more" if len(row.moves) > 2 else ""
    state = "" if row.stands else "  (undone)"
    style = "" if row.stands else "dim"
    return [
        ("bold" if row.stands else "dim", row.identifier),
        (style, f"  {row.kind:8}{size(row.size):>9}  {moves}{more}{state}"),
    ]
