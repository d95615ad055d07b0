"""Questions at the terminal, on standard error alone: a result may go into a pipe."""

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator

import click

from ccmove.text import at_home, printable

MOST_WRONG = 3  # answers; what is piped into us, such as `yes`, would never end


def confirm(question: str, *, default: bool) -> bool:
    """Whether it was answered with yes; a closed input says no."""
    is_confirmed = False
    if sys.stdin is not None:
        with _asking():
            is_confirmed = click.confirm(_rows(question), default=default, err=True)
    return is_confirmed


def prompt(question: str, *, default: str, check: Callable[[str], str]) -> str | None:
    """The answer once `check` has accepted it, which raises click.UsageError for a
    wrong one; None at a closed input.
    """
    wrong_answers = 0

    def checked(typed: str) -> str:
        nonlocal wrong_answers
        try:
            return check(typed)
        except click.UsageError:
            wrong_answers += 1
            if wrong_answers > MOST_WRONG:
                raise click.Abort from None
            raise

    answer: str | None = None
    if sys.stdin is not None:
        with _asking():
            answer = click.prompt(
                _rows(question), default=default, value_proc=checked, err=True
            )
    return answer


def _rows(question: str) -> str:
    room = shutil.get_terminal_size().columns - len(" [Y/n]: ")
    text = at_home(printable(question))
    return click.wrap_text(text, max(room, 1), preserve_paragraphs=True)


@contextlib.contextmanager
def _asking() -> Iterator[None]:
    """Ends without an answer at a closed input; Ctrl-C is raised."""
    try:
        # click writes a part of a prompt there.
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except click.Abort as abort:
        click.echo(err=True)  # the question's line has not ended
        if isinstance(abort.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
