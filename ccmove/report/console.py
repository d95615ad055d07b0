"""How things are printed: whole and plain into a pipe, wrapped and coloured on a terminal.

Everything is made as lines of styled pieces. rich lays them out where somebody looks at them; a
pipe gets the same words, and a script that pipes does not wait for rich to load. A name from disk
may hold what a terminal acts on, so every piece is made printable here, on its way out.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Literal, TypeVar

from ccmove.errors import in_words, run
from ccmove.text import printable

if TYPE_CHECKING:
    import rich.console
    import rich.progress

T = TypeVar("T")
Piece = tuple[str, str]  # style, text
Line = list[Piece]

# Plain colours that every terminal theme makes readable; yellow is not one on a light ground.
STYLES = {
    "title": "bold",
    "good": "bold green",
    "bad": "bold red",
    "note": "bold magenta",
    "command": "bold cyan",
    "path": "",  # with a colour behind it, such as `path red`; never wrapped, like a command
}
NUMBERS = ("SESSIONS", "SIZE")  # headings of columns
WRAPPED = ("ALSO KEPT", "PATH", "MOVE")


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

    def answer(self, lines: Iterable[Line], record: dict[str, Any]) -> None:
        """The answer in words, as one JSON object, or not at all: as it is wanted."""
        if self.as_json:
            self.json(record)
        elif not self.quiet:
            self.lines(lines)

    def lines(self, lines: Iterable[Line]) -> None:
        """Print these lines."""
        console = (self.console or _console(self.out)) if self.terminal else None
        for line in lines:
            pieces = [(style, printable(text)) for style, text in line]
            if console is not None:
                _paint([(style, at_home(text)) for style, text in pieces], console)
            else:
                print("".join(text for _, text in pieces).rstrip(), file=self.out)

    def table(self, headings: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Rows of a style and its printable cells, for a terminal."""
        from rich import table, text

        made = table.Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for heading in headings:
            side: Literal["left", "right"] = "right" if heading in NUMBERS else "left"
            whole = heading not in WRAPPED
            made.add_column(heading, justify=side, no_wrap=whole, overflow="fold")
        for style, cells in rows:  # as Text, so that brackets in a name are no markup
            made.add_row(*(text.Text(at_home(cell)) for cell in cells), style=style)
        (self.console or _console(self.out)).print(made)

    def json(self, record: Any) -> None:
        print(json.dumps(record, indent=2), file=self.out)

    def typed(self, *words: str) -> str:
        """A command of ours, as it has to be typed for the state that this call is about."""
        return in_words(run("ccmove", *words), config_dir=self.config_dir)[1]

    def command(self, *words: str) -> Piece:
        return ("command", self.typed(*words))

    def first(self, items: Sequence[T], most: int) -> Sequence[T]:
        """As many as a person wants to see at once; a pipe and -v get all."""
        return items if self.verbose or not self.terminal else items[:most]

    def on_stderr(self) -> Printer:
        """The same for messages that are not the result."""
        return replace(self, as_json=False, out=self.err)


def more(hidden: int, indent: str = "  ", what: str = "") -> list[Line]:
    """Says that there is more, if there is."""
    return [[("dim", f"{indent}… and {hidden} more{what} (-v shows all)")]] if hidden else []


def _nowhere() -> IO[str]:
    """Standard output was closed by whoever started us."""
    return open(os.devnull, "w", encoding="utf-8")


def _console(out: IO[str]) -> rich.console.Console:
    from rich.console import Console

    return Console(
        file=out, highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto"
    )


def at_home(text: str) -> str:
    """Paths below the home with ~, also in commands: a shell expands it where a word begins."""
    home = os.environ.get("HOME", "")
    if len(home) < 2 or home not in text:
        return text
    return re.sub(rf"(?<!\S){re.escape(home)}(?=/|\s|$)", "~", text)


def _rich_style(style: str) -> str:
    return " ".join(STYLES.get(word, word) for word in style.split())


def _paint(line: Line, console: rich.console.Console) -> None:
    """Prose is wrapped; what is there to be copied stays whole, and the terminal breaks it."""
    from rich.cells import cell_len
    from rich.padding import Padding
    from rich.text import Text

    plain = "".join(text for _, text in line)
    indent = len(plain) - len(plain.lstrip(" "))
    styles = [style for style, _ in line]
    if "command" in styles[1:] and cell_len(plain) > console.width:
        at = styles.index("command")
        _paint(line[:at], console)
        line = [("command", f"{' ' * (indent + 2)}{line[at][1]}")]
    text = Text.assemble(*((text, _rich_style(style)) for style, text in line))
    if any(style == "command" or style.startswith("path") for style, _ in line):
        console.print(text, soft_wrap=True)
    else:
        text.rstrip()
        console.print(Padding.indent(text[indent:], indent) if indent else text)


def show_text(text: str, printer: Printer) -> None:
    """A text that is laid out already, such as help."""
    printer.out.write(text)


# -- progress ------------------------------------------------------------------------------------

WORK = {"reading": "reading the history", "history": "writing the history"}


class Progress:
    """Shows how far long work is, on a terminal, once it has taken half a second."""

    DELAY = 0.5

    def __init__(self, printer: Printer, *, counts: bool = False) -> None:
        silent = printer.quiet or printer.as_json
        self._shown = not silent and printer.out.isatty() and printer.err.isatty()
        self._out = printer.err
        self._counts = counts  # things, not bytes
        self._began = time.monotonic()
        self._bar: rich.progress.Progress | None = None

    def __call__(self, what: str, done: int, total: int) -> None:
        """`done` of `total` are through; nothing is drawn before the delay is over."""
        if not self._shown or time.monotonic() - self._began < self.DELAY:
            return
        if self._bar is None:
            self._bar = self._start()
        task, label = self._bar.tasks[0], WORK.get(what, what)
        if task.description != label:
            self._bar.reset(task.id, description=label)
        # A file may grow while it is worked on.
        self._bar.update(task.id, completed=min(done, total), total=total)

    def _start(self) -> rich.progress.Progress:
        from rich import progress

        rate = progress.TransferSpeedColumn(), progress.TimeRemainingColumn(compact=True)
        bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(bar_width=16),
            *(
                [progress.MofNCompleteColumn()]
                if self._counts
                else [progress.DownloadColumn(), *rate]
            ),
            console=_console(self._out),
            transient=True,
        )
        bar.start()
        bar.add_task("")
        return bar

    def of(self, what: str) -> Callable[[int, int], None]:
        """Where the work on `what` says how far it is."""
        return partial(self, what)

    def close(self) -> None:
        """Take the bar off the screen; it comes back when the work goes on."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
