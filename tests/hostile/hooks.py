"""Runs ccmove with something that happens between two of its system calls.

Python announces each call that opens, renames, makes or removes something before it makes it. A
hook that acts then is the worst case of a racing process: it always wins the gap between a check
and the use of what was checked.

    python -m tests.hostile.hooks HOOK ARGUMENTS -- CCMOVE-ARGUMENTS
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

Event = Callable[[str, tuple[object, ...]], None]

CALLS = {
    "open", "os.chmod", "os.chown", "os.link", "os.listdir", "os.mkdir", "os.remove", "os.rename",
    "os.rmdir", "os.scandir", "os.symlink", "os.truncate", "os.utime", "ctypes.dlsym",
}  # fmt: skip


def watch_modes(own: str, record: str) -> Event:
    """Write down whatever below `own` is open to others at any moment.

    But for a saved file that is a second name of a live one: it has that one's mode, and keeps
    it until the run ends, in a directory that is closed.
    """
    seen: set[str] = set()
    second_names: set[int] = set()

    def look(_: str, __: tuple[object, ...]) -> None:
        for base, directories, files in os.walk(own):
            for name in (".", *directories, *files):
                path = os.path.join(base, name)
                found = os.lstat(path)
                wanted = 0o700 if stat.S_ISDIR(found.st_mode) else 0o600
                if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
                    second_names.add(found.st_ino)
                open_to_others = stat.S_IMODE(found.st_mode) & ~wanted
                if open_to_others and found.st_ino not in second_names:
                    seen.add(f"{path} {stat.S_IMODE(found.st_mode):o}")
        Path(record).write_text("\n".join(sorted(seen)))

    return look


def at(number: str, word: str, action: Callable[[], None]) -> Event:
    """Do something once, before the call number `number` that names `word`."""
    left = int(number)

    def wait(_: str, args: tuple[object, ...]) -> None:
        nonlocal left
        if left and any(word in str(arg) for arg in args):
            left -= 1
            if not left:
                action()

    return wait


def fill(number: str, word: str, where: str) -> Event:
    """Use up every byte of the file system."""

    def use_up() -> None:
        fd = os.open(os.path.join(where, "filler"), os.O_WRONLY | os.O_CREAT)
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    os.write(fd, b"\0" * size)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
        os.close(fd)

    return at(number, word, use_up)


def exhaust(number: str, word: str, where: str) -> Event:
    """Use up every file that the file system can hold."""

    def use_up() -> None:
        try:
            for name in range(1_000_000):
                os.close(os.open(os.path.join(where, f"filler{name}"), os.O_WRONLY | os.O_CREAT))
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise

    return at(number, word, use_up)


def lead_away(number: str, word: str, path: str, elsewhere: str) -> Event:
    """Move a directory away and put a link to `elsewhere` in its place."""

    def swap() -> None:
        os.rename(path, f"{path}.away")
        os.symlink(elsewhere, path)

    return at(number, word, swap)


def plant(word: str, directory: str, target: str, fired: str) -> Event:
    """Put a link in `directory` under the very name that is about to be made; note it down."""

    def wait(_: str, args: tuple[object, ...]) -> None:
        names = [arg for arg in args if isinstance(arg, str) and word in arg]
        if names and not os.path.exists(fired):
            path = os.path.join(directory, os.path.basename(names[0]))
            os.symlink(target, path)
            Path(fired).write_text(path)

    return wait


def append(number: str, word: str, path: str, text: str) -> Event:
    """Another process writes on."""

    def write() -> None:
        with open(path, "a") as file:
            file.write(text)

    return at(number, word, write)


def vanish(number: str, word: str, path: str) -> Event:
    """Another process takes a thing away."""
    return at(number, word, lambda: os.rename(path, f"{path}.vanished"))


def install(event: Event) -> None:
    """Act on every call from now on, but not on those of the hook itself."""
    busy = False

    def hook(name: str, args: tuple[object, ...]) -> None:
        nonlocal busy
        if busy or name not in CALLS:
            return
        busy = True
        try:
            event(name, args)
        finally:
            busy = False

    sys.addaudithook(hook)


HOOKS: dict[str, Callable[..., Event]] = {
    function.__name__: function
    for function in (watch_modes, fill, exhaust, lead_away, plant, append, vanish)
}


def main() -> None:
    words = sys.argv[1:]
    split = words.index("--")
    from ccmove import cli

    install(HOOKS[words[0]](*words[1:split]))
    sys.argv[1:] = words[split + 1 :]
    cli.main(words[split + 1 :])


if __name__ == "__main__":
    main()
