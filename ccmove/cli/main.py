"""The command line: which command a line asks for,
and what was meant by one that asks for none.
"""

from __future__ import annotations

import importlib
import os
import sys
from itertools import pairwise

import click
from click.shell_completion import CompletionItem, ShellComplete

from ccmove.claude.layout import find_layout
from ccmove.claude.naming import possible_names
from ccmove.cli import options
from ccmove.cli.boundary import (
    Answer,
    Call,
    TextWanted,
    end_to_end,
    options_of,
    text_answer,
)
from ccmove.cli.completion import ASKING, SHELLS, known_projects
from ccmove.cli.help import ALONE, FURTHER, MORE, SUMMARY, USAGE, USUAL_ONES
from ccmove.errors import UsageError
from ccmove.hints import Asked, Hint, to_type
from ccmove.text import alike

# In the order of use. A command loads only the module that declares it.
COMMANDS = {
    "move": "ccmove.cli.move",
    "undo": "ccmove.cli.past",
    "doctor": "ccmove.cli.doctor",
    "list": "ccmove.cli.listing",
    "where": "ccmove.cli.listing",
    "pack": "ccmove.cli.pack",
    "unpack": "ccmove.cli.unpack",
    "show": "ccmove.cli.past",
    "verify": "ccmove.cli.doctor",
    "backups": "ccmove.cli.past",
    "prune": "ccmove.cli.past",
    "recover": "ccmove.cli.past",
    "hook": "ccmove.cli.hook",
    "demo": "ccmove.cli.demo",
    "completion": "ccmove.cli.main",
}
IN_ANOTHERS_HELP = ("move", "verify")  # in that of the program, and in doctor's
ALIASES = {"restore": "undo"}
# What people type who come from other tools.
OTHER_WORDS = {"mv": "move", "rename": "move", "ls": "list", "revert": "undo"}
OF_ALL = ("help", "-h", "--help")  # ahead of all else: the help of the whole program
# Options that are followed by a value, of any command.
WITH_VALUE = (
    "--config-dir",
    "--from-file",
    "--keep",
    "--map",
    "--older-than",
    "--output",
    "-o",
    "--search",
    "--session",
    "--sort",
)


def command_named(name: str) -> click.Command:
    importlib.import_module(COMMANDS[name])
    return options.DECLARED[name]


