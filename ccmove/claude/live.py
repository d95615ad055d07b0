"""Is Claude Code running there? Told from `$C/sessions/<pid>.json` and from the process table."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import names_in, read_document
from ccmove.errors import CcmoveError, LinkError
from ccmove.rewrite.pathmap import client_spelling, tail_below

LARGEST_RECORD = 1 << 20
LINUX = os.path.exists("/proc/self/stat")  # elsewhere psutil tells


@dataclass(frozen=True, slots=True)
class LiveSession:
    """A running client and the folder it works in."""

    pid: int
    folder: str
    session: str | None = None
    is_ancestor: bool = False  # ccmove was started from inside it


def live_sessions(layout: Layout, folders: list[str]) -> list[LiveSession]:
    """Running clients whose folder is one of `folders` or below one."""
    ancestors = set(_ancestors(os.getpid()))
    found: dict[int, LiveSession] = {}
    for pid, folder, session in [*_registered(layout), *_claude_processes()]:
        if pid not in found and any(tail_below(folder, base) is not None for base in folders):
            found[pid] = LiveSession(pid, folder, session, pid in ancestors)
    return list(found.values())


def daemon_is_running(layout: Layout) -> bool:
    """Whether the client's background daemon owns its job files right now."""
    record = _record(layout.daemon_lock)
    return record is not None and _is_alive(record)


def _registered(layout: Layout) -> Iterator[tuple[int, str, str | None]]:
    for name in names_in(layout.sessions):
        if not name.removesuffix(".json").isdigit():
            continue  # beside a session's file lie others, such as <pid>.<hex>.key
        record = _record(layout.sessions / name) or {}
        pid, folder, session = record.get("pid"), record.get("cwd"), record.get("sessionId")
        if isinstance(pid, int) and isinstance(folder, str) and _is_alive(record):
            yield pid, folder, session if isinstance(session, str) else None


def _record(path: Path) -> dict[str, object] | None:
    """What the client wrote there; None for anything that it can't have written."""
    try:
        document = read_document(path, LARGEST_RECORD)
        record = json.loads(document.data) if document is not None else None
    except LinkError:
        raise  # whoever planted it could hide a running session behind it
    except (OSError, CcmoveError, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _is_alive(record: dict[str, object]) -> bool:
    """A process with that id runs and, where it is known, started at that very time."""
    pid = record.get("pid")
    if type(pid) is not int or pid <= 0:
        return False
    started = _start_of(pid)
    if started is None:
        return False
    return record.get("procStart") in (None, "", started) or started == ""


# -- the process table -----------------------------------------------------------------


def _start_of(pid: int) -> str | None:
    """When a process started, as the client writes it; "" when that can't be told, None if dead."""
    if LINUX:
        fields = _stat_fields(pid)
        return fields[19] if fields and fields[0] not in "ZX" else None  # a zombie has ended
    import psutil

    return "" if psutil.pid_exists(pid) else None


def _stat_fields(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat from the third on; the second may hold anything."""
    try:
        text = _read(f"/proc/{pid}/stat")
    except OSError:
        return []
    return text.rpartition(b")")[2].decode("ascii", "replace").split()


def _ancestors(pid: int) -> Iterator[int]:
    if not LINUX:
        import psutil

        yield from (parent.pid for parent in psutil.Process(pid).parents())
        return
    while fields := _stat_fields(pid):
        pid = int(fields[1])
        yield pid


def _claude_processes() -> Iterator[tuple[int, str, None]]:
    """Processes named claude with their folders: older clients register nowhere."""
    if not LINUX:
        yield from _claude_processes_elsewhere()
        return
    for name in os.listdir("/proc"):
        if _comm(name) not in (b"claude", b"node"):
            continue
        try:
            if _is_claude(_read(f"/proc/{name}/cmdline").split(b"\0")):
                yield int(name), _folder_of(name), None
        except OSError:
            continue  # it ended meanwhile, or is another user's


def _folder_of(pid: str) -> str:
    """Where a process works; the kernel marks a folder that was removed under it."""
    folder = os.readlink(f"/proc/{pid}/cwd")
    return client_spelling(folder if os.path.isdir(folder) else folder.removesuffix(" (deleted)"))


def _claude_processes_elsewhere() -> Iterator[tuple[int, str, None]]:
    import psutil

    for process in psutil.process_iter(["cmdline", "cwd"]):
        command = [os.fsencode(part) for part in process.info["cmdline"] or ()]
        if process.info["cwd"] and _is_claude(command):
            yield process.pid, client_spelling(process.info["cwd"]), None


def _is_claude(command: list[bytes]) -> bool:
    """`claude` itself, or node running its script."""
    words = [word.strip() for word in command[:3]]
    program = os.path.basename(words[0]) if words else b""
    if program == b"claude":
        return True
    script = next((word for word in words[1:] if not word.startswith(b"-")), b"")
    return program == b"node" and (
        os.path.basename(script) == b"claude" or b"claude-code" in script
    )


def desktop_app_is_running() -> bool:
    """Whether the desktop app runs: it rewrites its files from memory."""
    if LINUX:
        return any(_comm(name) in (b"claude-desktop", b"Claude") for name in os.listdir("/proc"))
    import psutil

    return any(
        process.info["name"] in ("Claude", "Claude.exe", "claude-desktop")
        for process in psutil.process_iter(["name"])
    )


def _comm(name: str) -> bytes:
    try:
        return _read(f"/proc/{name}/comm").strip() if name.isdigit() else b""
    except OSError:
        return b""


def _read(path: str) -> bytes:
    """What the system tells of a process."""
    with open(path, "rb") as file:
        return file.read(1 << 16)
