"""What may be asked of each command: typed, and printable as the words to type."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Self

from ccmove.errors import UsageError
from ccmove.hints import Asked, option_named

USUAL_SORT = "path"


@dataclass(frozen=True, kw_only=True)
class BringingOptions(Asked):
    """Of whatever brings sessions to a path."""

    dry_run: bool = False
    merge: bool = False

    def with_merge(self) -> Self:
        return replace(self, merge=True)


@dataclass(frozen=True, kw_only=True)
class RunOptions(BringingOptions):
    """Of a move and of an undo."""

    hash: bool = False
    allow_live: bool = False


@dataclass(frozen=True, kw_only=True)
class UndoOptions(RunOptions):
    """Of an undo; its argument is an ID."""

    command: str = "undo"


@dataclass(frozen=True, kw_only=True)
class MoveOptions(RunOptions):
    """Of a move; its arguments are OLD and NEW, unless a file has them."""

    move_folder: bool = False
    only: bool = False
    yes: bool = False
    settings: bool = False
    desktop: bool = False
    skip_path_check: bool = False
    from_file: str | None = None

    def to_make_again(self) -> tuple[str, ...]:
        """The options that make the same move again; what was risky is asked for
        again.
        """
        harmless = MoveOptions(
            merge=self.merge,
            hash=self.hash,
            move_folder=self.move_folder,
            only=self.only,
            settings=self.settings,
            desktop=self.desktop,
        )
        return tuple(harmless.to_argv())


@dataclass(frozen=True, kw_only=True)
class UnpackOptions(BringingOptions):
    """Of unpacking; its arguments are FILE and maybe NEW."""

    command: str = "unpack"
    map: tuple[str, ...] = ()  # each FROM=TO
    with_config: bool = False


@dataclass(frozen=True, kw_only=True)
class HookOptions(Asked):
    """Of the entry of Claude Code's settings that runs the hook."""

    command: str = "hook"
    install: bool = False
    remove: bool = False


@dataclass(frozen=True, kw_only=True)
class RecoverOptions(Asked):
    """Of a recovery."""

    command: str = "recover"
    set_aside: bool = False


@dataclass(frozen=True, kw_only=True)
class PruneOptions(Asked):
    """Of pruning; its arguments are IDs."""

    command: str = "prune"
    dry_run: bool = False
    keep: int | None = None
    older_than: str | None = None


@dataclass(frozen=True, kw_only=True)
class ListOptions(Asked):
    """Of a list; its argument is a path."""

    command: str = "list"
    missing: bool = False
    sort: str = USUAL_SORT


@dataclass(frozen=True, kw_only=True)
class DoctorOptions(Asked):
    """Of doctor; its arguments are subjects."""

    command: str = "doctor"
    fix: bool = False
    yes: bool = False
    plan: bool = False
    search: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PackOptions(Asked):
    """Of packing; its argument is a path."""

    command: str = "pack"
    output: str | None = None
    only: bool = False
    session: tuple[str, ...] = ()
    all: bool = False
    with_secrets: bool = False
    dry_run: bool = False


def check_flags(options: Asked, given: Mapping[str, object]) -> None:
    """UsageError for a name that is no flag of these options, or not a truth."""
    of_screen = asdict(Asked())
    flags = []
    for name, value in asdict(options).items():
        if value is False and name not in of_screen:
            flags.append(name)
    known = f"options: {', '.join(map(option_named, flags))}"
    for name, value in given.items():
        if name not in flags:
            raise UsageError(f"there is no option {name}", known)
        if not isinstance(value, bool):
            raise UsageError(f"{name} is not True or False: {value!r}", known)
