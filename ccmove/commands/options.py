"""What may be asked of each command: typed, and printable as the words to type."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from ccmove.errors import UsageError
from ccmove.hints import Asked, switched_on

USUAL_SORT = "path"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(Asked):
    """Of a move and of an undo; each is the option of that name."""

    dry_run: bool = False
    merge: bool = False
    hash: bool = False
    allow_live: bool = False

    def flags(self) -> dict[str, bool]:
        return {
            "--dry-run": self.dry_run,
            "--merge": self.merge,
            "--hash": self.hash,
            "--allow-live": self.allow_live,
        }

    def with_merge(self) -> Self:
        return replace(self, merge=True)


class UndoOptions(RunOptions):
    """Of an undo; its argument is an ID."""

    name = "undo"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOptions(RunOptions):
    """Of a move; its arguments are OLD and NEW, unless a file has them."""

    from_file: str | None = None
    move_folder: bool = False
    only: bool = False
    yes: bool = False
    settings: bool = False
    desktop: bool = False
    skip_path_check: bool = False

    def flags(self) -> dict[str, bool]:
        return {
            "--dry-run": self.dry_run,
            "--move-folder": self.move_folder,
            "--only": self.only,
            "--merge": self.merge,
            "--yes": self.yes,
            "--settings": self.settings,
            "--desktop": self.desktop,
            "--hash": self.hash,
            "--allow-live": self.allow_live,
            "--skip-path-check": self.skip_path_check,
        }

    def values(self) -> list[tuple[str, object]]:
        return [("--from-file", self.from_file)]

    def to_make_again(self) -> tuple[str, ...]:
        """The options that make the same move again; what was risky is asked for
        again.
        """
        harmless = replace(
            self, dry_run=False, yes=False, allow_live=False, skip_path_check=False
        )
        return tuple(switched_on(harmless.flags()))


class ShowOptions(Asked):
    """Of a past run's report; its argument is an ID."""

    name = "show"


class BackupsOptions(Asked):
    """Of the list of backups; its arguments are IDs."""

    name = "backups"


class VerifyOptions(Asked):
    """Of a check; its argument is a path."""

    name = "verify"


class WhereOptions(Asked):
    """Of a question where a project is kept; its argument is a path."""

    name = "where"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverOptions(Asked):
    """Of a recovery."""

    name: ClassVar[str] = "recover"
    set_aside: bool = False

    def flags(self) -> dict[str, bool]:
        return {"--set-aside": self.set_aside}


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneOptions(Asked):
    """Of pruning; its arguments are IDs."""

    name: ClassVar[str] = "prune"
    keep: int | None = None
    older_than: str | None = None
    dry_run: bool = False

    def flags(self) -> dict[str, bool]:
        return {"--dry-run": self.dry_run}

    def values(self) -> list[tuple[str, object]]:
        return [("--keep", self.keep), ("--older-than", self.older_than)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions(Asked):
    """Of a list; its argument is a path."""

    name: ClassVar[str] = "list"
    sort: str = USUAL_SORT
    missing: bool = False

    def flags(self) -> dict[str, bool]:
        return {"--missing": self.missing}

    def values(self) -> list[tuple[str, object]]:
        return [] if self.sort == USUAL_SORT else [("--sort", self.sort)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorOptions(Asked):
    """Of doctor; its arguments are subjects."""

    name: ClassVar[str] = "doctor"
    fix: bool = False
    yes: bool = False
    plan: bool = False
    search: tuple[str, ...] = ()

    def flags(self) -> dict[str, bool]:
        return {"--fix": self.fix, "--yes": self.yes, "--plan": self.plan}

    def values(self) -> list[tuple[str, object]]:
        return [("--search", folder) for folder in self.search]


def check_flags(options: RunOptions, given: Mapping[str, object]) -> None:
    """UsageError for a name that is no flag of these options, or not a truth."""
    flags = options.flags()
    known = f"options: {', '.join(flags)}"
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        if flag not in flags:
            raise UsageError(f"there is no option {name}", known)
        if not isinstance(value, bool):
            raise UsageError(f"{name} is not True or False: {value!r}", known)
