"""A client in a terminal, driven by keys and read as text: a tmux server of its own."""

import os
import re
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.client.loopback import Loopback
from tests.client.loopback_api import REPLY
from tests.client.waiting import seen_within, wait_until

# In full, because the terminal gets the client's environment, whose PATH has no tmux.
TMUX = shutil.which("tmux") or "tmux"
# Seconds; keys that arrive together count as pasted text.
KEYS_APART = 0.2
SETTINGS = """\
# Keep the pane when the client ends, so that its end and its last words can be seen.
set -g remain-on-exit on
set -s escape-time 0
set -g default-terminal xterm-256color
"""

# What an empty picker says, up to 2.1.326 and from 2.1.327 on.
NONE_LISTED = "No conversations found|No sessions(?: in this project)? yet"


class Screen:
    """A running client. Every wait ends in an assertion that shows the screen."""

    def __init__(
        self,
        temporary: Path,
        folder: Path,
        argv: Sequence[str],
        environment: Mapping[str, str],
        api: Loopback,
    ) -> None:
        self._api = api
        self._environment = dict(environment)
        self._socket = temporary / f"tmux-{uuid.uuid4().hex[:8]}"
        settings = self._socket.with_suffix(".conf")
        settings.write_text(SETTINGS)
        start = ["-f", str(settings), "new-session", "-d", "-x", "180", "-y", "50"]
        self._tmux(*start, "-c", str(folder), *argv)
        self.pid = int(self._tmux("display-message", "-p", "#{pane_pid}"))
        try:
            self.wait_for(
                lambda: self.asks_for_trust or self._is_ready, "the client to come up"
            )
        except AssertionError:
            self.close()
            raise

    # -- what is to be seen

    @property
    def text(self) -> str:
        return self._tmux("capture-pane", "-p")

    @property
    def asks_for_trust(self) -> bool:
        return "Accessing workspace" in self.text

    @property
    def entry(self) -> str:
        """What stands in the input line."""
        lines = re.findall(r"^❯(.*)$", self.text, re.MULTILINE)
        return lines[-1].strip() if lines else ""

    @property
    def _is_ready(self) -> bool:
        return re.search(r"^❯", self.text, re.MULTILINE) is not None

    @property
    def has_ended(self) -> bool:
        return self._tmux("display-message", "-p", "#{pane_dead}").strip() == "1"

    # -- what is done

    def say(self, prompt: str) -> None:
        """Send a prompt and wait for its answer."""
        self.type(prompt)
        self.press("Enter")
        self.wait_for(
            lambda: self._api.conversations_with(prompt), f"{prompt!r} to be sent"
        )
        answered = re.compile(re.escape(prompt) + r"[\s\S]*" + REPLY)
        self.wait_for(lambda: answered.search(self.text), f"the answer to {prompt!r}")

    def type(self, text: str) -> None:
        """Put `text` into the input line; again, if the client was not listening yet."""

        def typed() -> bool:
            self._tmux("send-keys", "-l", text)
            if seen_within(2, lambda: text in self.entry):
                return True
            self._clear()
            return False

        self.wait_for(typed, f"{text!r} in the input line")

    def paste(self, text: str) -> None:
        """Put a long text into the input line at once, as a terminal does."""
        self._settle()
        self._tmux("set-buffer", text)
        self._tmux("paste-buffer", "-p", "-r")
        self.wait_for(lambda: "[Pasted text" in self.entry, "the paste to be there")

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def accept_trust(self) -> None:
        """Answer the trust question, whichever answer the version offers first."""
        chosen = re.compile(r"❯ (1\. )?Yes, I trust")
        self._settle()
        if not chosen.search(self.text):
            self.press("Down")
            self.wait_for(
                lambda: chosen.search(self.text), "the right answer to be chosen"
            )
        self.press("Enter")
        self.wait_for(lambda: not self.asks_for_trust and self._is_ready, "the prompt")

    def recalls(self, prompt: str, presses: int = 1, *, clear: bool = True) -> bool:
        """Whether arrow-up, pressed so often, offers `prompt`; the input line is left
        empty, unless it is still wanted.
        """
        self._settle()
        for _ in range(presses):
            self.press("Up")
            time.sleep(KEYS_APART)
        found = seen_within(4, lambda: prompt in self.entry)
        if clear:
            self._clear()
        return found

    def lists_session(self, prompt: str) -> bool:
        """Whether the picker offers the session that began with `prompt`; it must say
        yes or no.
        """
        self.type("/resume")
        self.press("Enter")
        answer = re.compile(f"{NONE_LISTED}|^[ ❯]*{re.escape(prompt)}$", re.MULTILINE)
        self.wait_for(lambda: answer.search(self.text), "the picker")
        return re.search(NONE_LISTED, self.text) is None

    def opens_listed_session(self, prompt: str) -> bool:
        """Choose that session in the picker; whether its conversation appears."""

        def pointed_at() -> bool:
            if seen_within(1, lambda: f"❯ {prompt}" in self.text):
                return True
            self.press("Down")
            return False

        self.wait_for(pointed_at, f"{prompt!r} to be chosen")
        self.press("Enter")
        self.wait_for(lambda: "Search" not in self.text, "the picker to close")
        return seen_within(5, lambda: prompt in self.text and REPLY in self.text)

    def leave(self) -> None:
        """End the session by end-of-file, which the client wants twice within a second."""

        def pressed() -> bool:
            self.press("C-d")
            return seen_within(0.4, lambda: self.has_ended)

        self.wait_for(pressed, "the client to end")

    def _clear(self) -> None:
        """Empty the input line: to its end, then delete back to its start."""
        for key in ("C-e", "C-u"):
            self.press(key)
            time.sleep(KEYS_APART)

    def _settle(self) -> None:
        """Wait until the screen stays as it is: the client draws before it listens."""

        def unchanged_for_a_second() -> bool:
            before = self.text
            time.sleep(1)
            return self.text == before

        self.wait_for(unchanged_for_a_second, "the screen to settle")

    def wait_for(self, look: Callable[[], object], what: str) -> None:
        """Until `look` is true; else fail, and show the screen."""
        try:
            wait_until(look, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen:\n{self.text}") from None

    def close(self) -> None:
        """Kill the terminal, and the client if it survives that."""
        self._tmux("kill-server")
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def _tmux(self, *args: str) -> str:
        argv = self._api.offline([TMUX, "-S", str(self._socket), *args])
        done = subprocess.run(
            argv, env=self._environment, capture_output=True, text=True
        )
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout
