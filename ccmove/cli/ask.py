"""A question with a few answers: arrow keys on a terminal, numbers there and anywhere else."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO

from ccmove.inspect.findings import KINDS, Choice, Finding
from ccmove.report.console import Printer, Progress, cells
from ccmove.report.inspect import about
from ccmove.text import printable

ELLIPSIS = "…"

UP, DOWN, ENTER, STOP = "up", "down", "enter", "stop"
_KEYS = {
    b"\x1b[A": UP, b"\x1bOA": UP, b"k": UP,
    b"\x1b[B": DOWN, b"\x1bOB": DOWN, b"j": DOWN,
    b"\r": ENTER, b"\n": ENTER,
    b"q": STOP, b"\x1b": STOP, b"\x04": STOP,
}  # fmt: skip


class NoAnswerError(Exception):
    """Whoever was asked has left: the input has ended, or they want to stop."""


@dataclass
class Asker:
    """Asks on the terminal; everything goes to `out`, so that standard output stays clean."""

    out: IO[str] = field(default_factory=lambda: sys.stderr)
    stdin: IO[str] = field(default_factory=lambda: sys.stdin)
    paint: Callable[[str], str] = str  # how the chosen line is shown

    def __call__(self, options: list[str], default: int = 0) -> int:
        """The number of the option that was chosen; NoAnswerError when nobody answers."""
        if self.stdin.isatty() and self.out.isatty() and _has_raw_mode():
            return self._by_keys(options, default)
        return self._by_number(options, default)

    def _by_number(self, options: list[str], default: int) -> int:
        for number, option in enumerate(options, 1):
            self._say(f"    {number}  {option}\n")
        while True:
            self._say(f"  number [{default + 1}]: ")
            line = self.stdin.readline()
            if not line:
                self._say("\n")
                raise NoAnswerError
            answer = line.strip()
            if not answer:
                return default
            if answer.isdecimal() and 1 <= int(answer) <= len(options):
                return int(answer) - 1
            self._say(f"  a number from 1 to {len(options)}, please\n")

    def _by_keys(self, options: list[str], chosen: int) -> int:
        """The list is drawn again at each key, and left with the answer marked."""
        with _raw_mode(self.stdin.fileno()):
            self._draw(options, chosen)
            for key in _keys(self.stdin.fileno()):
                answered = key == ENTER
                if key.isdecimal() and 1 <= int(key) <= len(options):
                    chosen, answered = int(key) - 1, True
                chosen = (chosen + {UP: -1, DOWN: 1}.get(key, 0)) % len(options)
                self._say(f"\x1b[{len(options)}A")
                self._draw(options, chosen)
                if answered:
                    return chosen
        raise NoAnswerError

    def _draw(self, options: list[str], chosen: int) -> None:
        """One row an option: a longer one would break the counting of rows."""
        width = shutil.get_terminal_size().columns - 1
        for number, option in enumerate(options):
            line = _cut(f"  {'>' if number == chosen else ' '} {number + 1}  {option}", width)
            self._say(f"\r\x1b[2K{self.paint(line) if number == chosen else line}\r\n")

    def _say(self, text: str) -> None:
        self.out.write(text)
        self.out.flush()


def _has_raw_mode() -> bool:
    with contextlib.suppress(ImportError):
        import termios  # noqa: F401  # there is none on Windows

        return os.environ.get("TERM") != "dumb"
    return False


@contextlib.contextmanager
def _raw_mode(fd: int) -> Iterator[None]:
    """Keys come one by one and unseen; Ctrl-C still interrupts."""
    import termios

    before = termios.tcgetattr(fd)
    mode = termios.tcgetattr(fd)
    mode[3] &= ~(termios.ICANON | termios.ECHO)
    try:
        termios.tcsetattr(fd, termios.TCSADRAIN, mode)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)


def _keys(fd: int) -> Iterator[str]:
    """Key presses by name or character, until the input ends or someone wants to stop."""
    while pressed := os.read(fd, 64):
        while pressed:
            length = 3 if pressed[:2] in (b"\x1b[", b"\x1bO") else 1
            key, pressed = pressed[:length], pressed[length:]
            name = _KEYS.get(key) or key.decode("ascii", "replace")
            if name == STOP:
                return
            yield name


def _cut(text: str, width: int) -> str:
    while cells(text) > width:
        text = text[:-2] + ELLIPSIS
    return text


def asker(printer: Printer, bar: Progress) -> Callable[[Finding], Choice | None]:
    """Asks a person about each finding; once nobody answers any more, everything stays."""
    ask = Asker(out=printer.err)
    messages = printer.on_stderr()
    stopped = False
    explained: set[str] = set()

    def choose(finding: Finding) -> Choice | None:
        nonlocal stopped
        if stopped:
            return None
        bar.close()
        if finding.kind not in explained:
            explained.add(finding.kind)
            kind = KINDS[finding.kind]
            messages.lines([[("title", kind.title)], [("dim", f"  {kind.means}")]])
        messages.lines(about(finding))
        options = [printable(choice.label) for choice in finding.choices]
        sure = next((i for i, choice in enumerate(finding.choices) if choice.sure), None)
        try:
            answer = ask([*options, "leave it as it is"], len(options) if sure is None else sure)
        except NoAnswerError:
            stopped = True
            return None
        messages.lines([[]])
        return finding.choices[answer] if answer < len(options) else None

    return choose
