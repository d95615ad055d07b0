"""Is Claude Code running there? Told from `$C/sessions/<pid>.json`
and from the process table.

What the records mean was seen with 2.1.325 and later on Linux, with the Windows client
under Wine, and for macOS read in its program: docs/claude-state.md, docs/windows.md.
"""

import contextlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from os.path import basename
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import names_in, read_document
from ccmove.errors import CcmoveError, LinkError
from ccmove.rewrite.pathmap import client_spelling, tail_below
from ccmove.system import WINDOWS

HAS_PROC = not WINDOWS and os.path.exists("/proc/self/stat")
# What a look at a process raises that ended meanwhile, or is another user's.
_CLOSED: tuple[type[Exception], ...] = (OSError,)
if not HAS_PROC:
    import psutil

    _CLOSED = (OSError, psutil.Error)
# Of /proc/<pid>/stat: the name, which may hold anything, and the start; a zombie has
# ended.
_STAT = re.compile(r"\d+ \((.*)\) [^ZX] (?:\S+ ){18}(\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Process:
    """One that runs; it may be another one than that which had its pid before."""

    name: str
    started: str | float  # as /proc says, or in seconds

    def began_at(self, noted: object) -> bool:
        """Whether a record's `procStart` is its start; what is not said may be."""
        if isinstance(self.started, str):
            return str(noted or "") in ("", self.started)
        seconds = noted_start(str(noted))
        if seconds is None:
            return True
        return abs(self.started - seconds) < 2


Processes = dict[int, Process]  # by pid


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A running client and the folder it works in;
    one elsewhere may have ended unseen.
    """

    pid: int
    folder: str
    session: str | None = None
    # When its record was written, where the pid is none of this machine's.
    last_written: float | None = None

    @property
    def is_elsewhere(self) -> bool:
        """On another machine or in another container:
        whether it still runs can't be checked.
        """
        return self.last_written is not None

    def is_in(self, folders: list[str]) -> bool:
        return any(tail_below(self.folder, base) is not None for base in folders)


def live_sessions(layout: Layout, folders: list[str]) -> list[LiveSession]:
    """Clients that run, or may run elsewhere, in one of `folders` or below one."""
    processes = _processes()
    sessions: dict[tuple[int, bool], LiveSession] = {}
    for session in (*_registered(layout, processes), *_unregistered(processes)):
        if session.is_in(folders):  # a pid elsewhere is another process
            sessions.setdefault((session.pid, session.is_elsewhere), session)
    return list(sessions.values())


def running_sessions(layout: Layout) -> list[LiveSession]:
    """Every session that is running, or may be elsewhere, as far as its ID is known."""
    return list(_registered(layout, _processes()))


def daemon_is_running(layout: Layout) -> bool:
    """Whether the client's background daemon owns its job files right now."""
    return _is_alive(_record(layout.daemon_lock), _processes())


def is_running(pid: int) -> bool:
    """Whether there is such a process here."""
    return pid in _processes()


def desktop_app_is_running() -> bool:
    """Whether the desktop app runs: it rewrites its files from memory."""
    names = {process.name for process in _processes().values()}
    return not names.isdisjoint(("claude-desktop", "Claude", "Claude.exe"))


def _registered(layout: Layout, processes: Processes) -> Iterator[LiveSession]:
    """A record is a session if its process runs here, or can't be checked from here.

    Of another machine or container a pid says nothing, be there such a process here or
    not: clients since about 2.1.250 note their pid domain (docs/claude-state.md).
    """
    here = _pid_domain()
    for name in names_in(layout.sessions):
        if not name.removesuffix(".json").isdigit():
            continue  # beside a session's file there are others, as <pid>.<hex>.key
        file = layout.sessions / name
        record = _record(file)
        pid = record.get("pid")
        folder = record.get("cwd")
        if not isinstance(pid, int) or not isinstance(folder, str):
            continue
        named = record.get("sessionId")
        session = named if isinstance(named, str) else None
        domain = record.get("pidDomain")
        if isinstance(domain, str) and domain != here:
            with contextlib.suppress(FileNotFoundError):  # it has just ended
                written = os.lstat(file).st_mtime
                yield LiveSession(pid, folder, session, written)
        elif _is_alive(record, processes):
            yield LiveSession(pid, folder, session)


def _record(path: Path) -> dict[str, object]:
    """What the client wrote there; nothing for anything that it can't have written."""
    try:
        document = read_document(path)
        record = json.loads(document.data) if document is not None else None
    except LinkError:
        raise  # whoever planted it could hide a running session behind it
    except (OSError, CcmoveError, ValueError, RecursionError):
        return {}
    if isinstance(record, dict):
        return record
    return {}


def _is_alive(record: dict[str, object], processes: Processes) -> bool:
    """A process with that pid runs and, where both are known, began at the noted time.

    Pids are used again; Wine gives the same few all the time (docs/windows.md).
    """
    pid = record.get("pid")
    if not isinstance(pid, int):
        return False
    process = processes.get(pid)
    return process is not None and process.began_at(record.get("procStart"))


def noted_start(text: str) -> float | None:
    """`procStart` in seconds: on Windows 100 ns from 1601, on macOS `ps -o lstart` in
    UTC; None for anything else.
    """
    with contextlib.suppress(ValueError):
        if not text.isdigit():
            when = datetime.strptime(f"{text} +0000", "%a %b %d %H:%M:%S %Y %z")
            return when.timestamp()
        if int(text) < 3 * 10**17:  # the client, too, takes more for another count
            return int(text) / 10**7 - 11_644_473_600
    return None


def _unregistered(processes: Processes) -> Iterator[LiveSession]:
    """A process of the client counts by its folder: 2.1.23 registers nowhere
    (docs/claude-state.md).
    """
    for pid, process in processes.items():
        if process.name.removesuffix(".exe") not in ("claude", "node"):
            continue
        with contextlib.suppress(*_CLOSED):
            if _is_claude(*_first_words(pid)):
                yield LiveSession(pid, client_spelling(_folder(pid)))


def _is_claude(program: str, *words: str) -> bool:
    """A program named claude is the client, and node with the client's script.

    From about 2.1.113 on it is a program of its own; 2.1.92 and older run with node,
    whose options may stand before the script.
    """
    name = basename(program).removesuffix(".exe")
    if name != "node":
        return name == "claude"
    for script in words:
        if not script.startswith("-"):
            return basename(script) == "claude" or "claude-code" in script
    return False


def _pid_domain() -> str:
    """Where a pid of this process means something,
    spelled as the client does in its records.
    """
    if WINDOWS:
        import socket

        return f"win32:{socket.gethostname().lower()}"
    if not HAS_PROC:
        return "darwin"
    machine = namespace = ""  # a system may have neither
    with contextlib.suppress(OSError):
        machine = Path("/etc/machine-id").read_text("utf-8", "replace").strip()
    with contextlib.suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")
    return f"linux:{machine}:{namespace}"


def _processes() -> Processes:
    """Every process that is seen from here; a zombie has ended."""
    return dict(_of_proc() if HAS_PROC else _of_psutil())


def _of_proc() -> Iterator[tuple[int, Process]]:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            stat = _STAT.match(_content(pid, "stat"))
            if stat is not None:
                name, started = stat.groups()
                yield int(pid), Process(name, started)


def _of_psutil() -> Iterator[tuple[int, Process]]:
    for process in psutil.process_iter():
        with contextlib.suppress(*_CLOSED):
            if process.status() != psutil.STATUS_ZOMBIE:
                name = basename(_first_words(process.pid)[0])
                yield process.pid, Process(name, process.create_time())


def _first_words(pid: int) -> list[str]:
    """How a process was started; nothing for another user's, or with more rights."""
    if HAS_PROC:
        words = _content(pid, "cmdline").split("\0")
    else:
        try:
            words = psutil.Process(pid).cmdline()
        except psutil.AccessDenied:
            words = []
    return [word.strip() for word in words] or [""]


def _folder(pid: int) -> str:
    """Where a process works; the kernel marks a folder that was removed."""
    if not HAS_PROC:
        return psutil.Process(pid).cwd()
    folder = os.readlink(f"/proc/{pid}/cwd")
    if os.path.isdir(folder):
        return folder
    return folder.removesuffix(" (deleted)")


def _content(pid: object, name: str) -> str:
    with open(f"/proc/{pid}/{name}", "rb") as file:
        return os.fsdecode(file.read(1 << 16))
