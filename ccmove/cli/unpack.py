"""`ccmove unpack`."""

import os
from dataclasses import replace

import click

from ccmove.cli import options
from ccmove.cli.boundary import Answer, Call
from ccmove.cli.options import flag
from ccmove.commands.options import UnpackOptions
from ccmove.commands.unpack import unpack
from ccmove.errors import UsageError
from ccmove.hints import ask, to_type


@options.command("unpack", UnpackOptions, *options.with_details())
@options.words(metavar="FILE [NEW]")
@options.dry_run
@click.option(
    "--map",
    multiple=True,
    metavar="FROM=TO",
    help="Where a folder of the other machine is here; may be repeated.",
)
@flag("--with-config", help="Also bring trust, allowed tools, MCP servers and hooks.")
@flag("--merge", help="Merge even if NEW is a project with sessions of its own.")
def unpack_command(call: Call, asked: UnpackOptions) -> Answer:
    """Unpack an archive of ccmove pack; - is standard input.

    NEW is the project's folder here. Without it, the folder of the same path is taken,
    or the current one if it is the same repository.
    """
    _check_words(asked)
    layout = call.recover(dry_run=asked.dry_run)
    result = unpack(layout, asked, call.progress(), call.rolled_back)
    return call.answer(result)


def _check_words(asked: UnpackOptions) -> None:
    """UsageError unless there are FILE and at most NEW."""
    usual = to_type("ccmove", "unpack", "FILE", "NEW")
    words = asked.arguments
    if not words:
        raise UsageError("missing argument: FILE", usual)
    if len(words) > 2:
        raise UsageError(f"expected FILE and NEW, got {len(words)} words", usual)
    if len(words) == 2:
        _check_both(asked)


def _check_both(asked: UnpackOptions) -> None:
    """UsageError where NEW can't be given, or stands before FILE."""
    if asked.map:
        usual = to_type("ccmove", "unpack", "FILE", "NEW")
        raise UsageError("--map takes the place of NEW", usual)
    file, new = asked.arguments
    are_swapped = os.path.isdir(file) and os.path.isfile(new)
    if are_swapped:
        what = f"{file} is a folder, not an archive"
        right = replace(asked, arguments=(new, file))
        hint = ask(right, "did you mean")
        raise UsageError(what, hint)
