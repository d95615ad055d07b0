"""How a command is declared, with the options that several have."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

import click

from ccmove import TESTED_WITH, __version__
from ccmove.cli.boundary import Answer, Call, TextWanted
from ccmove.cli.completion import folders
from ccmove.cli.help import EXAMPLES, EXIT_CODES
from ccmove.hints import Asked

WIDEST_EXAMPLE = 40  # of the left column
Text = Callable[[click.Context], str]


def text_option(*names: str, text: Text, about: str) -> click.Option:
    """An option that is answered with a text, whatever else was typed."""

    def answer(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
        if is_asked and not context.resilient_parsing:
            raise TextWanted(text(context))

    return click.Option(
        names,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=answer,
        help=about,
    )


def _version(_: click.Context) -> str:
    return f"ccmove {__version__}\ntested with Claude Code {', '.join(TESTED_WITH)}"


VERSION = text_option("-V", "--version", text=_version, about="Show the version.")
HELP = text_option("-h", "--help", text=click.Context.get_help, about="Show this help.")
TEXTS = (VERSION, HELP)
CONFIG_DIR = click.Option(
    ["--config-dir"],
    metavar="DIR",
    help="Claude Code's config directory [default: $CLAUDE_CONFIG_DIR or ~/.claude].",
    shell_complete=folders,
)
JSON = click.Option(["--json"], is_flag=True, help="Print one JSON object.")
QUIET = click.Option(["-q", "--quiet"], is_flag=True, help="Print only errors.")
USUAL = (CONFIG_DIR, JSON, QUIET)


def with_details(
    about: str = "Show every change and the reason for each.",
) -> tuple[click.Option, ...]:
    """The usual options, and one for more, which is something else for each command."""
    verbose = click.Option(["-v", "--verbose"], is_flag=True, help=about)
    return (*USUAL, verbose)


flag = partial(click.option, is_flag=True)
dry_run = flag(
    "-n", "--dry-run", help="Preview: show what would change, change nothing."
)
hash_files = flag(
    "--hash", help="Compare moved files by hash [default: inode, size, date]."
)
allow_live = flag(
    "--allow-live",
    help="Proceed even if Claude Code is running in OLD or NEW; what it writes "
    "afterwards lands under the old path.",
)


def _as_words(
    _: click.Context, __: click.Parameter, word: str | None
) -> tuple[str, ...]:
    if word is None:
        return ()
    return (word,)


# What stands after a command: any number of words, or one at most.
words = partial(click.argument, "arguments", nargs=-1)
one_word = partial(click.argument, "arguments", required=False, callback=_as_words)
ADVANCED = ("desktop", "hash", "allow_live", "skip_path_check")


def write_options(
    params: list[click.Parameter], ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Everyday ones first, the advanced ones in a group of their own."""
    everyday, advanced = [], []
    for param in params:
        row = param.get_help_record(ctx)
        if row is None or not isinstance(param, click.Option):
            continue
        if param.name in ADVANCED:
            advanced.append(row)
        else:
            everyday.append(row)
    with formatter.section("Options"):
        formatter.write_dl(everyday)
    if advanced:
        with formatter.section("Advanced options"):
            formatter.write_dl(advanced)


class Command(click.Command):
    """A command whose help has groups, and ends with examples."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """What is wrong with a line is said of this command, whoever finds it."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        write_options(self.params, ctx, formatter)

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            formatter.write_dl(EXAMPLES[str(self.name)], col_max=WIDEST_EXAMPLE)
        if self.name == "move":
            with formatter.section("Exit codes"):
                formatter.write_dl(EXIT_CODES)


DECLARED: dict[str, click.Command] = {}  # those whose module was loaded
Kind = TypeVar("Kind", bound=Asked)
Function = Callable[[Call, Kind], Answer]


def command(
    name: str, kind: type[Kind], *common: click.Option
) -> Callable[[Function[Kind]], click.Command]:
    """Makes a command of a function of the call, and of what was asked of this kind;
    it has these common options as well.
    """

    def declare(function: Function[Kind]) -> click.Command:
        @wraps(function)
        def call_it(**typed: Any) -> Answer:
            call: Call = click.get_current_context().obj
            asked = kind(command=name, **typed)
            call.understood(asked)
            return function(call, asked)

        command = click.command(name, cls=Command)(call_it)
        command.params += common
        command.params += TEXTS
        DECLARED[name] = command
        return command

    return declare
