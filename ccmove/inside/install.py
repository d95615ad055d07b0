"""Our entry of Claude Code's own settings: added and taken out, in one step each.

That is no run to undo: taking it out is the undo. The settings may be a link, which
stays one. A file that we made goes again if it holds nothing else.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import read_document
from ccmove.claude.retention import settings_file
from ccmove.errors import NothingKnownError, RefusedError
from ccmove.hints import again
from ccmove.inside import entry
from ccmove.inside.entry import NEW_FILE, OddShapeError
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.run import disk
from ccmove.run.locks import ccmove_lock
from ccmove.run.preflight import refuse_foreign_state
from ccmove.run.signals import interrupts_ignored
from ccmove.text import as_bytes, as_text

# Beside the settings, only ever made by us and under our lock: one that is there was
# left by a call that was killed.
STAGED = ".ccmove-hook"
MADE = NEW_FILE + "\n"  # a file that was not there


@dataclass(frozen=True, slots=True)
class HookSetting:
    """What the settings say of the hook, now that a call of ours is done."""

    file: str
    is_installed: bool
    has_changed: bool
    plugins: tuple[str, ...] = ()  # of ours that are enabled: they have the same hook


def install(layout: Layout) -> HookSetting:
    """Add the entry, unless something runs the hook already."""
    look = _look(layout)
    with _refusing(look.file):
        plugins = entry.enabled_plugins(look.text)
        is_there = entry.has_hook(look.text)
        after = look.text
        if not is_there:
            after = entry.with_entry(look.text)
    if look.data is None:
        after = MADE
    if not is_there:
        _replace(layout, look, after)
    return HookSetting(str(look.file), True, not is_there, tuple(plugins))


def remove(layout: Layout) -> HookSetting:
    """Take the entry out, if it is there."""
    look = _look(layout)
    with _refusing(look.file):
        plugins = entry.enabled_plugins(look.text)
        is_there = entry.has_entry(look.text)
        after = None
        if is_there and look.text != MADE:
            after = entry.without_entry(look.text)
        elif not is_there:
            entry.refuse_others(look.text)
    if is_there:
        _replace(layout, look, after)
    return HookSetting(str(look.file), False, is_there, tuple(plugins))


@dataclass(frozen=True, slots=True)
class Look:
    """The settings as they were read, behind the link if they are one."""

    file: Path
    data: bytes | None  # None where there is no such file

    @property
    def text(self) -> str:
        return as_text(self.data or b"")


def _look(layout: Layout) -> Look:
    if not layout.config_dir.is_dir():
        raise NothingKnownError(
            f"{layout.config_dir} does not exist: Claude Code has no data there",
            "name the right one with --config-dir DIR",
        )
    file = Path(os.path.realpath(settings_file(layout)))
    document = read_document(file)
    return Look(file, None if document is None else document.data)


@contextlib.contextmanager
def _refusing(file: Path) -> Iterator[None]:
    """Settings that are broken, or not as we know them, are not touched."""
    try:
        yield
    except NotJsonError as error:
        what = f"{file} is not valid JSON ({error}); it was not changed"
        raise RefusedError(what, again("correct it, then")) from None
    except OddShapeError as error:
        what = f"{file}: {error}; it was not changed"
        raise RefusedError(what, again("change that by hand, then")) from None


def _replace(layout: Layout, look: Look, after: str | None) -> None:
    """Put a text in the place of what was read; None removes the file."""
    refuse_foreign_state(layout)
    data = None
    if after is not None:
        data = as_bytes(after)
    with ccmove_lock(layout), interrupts_ignored():
        if _look(layout) != look:
            raise RefusedError(f"{look.file} was changed meanwhile", again("try again"))
        try:
            _put(look, data)
        except OSError:
            if _look(layout).data != data:
                raise
            # Only flushing failed: after a power cut it may be as it was before.


def _put(look: Look, data: bytes | None) -> None:
    staged = look.file.with_name(STAGED)
    disk.remove_file(staged, flushed=False)
    if data is None:
        disk.remove_file(look.file)
        return
    try:
        _write(staged, look, data)
    except OSError:
        disk.remove_file(staged, flushed=False)
        raise


def _write(staged: Path, look: Look, data: bytes) -> None:
    """Beside it first; a file that came meanwhile is not replaced."""
    attributes = None
    if look.data is not None:
        status = os.stat(look.file)
        attributes = disk.Attributes.of(status)
    disk.write_new(staged, [data], attributes)
    if attributes is None:
        disk.rename_new(staged, look.file)
    else:
        disk.replace(staged, look.file)
