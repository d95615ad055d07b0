"""What is said by `ccmove list`, `where`, `backups` and `prune`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ccmove.claude.retention import LINE_THAT_KEEPS, settings_file
from ccmove.inspect.survey import Project, Survey
from ccmove.inspect.where import Whereabouts
from ccmove.report.console import STYLES, Line, Printer, breakable
from ccmove.report.json import backups_to_json, date, listing_to_json, where_to_json
from ccmove.report.move import nothing_changed, show_result
from ccmove.report.result import BackupRow, Backups, Result
from ccmove.text import plural
from ccmove.text import readable_size as size

if TYPE_CHECKING:
    import rich.table

WIDE = 80  # columns of a terminal
RIGHT_OF_CELLS = (0, 2, 0, 0)  # two columns that stay empty
# Of a folder, by whether it exists, and of a backup.
FOLDERS = {True: ("ok", "green"), False: ("GONE", STYLES["bad"]), None: ("?", "")}
LABELS = {"settings": "settings: ", "unpack": "unpacked: "}  # of moves, by the kind
STATES = {"done": "green", "unfinished": "note", "unreadable": "bad"}


def show_list(
    survey: Survey, projects: list[Project], in_detail: str, printer: Printer
) -> None:
    """A table of some projects; what is not part of it goes to standard error.
    `in_detail` is the command that shows what else is kept.
    """
    if printer.as_json:
        printer.json(listing_to_json(survey, projects))
        return
    remarks = printer.on_stderr()
    if projects:
        _print_table(projects, printer)
        if printer.terminal:
            printer.lines([[], _totals(projects, in_detail, printer)])
    elif survey.projects:
        remarks.say(["No folder is missing."])
    else:
        remarks.say(["Claude Code knows no projects."])
    for file, what in survey.problems.items():
        remarks.say([("note", "Note: "), f"{file}: {what}"])
    remarks.say(*retention_lines(survey, projects))


def show_where(whereabouts: Whereabouts, result: Result, printer: Printer) -> None:
    """One line; that nobody knows the path, and all else, goes to standard error."""
    if printer.as_json:
        record = where_to_json(whereabouts, result)
        printer.json(record)
        return
    directory = str(whereabouts.directory)
    # Never broken into rows: it is there to be used.
    print(printer.shown(directory), file=printer.out)
    remarks = printer.on_stderr()
    for problem in whereabouts.problems:
        remarks.say([("note", "Note: "), problem])
    if result.error is not None:
        show_result(result, printer)


def retention_lines(survey: Survey, projects: Iterable[Project]) -> Iterator[Line]:
    """How many sessions Claude Code is about to delete, and what keeps them; nothing
    where it deletes none within a week.
    """
    number = sum(project.deleted_soon for project in projects)
    if not number:
        return
    due = f"Claude Code will delete {plural(number, 'session')} within a week; "
    rule = f"it keeps a session for {survey.days_kept} days after its last use."
    yield [("note", "Note: "), due, rule]
    yield [f"To keep them, set this in {settings_file(survey.layout)}:"]
    yield [("command", f"  {LINE_THAT_KEEPS}")]


def _print_table(projects: Iterable[Project], printer: Printer) -> None:
    """A row for each; a path that is too long is broken between its parts."""
    from rich.text import Text

    console = printer.rich_console()
    width = console.width
    is_wide = width >= WIDE
    table = _empty_table(is_wide)
    room = width - 18  # of a path
    if is_wide:
        room = width - 40
    for project in projects:
        state, style = FOLDERS[project.exists]
        folder = Text(state, style)
        amounts = _amounts(project, is_wide)
        path = project.path or f"? {', '.join(project.directories)}"
        shown = breakable(printer.shown(path), room)
        table.add_row(folder, *amounts, Text(shown))
        if printer.verbose and project.kept:
            kept = ", ".join(project.kept_in_words)
            nothing = [""] * len(amounts)
            table.add_row("", *nothing, f"  also kept: {kept}")
    with console.capture() as capture:
        console.print(table)
    for line in capture.get().splitlines():
        print(line.rstrip(" "), file=console.file)


def _empty_table(is_wide: bool) -> rich.table.Table:
    from rich.table import Column, Table

    folder = Column("FOLDER")
    sessions = Column("SESSIONS", justify="right")
    columns = [folder, sessions]
    if is_wide:
        amount = Column("SIZE", justify="right", min_width=8)
        last_used = Column("LAST USED")
        columns += [amount, last_used]
    for column in columns:
        column.no_wrap = True
    path = Column("PATH", overflow="fold")
    table = Table(*columns, path, box=None, pad_edge=False)
    table.padding = RIGHT_OF_CELLS
    table.header_style = "dim"
    return table


def _amounts(project: Project, is_wide: bool) -> list[str]:
    """How much there is of a project, a cell each."""
    sessions = str(project.sessions)
    if not is_wide:
        return [sessions]
    day = date(project.last_used) or "-"
    return [sessions, size(project.bytes), day[:10]]


def _totals(projects: list[Project], in_detail: str, printer: Printer) -> Line:
    """How much there is of what, and where to see more."""
    sessions = total = gone = 0
    for project in projects:
        sessions += project.sessions
        total += project.bytes
        gone += project.exists is False
    number = plural(len(projects), "project")
    known = f"{number}, {plural(sessions, 'session')}, {size(total)}."
    if not gone and printer.verbose:
        return [known]
    if not gone:
        return [f"{known} What else is kept: ", ("command", in_detail)]
    what = "1 folder is gone" if gone == 1 else f"{gone} folders are gone"
    see = printer.command("doctor")
    return [known, ("bad", f" {what}."), " See: ", see]


def show_backups(backups: Backups, printer: Printer) -> None:
    printer.answer(_backups_lines(backups, printer), backups_to_json(backups))


def _backups_lines(backups: Backups, printer: Printer) -> Iterator[Line]:
    """What there is, or what went."""
    if backups.rolled_back:
        yield [("good", backups.rolled_back)]
    if not backups.rows:
        yield ["There are no backups."]
    elif backups.why is None:
        yield from _all_backups(backups, printer)
    else:
        yield from _pruned(backups)


def _all_backups(backups: Backups, printer: Printer) -> Iterator[Line]:
    """Every backup, newest first; last, how many there are and how to undo one."""
    for row in backups.rows:
        yield from _backup_lines(row, row.state)
    yield []
    total = f"{_total(backups.rows)}. "
    if any(row.state == "done" and not row.undoes for row in backups.rows):
        yield [f"{total}To undo one: ", printer.command("undo", "ID")]
    else:
        yield [f"{total}None of them can be undone."]


def _pruned(backups: Backups) -> Iterator[Line]:
    """Every backup that goes, and each that stays for what it holds."""
    verb = "Would remove" if backups.dry_run else "Removed"
    removed = backups.removed
    lines: list[Line] = []
    for row in backups.rows:
        if row in removed:
            lines += _backup_lines(row, verb.lower())
        elif row.holds or row.error:
            lines += _backup_lines(row, "kept")
    if lines:
        yield from [*lines, []]
    done = "Nothing to remove:"
    if removed:
        done = f"{verb} {_total(removed)};"
    kept = len(backups.rows) - len(removed)
    yield [("good", done), f" {kept} kept."]
    if backups.dry_run and removed:
        yield nothing_changed(backups.apply)


def _backup_lines(row: BackupRow, state: str) -> Iterator[Line]:
    """When and how large it is, what was moved, and what it holds."""
    date = re.sub(r"(....)(..)(..)T(..)(..).*", r"\1-\2-\3 \4:\5", row.id)
    about = f"{date} UTC  {size(row.bytes):>8}  {row.id}"
    yield [(STATES.get(state, ""), f"{state:12}  "), about]
    remarks = _what_was_done(row)
    if row.error:
        remarks = [row.error]
    if row.undoes:
        remarks.append(f"undoes {row.undoes}")
    if row.holds:
        remarks.append(row.holds)
    for remark in remarks:
        yield [f"    {remark}"]


def _what_was_done(row: BackupRow) -> list[str]:
    label = LABELS.get(row.kind, "")
    if row.holds:  # the undo of an unpack
        label = "taken out: "
    return [f"{label}{old} -> {new}" for old, new in row.moves]


def _total(rows: tuple[BackupRow, ...]) -> str:
    total = sum(row.bytes for row in rows)
    return f"{plural(len(rows), 'backup')}, {size(total)}"
