"""The stand-in API as the tests see it: started without a network, asked what it was
sent.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.client.waiting import wait_until

SERVER = Path(__file__).with_name("loopback_api.py")

# In full, because it is started with the client's environment, whose PATH has it not.
_NSENTER = shutil.which("nsenter") or "nsenter"
# How to start a process without a network, and how another one joins it; the last needs
# no rights.
_WAYS_OFFLINE: tuple[tuple[list[str], list[str]], ...] = (
    (["unshare", "--net"], [_NSENTER, "--net"]),
    (
        ["unshare", "--user", "--map-current-user", "--keep-caps", "--net"],
        [_NSENTER, "--user", "--preserve-credentials", "--net"],
    ),
    ([], []),
)


class Loopback:
    """A running server; what is started `offline` finds no other network than it."""

    def __init__(self, port: int, log: Path, join: Sequence[str]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._log = log
        self._join = list(join)

    def offline(self, argv: Sequence[str]) -> list[str]:
        return [*self._join, *argv]

    def conversations_with(self, prompt: str) -> list[str]:
        """Every conversation sent so far that contains `prompt` (plain ASCII), as JSON
        text with what the client told the model beforehand (`system`) and the
        `messages`.
        """
        sent = self._log.read_text().splitlines() if self._log.exists() else []
        return [conversation for conversation in sent if prompt in conversation]


@contextmanager
def running(directory: Path) -> Iterator[Loopback]:
    """A server of one's own; leaving closes its standard input, and so ends it."""
    log, ready = directory / "requests.jsonl", directory / "port"
    start, join = next(way for way in _WAYS_OFFLINE if _works(way[0]))
    argv = [*start, sys.executable, str(SERVER), str(log), str(ready)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as server:
        wait_until(ready.exists, "the loopback server to listen")
        enter = [*join, f"--target={server.pid}", "--"] if join else []
        yield Loopback(int(ready.read_text()), log, enter)


def _works(start: Sequence[str]) -> bool:
    try:
        return subprocess.run([*start, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False
