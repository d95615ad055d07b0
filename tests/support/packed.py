"""Archives of sample state, made by hand with Python's own tarfile.

Nothing of `ccmove` is used here, so that a fault of `pack` can't hide one of `unpack`.
"""

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.support.state import ProjectHandle, StateBuilder, encoded_name

_SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
Rows = list[tuple[str, str, bytes, int]]  # role, name, bytes, mtime in ns


def packed(
    state: StateBuilder,
    *paths: str,
    home: str | None = None,
    git: dict[str, str | None] | None = None,
    path_there: str | None = None,
    spoil: tuple[bytes, bytes] = (b"", b""),
) -> bytes:
    """An archive of these projects of `state`, the first around the others or not.

    `path_there` is the path of the one project on its own machine, as on Windows;
    `spoil` puts other bytes into its files.
    """
    rows: Rows = []
    projects: list[dict[str, Any]] = []
    ids: set[str] = set()
    for number, path in enumerate(paths, 1):
        spelled = state._absolute(path)
        projects.append({"path": spelled, "git": git or {"root": None, "remote": None}})
        directory = state.projects / encoded_name(spelled)
        rows += _of_directory(directory, f"projects/{number}")
        rows += _of_history(state, spelled, f"projects/{number}/history.jsonl")
        entry = state.config()["projects"].get(spelled)
        if entry is not None:
            name = f"projects/{number}/config.json"
            rows.append(("config", name, json.dumps(entry).encode(), 0))
    if path_there is not None:
        rows = [_with_path(row, projects[0]["path"], path_there) for row in rows]
        projects[0]["path"] = path_there
    ids |= {match.group() for _, name, _, _ in rows if (match := _SESSION.search(name))}
    rows += _beside(state, ids)
    if spoil[0]:
        rows = [
            (role, name, data.replace(*spoil), date) for role, name, data, date in rows
        ]
    return archive(rows, projects, home or str(state.home))


def _with_path(
    row: tuple[str, str, bytes, int], path: str, there: str
) -> tuple[str, str, bytes, int]:
    """A document as it is where the project has another path."""
    role, name, data, date = row
    if role in ("index", "history", "config"):
        data = data.replace(_in_json(path), _in_json(there))
    return role, name, data, date


def _in_json(text: str) -> bytes:
    return json.dumps(text)[1:-1].encode()


def archive(rows: Rows, projects: list[dict[str, Any]], home: str) -> bytes:
    rows = sorted(rows, key=lambda row: row[1])
    members = [
        {"role": role, "name": name, "size": len(data), "mtime_ns": mtime}
        for role, name, data, mtime in rows
    ]
    header = {
        "format": 1,
        "home": home,
        "system": "linux",
        "client": "2.1.327",
        "projects": projects,
        "members": members,
    }
    files = [("ccmove.json", json.dumps(header).encode())]
    files += [(name, data) for _, name, data, _ in rows]
    sums = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files]
    files.append(("SHA256SUMS", "".join(sums).encode()))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def _of_directory(directory: Path, base: str) -> Iterator[tuple[str, str, bytes, int]]:
    for file in sorted(directory.rglob("*")):
        if not file.is_file():
            continue
        inside = file.relative_to(directory).as_posix()
        first = inside.split("/")[0]
        if inside == "sessions-index.json":
            role, name = "index", f"{base}/index.json"
        elif first == "memory":
            role, name = "memory", f"{base}/{inside}"
        elif inside.startswith("agent-"):
            role, name = "agent", f"{base}/agents/{inside}"
        elif "/" in inside:
            role, name = "session-folder", f"{base}/sessions/{inside}"
        elif inside.endswith(".jsonl"):
            role, name = "transcript", f"{base}/sessions/{inside}"
        else:
            role, name = "session-note", f"{base}/sessions/{inside}"
        yield role, name, file.read_bytes(), file.stat().st_mtime_ns


def _of_history(
    state: StateBuilder, path: str, name: str
) -> Iterator[tuple[str, str, bytes, int]]:
    lines = b""
    for line in state.history.read_bytes().split(b"\n"):
        try:
            if json.loads(line)["project"] == path:
                lines += line + b"\n"
        except (ValueError, KeyError, TypeError):
            continue
    if lines:
        yield "history", name, lines, 0


def _beside(
    state: StateBuilder, sessions: Iterable[str]
) -> Iterator[tuple[str, str, bytes, int]]:
    for place in ("file-history", "tasks"):
        for session in sorted(sessions):
            for file in sorted((state.config_dir / place / session).rglob("*")):
                if file.is_file():
                    inside = file.relative_to(state.config_dir).as_posix()
                    yield place, inside, file.read_bytes(), file.stat().st_mtime_ns
    for role, place in (("plan", "plans"), ("paste", "paste-cache")):
        for file in sorted((state.config_dir / place).glob("*")):
            inside = file.relative_to(state.config_dir).as_posix()
            yield role, inside, file.read_bytes(), file.stat().st_mtime_ns


def written(state: StateBuilder, name: str, data: bytes) -> Path:
    file = state.root / name
    file.write_bytes(data)
    return file


def handle_at(state: StateBuilder, path: str) -> ProjectHandle:
    """What is at this path by now."""
    spelled = state._absolute(path)
    directory = state.projects / encoded_name(spelled)
    sessions = sorted(file.stem for file in directory.glob("*-*-*-*-*.jsonl"))
    return ProjectHandle(spelled, directory.name, directory, sessions)
