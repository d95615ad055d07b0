"""What can be wrong, what each kind of it means, and what is known about where it can be fixed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

from ccmove.inspect.survey import Survey

CommandLine = Callable[..., str]  # makes a command of ours of its words, for this very state


KINDS = {  # the most pressing first, and what each means for the user
    "interrupted-run": "A run of ccmove was interrupted: half moved until it is rolled back",
    "unreadable": "Can't be read, so this list may be incomplete",
    "orphan": "Projects whose folder is gone: renamed, moved or deleted",
    "moved-entries": "Prompts and settings that still name the old path of a moved project",
    "stale-entries": "Entries of folders that are gone: harmless if they were deleted",
    "spelling": "One folder under several paths: Claude Code shows each as a project of its own",
    "worktree": "Git worktrees that still look at the old path: lost to git until repaired",
    "misplaced-directory": "Conversations where Claude Code does not look",
    "split-session": "One session in two files: keep both, `--resume` reads only one of them",
    "index": "Outdated session indexes: conversations may be missing in lists",
    "damaged-backup": "Runs that can't be undone any more; what is left of them is kept",
}


class Basis(IntEnum):
    """What says where a lost project is now: the state itself, git, or the name."""

    STATED = 0
    SAME_REPOSITORY = 1
    NAME = 2


@dataclass(slots=True)
class Candidate:
    """A folder that a lost project may be now, with the evidence for and against it."""

    path: str
    basis: Basis = Basis.NAME  # the best of its evidence
    evidence: list[str] = field(default_factory=list)
    against: list[str] = field(default_factory=list)
    is_proven: bool = False  # another clone of the repository would not show this
    command: str = ""  # the move; or, where it would be refused, what shows the reason

    @property
    def confidence(self) -> str:
        if self.against or self.basis is Basis.NAME:
            return "possible"
        return "certain" if self.is_proven or self.basis is Basis.STATED else "likely"

    @property
    def rank(self) -> tuple[int, bool]:
        """To sort by: the lower the better."""
        return ("certain", "likely", "possible").index(self.confidence), bool(self.against)


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong."""

    kind: str
    subject: str  # the path, directory or file it is about
    what: str
    command: str = ""  # fixes it, or helps on; a lost project has one for each candidate
    details: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # other names it can be asked for by
    candidates: tuple[Candidate, ...] = ()  # of a lost project, the best first
    along: str | None = None  # the lost project whose move fixes this one as well

    @property
    def can_be_asked(self) -> bool:
        """Whether somebody may know where it is now: there are signs, or sessions to be lost."""
        return self.along is None and (bool(self.candidates) or self.kind == "orphan")

    @property
    def best(self) -> Candidate | None:
        """The candidate with more for it than any other, and with more than a name."""
        levels = [candidate.confidence for candidate in self.candidates]
        if not levels or levels[0] == "possible" or levels.count(levels[0]) > 1:
            return None
        return self.candidates[0]

    @property
    def sure(self) -> Candidate | None:
        """The one answer that needs no question."""
        return self.best if self.best and self.best.confidence == "certain" else None


@dataclass(frozen=True)
class Examination:
    """What a look at everything found to be wrong; of a verification also what it was about."""

    survey: Survey
    findings: tuple[Finding, ...]
    harmless: tuple[Finding, ...] = ()
    verified: tuple[str, ...] | None = None  # paths

    @property
    def exit_code(self) -> int:
        return 1 if self.findings else 0
