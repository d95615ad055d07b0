"""What `ccmove --help` and the manual page say beside the options themselves."""

from __future__ import annotations

import click

from ccmove.cli.options import COMMON

Rows = tuple[tuple[str, str], ...]
WIDEST = 34  # of the left column

SUMMARY = (
    "Bring along what Claude Code knows about a project (sessions, prompts, memory, trust, "
    "settings) when its folder was renamed or moved."
)

EXAMPLES: Rows = (
    ("ccmove ~/code/old ~/code/new", "after renaming the folder"),
    ("ccmove -n ~/code/old ~/code/new", "preview: every change, nothing done"),
    ("ccmove -m ~/code/old ~/code/new", "rename the folder too, in the same step"),
    ("ccmove ~/code ~/src", "every project below it"),
    ("ccmove restore", "undo the last move"),
    ("ccmove demo", "the whole cycle on a made-up state"),
)

EXIT_CODES: Rows = (
    ("0", "done; for a preview: there is something to do"),
    ("1", "failed, and everything is as it was"),
    ("2", "wrong usage"),
    ("3", "nothing is known about OLD, nothing done"),
    ("4", "refused: a decision or another process is in the way, nothing done"),
    ("5", "interrupted or could not be settled: ccmove recover"),
    ("130", "Ctrl-C, and everything is as it was"),
)


def write_help(group: click.Group, context: click.Context, formatter: click.HelpFormatter) -> None:
    """The help of the whole program: a move's options first, for that is what it is for."""
    formatter.write_usage("ccmove", "[OPTIONS] OLD NEW")
    formatter.write_usage("ccmove", "COMMAND [OPTIONS] …", prefix=" " * len("Usage: "))
    formatter.write_paragraph()
    formatter.write(f"{click.wrap_text(SUMMARY, formatter.width)}\n")
    own, shared = split_options(group.commands["move"], context)
    version, _ = split_options(group, context)
    commands = [group.commands[name] for name in group.list_commands(context) if name != "move"]
    for title, listed in (
        ("Examples", EXAMPLES),
        ("Options of a move", own),
        ("Common options", [*shared, *version]),
        ("Commands", [(c.name or "", c.get_short_help_str(100)) for c in commands]),
        ("Exit codes", EXIT_CODES),
    ):
        with formatter.section(title):
            formatter.write_dl(listed, col_max=WIDEST)


def split_options(command: click.Command, context: click.Context) -> tuple[Rows, Rows]:
    """A command's own options, and those that every command has."""
    own = [param for param in command.params if param not in COMMON]
    return _rows(own, context), _rows(COMMON, context)


def _rows(params: list[click.Parameter], context: click.Context) -> Rows:
    options = [param for param in params if isinstance(param, click.Option)]
    return tuple(filter(None, (option.get_help_record(context) for option in options)))
