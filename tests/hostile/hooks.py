"""Runs ccmove with something that happens between two of its system calls.

Python announces each call that opens, renames, makes or removes something before it
makes it. A hook that acts then is the worst case of a racing process: it always wins
the gap between a check and the use of what was checked. The fork server installs a hook
in a child that it runs.
"""

import errno
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path

Event = Callable[[str, tuple[object, ...]], None]

CALLS = {
    "open", "os.chmod", "os.chown", "os.link", "os.listdir", "os.mkdir", "os.remove", "os.rename",
    "os.rmdir", "os.scandir", "os.symlink", "os.truncate", "os.utime", "ctypes.dlsym",
}  # fmt: skip


def changes_something(name: str, args: tuple[object, ...]) -> bool:
    """Whether a call may change the disk; a rename that never replaces is looked up by
    ctypes.
    """
    if name == "open":
        return isinstance(args[2], int) and bool(
            args[2] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR)
        )
    return name not in ("os.listdir", "os.scandir")


def note(record: str) -> Event:
    """Write down every call: its name, what it is about, and whether it may change
    something.
    """
    fd = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

    def write(name: str, args: tuple[object, ...]) -> None:
        call = (name, [str(arg) for arg in args], changes_something(name, args))
        os.write(fd, json.dumps(call).encode() + b"\n")

    return write


def watch_modes(own: str, record: str) -> Event:
    """Write down whatever below `own` is open to others at any moment.

    But for a saved file that is a second name of a live one: it has that one's mode,
    and keeps it until the run ends, in a directory that is closed.
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


def at(number: str, action: Callable[[], None], lock: str = "") -> Event:
    """Do something once, before the call number `number`.

    While somebody holds the lock, a client waits; so it happens before a later call
    then.
    """
    left, done = int(number), False

    def wait(_: str, __: tuple[object, ...]) -> None:
        nonlocal left, done
        left -= 1
        if left <= 0 and not done and not (lock and os.path.lexists(lock)):
            done = True
            action()

    return wait


def fill(number: str, where: str, spare: str = "0") -> Event:
    """Use up every byte of the file system, but for some to `spare`."""
    return at(number, lambda: use_up_bytes(where, int(spare)))


def use_up_bytes(where: str, spare: int = 0) -> None:
    os.makedirs(where, exist_ok=True)
    fd = os.open(os.path.join(where, "filler"), os.O_WRONLY | os.O_CREAT)
    for size in (1 << 20, 1 << 12, 1):
        try:
            while True:
                os.write(fd, b"\0" * size)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    if spare:
        os.truncate(fd, os.fstat(fd).st_size - spare)
    os.close(fd)


def exhaust(number: str, where: str, spare: str = "0") -> Event:
    """Use up every file that the file system can hold, but for some to `spare`."""
    return at(number, lambda: use_up_files(where, int(spare)))


def use_up_files(where: str, spare: int = 0) -> None:
    os.makedirs(where, exist_ok=True)
    made: list[str] = []
    try:
        while True:
            name = os.path.join(where, f"filler{len(made)}")
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT))
            made.append(name)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    for name in made[:spare]:
        os.unlink(name)


def plant(word: str, directory: str, target: str, fired: str) -> Event:
    """Put a link in `directory` under the very name that is about to be made; note it
    down.
    """

    def wait(_: str, args: tuple[object, ...]) -> None:
        names = [arg for arg in args if isinstance(arg, str) and word in arg]
        if names and not os.path.exists(fired):
            path = os.path.join(directory, os.path.basename(names[0]))
            os.symlink(target, path)
            Path(fired).write_text(path)

    return wait


def swap(number: str, path: str, copy: str) -> Event:
    """Put a directory away, and a link to a copy of it in its place."""

    def put_a_link() -> None:
        os.rename(path, f"{path}.away")
        os.symlink(copy, path)

    return at(number, put_a_link)


def append(number: str, lock: str, text: str, *paths: str) -> Event:
    """Another process writes on, wherever the file is by then."""

    def write(path: str) -> None:
        with open(path, "a") as file:
            file.write(text)

    return to_the_first(number, lock, paths, write)


def edit(number: str, lock: str, old: str, new: str, *paths: str) -> Event:
    """Another process puts a new version of a file in its place."""

    def put(path: str) -> None:
        text = Path(path).read_text()
        Path(f"{path}.theirs").write_text(text.replace(old, new))
        shutil.copystat(path, f"{path}.theirs")
        os.rename(f"{path}.theirs", path)

    return to_the_first(number, lock, paths, put)


def appear(number: str, path: str, text: str) -> Event:
    """Another process makes a file, with the directories that it is in."""

    def make() -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_text(text)

    return at(number, make)


def vanish(number: str, away: str, *paths: str) -> Event:
    """Another process takes a thing away, wherever it is by then, and notes from where."""

    def take(path: str) -> None:
        os.rename(path, away)
        Path(f"{away}-from").write_text(path)

    return to_the_first(number, "", paths, take)


def to_the_first(
    number: str, lock: str, paths: tuple[str, ...], action: Callable[[str], None]
) -> Event:
    """Do something once to the first of the paths that is there, before call number
    `number`.
    """

    def act() -> None:
        for path in filter(os.path.lexists, paths):
            action(path)
            return

    return at(number, act, lock)


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
    for function in (
        note,
        watch_modes,
        fill,
        exhaust,
        plant,
        swap,
        append,
        appear,
        edit,
        vanish,
    )
}
