"""The command line: click finds the command in what was typed, the boundary does it."""

import os
import sys

import click
from click.shell_completion import CompletionItem

from ccmove.cli import backups, demo, inspect, meant, move, options
from ccmove.cli.boundary import TextWanted, end_to_end
from ccmove.cli.help import EXIT_CODES, MOVES, SCREEN, SUMMARY
from ccmove.cli.values import ASKING, SHELLS, known_projects
from ccmove.errors import UsageError

ALIASES = {"undo": "restore"}


class Commands(click.Group):
    """`ccmove OLD NEW` is `ccmove move OLD NEW`; common options may stand before the command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # of a line that a shell asks about
            return super().parse_args(ctx, self.with_command(args) if args else args)
        shell = os.environ.get(ASKING, "").removesuffix("_complete")
        if shell in SHELLS:
            raise TextWanted(SHELLS[shell](self, {}, "ccmove", ASKING).complete())
        if not args:
            raise TextWanted(SCREEN)
        known = [*self.commands, *ALIASES]
        if args[0] == "help" and not set(args[1:2]) <= set(known):
            raise UsageError(f"no such command: {args[1]}", f"there are: {', '.join(known)}")
        name, *rest = understood = self.with_command(args)
        meant.refuse_encoded_names(args, self.commands["move"])
        if name == "move":
            words = [rest[place] for place in self._words(rest)]
            meant.refuse_other_words(words, known)
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
        """Where the words stand that are neither options nor the value of one, up to `--`."""
        known = [param for command in self.commands.values() for param in command.params]
        flags = {name for o in known if getattr(o, "is_flag", False) for name in o.opts}
        with_value = {name for option in known for name in option.opts} - flags
        places, is_value = [], False
        for place, word in enumerate(args):
            if word == "--":
                break
            if not is_value and (not word.startswith("-") or word == "-"):
                places.append(place)
            is_value = not is_value and word in with_value
        return places

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """The first word may be a command, or OLD or an option of a move."""
        words = [CompletionItem(w) for w in (*ALIASES, "help") if w.startswith(incomplete)]
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
        formatter.write_usage("ccmove", "COMMAND [OPTIONS] …", prefix=" " * len("Usage: "))
        formatter.write_paragraph()
        formatter.write(f"{click.wrap_text(SUMMARY, formatter.width)}\n")
        own, *others = self.commands.values()
        with formatter.section("Examples"):
            formatter.write_dl(MOVES, col_max=options.WIDEST_EXAMPLE)
        with formatter.section("Commands"):
            formatter.write_dl([(str(c.name), c.get_short_help_str(100)) for c in others])
        own.format_options(ctx, formatter)
        with formatter.section("Exit codes"):
            formatter.write_dl(EXIT_CODES)


@click.command("completion", cls=options.Command)
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> str:
    """Print the script that completes ccmove's arguments in SHELL.

    \b
    bash  eval "$(ccmove completion bash)"      in ~/.bashrc
    zsh   eval "$(ccmove completion zsh)"       in ~/.zshrc, after compinit
    fish  ccmove completion fish | source       in ~/.config/fish/config.fish
    """
    return SHELLS[shell](context.find_root().command, {}, "ccmove", ASKING).source()


completion_command.params.append(options.HELP)
app = Commands(
    "ccmove",
    commands=[
        move.move_command,  # and then in the order of use
        backups.restore_command,
        inspect.doctor_command,
        inspect.list_command,
        backups.show_command,
        inspect.verify_command,
        backups.backups_command,
        backups.recover_command,
        demo.demo_command,
        completion_command,
    ],
    params=[options.HELP],
    context_settings={"max_content_width": 100, "show_default": True},
)


def main(args: list[str] | None = None) -> None:
    """The program: do what was typed, and end with its exit code."""
    sys.exit(end_to_end(app, sys.argv[1:] if args is None else args))