class Commands(click.Group):
    """`ccmove OLD NEW` is `ccmove move OLD NEW`;
    options may stand before the command.
    """

    def list_commands(self, _: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        if name in COMMANDS:
            return command_named(name)
        return None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The words of one command; TextWanted where there is none, UsageError for a
        word that can't be meant.
        """
        shell = os.environ.get(ASKING, "").removesuffix("_complete")
        if not ctx.resilient_parsing:  # it is for a line that a shell asks about
            if shell in SHELLS:
                raise TextWanted(_completing(shell).complete())
            if not args:
                formatter = ctx.make_formatter()
                screen = _one_screen(formatter)
                raise TextWanted(screen)
            _refuse_other_words(args)
        with_name = with_command(args)
        return super().parse_args(ctx, with_name)

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem[str]]:
        """The first word may be a command, or OLD or an option of a move."""
        if incomplete.startswith("-"):
            return command_named("move").shell_complete(ctx, incomplete)
        items = super().shell_complete(ctx, incomplete)
        if "help".startswith(incomplete):
            items.append(CompletionItem("help"))
        for item in known_projects(ctx, None, incomplete):
            if item.type == "plain" or not items:
                items.append(item)
        return items

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help of the whole program: moves first, for that is what it is for."""
        formatter.write(f"{USAGE}\n\n")
        formatter.write(f"{click.wrap_text(SUMMARY, formatter.width)}\n")
        rows = []
        for name in COMMANDS:
            about = command_named(name).get_short_help_str(100)
            if name not in IN_ANOTHERS_HELP:
                rows.append((name, about))
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        # But for those that every program has.
        of_a_move = command_named("move").params
        params = [param for param in of_a_move if param not in options.TEXTS]
        options.write_options(params, ctx, formatter)
        formatter.write(f"\n{FURTHER}\n")


def _one_screen(formatter: click.HelpFormatter) -> str:
    formatter.write(f"{click.wrap_text(ALONE, formatter.width)}\n\n")
    with formatter.indentation():
        formatter.write_dl(USUAL_ONES, col_spacing=4)
    return f"{formatter.getvalue()}\n{MORE}"


def with_command(args: list[str]) -> list[str]:
    """The command's name brought to the front, `move` when there is none."""
    if args[:1] == ["help"]:  # [COMMAND]
        args = [*args[1:2], "--help"]
        if args[0] == "help":
            del args[0]
    if not args or args[0] in ("-h", "--help"):
        return args[:1]
    rest = list(args)
    position = first_word(args)
    if position is not None:
        word = rest.pop(position)
        name = ALIASES.get(word, word)
        if name in COMMANDS:
            return [name, *rest]
    return ["move", *args]


def first_word(args: list[str]) -> int | None:
    """Where the first word stands that is neither an option nor the value of one."""
    is_value = False
    for position, word in enumerate(options_of(args)):
        is_option = word.startswith("-") and word != "-"
        if not is_option and not is_value:
            return position
        is_value = word in WITH_VALUE
    return None


def _refuse_other_words(args: list[str]) -> None:
    """UsageError for a first word that is almost a command, or another tool's, with
    the right one.
    """
    position = first_word(args)
    if position is None:
        return
    word = args[position]
    rest = args[position + 1 :]
    if word == "help":
        _refuse_unknown_help(rest)
        return
    if word in COMMANDS or word in ALIASES:
        return
    if os.sep in word or os.path.lexists(word):
        return
    name = _almost(word)
    if name is None or _is_project(word, args):
        return
    words = [name, *rest]
    if name == "move":
        words = rest or ["OLD", "NEW"]
    raise UsageError(
        f"no such command: {word} (for a folder of that name, type ./{word})",
        to_type("ccmove", *args[:position], *words, text="did you mean"),
    )


def _is_project(word: str, args: list[str]) -> bool:
    """Whether it is OLD, which is gone and may be called almost like a command."""
    config_dir = None
    for option, value in pairwise(options_of(args)):
        if option == "--config-dir":
            config_dir = value
    layout = find_layout(config_dir, os.environ)
    path = os.path.abspath(word)
    for name in possible_names(path):
        directory = layout.projects / name
        if directory.is_dir():
            return True
    return False


def _refuse_unknown_help(words: list[str]) -> None:
    for word in words[:1]:
        if word in (*COMMANDS, *ALIASES, *OF_ALL):
            return
        hint = Hint(f"commands: {', '.join(COMMANDS)}")
        name = _almost(word)
        if name is not None:
            hint = to_type("ccmove", "help", name, text="did you mean")
        raise UsageError(f"no such command: {word}", hint)


def _almost(word: str) -> str | None:
    """The command that is spelled almost like it, or is another tool's word for it."""
    near = alike(word, [*COMMANDS, *OTHER_WORDS], least=0.7)
    if near:
        return OTHER_WORDS.get(near[0], near[0])
    return None


@options.command("completion", Asked)
@options.one_word(metavar="SHELL", required=True, type=click.Choice(list(SHELLS)))
def completion_command(_: Call, asked: Asked) -> Answer:
    """Print the script that completes ccmove's arguments in SHELL.

    \b
    bash  eval "$(ccmove completion bash)"      in ~/.bashrc
    zsh   eval "$(ccmove completion zsh)"       in ~/.zshrc, after compinit
    fish  ccmove completion fish | source       in ~/.config/fish/config.fish
    """
    (shell,) = asked.arguments
    return text_answer(_completing(shell).source())


def _completing(shell: str) -> ShellComplete:
    return SHELLS[shell](app, {}, "ccmove", ASKING)


app = Commands(
    "ccmove",
    params=[options.HELP],
    context_settings={"max_content_width": 100, "show_default": True},
)


def main(args: list[str] | None = None) -> None:
    if args is None:
        args = sys.argv[1:]
    sys.exit(end_to_end(app, args))
