"""Every way to end badly, with its exit code and JSON status, and a hint what to do
next.
"""

import errno
import os
from collections.abc import Iterable

from ccmove.hints import Hint, again, look_at, to_type


class CcmoveError(Exception):
    """A run that failed and left everything as it was, unless its class says else."""

    exit_code = 1
    status = "failed"
    usual = again("fix that and try again")  # to be said when there is no better hint
    # What was done about an interrupted run before this went wrong, in words.
    rolled_back: str | None = None

    def __init__(
        self, message: str, *hints: Hint | str | None, details: Iterable[str] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hints = tuple(Hint(h) if isinstance(h, str) else h for h in hints if h)
        self.details = tuple(details)  # lines that are shown below the message


class UsageError(CcmoveError):
    """The command line makes no sense."""

    exit_code = 2
    usual = to_type("ccmove", "--help")


class NothingKnownError(CcmoveError):
    """There is nothing to do: no state is known for the path,
    or no run to undo.
    """

    exit_code = 3
    status = "nothing"


class RefusedError(CcmoveError):
    """A decision or another process is in the way; nothing was done."""

    exit_code = 4
    status = "refused"


class LinkError(RefusedError):
    """A symbolic link stands where the state should hold something itself."""

    def __init__(self, path: object) -> None:
        super().__init__(
            f"{path} is a symbolic link",
            look_at(path),
            "put what it points to in its place, or link ~/.claude as a whole: of "
            "what is in it "
            "only projects and settings.json may be links",
        )


class ArchiveError(CcmoveError):
    """What is to be unpacked is not, or no longer, what `ccmove pack` made."""

    usual = to_type("ccmove", "pack", "-h", text="pack it again on the other machine")


class UnfinishedRunError(CcmoveError):
    """A run was interrupted and is not rolled back, be it that it could not be, or that
    a preview may not; all that is needed for it is kept.
    """

    exit_code = 5
    usual = to_type("ccmove", "recover")


class InterruptedRunError(CcmoveError):
    """Ctrl-C, or the system asked us to end; everything is as it was."""

    exit_code = 130
    usual = again("try again")


class StaleLookError(CcmoveError):
    """What was planned is no longer what is on disk; look and plan again."""

    usual = again("everything is as it was; try again")


def describe(error: Exception) -> str:
    """An error as one plain line;
    of an OSError the file and what the system said of it.
    """
    if not isinstance(error, OSError):
        return str(error)
    path = _path_of(error)
    what = error.strerror or str(error)
    if path:
        return f"{path}: {what}"
    return what


def system_error(error: OSError) -> CcmoveError:
    """What the system refused, on which file, and how to look into it."""
    path = _path_of(error)
    if (
        not path and error.errno == errno.ENOENT
    ):  # only a relative path is looked for without one
        return CcmoveError(
            f"the current folder, {os.environ.get('PWD', '.')}, does not exist any "
            "more",
            to_type("cd", text="type whole paths, or change to a folder that exists"),
        )
    hint = None
    if path:
        hint = look_at(path)
    if path and error.errno == errno.ENOENT:
        folder = os.path.dirname(path) or "."
        hint = to_type("ls", "-l", folder, text="what is there")
    elif path and error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = to_type(
            "df", "-h", path, text="free some space, then try again; what is free"
        )
    return CcmoveError(describe(error), hint)


def _path_of(error: OSError) -> str:
    name = error.filename2 or error.filename
    if isinstance(name, (str, bytes, os.PathLike)):
        return os.fsdecode(name)
    return ""
