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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Literal

from ccmove.hints import as_typed
from ccmove.report.json import Record, to_text
from ccmove.text import at_home, printable

if TYPE_CHECKING:
    import rich.console
    import rich.status
    import rich.text

Styled = tuple[str, str]  # style, text
Piece = str | Styled
Line = Sequence[Piece]

# Plain colours that every terminal theme makes readable; yellow is not one on a light
# ground.
STYLES = {
    "before": "red",
    "after": "green",
    "title": "bold",
    "good": "bold green",
    "bad": "bold red",
    "note": "bold magenta",
    "command": "bold cyan",
}
# Of what stands in a file: with ~ for the home it would be another value.
EXACT = ("before", "after")


def note(text: str) -> Line:
    return [("note", "Note: "), text]


def paragraphs(*blocks: Iterable[Line]) -> list[Line]:
    """The lines of all blocks, with an empty line between two that have any."""
    lines: list[Line] = []
    for block in blocks:
        rows = list(block)
        if lines and rows:
            lines.append([])
        lines += rows
    return lines


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
        console = None
        if self.terminal:
            console = self.rich_console()
        for line in lines:
            pieces = [self._styled(piece) for piece in line]
            if console is None:
                text = _plain(pieces)
                print(text.rstrip(), file=self.out)
                continue
            rows = _rows(pieces, console)
            # A command that is too long is broken by the terminal: it is there to be
            # copied.
            console.print(*rows, sep="\n", soft_wrap=True)

    def _styled(self, piece: Piece) -> Styled:
        if isinstance(piece, str):
            piece = "", piece
        style, text = piece
        if style in EXACT:
            return style, printable(text)
        return style, self.shown(text)

    def shown(self, text: str) -> str:
        if self.terminal:
            return at_home(printable(text))
        return printable(text)

    def rich_console(self) -> rich.console.Console:
        return self.console or _console(self.out)

    def json(self, record: Record) -> None:
        self.out.write(to_text(record))

    def typed(self, *words: str) -> str:
        """A command of ours,
        as it has to be typed for the state that this call is about.
        """
        return as_typed(["ccmove", *words], self.config_dir)

    def command(self, *words: str) -> Piece:
        return ("command", self.typed(*words))

    def on_stderr(self) -> Printer:
        return replace(self, as_json=False, out=self.err)


def _nowhere() -> IO[str]:
    """Standard output was closed by whoever started us."""
    return open(os.devnull, "w", encoding="utf-8")


def _console(out: IO[str]) -> rich.console.Console:
    from rich.console import Console

    # rich would leave bold and dim
    colours: Literal["auto"] | None = "auto"
    if os.environ.get("NO_COLOR"):
        colours = None
    return Console(file=out, highlight=False, color_system=colours)


def _plain(line: list[Styled]) -> str:
    return "".join(text for _, text in line)


def _rows(
    line: list[Styled], console: rich.console.Console
) -> Iterator[rich.text.Text]:
    """A line in as many rows as it needs; a command at the end stays whole, in a row of
    its own.

    Rows after the first begin below what follows its indent, or its label: the
    first pieces, each of which ends with a blank.
    """
    from rich.text import Text

    width = console.width
    plain = _plain(line)
    style = last = ""
    if line:
        style, last = line[-1]
    if style == "command" and Text(plain).cell_len > width:
        indent = _indent(plain)
        words = plain.removesuffix(last)
        if re.search(r"\w", words):
            yield from _rows(line[:-1], console)
            indent += 2
        yield Text(" " * indent + last, STYLES["command"])
        return
    label = ""
    for _, piece in line[:-1]:
        if not piece.endswith(" "):
            break
        label += piece
    if len(label) > width // 2:
        label = ""
    indent = len(label) + _indent(plain.removeprefix(label))
    room = width - indent
    text = Text()
    for style, piece in line:
        broken = _breakable(piece, room)
        text.append(broken, STYLES.get(style, style))
    text.rstrip()
    start = text[:indent]
    for row in text[indent:].wrap(console, room):
        row.rstrip()
        yield start + row
        start = Text(" " * indent)


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _breakable(text: str, room: int) -> str:
    """Paths that are too long, broken between their parts: rich cuts anywhere."""
    room = max(room, 1)
    fits = rf"\S{{0,{room - 1}}}[/{re.escape(os.sep)}]"
    return re.sub(rf"(?=\S{{{room + 1}}}){fits}", lambda part: f"{part[0]}\n", text)


WORK = {
    "unpacking": "unpacking",
    "reading": "reading the history",
    "history": "writing the history",
    "hashing": "hashing",
    "packing": "packing",
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
            self._printer.on_stderr().say([what])
            return
        elapsed = time.monotonic() - self._began
        if not self._shown or elapsed < self.DELAY:
            return
        if self._status is None:
            console = _console(self._printer.err)
            self._status = console.status("")
            self._status.start()
        total = max(total, 1)
        share = min(done / total, 1)  # a file may grow while it is worked on
        self._status.update(f"{WORK[what]} {share:.0%}")

    def close(self) -> None:
        """Take it off the screen; it comes back when the work goes on."""
        if self._status is not None:
            self._status.stop()
            self._status = None
