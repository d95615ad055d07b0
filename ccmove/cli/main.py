"""The command line: which command a line asks for,
and what was meant by one that asks for none.
"""

import difflib
import os
import re
import sys

import click
from click.shell_completion import CompletionItem

from ccmove.claude.layout import find_layout
from ccmove.claude.naming import may_be_name_of
from ccmove.claude.state import State
from ccmove.cli import backups, demo, inspect, move, options
from ccmove.cli.boundary import Call, TextWanted, end_to_end, options_of
from ccmove.cli.help import ALONE, EXIT_CODES, MORE, MOVES, SUMMARY, USUAL_ONES
from ccmove.cli.options import ASKING, SHELLS, known_projects
from ccmove.commands.paths import USUAL, WHAT_IS_KNOWN
from ccmove.errors import UsageError, run

ALIASES = {"restore": "undo"}
# What people type who come from other tools.
OTHER_WORDS = {"mv": "move", "rename": "move", "ls": "list", "revert": "undo"}
ENCODED = re.compile(
    "-[A-Za-z0-9]+(-[A-Za-z0-9]*)+"
)  # no options: those are letters only


class Commands(click.Group):
    """`ccmove OLD NEW` is `ccmove move OLD NEW`;
    common options may stand before the command.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # of a line that a shell asks about
            return super().parse_args(ctx, self.with_command(args) if args else args)
        shell = os.environ.get(ASKING, "").removesuffix("_complete")
        if shell in SHELLS:
            raise TextWanted(SHELLS[shell](self, {}, "ccmove", ASKING).complete())
        if not args:
            raise TextWanted(_one_screen(ctx.make_formatter()))
        known = list(self.commands)
        if args[0] == "help" and not set(args[1:2]) <= {*known, *ALIASES}:
            raise UsageError(
                f"no such command: {args[1]}", f"commands: {', '.join(known)}"
            )
        name, *rest = understood = self.with_command(args)
        _refuse_encoded_names(args, self.commands["move"])
        if name == "move":
            words = [rest[place] for place in self._words(rest)]
            _refuse_other_words(words, known)
        return super().parse_args(ctx, understood)

    def with_command(self, args: list[str]) -> list[str]:
        """The command's name brought to the front, `move` when there is none."""
        if args[0] == "help":  # [COMMAND]
            args = [*args[1:2], "--help"]
        if args[0] in ("-h", "--help"):
            return args
        for place in self._words(args)[:1]:
            name = ALIASES.get(args[place], args[place])
            if name in self.commands:
                return [name, *args[:place], *args[place + 1 :]]
        return ["move", *args]

    def _words(self, args: list[str]) -> list[int]:
        """Where the words stand that are neither options nor the value of one,
        up to `--`.
        """
        known = [
            param for command in self.commands.values() for param in command.params
        ]
        options = [param for param in known if isinstance(param, click.Option)]
        with_value = {
            name for option in options if not option.is_flag for name in option.opts
        }
        words = options_of(args)
        return [
            place
            for place, (before, word) in enumerate(
                zip(["", *words], words, strict=False)
            )
            if before not in with_value and (word == "-" or not word.startswith("-"))
        ]

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem[str]]:
        """The first word may be a command, or OLD or an option of a move."""
        words = [CompletionItem(w) for w in ("help",) if w.startswith(incomplete)]
        words += super().shell_complete(ctx, incomplete)
        words += self.commands["move"].shell_complete(ctx, incomplete)
        if not incomplete.startswith("-"):
            paths = known_projects(ctx, None, incomplete)
            words += [item for item in paths if item.type == "plain" or not words]
        return list({item.value: item for item in words}.values())

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help of the whole program: moves first, for that is what it is for."""
        formatter.write_usage("ccmove", "[OPTIONS] OLD NEW")
        formatter.write_usage("ccmove", "[OPTIONS] PATH", prefix=" " * len("Usage: "))
        formatter.write_usage(
            "ccmove", "COMMAND [OPTIONS] …", prefix=" " * len("Usage: ")
        )
        formatter.write_paragraph()
        formatter.write(f"{click.wrap_text(SUMMARY, formatter.width)}\n")
        own, *others = self.commands.values()
        with formatter.section("Examples"):
            formatter.write_dl(MOVES, col_max=options.WIDEST_EXAMPLE)
        with formatter.section("Commands"):
            formatter.write_dl(
                [(str(c.name), c.get_short_help_str(100)) for c in others]
            )
        own.format_options(ctx, formatter)
        with formatter.section("Exit codes"):
            formatter.write_dl(EXIT_CODES)


def _one_screen(formatter: click.HelpFormatter) -> str:
    formatter.write(f"{click.wrap_text(ALONE, formatter.width)}\n\n")
    with formatter.indentation():
        formatter.write_dl(USUAL_ONES, col_spacing=4)
    return f"{formatter.getvalue()}\n{MORE}"


def _refuse_other_words(words: list[str], commands: list[str]) -> None:
    """UsageError for words of a move that are not one or two paths; a word that is
    almost a command is answered with that.
    """
    first, *rest = words or [""]
    near = difflib.get_close_matches(first, [*commands, *OTHER_WORDS], n=1, cutoff=0.7)
    is_path = os.path.sep in first or os.path.lexists(first)
    # OLD is gone, and may be called almost like a command.
    is_old = len(rest) == 1 and os.path.isdir(rest[0])
    if near and not (is_path or is_old):
        name = OTHER_WORDS.get(near[0], near[0])
        right = run("ccmove", name, *rest, text="did you mean")
        if name == "move":
            right = run("ccmove", *(rest or ["OLD", "NEW"]), text="did you mean")
        raise UsageError(
            f"no such command: {first} (for a folder of that name, type ./{first})",
            right,
        )
    if len(words) > 2:
        raise UsageError(f"expected OLD and NEW, got {len(words)} paths", USUAL)


def _refuse_encoded_names(args: list[str], move: click.Command) -> None:
    """UsageError with the paths for the name that Claude
    Code gives to a project's directory.
    """
    for word in options_of(args):
        folder, name = os.path.split(word.rstrip("/"))
        if ENCODED.fullmatch(name):
            others = [other for other in args if other != word]
            given = move.make_context("move", others, resilient_parsing=True).params
            layout = find_layout(given["config_dir"], os.environ)
            if folder and os.path.realpath(folder) != os.path.realpath(layout.projects):
                continue
            paths = sorted(
                p for p in State(layout).known_paths() if may_be_name_of(name, p)
            )
            right = [
                run("ccmove", *(path if w == word else w for w in args))
                for path in paths
            ]
            message = (
                f"{name} is the name of a directory in {layout.projects}, not a path"
            )
            raise UsageError(message, *(right or [WHAT_IS_KNOWN]))


@options.command("completion")
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion_command(_: Call, shell: str) -> str:
    """Print the script that completes ccmove's arguments in SHELL.

    \b
    bash  eval "$(ccmove completion bash)"      in ~/.bashrc
    zsh   eval "$(ccmove completion zsh)"       in ~/.zshrc, after compinit
    fish  ccmove completion fish | source       in ~/.config/fish/config.fish
    """
    return SHELLS[shell](app, {}, "ccmove", ASKING).source()


app = Commands(
    "ccmove",
    commands=[
        move.move_command,  # and then in the order of use
        backups.undo_command,
        inspect.doctor_command,
        inspect.list_command,
        backups.show_command,
        inspect.verify_command,
        backups.backups_command,
        backups.prune_command,
        backups.recover_command,
        demo.demo_command,
        completion_command,
    ],
    params=[options.HELP],
    context_settings={"max_content_width": 100, "show_default": True},
)


def main(args: list[str] | None = None) -> None:
    sys.exit(end_to_end(app, sys.argv[1:] if args is None else args))
