"""Lines of styled pieces: whole and plain into a pipe, wrapped and coloured on a
terminal.

A name from disk may hold what a terminal acts on: each piece is made printable here, on
its way out. A script that reads a pipe does not wait for rich to load.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Literal

from ccmove.hints import in_words, run
from ccmove.report.json import Record, to_text
from ccmove.text import printable

if TYPE_CHECKING:
    import rich.console
    import rich.status
    import rich.text

Piece = tuple[str, str]  # style, text
Line = list[Piece]
ENDLESS = 1_000_000  # columns of a pipe

# Plain colours that every terminal theme makes readable; yellow is not one on a light
# ground.
STYLES = {
    "title": "bold",
    "good": "bold green",
    "bad": "bold red",
    "note": "bold magenta",
    "command": "bold cyan",
}


@dataclass
class Printer:
    """Where output goes, and how much of it there is."""

    quiet: bool = False
    verbose: bool = False
    as_json: bool = False
    config_dir: str | None = None
    out: IO[str] = field(default_factory=lambda: sys.stdout or _nowhere())
    err: IO[str] = field(default_factory=lambda: sys.stderr or _nowhere())
    console: rich.console.Console | None = None  # another terminal, such as a picture

    @property
    def terminal(self) -> bool:
        """Whether a person looks at it: long lists are cut."""
        return self.console is not None or self.out.isatty()

    def answer(self, lines: Iterable[Line], record: Record) -> None:
        """The answer in words, as one JSON object, or not at all: as it is wanted."""
        if self.as_json:
            self.json(record)
        else:
            self.say(*lines)

    def say(self, *lines: Line) -> None:
        if not self.quiet:
            self.lines(lines)

    def lines(self, lines: Iterable[Line]) -> None:
        """Print these lines; a pipe gets them whole."""
        console = self.rich_console() if self.terminal else None
        for line in lines:
            shown = [(style, self.shown(text)) for style, text in line]
            if console is not None:
                # A command that is too long is broken by the terminal: it is there to
                # be copied.
                console.print(*_rows(shown, console), sep="\n", soft_wrap=True)
            else:
                print("".join(text for _, text in shown).rstrip(), file=self.out)

    def shown(self, text: str) -> str:
        return at_home(printable(text)) if self.terminal else printable(text)

    def rich_console(self) -> rich.console.Console:
        return self.console or _console(self.out, None if self.terminal else ENDLESS)

    def json(self, record: Record) -> None:
        self.out.write(to_text(record))

    def typed(self, *words: str) -> str:
        """A command of ours,
        as it has to be typed for the state that this call is about.
        """
        return in_words(run("ccmove", *words), config_dir=self.config_dir)[1]

    def command(self, *words: str) -> Piece:
        return ("command", self.typed(*words))

    def on_stderr(self) -> Printer:
        return replace(self, as_json=False, out=self.err)


def _nowhere() -> IO[str]:
    """Standard output was closed by whoever started us."""
    return open(os.devnull, "w", encoding="utf-8")


def _console(out: IO[str], width: int | None = None) -> rich.console.Console:
    from rich.console import Console

    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    return Console(file=out, width=width, highlight=False, color_system=colours)


def at_home(text: str) -> str:
    """Paths below the home with ~, also in commands:
    a shell expands it where a word begins.
    """
    home = os.environ.get("HOME", "")
    if len(home) < 2 or home not in text:
        return text
    return re.sub(rf"(?<!\S){re.escape(home)}(?=/|\s|$)", "~", text)


def _rows(line: Line, console: rich.console.Console) -> Iterator[rich.text.Text]:
    """A line in as many rows as it needs; a command at the end stays whole, in a row of
    its own.

    Rows after the first begin below what follows its indent, or its label: a first
    piece that ends with a blank.
    """
    from rich.text import Text

    width, plain = console.width, "".join(text for _, text in line)
    hang = len(plain) - len(plain.lstrip(" "))
    (_, label), *_, (style, last) = line * 2 or [("", "")] * 2
    if style == "command" and Text(plain).cell_len > width:
        if re.search(r"\w", plain.removesuffix(last)):
            yield from _rows(line[:-1], console)
            hang += 2
        yield Text(" " * hang + last, STYLES["command"])
        return
    if label.endswith(" ") and len(label) <= width // 2:
        hang = max(hang, len(plain) - len(plain[len(label) :].lstrip(" ")))
    pieces = [(breakable(text, width - hang), STYLES.get(s, s)) for s, text in line]
    text = Text.assemble(*pieces)
    text.rstrip()
    start = text[:hang]
    for row in text[hang:].wrap(console, width - hang):
        row.rstrip()
        yield start + row
        start = Text(" " * hang)


def breakable(text: str, room: int) -> str:
    """Paths that are too long, broken between their parts: rich cuts anywhere."""
    room = max(room, 1)
    fits = rf"\S{{0,{room - 1}}}[/{re.escape(os.sep)}]"
    return re.sub(rf"(?=\S{{{room + 1}}}){fits}", lambda part: f"{part[0]}\n", text)


WORK = {
    "reading": "reading the history",
    "history": "writing the history",
    "hashing": "hashing",
    "projects": "looking at projects",
    "lost": "looking for lost folders",
}


class Progress:
    """Shows how far long work is, on a terminal, once it has taken half a second."""

    DELAY = 0.5

    def __init__(self, printer: Printer) -> None:
        silent = printer.quiet or printer.as_json
        self._shown = not silent and printer.out.isatty() and printer.err.isatty()
        self._printer = printer
        self._began = time.monotonic()
        self._status: rich.status.Status | None = None

    def __call__(self, what: str, done: int, total: int) -> None:
        """`done` of `total` are through;
        what is not in WORK is a sentence about waiting.
        """
        if what not in WORK:
            self.close()
            self._printer.on_stderr().say([("", what)])
        elif self._shown and time.monotonic() - self._began >= self.DELAY:
            if self._status is None:
                self._status = _console(self._printer.err).status("")
                self._status.start()
            # A file may grow while it is worked on.
            self._status.update(f"{WORK[what]} {min(done / max(total, 1), 1):.0%}")

    def close(self) -> None:
        """Take it off the screen; it comes back when the work goes on."""
        if self._status is not None:
            self._status.stop()
            self._status = None
