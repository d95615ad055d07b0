"""Drives one client in one throw-away home, and `ccmove` beside it."""

import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.client.loopback import Loopback
from tests.client.screen import Screen
from tests.client.versions import Client
from tests.support.published import check_json
from tests.support.run import Completed, ccmove_command

# Not a key to anything; the client wants one of this form and asks whether it may use
# it.
API_KEY = "sk-ant-made-up-" + "0123456789" * 3
# What the client starts by name. npm is left out: some versions ask it for updates.
TOOLS = ("bash", "git", "ps", "sh", "uname", "which")


def new_prompt(about: str) -> str:
    """A prompt that no other conversation contains; plain ASCII, so that it is easily
    found.
    """
    return f"{about} {uuid.uuid4().hex[:12]}"


@dataclass(frozen=True)
class Answer:
    """What came of one `claude -p`: the session it was in and the conversations it
    sent.
    """

    session: str
    conversations: tuple[str, ...]

    def knew(self, prompt: str) -> bool:
        """Whether the client sent that earlier prompt again, as part of the
        conversation.
        """
        return any(prompt in conversation for conversation in self.conversations)

    def told_beforehand(self, words: str) -> bool:
        """Whether `words` stand in the system prompt that came with the conversation."""
        return any(
            words in json.dumps(json.loads(conversation)["system"])
            for conversation in self.conversations
        )


class Desk:
    """A client, a home, project folders under `code`, and nothing else of this
    machine's state.
    """

    kind_of_screen = Screen

    def __init__(
        self,
        root: Path,
        client: Client,
        api: Loopback,
        home: str = "home",
        code: str = "code",
    ) -> None:
        self.root = root.resolve()
        self.client = client
        self.api = api
        self.home = self.root / home
        self.config_dir = self.home / ".claude"
        self.config_file = self.home / ".claude.json"
        self.code = self.root / code
        self._tools = self.root / "bin"
        self._temporary = self.root / "tmp"
        for folder in (self.home, self.code, self._tools, self._temporary):
            folder.mkdir(parents=True)
        for tool in TOOLS:
            if found := shutil.which(tool):
                (self._tools / tool).symlink_to(found)
        self._answer_first_run_questions()

    # -- folders and state

    def folder(self, name: str) -> Path:
        made = self.code / name
        made.mkdir(parents=True)
        return made

    def trust(self, folder: Path | str) -> None:
        """Say beforehand that `folder` is trusted, as its user once did."""
        config = self.config()
        config.setdefault("projects", {})[str(folder)] = {
            "hasTrustDialogAccepted": True
        }
        self.config_file.write_text(json.dumps(config, indent=2))

    def config(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.config_file.read_text())
        return loaded

    def prompts(self) -> list[tuple[str, str]]:
        """(project, prompt) of every line of history.jsonl."""
        lines = (self.config_dir / "history.jsonl").read_text().splitlines()
        return [
            (entry["project"], entry["display"]) for entry in map(json.loads, lines)
        ]

    def transcripts(self) -> list[Path]:
        return sorted((self.config_dir / "projects").glob("*/*.jsonl"))

    def transcripts_with(self, prompt: str) -> list[Path]:
        return [path for path in self.transcripts() if prompt in path.read_text()]

    def directory_of(self, session: str) -> Path:
        """The one project directory that has the session's transcript."""
        (transcript,) = (path for path in self.transcripts() if path.stem == session)
        return transcript.parent

    # -- the client and ccmove

    def ask(self, folder: Path | str, prompt: str, *flags: str) -> Answer:
        """One `claude -p` in `folder`; it must succeed."""
        done = self.try_ask(folder, prompt, *flags)
        assert done.exit == 0, (done.out, done.err)
        return Answer(
            done.json()["session_id"], tuple(self.api.conversations_with(prompt))
        )

    def try_ask(self, folder: Path | str, prompt: str, *flags: str) -> Completed:
        return self.claude(folder, "-p", prompt, "--output-format", "json", *flags)

    def claude(self, folder: Path | str, *args: str) -> Completed:
        """The client without a terminal."""
        return self._run(self.api.offline([*self.client.command(), *args]), folder)

    @contextmanager
    def screen(
        self, folder: Path, *flags: str, before: Sequence[str] = ()
    ) -> Iterator[Screen]:
        """The client in a terminal, started by `before`; whatever happens, it is gone
        at last.
        """
        argv = self.api.offline([*before, *self.client.command(), *flags])
        screen = self.kind_of_screen(
            self._temporary, folder, argv, self.environment(), self.api
        )
        try:
            yield screen
        finally:
            screen.close()

    def talk(self, folder: Path, prompt: str) -> None:
        """A session in the terminal with one prompt; `folder` must be trusted."""
        with self.screen(folder) as screen:
            assert not screen.asks_for_trust
            screen.say(prompt)
            screen.leave()

    def ccmove(self, *args: str | os.PathLike[str]) -> Completed:
        """`ccmove`, told of nothing but the home."""
        command = ccmove_command(*args)
        done = self._run(command, self.root)
        check_json(command, done.exit, done.out)
        assert "Traceback (most recent call last)" not in done.err, done.err
        return done

    def rename_and_move(self, old: Path, new: Path) -> None:
        """What a user does: rename the folder, then `ccmove OLD NEW`."""
        new.parent.mkdir(parents=True, exist_ok=True)
        old.rename(new)
        done = self.ccmove(old, new)
        assert done.exit == 0, (done.out, done.err)

    def environment(self) -> dict[str, str]:
        """Everything that the client and ccmove get to know; nothing is inherited."""
        return {
            "HOME": str(self.home),
            "PATH": str(self._tools),
            "TMPDIR": str(self._temporary),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": API_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def _run(self, argv: list[str], folder: Path | str) -> Completed:
        child = subprocess.run(
            argv,
            cwd=folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=120,
        )
        return Completed(child.returncode, child.stdout, child.stderr)

    def _answer_first_run_questions(self) -> None:
        config = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [API_KEY[-20:]], "rejected": []},
        }
        self.config_file.write_text(json.dumps(config, indent=2))
