"""Archives made by hand, with Python's own tarfile: right ones, and wrong ones.

Nothing of `ccmove` is used here, so that a fault of its writer can't hide one of its
reader.
"""

import gzip
import hashlib
import io
import json
import tarfile
from dataclasses import dataclass, field
from typing import Any

FIRST = "11111111-2222-4333-8444-555555555555"
SECOND = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
DATE = 1_780_000_000_123_456_789
OLD_HOME = "/home/me"
OLD = "/home/me/code/app"

Entry = tuple[tarfile.TarInfo, bytes]


@dataclass
class Archive:
    """What is to be written, each part of which a test may spoil before `build`."""

    header: dict[str, Any]
    contents: dict[str, bytes]  # of the members, by name
    sums: dict[str, str] = field(default_factory=dict)  # instead of the right ones
    listed: bytes | None = None  # the whole SHA256SUMS, where that is not the right one
    extra: list[Entry] = field(default_factory=list)  # after the last member
    first: list[Entry] = field(default_factory=list)  # before the header
    changed: dict[str, tarfile.TarInfo] = field(default_factory=dict)
    behind: list[Entry] = field(default_factory=list)  # after SHA256SUMS
    format: int = tarfile.PAX_FORMAT

    def entries(self) -> list[Entry]:
        """All of it, in order."""
        header = json.dumps(self.header).encode()
        named = [("ccmove.json", header), *self.contents.items()]
        entries = [*self.first]
        lines = []
        for name, data in named:
            entries.append((self.changed.get(name) or regular(name, data), data))
            digest = self.sums.get(name) or hashlib.sha256(data).hexdigest()
            lines.append(f"{digest}  {name}\n")
        entries += self.extra
        listed = "".join(lines).encode() if self.listed is None else self.listed
        entries.append((regular("SHA256SUMS", listed), listed))
        return entries + self.behind

    def tar(self) -> bytes:
        out = io.BytesIO()
        for info, data in self.entries():
            out.write(info.tobuf(self.format, "utf-8", "surrogateescape"))
            out.write(data + bytes(-len(data) % 512))
        out.write(bytes(1024))
        return out.getvalue()

    def build(self) -> bytes:
        return gzip.compress(self.tar(), compresslevel=1, mtime=0)

    def add(self, role: str, name: str, data: bytes = b"x\n", **said: Any) -> None:
        """A member, and its row in the header, in which something else may be said."""
        row = {"role": role, "name": name, "size": len(data), "mtime_ns": DATE, **said}
        self.header["members"].append(row)
        self.contents[name] = data


def regular(name: str, data: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    return info


def transcript(session: str, turns: int = 2, cwd: str = OLD) -> bytes:
    """Some lines of a conversation."""
    lines = []
    for number in range(turns):
        turn = {"type": "user", "sessionId": session, "cwd": cwd, "turn": number}
        lines.append(json.dumps(turn) + "\n")
    return "".join(lines).encode()


def empty_archive(path: str = OLD) -> Archive:
    return Archive(
        {
            "format": 1,
            "home": OLD_HOME,
            "system": "linux",
            "client": "2.1.327",
            "projects": [{"path": path, "git": {"root": None, "remote": None}}],
            "members": [],
        },
        {},
    )


def sample_archive(path: str = OLD) -> Archive:
    """One of everything that an archive can hold."""
    archive = empty_archive(path)
    prompt = {"display": "hi", "project": path, "sessionId": FIRST, "timestamp": 1}
    base = "projects/1"
    archive.add("config", f"{base}/config.json", b'{"hasTrustDialogAccepted": true}')
    archive.add("index", f"{base}/index.json", b'{"version": 1, "entries": []}')
    archive.add("history", f"{base}/history.jsonl", json.dumps(prompt).encode() + b"\n")
    archive.add("memory", f"{base}/memory/MEMORY.md", b"# Notes\n")
    archive.add("memory", f"{base}/memory/how/it runs.md", b"It runs.\n")
    for session in (FIRST, SECOND):
        name = f"{base}/sessions/{session}.jsonl"
        archive.add("transcript", name, transcript(session, cwd=path))
    folder = f"{base}/sessions/{FIRST}"
    archive.add("session-folder", f"{folder}/subagents/agent-a1.jsonl", b"{}\n")
    archive.add("session-note", f"{folder}.dir-sync.json", b"{}")
    archive.add("agent", f"{base}/agents/agent-0a1b2c3d.jsonl", b"{}\n")
    archive.add("file-history", f"file-history/{FIRST}/0a1b2c3d@v1", b"before\n")
    archive.add("tasks", f"tasks/{FIRST}/1.json", b"{}")
    archive.add("plan", "plans/calm-otter.md", b"# Plan\n")
    archive.add("paste", "paste-cache/0123456789abcdef.txt", b"pasted\n")
    return archive
