"""Every way a run can end other than well; each class carries its exit code and JSON status."""

from __future__ import annotations

import os

from ccmove import shell
from ccmove.lighttyping import Self


class CcmoveError(Exception):
    """A run that failed and left everything as it was."""

    exit_code = 1
    status = "failed"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: tuple[str, ...] = ()

    def with_details(self, lines: list[str] | tuple[str, ...]) -> Self:
        """The same error, with lines that are shown below the message."""
        self.details = tuple(lines)
        return self


class UsageError(CcmoveError):
    """The command line makes no sense."""

    exit_code = 2


class NothingKnownError(CcmoveError):
    """There is nothing to do: no state is known for the path, or no backup to restore."""

    exit_code = 3
    status = "nothing"


class RefusedError(CcmoveError):
    """A decision or another process is in the way; nothing was done."""

    exit_code = 4
    status = "refused"


class LinkError(RefusedError):
    """A symbolic link stands where the state should hold something itself."""

    def __init__(self, path: object) -> None:
        look = shell.join(["ls", "-ld", str(path)])
        super().__init__(f"{path} is a symbolic link", f"look at it: {look}")


class UnsettledError(CcmoveError):
    """A run was interrupted and could not be put back; the journal is still there."""

    exit_code = 5


class StaleLookError(CcmoveError):
    """What was planned is no longer what is on disk; look and plan again."""


def describe(error: OSError) -> str:
    """An OSError as one plain line: the file and what the system said of it."""
    name = error.filename2 or error.filename
    where = f"{os.fsdecode(name)}: " if isinstance(name, (str, bytes)) else ""
    return f"{where}{error.strerror or error}"
