"""A small made-up home with Claude Code state in it, for `ccmove demo`.

Apart from its place it is always the same. Everything is written by `files`, the one module that
changes the disk.
"""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ccmove.claude.layout import Layout
from ccmove.claude.naming import encode
from ccmove.run import disk as files
from ccmove.run.disk import Attributes

FIRST_MOMENT = 1_780_000_000_000_000_000  # nanoseconds; all times of the demo follow from it
MINUTE = 60_000_000_000

CONVERSATIONS = (
    ("add a dessert section to the menu", "The menu has a dessert section now."),
    ("prices should show the euro sign", "All prices show the euro sign."),
    ("why does the print view cut off the last dish?", "A fixed height did it; it is gone."),
)


@dataclass
class DemoHome:
    """The home and the paths that the demo speaks about."""

    home: Path
    _moments: int = 0
    _history: list[bytes] = field(default_factory=list)
    _projects: dict[str, Any] = field(default_factory=dict)

    @property
    def old(self) -> Path:
        return self.home / "code" / "cafe-menu"

    @property
    def new(self) -> Path:
        return self.home / "code" / "bistro-menu"

    @property
    def neighbour(self) -> Path:
        """Its name begins like OLD's, but it is another project."""
        return self.home / "code" / "cafe-menu-docker"

    @property
    def layout(self) -> Layout:
        return Layout(self.home / ".claude", self.home / ".claude.json", self.home)

    def write(self) -> None:
        """Everything that the client would have written by now."""
        self._project(self.old, CONVERSATIONS, memory="- prices are in euro\n")
        self._project(self.old / "packages" / "core", CONVERSATIONS[:1])
        self._project(self.neighbour, CONVERSATIONS[1:2])
        self._file(self.old / "menu.txt", b"soup\nfish\ncake\n")
        self._file(self.layout.history, b"".join(self._history))
        self._file(self.layout.config_file, _json(self._config(), indent=2))

    def _config(self) -> dict[str, Any]:
        server = {"command": "menu-server", "args": ["--root", str(self.old)], "env": {}}
        self._projects[str(self.old)]["mcpServers"] = {"menu": server}
        return {
            "numStartups": 12,
            "hasCompletedOnboarding": True,
            "projects": self._projects,
            "githubRepoPaths": {"cafe/menu": [str(self.old)]},
        }

    def _project(
        self, folder: Path, conversations: tuple[tuple[str, str], ...], memory: str = ""
    ) -> None:
        directory = self.layout.projects / encode(str(folder))
        for prompt, answer in conversations:
            self._conversation(directory, self._session_id(), str(folder), prompt, answer)
        if memory:
            self._file(directory / "memory" / "MEMORY.md", memory.encode())
        self._projects[str(folder)] = {
            "allowedTools": ["Bash(make:*)"],
            "hasTrustDialogAccepted": True,
        }
        self._directories(folder)

    def _conversation(
        self, directory: Path, session: str, folder: str, prompt: str, answer: str
    ) -> None:
        records = []
        for role, text in (("user", prompt), ("assistant", answer)):
            moment = time.gmtime(self._tick() // 10**9)
            records.append(
                {
                    "type": role,
                    "cwd": folder,
                    "sessionId": session,
                    "version": "2.1.325",
                    "message": {"role": role, "content": text},
                    "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", moment),
                }
            )
        self._file(
            directory / f"{session}.jsonl", b"".join(_json(record) + b"\n" for record in records)
        )
        self._file(directory / session / "tool-results" / "call_1.txt", b"menu.txt: 3 lines\n")
        self._history.append(
            _json({"display": prompt, "pastedContents": {}, "timestamp": self._tick() // 10**6,
                   "project": folder, "sessionId": session}) + b"\n"
        )  # fmt: skip

    def _session_id(self) -> str:
        return str(uuid.UUID(int=(self._tick() * 0x9E3779B97F4A7C15) % (1 << 128), version=4))

    def _tick(self) -> int:
        self._moments += 1
        return FIRST_MOMENT + self._moments * MINUTE

    def _file(self, path: Path, data: bytes) -> None:
        self._directories(path.parent)
        files.write_new(path, [data], Attributes(mtime_ns=self._tick()))

    def _directories(self, path: Path) -> None:
        for directory in reversed([path, *path.parents]):
            if not directory.exists():
                files.make_directory(directory)


def _json(value: object, indent: int | None = None) -> bytes:
    separators = (",", ": ") if indent else (",", ":")
    return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators).encode()
