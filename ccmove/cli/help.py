"""What `ccmove --help` and the manual page say beside the options themselves."""

from __future__ import annotations

import textwrap

import click

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

ENVIRONMENT: Rows = (
    ("CLAUDE_CONFIG_DIR", "Claude Code's config directory, where --config-dir names none"),
    ("NO_COLOR", "no colours"),
    ("CCMOVE_DEBUG", "show the traceback of a bug"),
)

FILES: Rows = (
    ("~/.claude", "Claude Code's state; $C below"),
    ("~/.claude.json", "its config file; with --config-dir DIR it is DIR/.claude.json"),
    ("$C/ccmove/backups/ID", "what a move changed, for ccmove restore; readable by you only"),
    ("$C/ccmove/journal.json", "there only while a move is under way"),
)


def write_help(
    group: click.Group, ctx: click.Context, formatter: click.HelpFormatter, common: frozenset[str]
) -> None:
    """The help of the whole program: a move's options first, for that is what it is for."""
    formatter.write("Usage: ccmove [OPTIONS] OLD NEW\n       ccmove COMMAND [OPTIONS] …\n\n")
    formatter.write(f"{textwrap.fill(SUMMARY, formatter.width)}\n")
    own, shared = split_options(group.commands["move"], ctx, common)
    commands = [group.commands[name] for name in group.list_commands(ctx) if name != "move"]
    for title, listed in (
        ("Examples", EXAMPLES),
        ("Options of a move", own),
        ("Common options", [*shared, ("--version", "Show the version.")]),
        ("Commands", [(c.name or "", c.get_short_help_str(100)) for c in commands]),
        ("Exit codes", EXIT_CODES),
    ):
        with formatter.section(title):
            formatter.write_dl(listed, col_max=WIDEST)


def split_options(
    command: click.Command, ctx: click.Context, common: frozenset[str]
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """A command's own options, and those that every command has."""
    own: list[tuple[str, str]] = []
    shared: list[tuple[str, str]] = []
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is not None:
            (shared if param.name in common | {"help"} else own).append(record)
    return own, shared
