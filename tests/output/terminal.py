"""Runs ccmove on a terminal of a chosen width and gives back what appeared there."""

import contextlib
import os
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.run import ccmove_command, clean_environment
from tests.support.state import StateBuilder

if sys.platform != "win32":
    import fcntl
    import pty
    import termios

CTRL_C, CTRL_D = "\x03", "\x04"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Screen:
    """Everything that was written to the terminal."""

    exit: int
    raw: str

    @property
    def lines(self) -> list[str]:
        """Without colours; a line of the output, however the terminal would wrap it."""
        return ESCAPE.sub("", self.raw).replace("\r\n", "\n").splitlines()

    @property
    def is_coloured(self) -> bool:
        return "\x1b[" in self.raw


def run_on_terminal(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    state: StateBuilder,
    columns: int = 80,
    env: Mapping[str, str] | None = None,
    program: bool = False,
    cwd: Path | None = None,
    answers: Sequence[str] = (),
) -> Screen:
    """Run `ccmove ARGUMENTS` with a new terminal as its standard input, output and
    error.

    With `program` the arguments begin with a program of their own. One of the answers
    is typed each time that a question stands there; `CTRL_C` interrupts instead.
    """
    if sys.platform == "win32":
        pytest.skip("needs a terminal of POSIX")
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {
        **clean_environment(state, {"TERM": "xterm-256color"}),
        **(env or {}),
    }
    process = subprocess.Popen(
        list(arguments) if program else ccmove_command(*arguments),
        stdin=child,
        stdout=child,
        stderr=child,
        cwd=cwd or state.home,
        env=environment,
        start_new_session=True,
    )
    os.close(child)
    waiting, raw = list(answers), b""
    with contextlib.suppress(OSError):  # EIO: the other side was closed
        while block := os.read(parent, 65536):
            raw += block
            if waiting and raw.rstrip(b" ").endswith(b":"):
                answer = waiting.pop(0)
                if answer == CTRL_C:
                    time.sleep(
                        0.5
                    )  # a signal just before Python waits for input is seen late
                    process.send_signal(signal.SIGINT)
                else:
                    os.write(parent, answer.encode())
    os.close(parent)
    return Screen(process.wait(timeout=100), raw.decode("utf-8", "replace"))
