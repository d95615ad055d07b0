"""What people and Claude Code do with projects, and where things are afterwards.

Every text is written once and is unlike every other one, so that it can be looked for
afterwards. A project is named by its path below `state.code`, such as `old/api`.
"""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.oddlines import stringify
from tests.support.state import DEFAULT_CONFIG_ENTRY, StateBuilder, encoded_name

INDEX = "sessions-index.json"


@dataclass(frozen=True)
class Prompt:
    """A line of the history: what was typed, in which session, in which project."""

    text: str
    session: str
    project: str


class Life:
    """Acts on a state as people and the client do."""

    def __init__(self, state: StateBuilder) -> None:
        self.state = state

    # -- names -----------------------------------------------------------------

    def path(self, name: str) -> str:
        return str(self.state.code / name)

    def folder(self, name: str) -> Path:
        return self.state.code / name

    def directory(self, name: str) -> Path:
        return self.state.projects / encoded_name(self.path(name))

    def memory(self, name: str) -> Path:
        return self.directory(name) / "memory"

    # -- what the client does --------------------------------------------------

    def begin(self, name: str, text: str, *, folder: bool = True) -> str:
        """A new session, dated now, with its first prompt `text`; returns its ID."""
        session = self.state.add_session(self.path(name), text=text)
        transcript = self.directory(name) / f"{session}.jsonl"
        os.utime(transcript)
        if folder:
            results = transcript.with_suffix("") / "tool-results"
            results.mkdir(parents=True, mode=0o700)
            (results / "call_1.txt").write_text(f"result of {text}\n")
        self.prompt(name, text, session)
        self.list_in_index(name, session)
        return session

    def go_on(self, name: str, session: str, text: str) -> None:
        """A session that is in this project goes on there with another prompt."""
        transcript = self.directory(name) / f"{session}.jsonl"
        record = {"type": "user", "cwd": self.path(name), "sessionId": session}
        message = {"message": {"role": "user", "content": text}}
        with transcript.open("ab") as file:
            file.write(stringify({**record, **message}) + b"\n")
        self.prompt(name, text, session)
        self.list_in_index(name, session)

    def prompt(self, name: str, text: str, session: str | None = None) -> None:
        self.state.add_prompt(self.path(name), text, session)

    def list_in_index(self, name: str, session: str, *, create: bool = False) -> None:
        """As clients up to 2.1.23 do: the session's entry is written again."""
        index = self.directory(name) / INDEX
        if not index.exists() and not create:
            return
        transcript = self.directory(name) / f"{session}.jsonl"
        document = _read(index) or {
            "version": 1,
            "entries": [],
            "originalPath": self.path(name),
        }
        entry = {
            "sessionId": session,
            "fullPath": str(transcript),
            "fileMtime": transcript.stat().st_mtime_ns // 10**6,
            "messageCount": len(transcript.read_bytes().splitlines()),
            "projectPath": self.path(name),
            "isSidechain": False,
        }
        others = [e for e in document["entries"] if e["sessionId"] != session]
        document["entries"] = [*others, entry]
        index.write_bytes(stringify(document, 2))
        index.chmod(0o600)

    def remember(self, name: str, line: str) -> None:
        """Claude adds a line to the project's MEMORY.md."""
        self.write_note(name, "MEMORY.md", line)

    def write_note(self, name: str, note: str, line: str) -> None:
        """Claude adds a line to a note, which it makes if need be."""
        file = self.memory(name) / note
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with file.open("a") as stream:
            stream.write(f"{line}\n")

    def allow(self, name: str, tool: str) -> None:
        """A tool is allowed in the project, which is trusted from then on."""
        config = self.state.config()
        entry = config["projects"].setdefault(
            self.path(name), {"allowedTools": [], "hasTrustDialogAccepted": True}
        )
        entry["allowedTools"] = [*entry["allowedTools"], tool]
        self.state.write_config(config)

    def trust(self, name: str) -> None:
        """The trust question is answered, and nothing else happens."""
        config = self.state.config()
        entry = {**DEFAULT_CONFIG_ENTRY, "allowedTools": []}
        config["projects"][self.path(name)] = entry
        self.state.write_config(config)

    def change_directory(self, name: str, session: str, other: str) -> None:
        """`/cd`: the session's transcript moves to another project's directory."""
        source, target = self.directory(name), self.directory(other)
        target.mkdir(parents=True, exist_ok=True, mode=0o700)
        transcript = target / f"{session}.jsonl"
        (source / transcript.name).rename(transcript)
        if (source / session).exists():
            (source / session).rename(target / session)
        record = {"type": "relocated", "sessionId": session}
        relocated = {"relocatedCwd": self.path(other), "cwd": self.path(other)}
        with transcript.open("ab") as file:
            file.write(stringify({**record, **relocated}) + b"\n")
        self._forget_in_index(name, session)
        self.list_in_index(other, session)

    def sweep(self, name: str, session: str) -> None:
        """The client deletes a session that is too old; its prompts stay."""
        (self.directory(name) / f"{session}.jsonl").unlink()
        shutil.rmtree(self.directory(name) / session, ignore_errors=True)
        self._forget_in_index(name, session)

    def _forget_in_index(self, name: str, session: str) -> None:
        index = self.directory(name) / INDEX
        document = _read(index)
        if document is not None:
            entries = document["entries"]
            document["entries"] = [e for e in entries if e["sessionId"] != session]
            index.write_bytes(stringify(document, 2))

    # -- where things are ------------------------------------------------------

    def transcripts(self) -> Iterator[Path]:
        """Every transcript that Claude Code can see."""
        return self.state.projects.glob("*/*.jsonl")

    def directories_of(self, session: str) -> list[str]:
        """The names of the project directories that have this session's transcript."""
        found = self.state.projects.glob(f"*/{session}.jsonl")
        return sorted(transcript.parent.name for transcript in found)

    def prompts(self) -> list[Prompt]:
        lines = self.state.history.read_bytes().splitlines()
        entries = [json.loads(line) for line in lines]
        return [Prompt(e["display"], e["sessionId"], e["project"]) for e in entries]

    def project_of_prompt(self, text: str) -> str:
        """Where the prompt with this text is, as a path below `state.code`."""
        places = [prompt.project for prompt in self.prompts() if prompt.text == text]
        assert len(places) == 1, (text, places)
        return self.short(places[0])

    def index_entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The project directory and the entry, of every entry of every index."""
        for index in self.state.projects.glob(f"*/{INDEX}"):
            for entry in json.loads(index.read_bytes())["entries"]:
                yield index.parent.name, entry

    def note_lines(self, name: str, note: str) -> list[str]:
        """The lines of a note; none if there is no such note."""
        file = self.memory(name) / note
        return file.read_text().splitlines() if file.exists() else []

    def tools(self, name: str) -> list[str] | None:
        """The allowed tools of a project; None if the config file has no entry."""
        entry = self.state.config()["projects"].get(self.path(name))
        return None if entry is None else entry.get("allowedTools", [])

    def short(self, path: str) -> str:
        return Path(os.path.relpath(path, self.state.code)).as_posix()


def _read(index: Path) -> dict[str, Any] | None:
    if not index.exists():
        return None
    document: dict[str, Any] = json.loads(index.read_bytes())
    return document
