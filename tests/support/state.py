"""Builds believable Claude Code state in a temporary directory, in the real client's
forms.

Everything is deterministic: session ids come from a seeded generator and all times are
fixed, so the same calls give the same bytes.
"""

import copy
import datetime
import json
import os
import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.oddlines import OddLine, odd_line, stringify

__all__ = [
    "DEFAULT_CONFIG_ENTRY",
    "OddLine",
    "ProjectHandle",
    "StateBuilder",
    "encoded_name",
]

# The first moment of the sample past; its odd tail shows whether nanoseconds survive.
_EPOCH_NS = 1_780_000_000_123_456_789
_MINUTE_NS = 60 * 10**9
_VERSION = "2.1.325"

DEFAULT_CONFIG_ENTRY: Mapping[str, Any] = {
    "allowedTools": ["Bash(make test)"],
    "mcpContextUris": [],
    "mcpServers": {},
    "enabledMcpjsonServers": [],
    "disabledMcpjsonServers": [],
    "hasTrustDialogAccepted": True,
    "projectOnboardingSeenCount": 4,
    "lastCost": 0.00014000000000000001,
    "lastDuration": 8783,
    "lastModelUsage": {"sample-model": {"inputTokens": 10, "outputTokens": 5}},
}


def encoded_name(path: str) -> str:
    """The directory name for `path`: all but ASCII letters and digits is `-`; cut at
    200 units.
    """
    raw = path.encode("utf-16-le", "surrogatepass")
    units = [int.from_bytes(raw[i : i + 2], "little") for i in range(0, len(raw), 2)]
    name = "".join(chr(u) if u < 128 and chr(u).isalnum() else "-" for u in units)
    if len(name) <= 200:
        return name
    total = 0
    for unit in units:
        total = (total * 31 + unit) & 0xFFFFFFFF
    signed = total - 2**32 if total >= 2**31 else total
    return f"{name[:200]}-{_base36(abs(signed))}"


@dataclass
class ProjectHandle:
    """A project that the builder made: where it is and what it holds."""

    path: str
    name: str
    directory: Path
    sessions: list[str] = field(default_factory=list)

    @property
    def transcripts(self) -> list[Path]:
        return [self.directory / f"{session}.jsonl" for session in self.sessions]

    @property
    def index(self) -> Path:
        return self.directory / "sessions-index.json"

    @property
    def memory(self) -> Path:
        return self.directory / "memory"


