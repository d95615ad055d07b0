"""How things are printed: whole and plain into a pipe, fitted and coloured on a terminal.

Everything is laid out as lines of styled pieces; rich only paints them. So a pipe gets the same
words, and a script that pipes does not wait for rich to load. The only module with rich.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any

from ccmove.text import printable

if TYPE_CHECKING:
    import rich.console
    import rich.progress

    from ccmove.report.result import Result

Piece = tuple[str, str]  # style, text
Line = list[Piece]

# Plain colours that every terminal theme makes readable; yellow is not one on a light ground.
STYLES = {
    "title": "bold",
    "good": "bold green",
    "bad": "bold red",
    "note": "bold magenta",
    "command": "bold cyan",
    "removed": "red",
    "added": "green",
    "path": "",
    "path.new": "bold",
    "path.dim": "dim",
    "path.removed": "red",
    "path.added": "green",
    "part.removed": "bold red",
    "part.added": "bold green",
}
ELLIPSIS = "…"
SHORTEST_PATH = 16  # a path is not shortened further than this,
SHORTEST_PART = 24  # and the part of it that differs not further than this
NARROWEST = 40


class Printer:
    """Where output goes, how much of it there is, and how wide it may be."""

    def __init__(
        self,
        quiet: bool = False,
        verbose: bool = False,
        as_json: bool = False,
        out: IO[str] | None = None,
        err: IO[str] | None = None,
        home: str | None = None,
        console: rich.console.Console | None = None,  # another terminal, such as a picture
    ) -> None:
        self.quiet = quiet
        self.verbose = verbose
        self.as_json = as_json
        self.out = out or sys.stdout or _nowhere()
        self.err = err or sys.stderr or _nowhere()
        self.home = os.environ.get("HOME", "") if home is None else home
        self.console = console

    def at_home(self, home: str) -> Printer:
        """The same, for the paths of another home."""
        return Printer(
            self.quiet, self.verbose, self.as_json, self.out, self.err, home, self.console
        )

    @property
    def terminal(self) -> bool:
        """Whether a person looks at it: long paths are shortened, long lists cut."""
        return self.console is not None or self.out.isatty()

    @property
    def colour(self) -> bool:
        if self.console is not None:
            return True
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return self.out.isatty() and not plain

    @property
    def width(self) -> int:
        if self.console is not None:
            return self.console.width
        import shutil

        return max(NARROWEST, shutil.get_terminal_size().columns)

    def lines(self, lines: Iterable[Line]) -> None:
        """Print these lines; on a terminal they are made to fit."""
        if self.terminal:
            width = self.width
            lines = [row for line in lines for row in fitted(self._at_home(line), width)]
        if self.colour:
            _paint(lines, self.console or _console(self.out))
        else:
            for line in lines:
                print("".join(text for _, text in line).rstrip(), file=self.out)

    def _at_home(self, line: Line) -> Line:
        return [(style, _tilde(text, self.home)) for style, text in line]

    def json(self, record: Any) -> None:
        print(json.dumps(record, indent=2), file=self.out)

    def on_stderr(self) -> Printer:
        """The same for messages that are not the result."""
        return Printer(self.quiet, self.verbose, False, self.err, self.err, self.home, self.console)


def _nowhere() -> IO[str]:
    """Standard output was closed by whoever started us."""
    return open(os.devnull, "w", encoding="utf-8")


def _console(out: IO[str]) -> rich.console.Console:
    from rich.console import Console

    return Console(file=out, highlight=False)


def _paint(lines: Iterable[Line], console: rich.console.Console) -> None:
    from rich.text import Text

    for line in lines:
        pieces = [(text, STYLES.get(style, style)) for style, text in line]
        console.print(Text.assemble(*pieces), soft_wrap=True)


# -- making lines fit ----------------------------------------------------------------------------


def cells(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    return sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fitted(line: Line, width: int) -> list[Line]:
    """The line, its paths shortened in the middle, and wrapped at spaces if that is not enough."""
    line = _narrowed(line, width, "path", SHORTEST_PATH)
    line = _narrowed(line, width, "part", SHORTEST_PART)
    return [line] if _length(line) <= width else list(_wrapped(line, width))


def _narrowed(line: Line, width: int, kind: str, shortest: int) -> Line:
    """The pieces of this kind made shorter, the longest first, until the line fits."""
    pieces = list(line)
    excess = _length(line) - width
    for index in sorted(range(len(pieces)), key=lambda i: -cells(pieces[i][1])):
        style, text = pieces[index]
        if excess > 0 and style.startswith(kind):
            shorter = shortened(text, max(shortest, cells(text) - excess))
            excess -= cells(text) - cells(shorter)
            pieces[index] = (style, shorter)
    return pieces


def _length(line: Line) -> int:
    return cells("".join(text for _, text in line).rstrip())


def shortened(path: str, width: int) -> str:
    """`path` in at most `width` columns: whole components go from its middle, its end stays."""
    if cells(path) <= width:
        return path
    parts = path.split("/")
    for dropped in range(1, len(parts) - 1):
        head = _head_length(parts, dropped)
        kept = [*parts[:head], ELLIPSIS, *parts[head + dropped :]]
        if cells("/".join(kept)) <= width:
            return "/".join(kept)
    head = (width - 1) // 3
    return path[:head] + ELLIPSIS + _last(path, width - 1 - cells(path[:head]))


def _head_length(parts: list[str], dropped: int) -> int:
    """How many components stay before the gap: two (`~/code`, `/home`) while there are enough."""
    return max(1, min(2, len(parts) - dropped - 1))


def _last(text: str, width: int) -> str:
    while cells(text) > width:
        text = text[1:]
    return text


def _tilde(text: str, home: str) -> str:
    """Paths below the home with ~, also in commands: a shell expands it where a word begins."""
    if len(home) < 2 or home not in text:
        return text
    return re.sub(rf"(?<!\S){re.escape(home)}(?=/|\s|$)", "~", text)


def _wrapped(line: Line, width: int) -> Iterator[Line]:
    """Broken at spaces, but never inside a command or a path: those are there to be copied."""
    whole = "".join(text for _, text in line)
    indent = len(whole) - len(whole.lstrip(" "))
    hanging = " " * (indent + (2 if len(line) > 1 else 0))  # prose of one piece is a paragraph
    row: Line = []
    for style, word in _words(line):
        if row and _length([*row, (style, word)]) > width and _length(row) > indent:
            yield row
            row = [("", hanging), (style, word.lstrip(" "))]
        else:
            row.append((style, word))
    yield row


def _words(line: Line) -> Iterator[Piece]:
    for style, text in line:
        if style == "command" or style.startswith(("path", "part")):
            yield style, text
        else:
            yield from ((style, word) for word in re.findall(r" *[^ ]+ ?| +", text))


# -- failures ------------------------------------------------------------------------------------


def show_failure(result: Result, printer: Printer) -> None:
    """What went wrong, and last what to type next."""
    if printer.as_json:
        printer.json(result.to_json())
        return
    lines: list[Line] = [[("bad", "ccmove: "), ("", printable(result.error))]]
    lines += [[("dim", f"  {printable(detail)}")] for detail in result.details]
    for hint in (result.hint or "").splitlines():
        lines.append([("title", "  -> "), *with_command(printable(hint))])
    printer.on_stderr().lines(lines)


def complain(message: str) -> None:
    """One line on standard error, when there is no result to print."""
    if sys.stderr is not None:
        sys.stderr.write(f"ccmove: {printable(message)}\n")


_COMMAND = (
    r"(?P<words>(?:.*?: )?)(?P<command>(?:ccmove|git|mv|ls|mkdir|chmod|df|CCMOVE_DEBUG=1) .*)"
)


def with_command(hint: str) -> Line:
    """The command that ends a hint stands out, and is never broken, so that it can be copied."""
    match = re.fullmatch(_COMMAND, hint)
    if match is None:
        return [("", hint)]
    return [("", match["words"]), ("command", match["command"])]


# -- progress ------------------------------------------------------------------------------------


WORK = {"reading": "reading the history", "history": "writing the history"}


class Progress:
    """Shows how far long work is, on a terminal, once it has taken half a second."""

    DELAY = 0.5

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._began = time.monotonic()
        self._bar: rich.progress.Progress | None = None
        self._task: rich.progress.TaskID | None = None
        self._what = ""

    def __call__(self, what: str, done: int, total: int) -> None:
        """`done` of `total` bytes are through; nothing is drawn before the delay is over."""
        if self._bar is None:
            if time.monotonic() - self._began < self.DELAY:
                return
            self._bar = _progress_bar(self._out)
            self._bar.start()
        done = min(done, total)  # a file may grow while it is worked on
        if what != self._what or self._task is None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            label = WORK.get(what, what)
            self._task, self._what = self._bar.add_task(label, total=total, completed=done), what
        self._bar.update(self._task, completed=done)

    def close(self) -> None:
        """Take the bar off the screen again."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _progress_bar(out: IO[str]) -> rich.progress.Progress:
    from rich import progress

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=16),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(compact=True),
        console=_console(out),
        transient=True,
    )
