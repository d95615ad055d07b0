"""What a run did or would do, as frozen data: people read it in words, scripts as JSON,
and a backup keeps it.
"""

from dataclasses import dataclass
from typing import Annotated

from ccmove.claude.layout import Layout, are_settings
from ccmove.hints import Hint
from ccmove.plan.model import LeftAlone, Plan
from ccmove.plan.records import Count, one_of
from ccmove.report.belongings import NOTHING, Belongings, belongings_of
from ccmove.rewrite.compare import compare

Moves = tuple[tuple[str, str], ...]
NO_HINT = Hint()


@dataclass(frozen=True, slots=True)
class MovedProject:
    """One project, and its directory under `projects`, before and after."""

    path: str
    new_path: str
    kind: Annotated[str, one_of("rename", "merge", "split", "same")]
    transcripts: Count
    size: Count
    directory: str
    new_directory: str


@dataclass(frozen=True, slots=True)
class Change:
    """One value of a document; None for what is not there on that side."""

    file: str  # where it was replaced
    ends: str  # where it is when the run is done
    form: Annotated[str, one_of("index", "config", "other")]
    pointer: str  # or, of what is not JSON, where it is in words
    is_key: bool  # the name of the member, not its value
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class MovedPrompts:
    """Prompts of one project."""

    before: str
    after: str
    count: Count


@dataclass(frozen=True, slots=True)
class ChangedHistory:
    """Prompts whose project has another path."""

    file: str
    count: Count
    paths: tuple[MovedPrompts, ...]


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that stays as it is; what has a command is still to do."""

    file: str
    what: str
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is true of a result when it is told, and is not kept."""

    is_undo: bool = False
    is_unpack: bool = False  # or the undo of one
    # When it failed:
    error: str | None = None
    hints: tuple[tuple[str, str], ...] = ()  # sentence, command
    details: tuple[str, ...] = ()
    exit_code: int = 0
    apply: str | None = None  # the command that does what was planned
    is_undone: bool = False  # since then
    is_newest: bool = True  # no run came later
    move_again: Hint = NO_HINT  # where this was undone, or is an undo


@dataclass(frozen=True, slots=True)
class Result(Told):
    """The outcome of a move, an undo or a recovery; a backup keeps these fields."""

    status: str
    config_dir: str | None = None
    moves: Moves = ()
    backup: str | None = None
    folders: Moves = ()  # that were renamed as well
    projects: tuple[MovedProject, ...] = ()
    # Each NEW with sessions of its own, and how many:
    merged: tuple[tuple[str, Count], ...] = ()
    changes: tuple[Change, ...] = ()
    history: ChangedHistory | None = None
    belongings: Belongings = NOTHING
    left_alone: tuple[Leftover, ...] = ()
    warnings: tuple[str, ...] = ()
    # Sessions whose client recorded its system prompt, which names OLD:
    remembering: Count = 0
    reasons: tuple[str, ...] = ()  # why each directory is moved or left alone
    rolled_back: str | None = None  # what was done about an interrupted run

    @property
    def is_of_settings(self) -> bool:
        """Whether settings are rewritten, and nothing is moved."""
        if self.projects or self.folders or self.history:
            return False
        return are_settings(change.file for change in self.changes)

    @property
    def is_planned(self) -> bool:
        """Whether nothing was done yet, be it refused or not."""
        return self.apply is not None

    def to_do(self) -> dict[str, list[Leftover]]:
        """What needs a hand, by the command that deals with it."""
        by_command: dict[str, list[Leftover]] = {}
        for row in self.left_alone:
            if row.command:
                by_command.setdefault(row.command, []).append(row)
        return by_command


@dataclass(frozen=True, slots=True)
class BackupRow:
    """One backup, or a run that was not finished."""

    id: str
    state: str  # done, undone, unreadable or unfinished
    bytes: int
    error: str | None = None
    moves: Moves = ()
    kind: str = "?"
    undoes: str | None = None
    holds: str = ""  # what is nowhere else


@dataclass(frozen=True, slots=True)
class Backups:
    """The backups there are, newest first; after a pruning each with why it is kept, if
    it is.
    """

    rows: tuple[BackupRow, ...]
    why: dict[str, str] | None = None
    dry_run: bool = False
    apply: str | None = None
    rolled_back: str | None = None

    @property
    def removed(self) -> tuple[BackupRow, ...]:
        if self.why is None:
            return ()
        return tuple(row for row in self.rows if not self.why[row.id])


def preview_of(plan: Plan, layout: Layout) -> Result:
    """What this plan would do; of a run that has done it all but the status is true."""
    projects = [
        MovedProject(
            move.path,
            move.new_path,
            move.kind,
            move.transcripts,
            move.size,
            str(layout.projects / move.source),
            str(layout.projects / move.target),
        )
        for move in plan.projects
    ]
    changes = []
    for write in plan.writes:
        for row in compare(write.before, write.after):
            change = Change(
                str(write.path),
                str(write.ends),
                write.form,
                row.where,
                row.is_key,
                row.before,
                row.after,
            )
            changes.append(change)
    history = None
    if plan.history is not None and plan.history.scan.lines:
        scan = plan.history.scan
        paths = [MovedPrompts(*pair, lines) for pair, lines in scan.counts.items()]
        file = str(plan.history.path)
        history = ChangedHistory(file, scan.lines, tuple(paths))
    return Result(
        "planned",
        str(layout.config_dir),
        plan.moves,
        is_undo=plan.kind == "undo",
        is_unpack=plan.is_of_archive,
        folders=tuple((str(old), str(new)) for old, new in plan.folders),
        projects=tuple(projects),
        merged=plan.merged,
        changes=tuple(changes),
        history=history,
        belongings=belongings_of(plan),
        left_alone=tuple(leftover(row, layout) for row in plan.left_alone),
        warnings=plan.warnings,
        remembering=plan.remembering,
        reasons=plan.notes,
    )


def leftover(row: LeftAlone, layout: Layout) -> Leftover:
    """With its command as it has to be typed for this state."""
    return Leftover(row.file, row.what, row.to_type(layout.given))