class StateBuilder:
    """A home with Claude Code state in it: `root/home`, and `root/code` for the
    repositories.

    A relative path given to any method is below `root/code`.
    """

    def __init__(self, root: Path, seed: int = 20261116) -> None:
        self.root = Path(root).resolve()
        self.home = self.root / "home"
        self.config_dir = self.home / ".claude"
        self.config_file = self.home / ".claude.json"
        self.code = self.root / "code"
        self.history = self.config_dir / "history.jsonl"
        self.projects = self.config_dir / "projects"
        self._random = random.Random(seed)  # of another machine's sessions another one
        self._now_ns = _EPOCH_NS
        self._indexes: dict[Path, dict[str, Any]] = {}
        self.code.mkdir(parents=True)
        self.projects.mkdir(parents=True, mode=0o700)
        self.write_config(_first_config())
        _write_private(self.history, b"")

    def project(
        self,
        path: Path | str,
        *,
        sessions: int = 2,
        index: bool = False,
        memory: dict[str, str] | None = None,
        config: Mapping[str, Any] | None = DEFAULT_CONFIG_ENTRY,
        prompts: int = 3,
        subagents: bool = True,
        name: str | None = None,
        cwd: str | None = None,
        make_folder: bool = False,
        repo: str | None = None,
    ) -> ProjectHandle:
        """Make everything the client keeps about the project at `path`; `config=None`
        for no entry.

        `name` replaces the encoded directory name, `cwd` is what the transcripts say
        instead of `path`, `repo` ("owner/name") also lists the path under
        `githubRepoPaths`.
        """
        spelled = self._absolute(path)
        directory = self.projects / (name or encoded_name(spelled))
        handle = ProjectHandle(spelled, directory.name, directory)
        for _ in range(sessions):
            session = self.add_session(path, cwd=cwd, directory=directory)
            handle.sessions.append(session)
            if subagents:
                self._add_session_folder(directory, session, cwd or spelled)
        self._add_memory(directory, memory or {})
        if index:
            self._add_to_index(handle)
        for number in range(prompts):
            session = handle.sessions[number % sessions] if sessions else self._uuid()
            self.add_prompt(path, f"prompt {number + 1}: fix the café menu", session)
        self._add_config(handle, config, repo)
        if make_folder:
            Path(spelled).mkdir(parents=True, exist_ok=True)
        return handle

    def add_session(
        self,
        path: Path | str,
        *,
        session_id: str | None = None,
        cwd: str | None = None,
        directory: Path | None = None,
        text: str = "fix the café menu",
    ) -> str:
        """Write one more transcript for `path`, whose first prompt is `text`; returns
        its id.
        """
        session = session_id or self._uuid()
        spelled = self._absolute(path)
        directory = directory or self.projects / encoded_name(spelled)
        records = self._conversation(session, cwd or spelled, text)
        self._write_dated(directory / f"{session}.jsonl", _json_lines(records))
        return session

    def add_prompt(
        self, path: Path | str, text: str, session_id: str | None = None
    ) -> None:
        """Append a line to the history as the client does, blind to how the last line
        ended.
        """
        entry = {
            "display": text,
            "pastedContents": {},
            "timestamp": self._tick() // 10**6,
            "project": self._absolute(path),
            "sessionId": session_id or self._uuid(),
        }
        self._append_to_history(stringify(entry) + b"\n")

    def odd_history(self, path: Path | str, lines: int) -> list[OddLine]:
        """Append odd lines about `path`, each kind in turn, then one without its
        newline.
        """
        assert self.history.read_bytes()[-1:] in (b"", b"\n"), (
            "they would be glued to the last line"
        )
        spelled = self._absolute(path)
        odd = [odd_line(number, spelled, self._uuid()) for number in range(lines - 1)]
        odd.append(odd_line(0, spelled, self._uuid()).without_newline())
        self._append_to_history(b"".join(line.raw for line in odd))
        return odd

    def config(self) -> dict[str, Any]:
        data = json.loads(self.config_file.read_bytes())
        assert isinstance(data, dict)
        return _with_keys(data, "/", os.sep)

    def write_config(self, data: Mapping[str, Any]) -> None:
        """Write the config file in the client's form, 0600."""
        _write_private(self.config_file, self.config_bytes(data))

    def config_bytes(self, data: Mapping[str, Any]) -> bytes:
        """The config file in the client's form: 2-space indent, no final newline."""
        return stringify(_with_keys(data, os.sep, "/"), 2)

    def session_file(
        self, pid: int, cwd: str, proc_start: str, session_id: str
    ) -> Path:
        """Write `sessions/<pid>.json`, as a running client has one; returns its path."""
        now = self._tick() // 10**6
        record = {
            "pid": pid,
            "sessionId": session_id,
            "cwd": cwd,
            "startedAt": now,
            "procStart": proc_start,
            "version": _VERSION,
            "kind": "interactive",
            "entrypoint": "cli",
            "name": f"{Path(cwd).name}-83",
            "status": "idle",
            "updatedAt": now + 5061,
        }
        file = self.config_dir / "sessions" / f"{pid}.json"
        _write_private(file, stringify(record))
        return file

    def _absolute(self, path: Path | str) -> str:
        # Path() would drop a trailing slash or "./", and tests may want exactly that
        # spelling.
        spelled = str(path)
        return (
            spelled
            if os.path.isabs(spelled) or spelled[:1] == "/"
            else str(self.code / path)
        )

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _tick(self) -> int:
        self._now_ns += _MINUTE_NS + 1_001
        return self._now_ns

    def _append_to_history(self, data: bytes) -> None:
        with self.history.open("ab") as file:
            file.write(data)

    def _write_dated(self, file: Path, data: bytes) -> None:
        _write_private(file, data)
        self._date(file)

    def _date(self, path: Path) -> None:
        now = self._tick()
        os.utime(path, ns=(now, now))

    def _conversation(self, session: str, cwd: str, text: str) -> list[dict[str, Any]]:
        """A prompt, a tool call that names the path, its result and a closing answer."""
        file = f"{cwd}/menu.txt"
        call = {
            "type": "tool_use",
            "id": "call_1",
            "name": "Read",
            "input": {"file_path": file},
        }
        result = {
            "type": "tool_result",
            "tool_use_id": "call_1",
            "content": f"{file}: 3 lines",
        }
        turns: list[tuple[str, Any]] = [
            ("user", text),
            ("assistant", [call]),
            ("user", [result]),
            ("assistant", [{"type": "text", "text": "The menu is fixed."}]),
        ]
        first: dict[str, Any] = {"type": "mode", "mode": "normal", "sessionId": session}
        return [first, *self._records(session, cwd, turns, sidechain=False)]

    def _records(
        self, session: str, cwd: str, turns: list[tuple[str, Any]], *, sidechain: bool
    ) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = []
        parent = None
        for role, content in turns:
            this = self._uuid()
            records.append(
                {
                    "parentUuid": parent,
                    "isSidechain": sidechain,
                    "type": role,
                    "message": {"role": role, "content": content},
                    "uuid": this,
                    "timestamp": _iso(self._tick()),
                    "userType": "external",
                    "cwd": cwd,
                    "sessionId": session,
                    "version": _VERSION,
                    "gitBranch": "main",
                }
            )
            parent = this
        return records

    def _add_session_folder(self, directory: Path, session: str, cwd: str) -> None:
        folder = directory / session
        answer = [{"type": "text", "text": "It is here."}]
        turns = [("user", "look for the menu"), ("assistant", answer)]
        records = self._records(session, cwd, turns, sidechain=True)
        agent = self._uuid()[:8]
        self._write_dated(
            folder / "subagents" / f"agent-{agent}.jsonl", _json_lines(records)
        )
        self._write_dated(
            folder / "tool-results" / "call_1.txt", f"{cwd}/menu.txt\n".encode()
        )
        for part in (folder / "subagents", folder / "tool-results", folder):
            self._date(part)

    def _add_memory(self, directory: Path, memory: Mapping[str, str]) -> None:
        for name, text in memory.items():
            self._write_dated(directory / "memory" / name, text.encode())

    def _add_to_index(self, handle: ProjectHandle) -> None:
        """Two projects that share a directory share its index; the first is its
        `originalPath`.
        """
        fresh = {"version": 1, "entries": [], "originalPath": handle.path}
        document = self._indexes.setdefault(handle.directory, fresh)
        document["entries"] += [
            self._index_entry(handle, session) for session in handle.sessions
        ]
        _write_private(handle.index, stringify(document, 2))

    def _index_entry(self, handle: ProjectHandle, session: str) -> dict[str, Any]:
        file = handle.directory / f"{session}.jsonl"
        records = [json.loads(line) for line in file.read_bytes().splitlines()[1:]]
        return {
            "sessionId": session,
            "fullPath": str(file),
            "fileMtime": file.stat().st_mtime_ns // 10**6,
            "firstPrompt": records[0]["message"]["content"],
            "summary": "The café menu",
            "messageCount": len(records),
            "created": records[0]["timestamp"],
            "modified": records[-1]["timestamp"],
            "gitBranch": "main",
            "projectPath": handle.path,
            "isSidechain": False,
        }

    def _add_config(
        self, handle: ProjectHandle, entry: Mapping[str, Any] | None, repo: str | None
    ) -> None:
        data = self.config()
        if entry is not None:
            value = copy.deepcopy(dict(entry))
            if entry is DEFAULT_CONFIG_ENTRY and handle.sessions:
                value["lastSessionId"] = handle.sessions[-1]
            data["projects"][handle.path] = value
        if repo is not None:
            data["githubRepoPaths"].setdefault(repo, []).append(handle.path)
        self.write_config(data)


