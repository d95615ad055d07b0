"""Writes the manual page, or the list of commands in the README, from what `--help` is
made of: `make man`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from ccmove import TESTED_WITH, __version__
from ccmove.cli.help import EXAMPLES, EXIT_CODES, Rows
from ccmove.cli.main import COMMANDS, app, command_named
from ccmove.cli.options import HELP, USUAL, VERSION

COMMON = (*USUAL, VERSION, HELP)

DESCRIPTION = """\
Claude Code finds what it knows about a project (sessions, prompt history, memory, trust, allowed
tools, servers) by the path of its folder. When the folder has been renamed or moved, it finds
nothing. ccmove moves this data from the path OLD to the path NEW: for the project itself and for
every project nested inside it. With one path, ccmove works out the other one: from an earlier move,
the git repository, or the name.

Transcripts are never rewritten: only their directory is renamed. In other files only the values
that are paths change. A move is all or nothing: files are backed up, the change is journaled,
applied, then verified. Every move can be undone."""

ENVIRONMENT: Rows = (
    (
        "CLAUDE_CONFIG_DIR",
        "Claude Code's config directory, unless --config-dir is given",
    ),
    ("NO_COLOR", "no colours"),
    ("CCMOVE_DEBUG", "show the traceback of a bug"),
)

FILES: Rows = (
    ("~/.claude", "Claude Code's data; $C below"),
    ("~/.claude.json", "its config file; with --config-dir DIR it is DIR/.claude.json"),
    (
        "$C/ccmove/backups/ID",
        "what a move changed, for ccmove undo; readable only by you",
    ),
    (
        "$C/ccmove/run",
        "exists only while ccmove is running, or was interrupted",
    ),
)


def page() -> str:
    """The whole page, in roff."""
    context = click.Context(app, info_name="ccmove", show_default=True)
    parts = [
        f'.TH CCMOVE 1 "" "ccmove {__version__}" "User Commands"',
        ".SH NAME",
        "ccmove \\- move Claude Code's data when a project folder was renamed",
        ".SH SYNOPSIS",
        ".B ccmove\n[\\fIOPTIONS\\fR] \\fIOLD NEW\\fR\n.br",
        ".B ccmove\n[\\fIOPTIONS\\fR] \\fIPATH\\fR\n.br",
        ".B ccmove\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...",
        ".SH DESCRIPTION",
        "\n.PP\n".join(escaped(part) for part in DESCRIPTION.split("\n\n")),
        *options(context),
        *commands(context),
    ]
    examples = [row for rows in EXAMPLES.values() for row in rows]
    for title, rows in (
        ("EXIT STATUS", EXIT_CODES),
        ("ENVIRONMENT", ENVIRONMENT),
        ("FILES", FILES),
        ("EXAMPLES", examples),
    ):
        parts += [f".SH {title}", *(tagged(name, text) for name, text in rows)]
    parts += [".SH NOTES", f"Tested with Claude Code {', '.join(TESTED_WITH)}."]
    return "\n".join(parts) + "\n"


def options(context: click.Context) -> list[str]:
    move = command_named("move")
    return [".SH OPTIONS", *(tagged(*row) for row in rows_of(move.params, context))]


def rows_of(
    params: list[click.Parameter], context: click.Context
) -> Iterator[tuple[str, str]]:
    """Each option, and what it does."""
    for param in params:
        if isinstance(param, click.Option) and (row := param.get_help_record(context)):
            yield row


def commands(context: click.Context) -> list[str]:
    parts = [".SH COMMANDS"]
    for name in COMMANDS:
        command = command_named(name)
        inside = click.Context(command, info_name=name, parent=context)
        words = " ".join(command.collect_usage_pieces(inside)[1:])
        parts.append(tagged(f"ccmove {name} {words}".rstrip(), command.help or ""))
        own = list(rows_of([p for p in command.params if p not in COMMON], inside))
        if own and name != "move":
            parts += [".RS", *(tagged(*row) for row in own), ".RE"]
    return parts


def with_commands(readme: str) -> str:
    """The README with the list of commands as it is today."""
    help_text = app.get_help(click.Context(app, terminal_width=100))
    listed = help_text.partition("\nCommands:\n")[2].partition("\n\n")[0]
    rows = [f"    ccmove {row.strip()}" for row in listed.splitlines()]
    block = "\n".join([r"\1", "", *rows, "", r"\2"])
    marks = r"(<!-- from `ccmove --help`.*? -->)\n.*?(<!-- end -->)"
    return re.sub(marks, block, readme, flags=re.DOTALL)


def tagged(name: str, text: str) -> str:
    return f".TP\n.B {escaped(name)}\n{chr(10).join(paragraphs(text))}"


def paragraphs(text: str) -> Iterator[str]:
    """Filled text, but a block that click is told to leave alone stays line by line."""
    for number, part in enumerate(inspect.cleandoc(text).split("\n\n")):
        if number:
            yield ".sp"
        if part.startswith("\b\n"):
            yield f".nf\n{escaped(part[2:])}\n.fi"
        else:
            yield escaped(" ".join(part.split()))


def escaped(text: str) -> str:
    """Hyphens that are to be typed, and characters that roff would act on."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return "\n".join(
        f"\\&{line}" if line.startswith((".", "'")) else line
        for line in text.split("\n")
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        text = Path(sys.argv[1]).read_text(encoding="utf-8")
        sys.stdout.write(with_commands(text))
    else:
        sys.stdout.write(page())
