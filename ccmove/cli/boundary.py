"""One call of ccmove from what was typed to its exit code, and the one place where errors end.

Whatever happens, one result is printed and one exit code comes out: 0 and what was done, or a
message with what to type next. A traceback is shown only to those who ask for it.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from ccmove.claude.layout import Layout, find_layout
from ccmove.claude.reading import is_there
from ccmove.errors import CcmoveError, Hint, UnsettledError, again, in_words, run, system_error
from ccmove.report.console import Printer, Progress
from ccmove.report.move import show_result
from ccmove.report.result import Moves, Result
from ccmove.run.signals import interrupts_ignored
from ccmove.text import printable

DEBUG = "CCMOVE_DEBUG"  # set to anything: the traceback of a bug is shown
INTERRUPTED = 130
DEFAULT_HINTS = {
    2: run("ccmove", "--help"),
    5: run("ccmove", "recover"),
    INTERRUPTED: again("run it again"),
}


class InterruptedRunError(CcmoveError):
    """Ctrl-C, or the system asked us to end."""

    exit_code = INTERRUPTED


@dataclass
class Call:
    """What a command prints to, and what is known about its run should it fail."""

    argv: list[str]
    printer: Printer
    config_dir: str | None = None
    layout: Layout | None = None
    moves: Moves = ()
    bar: Progress | None = None

    def find_layout(self) -> Layout:
        """Where Claude Code keeps its state, for this call."""
        self.layout = find_layout(self.config_dir, os.environ)
        return self.layout

    def progress(self, *, counts: bool = False) -> Progress:
        """Where long work says how far it is; it is off the screen again at the end."""
        self.bar = Progress(self.printer, counts=counts)
        return self.bar

    def failure(self, error: CcmoveError) -> Result:
        """The result of a run that ended with this error."""
        default = DEFAULT_HINTS.get(error.exit_code, again("mend that, then run it again"))
        return Result(
            error.status,
            self.layout,
            self.moves,
            error=error.message,
            hints=tuple(self.in_words(hint) for hint in error.hints or (default,)),
            details=error.details,
            exit_code=error.exit_code,
        )

    def in_words(self, hint: Hint) -> tuple[str, str]:
        """Words and command as they can be typed in the place of this call."""
        return in_words(hint, self.argv, self.config_dir)


Show = Callable[[Any, Printer], None]
Answer = tuple[Any, Show]  # a result, and what prints it


@dataclass(frozen=True)
class Asked:
    """What a command line asks for: it is parsed, and nothing was done yet."""

    work: Callable[[Call], Answer]
    options: dict[str, Any] = field(default_factory=dict)  # of the printer


def end_to_end(argv: list[str], parse: Callable[[list[str]], Asked]) -> int:
    """Do what was typed, print one result, and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name may not exist in the terminal's encoding
            stream.reconfigure(errors="backslashreplace")
    call = Call(argv, Printer(as_json="--json" in argv))
    try:
        return _print(call, *_answer(call, parse))
    except KeyboardInterrupt:  # while something was printed that changed nothing
        error = InterruptedRunError("interrupted; nothing was done")
        return _print(call, call.failure(error), show_result)


def _answer(call: Call, parse: Callable[[list[str]], Asked]) -> Answer:
    try:
        asked = parse(call.argv)
        call.printer = Printer(**asked.options)
        call.config_dir = call.printer.config_dir
        return asked.work(call)
    except (Exception, KeyboardInterrupt) as error:
        return call.failure(_reason(call, error)), show_result
    finally:
        if call.bar is not None:
            call.bar.close()


def _reason(call: Call, error: BaseException) -> CcmoveError:
    """Any error as one that says what, where and what to type."""
    if isinstance(error, CcmoveError):
        return error
    if os.environ.get(DEBUG) and isinstance(error, Exception):
        raise error
    if call.layout is not None and _may_be_there(call.layout.journal):
        what = "interrupted" if isinstance(error, KeyboardInterrupt) else _one_line(error)
        return UnsettledError(f"{what}; the run is not settled", run("ccmove", "recover"))
    if isinstance(error, KeyboardInterrupt):
        return InterruptedRunError("interrupted; everything is as it was")
    if isinstance(error, OSError):
        return system_error(error)
    return CcmoveError(
        f"this is a bug in ccmove: {_one_line(error)}; everything is as it was",
        again("please report it, with the output of", before=[f"{DEBUG}=1"]),
    )


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")


def _may_be_there(path: Path) -> bool:
    try:
        return is_there(path)
    except PermissionError:
        return False  # closed to us, so no run of ours has begun
    except OSError:
        return True


# -- output ----------------------------------------------------------------------------------------


def _print(call: Call, result: Any, show: Show) -> int:
    code: int = getattr(result, "exit_code", 0)
    done = getattr(result, "backup", None) is not None
    try:
        # While the result of a finished run is printed, Ctrl-C must not make us say otherwise.
        with interrupts_ignored() if done else contextlib.nullcontext():
            show(result, call.printer)
            call.printer.out.flush()
    except OSError as error:
        _give_up_on(sys.stdout)
        if isinstance(error, BrokenPipeError):  # who reads a pipe may stop at any time
            return code
        message = f"the output could not be written: {error.strerror}"
        if done:  # and stays done
            hint = run("ccmove", "backups", text="the run itself was done")
            message += f"; {': '.join(call.in_words(hint))}"
        try:
            call.printer.err.write(f"ccmove: {printable(message)}\n")
        except OSError:
            _give_up_on(sys.stderr)  # nobody can be told; the exit code still says it
        return code or (0 if done else 1)
    return code


def _give_up_on(stream: TextIO | None) -> None:
    """Python flushes its streams once more at the end; that must not fail again."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
