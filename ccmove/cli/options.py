"""How a command is declared and explained, and the options that several commands have."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import click

from ccmove import TESTED_WITH, __version__
from ccmove.cli.boundary import TextWanted
from ccmove.cli.help import EXAMPLES, MOVES
from ccmove.cli.values import folders
from ccmove.errors import UsageError

WIDEST_EXAMPLE = 40  # of the left column


def text_option(*names: str, text: Callable[[click.Context], str], about: str) -> click.Option:
    """An option that is answered with a text, whatever else was typed."""

    def answer(context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
        if is_wanted and not context.resilient_parsing:
            raise TextWanted(text(context))

    return click.Option(
        names, is_flag=True, is_eager=True, expose_value=False, callback=answer, help=about
    )


TESTED = f"ccmove {__version__}\ntested with Claude Code {', '.join(TESTED_WITH)}"
VERSION = text_option("-V", "--version", text=lambda _: TESTED, about="Show the version.")
HELP = text_option("-h", "--help", text=click.Context.get_help, about="Show this help.")
CONFIG_DIR = click.Option(
    ["--config-dir"],
    metavar="DIR",
    help="Claude Code's config directory [default: $CLAUDE_CONFIG_DIR or ~/.claude].",
    shell_complete=folders,
)
JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object.")
QUIET = click.Option(["-q", "--quiet"], is_flag=True, help="Print only errors.")
VERBOSE = click.Option(
    ["-v", "--verbose"], is_flag=True, help="Show every change and the reason for each."
)
OF_THE_PRINTER = (CONFIG_DIR, JSON, QUIET, VERBOSE)
COMMON = [*OF_THE_PRINTER, VERSION, HELP]

flag = partial(click.option, is_flag=True)
dry_run = flag("-n", "--dry-run", help="Preview: show what would change, change nothing.")
full = click.option(
    "--verify",
    type=click.Choice(["quick", "full"]),
    default="quick",
    help="How this run checks the files it moved: quick compares inode, size and date, full hashes "
    "each before and after. The command verify checks all of Claude Code's data, at any time.",
)
allow_live = flag(
    "--allow-live",
    help="Proceed even if Claude Code is running in OLD or NEW; what it writes afterwards lands "
    "under the old path.",
)


class Command(click.Command):
    """A command whose common options are the printer's, and whose help ends with examples."""

    def invoke(self, ctx: click.Context) -> Any:
        wanted = {str(option.name): ctx.params.pop(option.name, None) for option in OF_THE_PRINTER}
        if wanted["config_dir"] == "":  # it would mean the usual one
            raise UsageError("--config-dir is empty (an unset variable?)")
        given = {name: value for name, value in wanted.items() if value}
        ctx.obj.printer = replace(ctx.obj.printer, **given)
        return super().invoke(ctx)

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        own = [row for row in EXAMPLES if row[0].split()[1] == self.name]
        with formatter.section("Examples"):
            formatter.write_dl(own or MOVES, col_max=WIDEST_EXAMPLE)


def command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Makes a command of a function that returns a result: it has the common options too."""

    def declare(function: Callable[..., Any]) -> click.Command:
        declared = click.command(name, cls=Command)(click.pass_obj(function))
        declared.params += COMMON
        return declared

    return declare
