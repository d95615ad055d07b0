"""Keeps the tests away from the real home's Claude Code state.

`install` adds an audit hook: Python announces every open, listing, rename and so on before it
makes the system call, and the hook raises when one names the real `~/.claude` or `~/.claude.json`.
The real home comes from the password database, because the tests themselves point $HOME elsewhere.

Limits: `os.stat` is not announced (and changes nothing); a path is compared as written, without
following symlinks; a child process is not covered, it gets a throw-away HOME instead.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

if sys.platform == "win32":
    REAL_HOME = Path(os.environ["USERPROFILE"])  # as it is before any test points it elsewhere
else:
    import pwd

    REAL_HOME = Path(pwd.getpwuid(os.getuid()).pw_dir)

# Event -> the positions of the paths among its arguments.
_GUARDED_EVENTS: dict[str, tuple[int, ...]] = {
    "open": (0,),
    "os.chdir": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.getxattr": (0,),
    "os.link": (0, 1),
    "os.listdir": (0,),
    "os.listxattr": (0,),
    "os.mkdir": (0,),
    "os.remove": (0,),
    "os.removexattr": (0,),
    "os.rename": (0, 1),
    "os.rmdir": (0,),
    "os.scandir": (0,),
    "os.setxattr": (0,),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.utime": (0,),
    "shutil.copytree": (0, 1),
    "shutil.rmtree": (0,),
}


class RealHomeTouchedError(BaseException):
    """A test reached for the real home. No Exception, so that no handler in ccmove hides it."""


def guarded_roots() -> list[str]:
    """The real `.claude` and `.claude.json`, under the home's name and under its real path."""
    homes = {str(REAL_HOME), os.path.realpath(REAL_HOME)}
    return sorted(str(Path(home, name)) for home in homes for name in (".claude", ".claude.json"))


def is_guarded(path: object, roots: Iterable[str]) -> bool:
    """True when `path` is one of `roots` or is below one; an open file's number never is."""
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    absolute = os.path.abspath(os.fsdecode(path))
    # `.claude.json.lock` and `.claude.json.tmp.*` belong to the config file.
    return any(
        absolute == root or absolute.startswith((root + os.sep, root + ".")) for root in roots
    )


def install() -> None:
    """From now on, for the rest of this process, reaching for the real state raises."""
    roots = guarded_roots()

    def refuse_real_home(event: str, args: tuple[object, ...]) -> None:
        for position in _GUARDED_EVENTS.get(event, ()):
            if is_guarded(args[position], roots):
                raise RealHomeTouchedError(f"{event} of the real {args[position]!r}")

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
