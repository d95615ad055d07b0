"""The command line: click parses what was typed, the boundary does it."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any

import click
from click.shell_completion import CompletionItem

from ccmove import TESTED_WITH, __version__
from ccmove.cli import backups, completion, demo, doctor, move, recover, restore, verify
from ccmove.cli import list as listing
from ccmove.cli.boundary import Answer, Asked, Call, end_to_end
from ccmove.cli.help import write_help
from ccmove.cli.options import COMMON
from ccmove.errors import UsageError, run
from ccmove.report.console import show_text

VERSION = f"%(prog)s %(version)s\ntested with Claude Code {', '.join(TESTED_WITH)}"


class Commands(click.Group):
    """`ccmove OLD NEW` is `ccmove move OLD NEW`; common options may stand before the command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_asked = ctx.resilient_parsing and not args  # a shell completes the first word
        return super().parse_args(ctx, args if is_asked else self.with_command(args))

    def with_command(self, args: list[str]) -> list[str]:
        """The command's name brought to the front, `move` when there is none."""
        if not args or args[0] in ("-h", "--help", "--version"):
            return args or ["--help"]
        position = self._first_word(args)
        if position is not None and args[position] in self.commands:
            return [args[position], *args[:position], *args[position + 1 :]]
        return ["move", *args]

    def _first_word(self, args: list[str]) -> int | None:
        """Where the first word stands that is neither an option nor the value of one."""
        options = [param for command in self.commands.values() for param in command.params]
        flags = {name for o in options if getattr(o, "is_flag", False) for name in o.opts}
        with_value = {name for option in options for name in option.opts} - flags
        is_value = False
        for position, word in enumerate(args):
            if word == "--":
                return None
            if not is_value and (not word.startswith("-") or word == "-"):
                return position
            is_value = not is_value and word in with_value
        return None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """The first word may be a command, or OLD or an option of a move."""
        commands = super().shell_complete(ctx, incomplete)
        return completion.first_word(ctx, incomplete, commands, self.commands["move"])

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_help(self, ctx, formatter, COMMON)


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="ccmove", message=VERSION)
def app() -> None:
    """Bring along what Claude Code knows about a project when its folder was renamed or moved."""


for command in (
    move.move_command,
    restore.restore_command,
    recover.recover_command,
    backups.backups_command,
    demo.demo_command,
    listing.list_command,
    doctor.doctor_command,
    verify.verify_command,
    completion.completion_command,
):
    app.add_command(command)


def main(args: list[str] | None = None) -> None:
    """The program: do what was typed, and end with its exit code."""
    sys.exit(end_to_end(sys.argv[1:] if args is None else args, parsed))


def parsed(argv: list[str]) -> Asked:
    """What the words ask for; what click says itself, such as help, is kept to be printed."""
    said = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")  # a shell is answered in bytes
    asked: Any = None
    try:
        with contextlib.redirect_stdout(said):
            asked = app.main(argv, prog_name="ccmove", standalone_mode=False)
    except click.exceptions.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        raise _usage(error) from None
    except SystemExit:  # the way in which click ends when a shell has asked it
        pass

    said.seek(0)
    text = said.read()

    def print_it(_: Call) -> Answer:
        return text, show_text

    return asked if isinstance(asked, Asked) else Asked(print_it)


def _usage(error: click.ClickException) -> UsageError:
    """What click says of the command line, in our own form."""
    context = getattr(error, "ctx", None)
    words = context.command_path.split() if context else ["ccmove"]
    message = error.format_message().rstrip(".")
    return UsageError(message[:1].lower() + message[1:], run(*words, "--help"))
