"""One command from start to end, and the one place where errors end.

Whatever happens, one result is printed and one exit code comes out: 0 and what was done, or a
message with what to type next. A traceback is shown only to those who ask for it.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ccmove.errors import CcmoveError, UnsettledError
from ccmove.text import quote as shell_quote
from ccmove.typed import again

if TYPE_CHECKING:
    from ccmove.claude.layout import Layout
    from ccmove.cli.move import MoveOptions
    from ccmove.cli.resolve import Pair
    from ccmove.report.console import Printer, Progress
    from ccmove.report.result import Result

Show = Callable[[Any, "Printer"], None]
DEBUG = "CCMOVE_DEBUG"  # set to anything: the traceback of a bug is shown
INTERRUPTED = 130
DEFAULT_HINTS = {2: "ccmove --help", 5: "ccmove recover", INTERRUPTED: "{again}"}


class InterruptedRunError(CcmoveError):
    """Ctrl-C, or the system asked us to end."""

    exit_code = INTERRUPTED


def _undeniable(result: Any) -> contextlib.AbstractContextManager[None]:
    """While the result of a finished run is printed, Ctrl-C must not make us say otherwise."""
    if getattr(result, "backup", None) is None:
        return contextlib.nullcontext()
    from ccmove.run.signals import interrupts_ignored

    return interrupts_ignored()


class Session:
    """What a command prints to, and what is known about its run if it fails."""

    def __init__(
        self,
        *,
        quiet: bool = False,
        verbose: bool = False,
        as_json: bool = False,
        config_dir: str | None = None,
    ) -> None:
        from ccmove.report.console import Printer

        self.printer = Printer(quiet, verbose, as_json)
        self.config_dir = config_dir
        self.layout: Layout | None = None
        self.moves: tuple[tuple[str, str], ...] = ()
        self._progress: Progress | None = None

    def progress(self) -> Progress | None:
        """Where long work may say how far it is; None when nobody looks at a terminal."""
        from ccmove.report.console import Progress

        printer = self.printer
        silent = printer.quiet or printer.as_json
        if not silent and printer.out.isatty() and printer.err.isatty():
            self._progress = Progress(printer.err)
        return self._progress

    def move(
        self, pairs: list[Pair], options: MoveOptions | None = None, *, dry_run: bool = False
    ) -> Result:
        """A move, or its preview; what is known of it is kept should it fail."""
        from ccmove.api import DEFAULTS, Move, apply, find_state

        self.moves = tuple(pair.real for pair in pairs)
        self.layout = find_state(self.config_dir)
        asked = Move(self.layout, pairs, options or DEFAULTS, self.progress())
        return asked.preview if dry_run else apply(asked)

    def run(self, work: Callable[[Session], Any], show: Show | None = None) -> int:
        """Do the work, print what comes of it, and return the exit code."""
        from ccmove.report.move import show_result

        result, failed = self._outcome(work)
        shown = show_result if failed or show is None else show
        code: int = getattr(result, "exit_code", 0)
        try:
            with _undeniable(result):
                shown(result, self.printer)
                self.printer.out.flush()
        except OSError as error:
            give_up_on_stdout()
            if not isinstance(error, BrokenPipeError):  # who reads a pipe may stop at any time
                return self._unprinted(result, code, error)
        return code

    def _outcome(self, work: Callable[[Session], Any]) -> tuple[Any, bool]:
        from ccmove.report.result import failure

        try:
            try:
                return work(self), False
            finally:
                if self._progress is not None:
                    self._progress.close()
        except (Exception, KeyboardInterrupt) as error:
            reason = self._as_called(self._reason(error))
            return failure(reason, self.layout, self.moves), True

    def _reason(self, error: BaseException) -> CcmoveError:
        """Any error as one that says what, where and what to type."""
        if isinstance(error, CcmoveError):
            return error
        if os.environ.get(DEBUG) and isinstance(error, Exception):
            raise error
        if self.layout is not None and _may_be_there(self.layout.journal):
            what = "interrupted" if isinstance(error, KeyboardInterrupt) else one_line(error)
            return UnsettledError(f"{what}; the run is not settled", "ccmove recover")
        if isinstance(error, KeyboardInterrupt):
            return InterruptedRunError("interrupted; everything is as it was")
        if isinstance(error, OSError):
            from ccmove.report.result import system_error

            return system_error(error)
        return bug(error)

    def _as_called(self, error: CcmoveError) -> CcmoveError:
        """A hint can be typed as it stands: it acts on the same state, and names the command."""
        hint = error.hint or DEFAULT_HINTS.get(error.exit_code, "mend that, then {again}")
        hint = re.sub("run the command again$", "{again}", hint, flags=re.MULTILINE)
        hint = hint.replace("{again}", f"run it again: {again()}")
        if self.config_dir and "--config-dir" not in hint:
            option = f"ccmove --config-dir {shell_quote(self.config_dir)} "
            hint = re.sub(r"(?<![\w/.-])ccmove (?=\S)", lambda _: option, hint)
        error.hint = hint
        return error

    @staticmethod
    def _unprinted(result: Any, code: int, error: OSError) -> int:
        """The answer could not be written; what was done stays done."""
        done = getattr(result, "backup", None) is not None
        more = "; the run itself was done: ccmove backups" if done else ""
        unprinted(error, more)
        return code or (0 if done else 1)


def _may_be_there(path: Path) -> bool:
    from ccmove.claude.reading import is_there

    try:
        return is_there(path)
    except PermissionError:
        return False  # closed to us, so no run of ours has begun
    except OSError:
        return True


def unprinted(error: OSError, more: str = "") -> None:
    from ccmove.report.console import complain

    try:
        complain(f"the output could not be written: {error.strerror}{more}")
    except OSError:
        _give_up_on(sys.stderr)  # nobody can be told; the exit code still says it


def give_up_on_stdout() -> None:
    """Python flushes standard output once more at its end; that must not fail again."""
    _give_up_on(sys.stdout)


def _give_up_on(stream: TextIO | None) -> None:
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def bug(error: BaseException) -> CcmoveError:
    """An exception that nobody foresaw."""
    return CcmoveError(
        f"this is a bug in ccmove: {one_line(error)}; everything is as it was",
        f"please report it, with the output of: {DEBUG}=1 {again()}",
    )


def one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")


def fail(error: CcmoveError, *, as_json: bool) -> int:
    """End before there is a session: the command line itself was wrong, or the run was stopped."""
    from ccmove.report.console import Printer, show_failure
    from ccmove.report.result import failure

    try:
        show_failure(failure(error), Printer(as_json=as_json))
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        give_up_on_stdout()
        _give_up_on(sys.stderr)
    return error.exit_code