def _first_config() -> dict[str, Any]:
    return {
        "numStartups": 4,
        "hasCompletedOnboarding": True,
        "projects": {},
        "firstStartTime": _iso(_EPOCH_NS),
        "migrationVersion": 15,
        "githubRepoPaths": {},
    }


def _with_keys(
    config: Mapping[str, Any], written: str, as_written: str
) -> dict[str, Any]:
    """The projects' keys with another separator: on Windows the client writes them with
    `/`.
    """
    projects = config.get("projects")
    if written == as_written or not isinstance(projects, dict):
        return dict(config)
    drives = {
        key: key.replace(written, as_written) for key in projects if key[1:2] == ":"
    }
    keyed = {drives.get(key, key): value for key, value in projects.items()}
    return {**config, "projects": keyed}


def _write_private(file: Path, data: bytes) -> None:
    """Write `file` for its owner only, and the directories above it likewise."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.write_bytes(data)
    file.chmod(0o600)


def _json_lines(records: list[dict[str, Any]]) -> bytes:
    return b"".join(stringify(record) + b"\n" for record in records)


def _iso(ns: int) -> str:
    moment = datetime.datetime.fromtimestamp(ns // 10**9, datetime.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ns // 10**6 % 1000:03d}Z"


def _base36(number: int) -> str:
    head, digit = divmod(number, 36)
    return (_base36(head) if head else "") + "0123456789abcdefghijklmnopqrstuvwxyz"[
        digit
    ]
