"""What is wrong in the state, from one survey: every finding with the command that mends it.

Reads only. Lost projects come from `doctor_projects`, what is wrong inside the project
directories from `doctor_directories`; here is the rest, and the order in which all is told.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ccmove.claude.layout import Layout
from ccmove.errors import UnsettledError, in_words
from ccmove.inspect.backups import Backup
from ccmove.inspect.doctor_directories import directory_findings
from ccmove.inspect.doctor_projects import lost_projects, project_findings
from ccmove.inspect.findings import KINDS, Choice, CommandLine, Finding
from ccmove.inspect.newhome import Candidate, HomeFinder, Tick
from ccmove.inspect.survey import Survey
from ccmove.run.journal import read_journal
from ccmove.text import command_line, plural
from ccmove.text import readable_size as size

PRUNE_KEEP = 5
PRUNE_AFTER_DAYS = 30


@dataclass(frozen=True)
class Examination:
    """What a look at everything found to be wrong."""

    survey: Survey
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    fix: str = "ccmove doctor --fix"  # asks about each

    @property
    def exit_code(self) -> int:
        return 1 if self.findings else 0


def examine(
    survey: Survey,
    command: CommandLine,
    backups: list[Backup],
    roots: Iterable[str] | None = (),
    tick: Tick | None = None,
) -> Examination:
    """Every finding, the most pressing kinds first; with `roots=None` no new homes are sought."""
    homes: dict[str, tuple[Candidate, ...]] = {}
    notes: list[str] = []
    if roots is not None:
        finder = HomeFinder(survey, roots)
        homes = finder.find(lost_projects(survey), tick)
        notes = [
            f"{root} holds more folders than are looked at; search in a smaller one: "
            + command("doctor", "--search", "DIR")
            for root in finder.catalogue.cut_short
        ]
    found = [
        *_interrupted(survey.layout, command),
        *_unreadable(survey),
        *project_findings(survey, homes, command),
        *directory_findings(survey, command),
        *_backups(survey.layout, backups, command),
    ]
    order = list(KINDS)
    found.sort(key=lambda finding: order.index(finding.kind))
    return Examination(survey, tuple(found), tuple(notes), command("doctor", "--fix"))


def _interrupted(layout: Layout, command: CommandLine) -> Iterator[Finding]:
    subject = str(layout.journal)
    try:
        journal = read_journal(layout)
    except UnsettledError as error:
        advice = ": ".join(in_words(error.hints[0])) if error.hints else command("recover")
        yield Finding("interrupted-run", subject, error.message, advice)
        return
    if journal is not None:
        yield Finding(
            "interrupted-run",
            subject,
            f"the run {journal.id} did not come to its end",
            command("recover"),
            choices=(Choice("take it back", action="recover", sure=True),),
            names=(journal.id,),
        )


def _unreadable(survey: Survey) -> Iterator[Finding]:
    for problem in survey.problems:
        look = command_line(["ls", "-ld", problem.file])
        yield Finding("unreadable", problem.file, problem.what, look)


def _backups(layout: Layout, rows: list[Backup], command: CommandLine) -> Iterator[Finding]:
    """Those that only take room, and those that are of no use any more; rows are newest first."""
    limit = time.strftime("%Y%m%d", time.gmtime(time.time() - PRUNE_AFTER_DAYS * 86400))
    old = [row for row in rows[PRUNE_KEEP:] if row.identifier[:8] < limit]
    if old:
        number = f"{plural(len(old), 'backup')} older than {PRUNE_AFTER_DAYS} days"
        options = ("--keep", str(PRUNE_KEEP), "--older-than", f"{PRUNE_AFTER_DAYS}d")
        yield Finding(
            "backups",
            str(layout.backups),
            f"{number}, {size(sum(row.size for row in old))}",
            command("backups", "--prune", *options),
            choices=(Choice("remove them for good", action="prune"),),
            names=("backups",),
        )
    for row in rows:
        if row.problem is not None:
            path = str(layout.backups / row.identifier)
            remove = command_line(["rm", "-r", path])
            yield Finding("damaged-backup", path, row.problem, remove, names=(row.identifier,))
