"""Is Claude Code running there? Told from `$C/sessions/<pid>.json`
and from the process table.
"""

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import names_in, read_document
from ccmove.errors import CcmoveError, LinkError
from ccmove.rewrite.pathmap import client_spelling, tail_below
from ccmove.system import WINDOWS

HAS_PROC = not WINDOWS and os.path.exists("/proc/self/stat")
if not HAS_PROC:
    import psutil
# What a look at a process raises that ended meanwhile, or is another user's.
_CLOSED: tuple[type[Exception], ...] = (
    (OSError,) if HAS_PROC else (OSError, psutil.Error)
)
Processes = Mapping[
    int, tuple[str, str | float]
]  # name and start: as /proc says, or in seconds


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A running client and the folder it works in;
    one elsewhere may have ended unseen.
    """

    pid: int
    folder: str
    session: str | None = None
    last_written: float | None = (
        None  # its record, where the pid is none of this machine's
    )

    @property
    def is_elsewhere(self) -> bool:
        """On another machine or in another container:
        whether it still runs can't be checked.
        """
        return self.last_written is not None


def live_sessions(layout: Layout, folders: list[str]) -> list[LiveSession]:
    """Clients that run, or may run elsewhere, in one of `folders` or below one."""
    processes = _processes()
    found: dict[
        tuple[int, bool], LiveSession
    ] = {}  # a pid elsewhere is another process
    for session in [*_registered(layout, processes), *_unregistered(processes)]:
        key = session.pid, session.is_elsewhere
        if any(tail_below(session.folder, base) is not None for base in folders):
            found.setdefault(key, session)
    return list(found.values())


def daemon_is_running(layout: Layout) -> bool:
    """Whether the client's background daemon owns its job files right now."""
    record = _record(layout.daemon_lock)
    return bool(record) and _is_alive(record, _processes())


def desktop_app_is_running() -> bool:
    """Whether the desktop app runs: it rewrites its files from memory."""
    names = {name for name, _ in _processes().values()}
    return not names.isdisjoint(("claude-desktop", "Claude", "Claude.exe"))


def _registered(layout: Layout, processes: Processes) -> Iterator[LiveSession]:
    here = _pid_domain()
    for name in names_in(layout.sessions):
        if not name.removesuffix(".json").isdigit():
            # beside a session's file there are others, such as <pid>.<hex>.key
            continue
        record = _record(layout.sessions / name)
        pid, folder, session = (
            record.get("pid"),
            record.get("cwd"),
            record.get("sessionId"),
        )
        if not isinstance(pid, int) or not isinstance(folder, str):
            continue
        found = LiveSession(pid, folder, session if isinstance(session, str) else None)
        domain = record.get("pidDomain")
        if isinstance(domain, str) and domain != here:
            with contextlib.suppress(FileNotFoundError):  # it has just ended
                yield replace(
                    found, last_written=os.lstat(layout.sessions / name).st_mtime
                )
        elif _is_alive(record, processes):
            yield found


def _record(path: Path) -> dict[str, object]:
    """What the client wrote there; nothing for anything that it can't have written."""
    try:
        document = read_document(path)
        record = json.loads(document.data) if document is not None else None
    except LinkError:
        raise  # whoever planted it could hide a running session behind it
    except (OSError, CcmoveError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _is_alive(record: dict[str, object], processes: Processes) -> bool:
    """A process with that id runs and, where it is known, started at that very time."""
    pid, noted = record.get("pid"), str(record.get("procStart") or "")
    if type(pid) is not int or pid not in processes:
        return False
    _, started = processes[pid]
    if isinstance(started, str):
        return noted in ("", started)
    when = noted_start(noted)
    return when is None or abs(started - when) < 2


def noted_start(text: str) -> float | None:
    """`procStart` of a client on Windows (100 ns from 1601) or macOS (`ps -o lstart`,
    UTC).
    """
    with contextlib.suppress(ValueError):
        if not text.isdigit():
            return (
                datetime.strptime(text, "%a %b %d %H:%M:%S %Y")
                .replace(tzinfo=UTC)
                .timestamp()
            )
        if int(text) < 3 * 10**17:  # the client, too, takes more for another count
            return int(text) / 10**7 - 11_644_473_600
    return None


def _unregistered(processes: Processes) -> Iterator[LiveSession]:
    """Processes named claude with their folders: older clients register nowhere."""
    for pid, (name, _) in processes.items():
        if name.removesuffix(".exe") in ("claude", "node"):
            with contextlib.suppress(*_CLOSED):
                command, folder = _command_and_folder(pid)
                if _is_claude(command):
                    yield LiveSession(pid, client_spelling(folder))


def _is_claude(command: list[str]) -> bool:
    program, *words = [word.strip() for word in (*command[:3], "")]
    script = next((word for word in words if not word.startswith("-")), "")
    runs_script = os.path.basename(script) == "claude" or "claude-code" in script
    name = os.path.basename(program).removesuffix(".exe")
    return name == "claude" or (name == "node" and runs_script)


def _pid_domain() -> str:
    """Where a pid of this process means something,
    spelled as the client does in its records.
    """
    if WINDOWS:
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


def _of_proc() -> Iterator[tuple[int, tuple[str, str]]]:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            start, _, told = _told(pid, "stat").rpartition(
                ")"
            )  # a name may hold anything
            state, *more = told.split()
            if state not in "ZX":
                yield int(pid), (start.partition("(")[2], more[18])


def _of_psutil() -> Iterator[tuple[int, tuple[str, float]]]:
    for process in psutil.process_iter():
        with contextlib.suppress(*_CLOSED):
            program = ""
            with contextlib.suppress(
                psutil.AccessDenied
            ):  # of another user, or with more rights
                program = (process.cmdline() or [""])[0]
            if process.status() != psutil.STATUS_ZOMBIE:
                yield process.pid, (os.path.basename(program), process.create_time())


def _command_and_folder(pid: int) -> tuple[list[str], str]:
    """How a process was started and where it works,
    which the kernel marks when it was removed.
    """
    if not HAS_PROC:
        process = psutil.Process(pid)
        return process.cmdline(), process.cwd()
    folder = os.readlink(f"/proc/{pid}/cwd")
    is_there = os.path.isdir(folder)
    command = _told(pid, "cmdline").split("\0")
    return command, folder if is_there else folder.removesuffix(" (deleted)")


def _told(pid: object, name: str) -> str:
    with open(f"/proc/{pid}/{name}", "rb") as file:
        return os.fsdecode(file.read(1 << 16))
