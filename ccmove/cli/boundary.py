"""One call of ccmove, from what was typed to one answer and its exit code;
errors end here.
"""

import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TextIO

import click

from ccmove.claude.layout import Layout, find_layout
from ccmove.commands.failures import as_ours, with_error
from ccmove.errors import UsageError
from ccmove.hints import Asked, to_type
from ccmove.report.console import Printer, Progress
from ccmove.report.move import show_result
from ccmove.report.result import Result
from ccmove.run.rollback import recover
from ccmove.run.signals import interrupts_ignored
from ccmove.text import printable


def options_of(argv: Sequence[str]) -> Sequence[str]:
    """The words among which options are: not those after `--`."""
    if "--" in argv:
        return argv[: argv.index("--")]
    return argv


class TextWanted(Exception):  # noqa: N818 - nothing is wrong
    """A text is asked for in the place of a command, such as its help."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has to say, and the exit code that goes with it."""

    show: Callable[[Printer], None]
    exit_code: int = 0
    is_done: bool = False  # a run is finished, whatever becomes of the answer


def text_answer(text: str) -> Answer:
    """Written as it is, such as help."""

    def show(printer: Printer) -> None:
        printer.out.write(text)

    return Answer(show)


@dataclass
class Call:
    """What was typed, where the answer goes,
    and what is known of the run should it fail.
    """

    argv: list[str]
    printer: Printer
    asked: Asked | None = None  # what was typed, once it is understood
    layout: Layout | None = None
    moves: list[tuple[str, str]] = field(default_factory=list)
    rolled_back: str | None = None  # what was done about an interrupted run

    def understood(self, asked: Asked) -> None:
        """What was typed; hints are made from it."""
        if asked.config_dir == "":  # it would mean the usual one
            raise UsageError("--config-dir is empty (an unset variable?)")
        self.asked = asked
        self.printer = replace(
            self.printer,
            config_dir=asked.config_dir,
            as_json=asked.json,
            quiet=asked.quiet,
            verbose=asked.verbose,
        )

    def find_layout(self) -> Layout:
        self.layout = find_layout(self.printer.config_dir, os.environ)
        return self.layout

    def recover(self, *, dry_run: bool = False) -> Layout:
        """As `find_layout`, once an interrupted run is rolled back; a preview is
        refused before that.
        """
        layout = self.find_layout()
        self.rolled_back = recover(layout, self.progress(), dry_run=dry_run)
        return layout

    def progress(self, printer: Printer | None = None) -> Progress:
        """Where long work says how far it is; off the screen when the command ends."""
        bar = Progress(printer or self.printer)
        click.get_current_context().call_on_close(bar.close)
        return bar

    def answer(self, result: Result) -> Answer:
        """The result of a run; first what was done about an interrupted one."""
        rolled_back = self.rolled_back or result.rolled_back
        result = replace(result, rolled_back=rolled_back)
        is_done = result.backup is not None
        return Answer(partial(show_result, result), result.exit_code, is_done)

    def failed(self, error: BaseException) -> Result:
        """The result of a run that ended with this error."""
        directory = None
        if self.layout is not None:
            directory = str(self.layout.config_dir)
        ours = as_ours(error, self.layout)
        result = Result(
            ours.status,
            directory,
            tuple(self.moves),
            rolled_back=ours.rolled_back,
        )
        return with_error(result, ours, self.asked, self.printer.config_dir)


def end_to_end(app: click.Group, argv: list[str]) -> int:
    """Do what was typed, print one answer, and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A name may not exist in the terminal's encoding.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    as_json = "--json" in options_of(argv)
    call = Call(argv, Printer(as_json=as_json))
    try:
        answer = find_answer(app, call)
    except (Exception, KeyboardInterrupt) as error:
        result = call.failed(error)
        answer = call.answer(result)
    try:
        return _print(call.printer, answer)
    except KeyboardInterrupt as error:  # while it printed what changed nothing
        result = call.failed(error)
        return _print(call.printer, call.answer(result))


def find_answer(app: click.Group, call: Call) -> Answer:
    """Let click find the command, and do it."""
    try:
        words = list(call.argv)
        with app.make_context("ccmove", words, obj=call) as context:
            answer: Answer = app.invoke(context)
            return answer
    except TextWanted as text:
        return text_answer(f"{text}\n")
    except click.UsageError as error:
        command = ["ccmove"]
        if error.ctx is not None:
            command = error.ctx.command_path.split()
        hint = to_type(*command, "--help")
        raise UsageError(_in_our_words(error), hint) from None


def _in_our_words(error: click.UsageError) -> str:
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"missing argument: {error.param.human_readable_name}"
    words = error.format_message().split()
    sentence = " ".join(words)
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _print(printer: Printer, answer: Answer) -> int:
    """Show it; that nobody can or wants to read it does not undo a run."""
    # While the result of a finished run is printed, Ctrl-C must not make us say
    # otherwise.
    quietly = interrupts_ignored() if answer.is_done else contextlib.nullcontext()
    try:
        with quietly:
            answer.show(printer)
            printer.out.flush()
    except OSError as error:
        give_up_on(sys.stdout)
        # Who reads a pipe may stop at any time, which Windows calls an invalid
        # argument.
        if error.errno in (errno.EPIPE, errno.EINVAL):
            return answer.exit_code
        message = f"the output could not be written: {error.strerror}"
        if answer.is_done:  # and stays done
            message += f"; the run itself was done: {printer.typed('backups')}"
        try:
            printer.err.write(f"ccmove: {printable(message)}\n")
        except OSError:
            give_up_on(sys.stderr)  # nobody can be told; the exit code still says it
        if not answer.is_done:
            return answer.exit_code or 1
    return answer.exit_code


def give_up_on(stream: TextIO | None) -> None:
    """Python flushes its streams once more at the end; that must not fail again."""
    if stream is not None:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
