"""From what was gathered to an archive, in flat memory.

FILE appears when it is complete: it is written beside, under a name of this process,
and renamed. Where a process was killed in between, the next one that packs to the same
FILE removes what is left of it.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from ccmove.claude.live import is_running
from ccmove.claude.reading import Fingerprint, open_history, open_regular
from ccmove.errors import CcmoveError, RefusedError
from ccmove.hints import again
from ccmove.run import disk
from ccmove.run.signals import termination_as_interrupt
from ccmove.transfer.archive import Member, write_archive
from ccmove.transfer.collect import File
from ccmove.transfer.gather import Packing
from ccmove.transfer.prompts import Prompts
from ccmove.transfer.tar import BLOCK

Tick = Callable[[int, int], None]  # bytes so far, and in all
TRY_AGAIN = again("let Claude Code finish what it does there, then try again")


def archive_of(packing: Packing, suffix: str, tick: Tick | None) -> Iterator[bytes]:
    """The bytes of the archive; CcmoveError when a file is no longer what was seen."""
    with ExitStack() as stack:
        read, now = stack.enter_context(open_history(packing.history))
        if not _has_grown(packing.prompts.history, now):
            raise _changed(packing.history)
        total = packing.header.size
        done = 0

        def contents(member: Member) -> Iterator[bytes]:
            nonlocal done
            source = packing.sources[member.name]
            pieces: Iterator[bytes]
            if isinstance(source, File):
                pieces = _read(source)
            elif isinstance(source, Prompts):
                pieces = source.read(read)
            else:
                pieces = iter([source])
            for piece in pieces:
                yield piece
                done += len(piece)
                if tick is not None:
                    tick(done, total)

        yield from write_archive(packing.header, contents, suffix)


def _read(source: File) -> Iterator[bytes]:
    """A file's bytes, up to the size that was noted."""
    try:
        opened = open_regular(source.path)
    except RefusedError:  # a link took its place
        opened = None
    if opened is None:
        raise _changed(source.path)
    with opened as file:
        now = Fingerprint.of(os.fstat(file.fileno()))
        is_same = now == source.found
        if source.only_grows:
            is_same = _has_grown(source.found, now)
        if not is_same:
            raise _changed(source.path)
        left = source.size
        while left:
            piece = file.read(min(BLOCK, left))
            if not piece:
                raise _changed(source.path)
            left -= len(piece)
            yield piece


def _has_grown(then: Fingerprint, now: Fingerprint) -> bool:
    """Whether it is the same file, and not shorter."""
    is_same = (then.inode, then.device) == (now.inode, now.device)
    return is_same and now.size >= then.size


def _changed(path: Path) -> CcmoveError:
    return CcmoveError(f"{path} was changed while it was packed", TRY_AGAIN)


def write_file(target: Path, pieces: Iterator[bytes]) -> int:
    """All of it as this file, or the file as it was; how large it is."""
    _remove_left_over(target)
    staged = target.with_name(f".{target.name}.ccmove-{os.getpid()}")
    with termination_as_interrupt():
        try:
            disk.write_new(staged, pieces)
            size = os.stat(staged).st_size
            disk.replace(staged, target)
        except BaseException as error:
            disk.remove_file(staged)
            if isinstance(error, OSError):
                what = f"could not pack to {target}: {error.strerror or error}"
                raise CcmoveError(what, again("fix that and try again")) from error
            raise
    return size


def _remove_left_over(target: Path) -> None:
    """What processes left that were killed while they packed to this file."""
    name = re.compile(rf"\.{re.escape(target.name)}\.ccmove-([0-9]+)")
    for other in os.listdir(target.parent):
        left = name.fullmatch(other)
        if left and not is_running(int(left[1])):
            disk.remove_file(target.parent / other)
