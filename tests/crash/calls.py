"""System calls as strace records them, and which of them are points to kill or fail at."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

# All that can change a file, a directory or a lock. Names that this machine's kernel
# does not have are passed over by strace, because each is asked for as `?name`.
MUTATING = (
    "open", "openat", "openat2", "creat", "write", "writev", "pwrite64", "pwritev", "pwritev2",
    "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "mkdir", "mkdirat",
    "mknod", "mknodat", "rmdir", "unlink", "unlinkat", "fsync", "fdatasync", "sync", "syncfs",
    "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "fchownat", "lchown", "utime",
    "utimes", "utimensat", "futimesat", "truncate", "ftruncate", "fallocate", "copy_file_range",
    "sendfile", "splice", "flock", "setxattr", "lsetxattr", "fsetxattr", "removexattr",
    "lremovexattr", "fremovexattr",
)  # fmt: skip
OPENING = ("open", "openat", "openat2", "creat")
TRACE_MUTATING = "trace=" + ",".join(f"?{name}" for name in MUTATING)

_LINE = re.compile(r"^(\d+)\s+(\w+)\((.*)$")
_RESUMED = re.compile(r"^(\d+)\s+<\.\.\. (\w+) resumed>(.*)$")
_RESULT = re.compile(r"\)\s+= (-?\d+|\?)(.*)$")
_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")
_MARK = re.compile(r"(\.ccmove-)\d+\b(?!T)")
# With -y strace names what a descriptor stands for: 4</a/directory>.
_DESCRIPTOR = re.compile(r"\d+<([^>]*)>")
_PATH = re.compile(r'(?:(?:\d+|AT_FDCWD)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
_BY_DESCRIPTOR = (
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev",
    "pwritev2", "fsync", "fdatasync", "fchmod", "fchown", "ftruncate", "fallocate", "flock",
)  # fmt: skip


@dataclass(frozen=True)
class Call:
    """One system call: who made it, its arguments as strace prints them, and how it
    ended.
    """

    thread: int
    name: str
    arguments: str
    result: str  # the number that it returned, "?" when it never did
    injected: bool = False

    @property
    def failed(self) -> bool:
        return self.result.startswith("-")

    @property
    def paths(self) -> tuple[str, ...]:
        """The absolute paths that it is about: from where and to where, or just one."""
        # What follows a descriptor may be data that looks like anything.
        pairs = [] if self.name in _BY_DESCRIPTOR else _PATH.findall(self.arguments)
        if not pairs and (found := _DESCRIPTOR.match(self.arguments)):
            return (found[1],)
        if self.name == "readlink":
            del pairs[1:]  # the second is what it found
        return tuple(os.path.join(base or "/", name) for base, name in pairs)

    @property
    def where(self) -> str:
        """Its name and paths, the same from run to run."""
        return alike(" ".join([self.name, *self.paths]))

    @property
    def changes_something(self) -> bool:
        if self.name not in MUTATING:
            return False
        if self.name in OPENING:
            return any(flag in self.arguments for flag in ("O_CREAT", "O_TRUNC"))
        return True


@dataclass(frozen=True)
class Point:
    """The `number`-th call of this name in the main thread, as strace's `when=` counts."""

    name: str
    number: int
    where: str
    ordinal: int = (
        0  # as which change of `run.disk` it comes; 0 when it is not made there
    )

    @property
    def renames(self) -> bool:
        return self.name.startswith("rename")

    @property
    def commits(self) -> bool:
        """Whether it is the manifest that gets its name, or the run's directory as a
        backup.
        """
        ends = ("/run/manifest.json", "/backups/ID")
        return self.renames and self.where.endswith(ends)

    def inject(self, what: str) -> list[str]:
        """Options with which strace does `what` at this point, recording calls of this
        name.
        """
        return [
            *("-y", "-e", f"trace={self.name}"),
            *("-e", f"inject={self.name}:{what}:when={self.number}"),
        ]


def parse(trace: str) -> Iterator[Call]:
    """The calls of a trace in the order in which they were made."""
    waiting: dict[int, tuple[str, str]] = {}
    for line in trace.splitlines():
        if found := _RESUMED.match(line):
            thread = int(found[1])
            if thread in waiting:
                name, start = waiting.pop(thread)
                yield _call(thread, name, start + found[3])
        elif found := _LINE.match(line):
            thread, name, rest = int(found[1]), found[2], found[3]
            if rest.endswith("<unfinished ...>"):
                waiting[thread] = (name, rest.removesuffix("<unfinished ...>"))
            else:
                yield _call(thread, name, rest)
    for thread, (name, start) in waiting.items():  # it never came back
        yield Call(thread, name, start, "?")


def _call(thread: int, name: str, rest: str) -> Call:
    found = _RESULT.search(rest)
    if found is None:
        return Call(thread, name, rest, "?")
    return Call(thread, name, rest[: found.start()], found[1], "(INJECTED)" in found[2])


def alike(text: str) -> str:
    """What a call is about, without what is different in each run."""
    return _MARK.sub(r"\1MARK", _ID.sub("ID", text))


def is_output(point: Point) -> bool:
    """Whether a call writes what people read."""
    return point.where.endswith(("/out", "/err")) and point.name == "write"


def points(trace: str) -> list[Point]:
    """Every call of a run that changes something, in order."""
    found: list[Point] = []
    ordinal = 0
    for point, call in _numbered(trace):
        if point is not None and call.changes_something:
            by_disk = point.name != "flock" and not is_output(point)
            ordinal += by_disk
            found.append(replace(point, ordinal=ordinal if by_disk else 0))
        # strace counts each thread apart: a change by another one would go untested.
        assert point is not None or not call.changes_something, (
            f"not by the main thread: {call}"
        )
    return found


def reading_points(trace: str) -> list[Point]:
    """Every call about a file that changes nothing, once the plan is made and our lock
    taken.

    Before that, what can't be read is left out of the plan, and said to be.
    """
    numbered = list(_numbered(trace))
    locked = next(i for i, (_, call) in enumerate(numbered) if call.name == "flock")
    return [
        point
        for point, call in numbered[locked:]
        if point is not None and call.paths and not call.changes_something
        # The bytes of the one may look like a path; the other has one only when it
        # succeeds.
        if call.name not in ("getrandom", "getcwd")
    ]


def _numbered(trace: str) -> Iterator[tuple[Point | None, Call]]:
    """The calls of a trace, those of the main thread as points."""
    counts: Counter[str] = Counter()
    main = None
    for call in parse(trace):
        main = main or call.thread
        if call.thread != main:
            yield None, call
            continue
        counts[call.name] += 1
        yield Point(call.name, counts[call.name], call.where), call
