"""The asking side of the fork server: one server a test process, started when first needed."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.support.run import clean_environment
from tests.support.state import StateBuilder

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ended:
    """How a child ended: exit code (negative: the signal), its output, and strace's record."""

    exit: int
    out: str
    err: str
    trace: str = field(repr=False)


@dataclass(frozen=True)
class Job:
    """One command line for ccmove, where it runs, and how it is sabotaged.

    `hook` is one of `tests.hostile.hooks` with its arguments: what happens between two calls.
    """

    state: StateBuilder
    args: Sequence[str]
    input: str = ""
    sabotage: Sequence[str] = field(default=())
    hook: Sequence[str] = field(default=())
    cwd: Path | None = None

    def run(self, strace: Sequence[str] = ()) -> Ended:
        """Run it in a forked child; with options for strace, under strace."""
        request = {
            "args": list(self.args),
            "input": self.input,
            "cwd": str(self.cwd or self.state.code),
            "env": clean_environment(self.state),
            "strace": list(strace),
            "sabotage": list(self.sabotage),
            "hook": list(self.hook),
        }
        answer = json.loads(_ask(json.dumps(request)))
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return Ended(**answer)


def _ask(line: str) -> str:
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(line + "\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    if not answer:
        raise RuntimeError(f"the fork server ended with {server.wait()}")
    return answer


@cache
def _server() -> subprocess.Popen[str]:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw") or "0"
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.forkserver", worker],
        cwd=ROOT,
        env={"PATH": os.environ.get("PATH", os.defpath), "HOME": os.devnull,
             "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    atexit.register(_stop, server)
    return server


def forget_server() -> None:
    """The next job starts a server anew: one that sees what this process sees by now."""
    _server.cache_clear()


def _stop(server: subprocess.Popen[str]) -> None:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.close()
    server.wait(timeout=60)
    server.stdout.close()
