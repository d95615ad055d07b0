"""What may be asked of a move and of an undo: typed, checked, and printable as words of
a command line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from ccmove.errors import Hint, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options by name; a value of the wrong kind is a UsageError that names it."""

    dry_run: bool = False
    merge: bool = False
    hash: bool = False
    allow_live: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, bool):
                raise UsageError(
                    f"{field.name} is not True or False: {value!r}", _names(type(self))
                )

    def to_argv(self) -> list[str]:
        """The options that were asked for, as they are typed."""
        asked = [field.name for field in fields(self) if getattr(self, field.name)]
        return [f"--{name.replace('_', '-')}" for name in asked]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOptions(Options):
    """Of a move; each is the option of that name on the command line."""

    move_folder: bool = False
    only: bool = False
    settings: bool = False
    desktop: bool = False
    skip_path_check: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoOptions(Options):
    """Of an undo."""


Kind = TypeVar("Kind", bound=Options)


def checked(kind: type[Kind], wanted: Mapping[str, Any]) -> Kind:
    """Options from names and values; UsageError for a name that is none of them."""
    names = [field.name for field in fields(kind)]
    for name in wanted:
        if name not in names:
            raise UsageError(
                f"there is no option {name}",
                _names(kind),
            )
    return kind(**wanted)


def _names(kind: type[Options]) -> Hint:
    return Hint(f"options: {', '.join(field.name for field in fields(kind))}")
