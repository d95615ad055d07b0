"""One call of ccmove, from what was typed to one result and its exit code;
errors end here.
"""

import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

import click

from ccmove import errors
from ccmove.claude.layout import Layout, find_layout
from ccmove.commands.failures import as_our_own
from ccmove.errors import CcmoveError, CommandLine, UsageError, again, in_words, run
from ccmove.inspect.findings import Examination
from ccmove.report import doctor, listing, move
from ccmove.report.console import Printer, Progress
from ccmove.report.result import Backups, Moves, Result
from ccmove.run.rollback import recover
from ccmove.run.signals import interrupts_ignored
from ccmove.text import printable

SHOWN_BY: dict[type, Callable[[Any, Printer], object]] = {
    str: lambda text, printer: printer.out.write(text),  # such as help
    Result: move.show_result,
    listing.Listing: listing.show_list,
    Backups: listing.show_backups,
    Examination: doctor.show_examination,
    doctor.Repair: doctor.show_repair,
}


def options_of(argv: Sequence[str]) -> Sequence[str]:
    """The words among which options are: not those after `--`."""
    return argv[: argv.index("--")] if "--" in argv else argv


class TextWanted(Exception):  # noqa: N818 - nothing is wrong
    """A text is asked for in the place of a command, such as its help."""


@dataclass
class Call:
    """What was typed, where the answer goes,
    and what is known of the run should it fail.
    """

    argv: list[str]
    printer: Printer
    line: CommandLine | None = None  # what was typed, once it is understood
    layout: Layout | None = None
    moves: Moves = ()
    rolled_back: str | None = None  # what was done about an interrupted run

    def find_layout(self) -> Layout:
        self.layout = find_layout(self.printer.config_dir, os.environ)
        return self.layout

    def recover(self, *, dry_run: bool = False) -> Layout:
        """As `find_layout`, once an interrupted run is rolled back;
        a preview waits for that.
        """
        layout = self.find_layout()
        self.rolled_back = recover(layout, self.progress(), dry_run=dry_run)
        return layout

    def progress(self) -> Progress:
        """Where long work says how far it is; off the screen when the command ends."""
        bar = Progress(self.printer)
        click.get_current_context().call_on_close(bar.close)
        return bar

    def failure(self, error: CcmoveError) -> Result:
        """The result of a run that ended with this error."""
        hints = error.hints or (error.usual,)
        return Result(
            error.status,
            str(self.layout.config_dir) if self.layout else None,
            self.moves,
            error=error.message,
            hints=tuple(
                in_words(hint, self.line, self.printer.config_dir) for hint in hints
            ),
            details=error.details,
            exit_code=error.exit_code,
            rolled_back=error.rolled_back or self.rolled_back,
        )


def end_to_end(app: click.Group, argv: list[str]) -> int:
    """Do what was typed, print one result, and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, io.TextIOWrapper
        ):  # a name may not exist in the terminal's encoding
            stream.reconfigure(errors="backslashreplace")
    call = Call(argv, Printer(as_json="--json" in options_of(argv)))
    try:
        try:
            result = answer(app, call)
        except (Exception, KeyboardInterrupt) as error:
            result = call.failure(as_our_own(error, call.layout))
        return _print(call, result)
    except KeyboardInterrupt:  # while something was printed that changed nothing
        ended = errors.InterruptedRunError("interrupted; nothing was done")
        return _print(call, call.failure(ended))


def answer(app: click.Group, call: Call) -> Any:
    """Let click find the command, and do it: its result."""
    try:
        with app.make_context("ccmove", list(call.argv), obj=call) as context:
            result = app.invoke(context)
    except TextWanted as wanted:
        return f"{wanted}\n"
    except click.ClickException as error:
        at = getattr(error, "ctx", None)
        words = at.command_path.split() if at else ["ccmove"]
        message = " ".join(error.format_message().split()).rstrip(".")
        raise UsageError(
            message[:1].lower() + message[1:], run(*words, "--help")
        ) from None
    if isinstance(result, Result | Backups):
        apply = again(without=["--dry-run"])
        apply_command = in_words(apply, call.line, call.printer.config_dir)[1]
        first = call.rolled_back or result.rolled_back
        return replace(result, apply=apply_command, rolled_back=first)
    return result


def show(result: Any, printer: Printer) -> None:
    SHOWN_BY[type(result)](result, printer)


def _print(call: Call, result: Any) -> int:
    code: int = getattr(result, "exit_code", 0)
    done = getattr(result, "backup", None) is not None
    try:
        # While the result of a finished run is printed, Ctrl-C must not make us say
        # otherwise.
        with interrupts_ignored() if done else contextlib.nullcontext():
            show(result, call.printer)
            call.printer.out.flush()
    except OSError as error:
        _give_up_on(sys.stdout)
        # Who reads a pipe may stop at any time, which Windows calls an invalid
        # argument.
        if error.errno in (errno.EPIPE, errno.EINVAL):
            return code
        message = f"the output could not be written: {error.strerror}"
        if done:  # and stays done
            message += f"; the run itself was done: {call.printer.typed('backups')}"
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
