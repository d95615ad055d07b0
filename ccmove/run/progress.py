"""The record of progress: how many operations of a run are done, or left to undo.

`ccmove/run/progress` gets a line after each operation, which is on disk before the next
one begins. So at most one operation is in doubt:

- `+n`: n are done, and the next one may be done or not.
- `-n`: the run is rolled back, n are left, and the last of them may be undone or not.

A run makes the record empty when it begins, and writes `+0` at its commit point: as
long as the record is empty no operation has begun. A line counts only with its newline.
What was cut off by a crash is marked with a `?` before anything is added.
"""

import os
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.reading import read_document
from ccmove.errors import RefusedError
from ccmove.hints import look_at
from ccmove.run import disk

NAME = "progress"
VOID = b"?"  # at the end of a line that was cut off
LINE = re.compile(rb"([+-])([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Reached:
    """What the last line of a record says."""

    done: int = 0  # operations, or what is left of them on the way back
    goes_back: bool = False
    has_begun: bool = True  # False while the record is empty


def make(run_dir: Path) -> None:
    """The record of a run that begins; its name is flushed by whoever begins it."""
    disk.write_new(run_dir / NAME, [])


def read(run_dir: Path, operations: int) -> Reached:
    """How far a run of so many operations came.

    RefusedError when its record is gone, or is not one that a run writes.
    """
    path = run_dir / NAME
    document = read_document(path)
    if document is None:
        raise RefusedError(f"{path} is gone", look_at(run_dir))
    *lines, _torn = document.data.split(b"\n")
    reached = Reached(has_begun=False)
    for line in lines:
        if line.endswith(VOID):
            continue
        parts = LINE.fullmatch(line)
        if parts is None or int(parts[2]) > operations:
            text = line.decode("utf-8", "backslashreplace")
            what = f"{path} has a line that no run writes: {text:.40}"
            raise RefusedError(what, look_at(path))
        reached = Reached(int(parts[2]), goes_back=parts[1] == b"-")
    return reached


class Record(AbstractContextManager["Record"]):
    """The record of a run, open to add lines to it."""

    def __init__(self, run_dir: Path) -> None:
        self._path = run_dir / NAME
        self._fd = -1

    def __enter__(self) -> "Record":
        """Open it; a line that was cut off must not become another one."""
        document = read_document(self._path)
        self._fd = disk.open_record(self._path)
        if document is not None and document.data.rpartition(b"\n")[2]:
            disk.add_line(self._fd, VOID + b"\n")
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def done(self, number: int) -> None:
        """So many operations are done."""
        disk.add_line(self._fd, b"+%d\n" % number)

    def left(self, number: int) -> None:
        """On the way back so many operations are left."""
        disk.add_line(self._fd, b"-%d\n" % number)
