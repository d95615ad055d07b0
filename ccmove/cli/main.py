"""The command line: which command a line asks for,
and what was meant by one that asks for none.
"""

import importlib
import os
import re
import sys

import click
from click.shell_completion import CompletionItem

from ccmove.claude.layout import find_layout
from ccmove.claude.naming import may_be_name_of
from ccmove.claude.state import State
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
from ccmove.cli.help import ALONE, FURTHER, MORE, SUMMARY, USUAL_ONES
from ccmove.commands.paths import WHAT_IS_KNOWN
from ccmove.errors import UsageError
from ccmove.hints import run
from ccmove.text import alike

# In the order of use. A command loads only the module that declares it.
COMMANDS = {
    "move": "ccmove.cli.move",
    "undo": "ccmove.cli.past",
    "doctor": "ccmove.cli.doctor",
    "list": "ccmove.cli.listing",
    "show": "ccmove.cli.past",
    "verify": "ccmove.cli.doctor",
    "backups": "ccmove.cli.past",
    "prune": "ccmove.cli.past",
    "recover": "ccmove.cli.past",
    "demo": "ccmove.cli.demo",
    "completion": "ccmove.cli.main",
}
IN_ANOTHERS_HELP = ("move", "verify")  # in that of the program, and in doctor's
ALIASES = {"restore": "undo"}
# What people type who come from other tools.
OTHER_WORDS = {"mv": "move", "rename": "move", "ls": "list", "revert": "undo"}
# Options that are followed by a value, of any command.
WITH_VALUE = (
    "--config-dir",
    "--from-file",
    "--keep",
    "--older-than",
    "--search",
    "--sort",
)
# The name that Claude Code gives to a project's directory, which is no option: those
# are letters only.
ENCODED = re.compile("-[A-Za-z0-9]+(-[A-Za-z0-9]*)+")


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
        return command_named(name) if name in COMMANDS else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The words of one command; TextWanted where there is none, UsageError for a
        word that can't be meant.
        """
        if ctx.resilient_parsing:  # of a line that a shell asks about
            return super().parse_args(ctx, with_command(args) if args else args)
        shell = os.environ.get(ASKING, "").removesuffix("_complete")
        if shell in SHELLS:
            raise TextWanted(SHELLS[shell](self, {}, "ccmove", ASKING).complete())
        if not args:
            raise TextWanted(_one_screen(ctx.make_formatter()))
        _refuse_other_words(args)
        _refuse_encoded_names(args)
        return super().parse_args(ctx, with_command(args))

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem[str]]:
        """The first word may be a command, or OLD or an option of a move."""
        items = super().shell_complete(ctx, incomplete)
        if "help".startswith(incomplete):
            items.append(CompletionItem("help"))
        items += command_named("move").shell_complete(ctx, incomplete)
        if not incomplete.startswith("-"):
            paths = known_projects(ctx, None, incomplete)
            items += [item for item in paths if item.type == "plain" or not items]
        return list({item.value: item for item in items}.values())

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help of the whole program: moves first, for that is what it is for."""
        formatter.write_usage("ccmove", "[OPTIONS] OLD NEW")
        for usage in ("[OPTIONS] PATH", "COMMAND [OPTIONS] …"):
            formatter.write_usage("ccmove", usage, prefix=" " * len("Usage: "))
        formatter.write_paragraph()
        formatter.write(f"{click.wrap_text(SUMMARY, formatter.width)}\n")
        shown = [name for name in COMMANDS if name not in IN_ANOTHERS_HELP]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command_named(name).get_short_help_str(100)) for name in shown]
            )
        command_named("move").format_options(ctx, formatter)
        formatter.write(f"\n{FURTHER}\n")


def _one_screen(formatter: click.HelpFormatter) -> str:
    formatter.write(f"{click.wrap_text(ALONE, formatter.width)}\n\n")
    with formatter.indentation():
        formatter.write_dl(USUAL_ONES, col_spacing=4)
    return f"{formatter.getvalue()}\n{MORE}"


def with_command(args: list[str]) -> list[str]:
    """The command's name brought to the front, `move` when there is none."""
    if args[0] == "help":  # [COMMAND]
        args = [*args[1:2], "--help"]
    if args[0] in ("-h", "--help"):
        return args
    place = first_word(args)
    if place is not None:
        name = ALIASES.get(args[place], args[place])
        if name in COMMANDS:
            return [name, *args[:place], *args[place + 1 :]]
    return ["move", *args]


def first_word(args: list[str]) -> int | None:
    """Where the first word stands that is neither an option nor the value of one."""
    is_value = False
    for place, word in enumerate(options_of(args)):
        if not is_value and (word == "-" or not word.startswith("-")):
            return place
        is_value = word in WITH_VALUE
    return None


def _refuse_other_words(args: list[str]) -> None:
    """UsageError for a first word that is almost a command, or another tool's, with
    the right one.
    """
    place = first_word(args)
    if place is None:
        return
    word, rest = args[place], args[place + 1 :]
    if word == "help":
        _refuse_unknown_help(rest)
        return
    if word in COMMANDS or word in ALIASES:
        return
    # OLD is gone, and may be called almost like a command.
    others = [other for other in rest if not other.startswith("-")]
    is_old = len(others) == 1 and os.path.isdir(others[0])
    if is_old or os.sep in word or os.path.lexists(word):
        return
    for name in alike(word, [*COMMANDS, *OTHER_WORDS], least=0.7)[:1]:
        words = [OTHER_WORDS.get(name, name), *rest]
        if words[0] == "move":
            words = rest or ["OLD", "NEW"]
        raise UsageError(
            f"no such command: {word} (for a folder of that name, type ./{word})",
            run("ccmove", *args[:place], *words, text="did you mean"),
        )


def _refuse_unknown_help(rest: list[str]) -> None:
    if rest and rest[0] not in COMMANDS and rest[0] not in ALIASES:
        commands = f"commands: {', '.join(COMMANDS)}"
        raise UsageError(f"no such command: {rest[0]}", commands)


def _refuse_encoded_names(args: list[str]) -> None:
    """UsageError with the paths for the name that Claude Code gives to a project's
    directory; click would take it for an option.
    """
    for word in options_of(args):
        folder, name = os.path.split(word.rstrip("/"))
        if not ENCODED.fullmatch(name):
            continue
        others = [other for other in args if other != word]
        move = command_named("move")
        given = move.make_context("move", others, resilient_parsing=True).params
        layout = find_layout(given["config_dir"], os.environ)
        if folder and os.path.realpath(folder) != os.path.realpath(layout.projects):
            continue
        hints = []
        for path in sorted(State(layout).known_paths()):
            if may_be_name_of(name, path):
                right = [path if other == word else other for other in args]
                hints.append(run("ccmove", *right))
        raise UsageError(
            f"{name} is the name of a directory in {layout.projects}, not a path",
            *(hints or [WHAT_IS_KNOWN]),
        )


@options.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion_command(_: Call, shell: str) -> Answer:
    """Print the script that completes ccmove's arguments in SHELL.

    \b
    bash  eval "$(ccmove completion bash)"      in ~/.bashrc
    zsh   eval "$(ccmove completion zsh)"       in ~/.zshrc, after compinit
    fish  ccmove completion fish | source       in ~/.config/fish/config.fish
    """
    return text_answer(SHELLS[shell](app, {}, "ccmove", ASKING).source())


app = Commands(
    "ccmove",
    params=[options.HELP],
    context_settings={"max_content_width": 100, "show_default": True},
)


def main(args: list[str] | None = None) -> None:
    sys.exit(end_to_end(app, sys.argv[1:] if args is None else args))
