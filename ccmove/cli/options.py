"""How a command is declared, with the options that several have,
and what a shell offers at TAB.
"""

import contextlib
import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
)

from ccmove import TESTED_WITH, __version__
from ccmove.claude.layout import Layout, find_layout, size_of
from ccmove.claude.owners import folder_exists
from ccmove.claude.state import State
from ccmove.cli.boundary import TextWanted
from ccmove.cli.help import EXAMPLES, MOVES
from ccmove.errors import CommandLine, UsageError
from ccmove.run.backups import all_backups
from ccmove.text import printable

WIDEST_EXAMPLE = 40  # of the left column
SLOW_HISTORY = 8 << 20  # bytes; nobody waits for a larger one at TAB
ASKING = (
    "_CCMOVE_COMPLETE"  # a shell that asks how a word goes on sets it to SHELL_complete
)
Items = list[CompletionItem[str]]


def known_projects(
    context: click.Context, _: click.Parameter | None, incomplete: str
) -> Items:
    """Known projects that begin so, or whose folder's name does; missing ones first.

    With no match the shell offers folders: everything in one may be moved at once.
    """
    home = os.path.expanduser("~/")
    wanted = os.path.expanduser(incomplete)
    with contextlib.suppress(
        Exception
    ):  # a traceback in the middle of a prompt helps nobody
        layout = _layout(context)
        known = State(layout).known_paths(
            history=size_of(layout.history) < SLOW_HISTORY
        )
        # A name with control characters would be acted on by the terminal; it has to be
        # typed.
        fitting = [
            path for path in known if _fits(path, wanted) and printable(path) == path
        ]
        items = []
        for exists, path in sorted((folder_exists(p) is not False, p) for p in fitting):
            value = path.replace(home, "~/", 1) if incomplete.startswith("~/") else path
            items.append(
                CompletionItem(value, help="folder exists" if exists else "folder gone")
            )
        if items:
            return items
    return folders(context, _, incomplete)


def _fits(path: str, wanted: str) -> bool:
    if os.path.isabs(wanted):
        return path.startswith(wanted)
    return os.sep not in wanted and os.path.basename(path).startswith(wanted)


def _layout(context: click.Context) -> Layout:
    chosen = context.params.get("config_dir")
    return find_layout(os.path.expanduser(chosen) if chosen else None, os.environ)


def folders(_: click.Context, __: click.Parameter | None, incomplete: str) -> Items:
    return [CompletionItem(incomplete, type="dir")]


def backups(context: click.Context, _: click.Parameter, incomplete: str) -> Items:
    """IDs of the backups, the newest first, what was already undone last."""
    items = []
    with contextlib.suppress(Exception):
        found = sorted(
            all_backups(_layout(context)), key=lambda b: (b.stands, b.id), reverse=True
        )
        for backup in found:
            if backup.manifest is not None and incomplete in backup.id:
                (old, new), *rest = backup.manifest.moves
                what = (
                    f"{backup.manifest.kind} {old} -> "
                    f"{new}{' and more' if rest else ''}"
                )
                items.append(CompletionItem(backup.id, help=printable(what)))
    return items


class Bash(BashComplete):
    """click's script reads away one backslash of two,
    and the line needs the other one.
    """

    def format_completion(self, item: CompletionItem[str]) -> str:
        quoted = re.sub(r"([^\w@%+=:,./~-])", r"\\\\\1", item.value)
        return f"{item.type},{quoted}"


SHELLS = {"bash": Bash, "zsh": ZshComplete, "fish": FishComplete}


def text_option(
    *names: str, text: Callable[[click.Context], str], about: str
) -> click.Option:
    """An option that is answered with a text, whatever else was typed."""

    def answer(context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
        if is_wanted and not context.resilient_parsing:
            raise TextWanted(text(context))

    return click.Option(
        names,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=answer,
        help=about,
    )


TESTED = f"ccmove {__version__}\ntested with Claude Code {', '.join(TESTED_WITH)}"
VERSION = text_option(
    "-V", "--version", text=lambda _: TESTED, about="Show the version."
)
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
dry_run = flag(
    "-n", "--dry-run", help="Preview: show what would change, change nothing."
)
hash_files = flag(
    "--hash",
    help="Hash every moved file before and after (otherwise inode, size and date are "
    "compared).",
)
allow_live = flag(
    "--allow-live",
    help="Proceed even if Claude Code is running in OLD or NEW; what it writes "
    "afterwards lands "
    "under the old path.",
)


def _is_typed(ctx: click.Context, param: click.Parameter) -> bool:
    source = ctx.get_parameter_source(str(param.name))
    return source is ParameterSource.COMMANDLINE and str(param.name) in ctx.params


def _values(ctx: click.Context, param: click.Parameter) -> list[str]:
    value = ctx.params[str(param.name)]
    several = value if isinstance(value, tuple) else (value,)
    return [str(one) for one in several if one is not None]


def _option_words(option: click.Parameter, values: list[str]) -> list[tuple[str, ...]]:
    name = max(option.opts, key=len)
    if getattr(option, "is_flag", False):
        return [(name,)]
    return [(name, value) for value in values]


class Command(click.Command):
    """A command whose common options are the printer's,
    and whose help ends with examples.
    """

    def invoke(self, ctx: click.Context) -> Any:
        ctx.obj.line = self.as_typed(ctx)
        wanted = {
            str(option.name): ctx.params.pop(option.name, None)
            for option in OF_THE_PRINTER
        }
        if wanted["config_dir"] == "":  # it would mean the usual one
            raise UsageError("--config-dir is empty (an unset variable?)")
        given = {name: value for name, value in wanted.items() if value}
        ctx.obj.printer = replace(ctx.obj.printer, **given)
        return super().invoke(ctx)

    def as_typed(self, ctx: click.Context) -> CommandLine:
        """What was typed, as words; `--config-dir` comes to every command anyway."""
        options: list[tuple[str, ...]] = []
        arguments: list[str] = []
        for param in self.params:
            if param is CONFIG_DIR:
                continue
            if not _is_typed(ctx, param):
                continue
            values = _values(ctx, param)
            if isinstance(param, click.Argument):
                arguments += values
            else:
                options += _option_words(param, values)
        name = [str(self.name)]
        if self.name == "move":
            name = []
        return CommandLine(tuple(name), tuple(options), tuple(arguments))

    def format_epilog(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        own = [row for row in EXAMPLES if row[0].split()[1] == self.name]
        with formatter.section("Examples"):
            formatter.write_dl(own or MOVES, col_max=WIDEST_EXAMPLE)


def command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Makes a command of a function that returns a result:
    it has the common options too.
    """

    def declare(function: Callable[..., Any]) -> click.Command:
        declared = click.command(name, cls=Command)(click.pass_obj(function))
        declared.params += COMMON
        return declared

    return declare
