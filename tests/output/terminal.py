"""Runs ccmove on a terminal of a chosen width and gives back what appeared there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.support.run import ccmove_command, clean_environment
from tests.support.state import StateBuilder

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
) -> Screen:
    """Run `ccmove ARGUMENTS` with a new terminal as its standard input, output and error.

    With `program` the arguments begin with a program of their own.
    """
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**clean_environment(state, {"TERM": "xterm-256color"}), **(env or {})}
    process = subprocess.Popen(
        list(arguments) if program else ccmove_command(*arguments),
        stdin=child,
        stdout=child,
        stderr=child,
        cwd=state.home,
        env=environment,
        start_new_session=True,
    )
    os.close(child)
    raw = _everything(parent)
    return Screen(process.wait(timeout=100), raw.decode("utf-8", "replace"))


def _everything(fd: int) -> bytes:
    written = b""
    with contextlib.suppress(OSError):  # EIO: the other side was closed
        while block := os.read(fd, 65536):
            written += block
    os.close(fd)
    return written
