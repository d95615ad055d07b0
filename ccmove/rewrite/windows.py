"""Paths of Windows: how they are told from others, compared and spelled."""

import re

_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\|//[^/]|(?:~|\$HOME|\$\{HOME\})\\")


def is_windows(path: str) -> bool:
    """Whether `path` is spelled the Windows way (`C:\\x`,
    `C:/x`, `\\\\server\\share`).
    """
    return _WINDOWS.match(path) is not None


def native(path: str) -> str:
    """A path of Windows with its own separators:
    the keys of the config file have others.
    """
    if is_windows(path):
        return path.replace("/", "\\")
    return path


def slashed(path: str) -> str:
    """A path of Windows with the separators of the others."""
    if is_windows(path):
        return path.replace("\\", "/")
    return path


def in_bash(path: str) -> str:
    """A path of Windows as Git's bash and the client's rules have it:
    `/c/work/x`, `~/x`.
    """
    path = slashed(path)
    if path[1:3] != ":/":
        return path
    drive = path[0].lower()
    return f"/{drive}{path[2:]}"


def compared(path: str) -> str:
    """A path as it is compared: on Windows neither case nor the slash counts."""
    if is_windows(path):
        return native(path).lower()
    return path
