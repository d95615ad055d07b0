"""What is said by `ccmove list`, `where`, `backups` and `prune`."""

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict

from ccmove.claude.retention import LINE_THAT_KEEPS, settings_file
from ccmove.inspect.survey import Project, Survey
from ccmove.inspect.where import Whereabouts
from ccmove.report.console import STYLES, Line, Printer, note
from ccmove.report.json import Record, failure, head, pairs
from ccmove.report.move import nothing_changed, show_result
from ccmove.report.result import BackupRow, Backups, Result
from ccmove.text import plural, readable_size

NS = 1_000_000_000
WIDE = 80  # columns of a terminal
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
        printer.json(_list_record(survey, projects))
        return
    remarks = printer.on_stderr()
    if projects:
        printer.lines(_table(projects, printer))
        if printer.terminal:
            printer.lines([[], _totals(projects, in_detail, printer)])
    elif survey.projects:
        remarks.say(["No folder is missing."])
    else:
        remarks.say(["Claude Code knows no projects."])
    for file, what in survey.problems.items():
        remarks.say(note(f"{file}: {what}"))
    remarks.say(*retention_lines(survey, projects))


def _list_record(survey: Survey, projects: list[Project]) -> Record:
    rows = []
    for project in projects:
        row = asdict(project)
        del row["last_session"]
        row["first_used"] = _date(project.first_used)
        row["last_used"] = _date(project.last_used)
        rows.append(row)
    return {
        **head("ok"),
        "config_dir": str(survey.layout.config_dir),
        "projects": rows,
        "retention": retention_record(survey, projects),
        "warnings": [f"{file}: {what}" for file, what in survey.problems.items()],
        "error": None,
    }


def _date(moment: int | None) -> str | None:
    """A moment in nanoseconds as people and JSON read it."""
    if not moment:
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment // NS))


def show_where(whereabouts: Whereabouts, result: Result, printer: Printer) -> None:
    """One line; that nobody knows the path, and all else, goes to standard error."""
    if printer.as_json:
        record = _where_record(whereabouts, result)
        printer.json(record)
        return
    directory = str(whereabouts.directory)
    # Never broken into rows: it is there to be used.
    print(printer.shown(directory), file=printer.out)
    remarks = printer.on_stderr()
    for problem in whereabouts.problems:
        remarks.say(note(problem))
    if result.error is not None:
        show_result(result, printer)


def _where_record(whereabouts: Whereabouts, result: Result) -> Record:
    memory = whereabouts.memory
    return {
        **head(result.status),
        "path": whereabouts.path,
        "directory": str(whereabouts.directory),
        "exists": whereabouts.exists,
        "sessions": whereabouts.sessions,
        "bytes": whereabouts.bytes,
        "memory": str(memory) if memory else None,
        "config_key": whereabouts.config_key,
        "trusted": whereabouts.trusted,
        "former_paths": whereabouts.former_paths,
        "warnings": whereabouts.problems,
        **failure(result),
    }


def retention_lines(survey: Survey, projects: Iterable[Project]) -> Iterator[Line]:
    """How many sessions Claude Code is about to delete, and what keeps them; nothing
    where it deletes none within a week.
    """
    number = sum(project.deleted_soon for project in projects)
    if not number:
        return
    due = f"Claude Code will delete {plural(number, 'session')} within a week; "
    rule = f"it keeps a session for {survey.days_kept} days after its last use."
    yield note(due + rule)
    yield [f"To keep them, set this in {settings_file(survey.layout)}:"]
    yield [("command", f"  {LINE_THAT_KEEPS}")]


def retention_record(survey: Survey, projects: Iterable[Project]) -> Record:
    """The same for scripts."""
    return {
        "days": survey.days_kept,
        "deleted_soon": sum(project.deleted_soon for project in projects),
        "file": str(settings_file(survey.layout)),
        "line": LINE_THAT_KEEPS,
    }


def _table(projects: Iterable[Project], printer: Printer) -> Iterator[Line]:
    """A row for each, under a heading; a narrow terminal has fewer columns."""
    is_wide = not printer.terminal or printer.rich_console().width >= WIDE
    heading = "FOLDER  SESSIONS  "
    if is_wide:
        heading += "    SIZE  LAST USED   "
    yield [("dim", f"{heading}PATH")]
    for project in projects:
        state, style = FOLDERS[project.exists]
        about = f"  {project.sessions:8}  "
        if is_wide:
            day = _date(project.last_used) or "-"
            about += f"{readable_size(project.bytes):>8}  {day[:10]:10}  "
        path = project.path or f"? {', '.join(project.directories)}"
        yield [(style, f"{state:6}"), about, path]
        if printer.verbose and project.kept:
            kept = ", ".join(project.kept_in_words)
            yield [" " * len(heading), f"  also kept: {kept}"]


def _totals(projects: list[Project], in_detail: str, printer: Printer) -> Line:
    """How much there is of what, and where to see more."""
    sessions = total = gone = 0
    for project in projects:
        sessions += project.sessions
        total += project.bytes
        gone += project.exists is False
    number = plural(len(projects), "project")
    known = f"{number}, {plural(sessions, 'session')}, {readable_size(total)}."
    if not gone and printer.verbose:
        return [known]
    if not gone:
        return [f"{known} What else is kept: ", ("command", in_detail)]
    what = "1 folder is gone" if gone == 1 else f"{gone} folders are gone"
    see = printer.command("doctor")
    return [known, ("bad", f" {what}."), " See: ", see]


def show_backups(backups: Backups, printer: Printer) -> None:
    printer.answer(_backups_lines(backups, printer), _backups_record(backups))


def _backups_record(backups: Backups) -> Record:
    """With the backups that there still are."""
    status = "pruned"
    kept = [row for row in backups.rows if row not in backups.removed]
    if backups.why is None:
        status = "ok"
    elif backups.dry_run:
        status = "planned"
        kept = list(backups.rows)
    return {
        **head(status),
        "backups": [{**asdict(row), "moves": pairs(row.moves)} for row in kept],
        "removed": [row.id for row in backups.removed],
        "why": backups.why,
        "rolled_back": backups.rolled_back,
        "error": None,
    }


def _backups_lines(backups: Backups, printer: Printer) -> Iterator[Line]:
    """What there is, or what went."""
    if backups.rolled_back:
        yield [("good", backups.rolled_back)]
    if not backups.rows:
        yield ["There are no backups."]
    elif backups.why is not None:
        yield from _pruned(backups)
    else:
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
    verb = "Removed"
    if backups.dry_run:
        verb = "Would remove"
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
    about = f"{date} UTC  {readable_size(row.bytes):>8}  {row.id}"
    yield [(STATES.get(state, ""), f"{state:12}  "), about]
    label = LABELS.get(row.kind, "")
    if row.holds:  # the undo of an unpack
        label = "taken out: "
    remarks = [f"{label}{old} -> {new}" for old, new in row.moves]
    if row.error:
        remarks = [row.error]
    if row.undoes:
        remarks.append(f"undoes {row.undoes}")
    if row.holds:
        remarks.append(row.holds)
    for remark in remarks:
        yield [f"    {remark}"]


def _total(rows: tuple[BackupRow, ...]) -> str:
    total = sum(row.bytes for row in rows)
    return f"{plural(len(rows), 'backup')}, {readable_size(total)}"
