"""The command line: click finds the command in what was typed, the boundary does it."""

from __future__ import annotations

import os
import sys

import click
from click.shell_completion import CompletionItem

from ccmove import TESTED_WITH, __version__
from ccmove.cli import backups, demo, doctor, move, recover, restore, show, verify
from ccmove.cli import list as listing
from ccmove.cli.boundary import TextWanted, end_to_end
from ccmove.cli.completion import ASKING, SHELLS, completion_command
from ccmove.cli.help import write_help
from ccmove.cli.options import HELP, text_option
from ccmove.cli.values import first_word


class Commands(click.Group):
    """`ccmove OLD NEW` is `ccmove move OLD NEW`; common options may stand before the command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing and not args:  # a shell completes the first word
            return super().parse_args(ctx, args)
        shell = os.environ.get(ASKING, "").removesuffix("_complete")
        if shell in SHELLS and not ctx.resilient_parsing:
            raise TextWanted(SHELLS[shell](self, {}, "ccmove", ASKING).complete())
        return super().parse_args(ctx, self.with_command(args))

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
        options = self.commands["move"].shell_complete(ctx, incomplete)
        words = [*super().shell_complete(ctx, incomplete), *options]
        return first_word(ctx, incomplete, words)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_help(self, ctx, formatter)


VERSION = f"ccmove {__version__}\ntested with Claude Code {', '.join(TESTED_WITH)}"

app = Commands(
    "ccmove",
    commands=[
        move.move_command,
        restore.restore_command,
        show.show_command,
        recover.recover_command,
        backups.backups_command,
        demo.demo_command,
        listing.list_command,
        doctor.doctor_command,
        verify.verify_command,
        completion_command,
    ],
    params=[text_option("--version", text=lambda _: VERSION, about="Show the version."), HELP],
    context_settings={"max_content_width": 100},
)


def main(args: list[str] | None = None) -> None:
    """The program: do what was typed, and end with its exit code."""
    sys.exit(end_to_end(app, sys.argv[1:] if args is None else args))
