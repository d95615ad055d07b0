"""What can be wrong, what each kind of it means, and how it can be fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from ccmove.inspect.survey import Survey

CommandLine = Callable[..., str]  # makes a command of ours of its words, for this very state


class Kind(NamedTuple):
    """One kind of finding: its heading, and what it means for the user."""

    title: str
    means: str
    fails: bool = True  # whether `ccmove verify` fails because of it


KINDS = {  # the most pressing first
    "interrupted-run": Kind(
        "A run of ccmove was interrupted",
        "The state is half moved until the run is taken back; nothing is lost.",
    ),
    "unfinished-run": Kind(
        "Runs that were set aside",
        "They could not be rolled back. All that belongs to them is kept, and nothing removes it.",
        fails=False,
    ),
    "unreadable": Kind(
        "Can't be read",
        "What it holds is not known here, so the rest of this list may be incomplete.",
    ),
    "orphan": Kind(
        "Conversations without a folder",
        "The folder is gone, so Claude Code no longer finds what it keeps for it. It was renamed, "
        "moved or deleted; if it was deleted for good, `claude purge PATH` removes the rest.",
        fails=False,
    ),
    "moved-entries": Kind(
        "Entries that still name the old path of a moved project",
        "The conversations are at the new path already, but prompts, trust or settings were left "
        "behind, and Claude Code does not find them there.",
    ),
    "stale-entries": Kind(
        "Entries of folders that are gone",
        "Only lists still name them: there are no conversations. Harmless if the folder was "
        "deleted; if it was moved, its prompts, trust and settings can follow.",
        fails=False,
    ),
    "removed-subfolder": Kind(
        "Subfolders and worktrees that were removed",
        "The project they were in still exists. Their conversations are kept, but Claude Code "
        "shows them only for the path that is gone; they can be given to the project.",
        fails=False,
    ),
    "unknown-name": Kind(
        "Directories that belong to no known path",
        "Claude Code never looks there. Another tool may have named it wrongly, its path may be "
        "gone, or $CLAUDE_CODE_PROJECT_DIR_NAME made it.",
        fails=False,
    ),
    "shared-directory": Kind(
        "Directories shared by several paths",
        "Claude Code gives these paths one name. It tells their sessions apart, but memory is "
        "common to them. ccmove moves only what belongs to the path you name.",
        fails=False,
    ),
    "nested-directory": Kind(
        "A project directory inside a project directory",
        "Claude Code does not look that deep: these conversations are invisible.",
    ),
    "duplicate-session": Kind(
        "The same session in two directories",
        "Claude Code can't tell which of the two `--resume` means.",
    ),
    "index": Kind(
        "Indexes and aliases that are not true",
        "They point nowhere or at another directory, so conversations are missing in lists.",
    ),
    "leftover-directory": Kind(
        "Empty and left-over directories",
        "There is no conversation and no memory in them. Harmless, and of no use.",
        fails=False,
    ),
    "backups": Kind(
        "Backups worth pruning",
        "Old backups only take room, unless you still want to undo what they belong to.",
        fails=False,
    ),
    "damaged-backup": Kind(
        "Backups that can't be restored",
        "Something was changed in them. The saved files may still be of use.",
        fails=False,
    ),
}


class Basis(IntEnum):
    """What says where a lost project is now: the state itself, git, or a likeness."""

    STATED = 0
    SAME_REPOSITORY = 1
    ALIKE = 2


@dataclass(slots=True)
class Candidate:
    """A folder that a lost project may be now, with the evidence for and against it."""

    path: str
    basis: Basis = Basis.ALIKE  # the best of its evidence
    evidence: list[str] = field(default_factory=list)
    against: list[str] = field(default_factory=list)

    @property
    def confidence(self) -> str:
        return ("certain", "likely", "possible")[min(2, self.basis + bool(self.against))]

    @property
    def settles(self) -> bool:
        """Whether its evidence, if no other folder has the like, leaves no doubt."""
        return self.basis < Basis.ALIKE and not self.against


@dataclass(frozen=True)
class Choice:
    """One way to fix a finding: a move, or a command of its own."""

    label: str
    move: tuple[str, str] | None = None
    action: str | None = None  # recover or prune
    sure: bool = False  # the evidence leaves no doubt: `--yes` takes it


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong."""

    kind: str
    subject: str  # the path, directory or file it is about
    what: str
    command: str  # fixes it
    details: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # other names it can be asked for by
    candidates: tuple[Candidate, ...] = ()
    choices: tuple[Choice, ...] = ()
    along: str | None = None  # the lost project whose move fixes this one as well

    @property
    def fails(self) -> bool:
        return KINDS[self.kind].fails

    @property
    def sure(self) -> Choice | None:
        """The choice that needs no question."""
        return next((choice for choice in self.choices if choice.sure), None)


@dataclass(frozen=True)
class Examination:
    """What a look at everything found to be wrong."""

    survey: Survey
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return 1 if self.findings else 0
