"""Keeps the tests away from the real home's Claude Code state.

`install` adds an audit hook: Python announces every open, listing, rename and so on
before it makes the system call, and the hook raises when one names the real `~/.claude`
or `~/.claude.json`. The real home comes from the password database, because the tests
themselves point $HOME elsewhere.

Limits: `os.stat` is not announced (and changes nothing); a path is compared as written,
without following symlinks; a child process is not covered, it gets a throw-away HOME
instead.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

if sys.platform == "win32":
    REAL_HOME = Path(
        os.environ["USERPROFILE"]
    )  # as it is before any test points it elsewhere
else:
    import pwd

    REAL_HOME = Path(pwd.getpwuid(os.getuid()).pw_dir)

# Events whose first argument is a path, and those whose first two are.
_OF_ONE_PATH = {
    "open", "os.chdir", "os.chmod", "os.chown", "os.getxattr", "os.listdir", "os.listxattr",
    "os.mkdir", "os.remove", "os.removexattr", "os.rmdir", "os.scandir", "os.setxattr",
    "os.truncate", "os.utime", "shutil.rmtree",
}  # fmt: skip
_OF_TWO_PATHS = {"os.link", "os.rename", "os.symlink", "shutil.copytree"}


class RealHomeTouchedError(BaseException):
    """A test reached for the real home. No Exception, so that no handler in ccmove
    hides it.
    """


def guarded_roots() -> list[str]:
    """The real `.claude` and `.claude.json`, under the home's name and under its real
    path.
    """
    homes = {str(REAL_HOME), os.path.realpath(REAL_HOME)}
    return sorted(
        str(Path(home, name)) for home in homes for name in (".claude", ".claude.json")
    )


def is_guarded(path: object, roots: Iterable[str]) -> bool:
    """True when `path` is one of `roots` or is below one; an open file's number never
    is.
    """
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    absolute = os.path.abspath(os.fsdecode(path))
    # `.claude.json.lock` and `.claude.json.tmp.*` belong to the config file.
    return any(
        absolute == root or absolute.startswith((root + os.sep, root + "."))
        for root in roots
    )


def install() -> None:
    """From now on, for the rest of this process, reaching for the real state raises."""
    roots = guarded_roots()

    def refuse_real_home(event: str, args: tuple[object, ...]) -> None:
        paths = 2 if event in _OF_TWO_PATHS else event in _OF_ONE_PATH
        for path in args[:paths]:
            if is_guarded(path, roots):
                raise RealHomeTouchedError(f"{event} of the real {path!r}")

    sys.addaudithook(refuse_real_home)


# Two that the client writes, and the one that only ccmove would make.
WATCHED = (".claude.json", ".claude", ".claude/ccmove")


def fingerprint() -> dict[str, tuple[int, int] | None]:
    """Inode and mtime of the real home's state: names and contents are not looked at."""
    return {name: _inode_and_mtime(REAL_HOME / name) for name in WATCHED}


def _inode_and_mtime(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
