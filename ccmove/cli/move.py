"""`ccmove OLD NEW`."""

from typing import Any

import click

from ccmove.cli import options
from ccmove.cli.boundary import Call
from ccmove.cli.find import find_pair
from ccmove.cli.options import flag
from ccmove.commands.move import move, read_pairs
from ccmove.commands.options import MoveOptions
from ccmove.commands.paths import USUAL, resolve_pair
from ccmove.errors import UsageError, run
from ccmove.report.result import Result


@options.command("move")
@click.argument("old", required=False, shell_complete=options.known_projects)
@click.argument("new", required=False, shell_complete=options.folders)
@options.dry_run
@flag("-m", "--move-folder", help="Rename the folder too, in the same step.")
@flag("--only", help="Move only OLD itself, not projects nested inside it.")
@click.option(
    "--from-file",
    metavar="FILE",
    help="Read moves from FILE, one OLD<TAB>NEW per line (- for stdin); all or none "
    "are made.",
)
@flag("--merge", help="Merge even if NEW is another project with sessions of its own.")
@flag("-y", "--yes", help="With one path: take the only candidate, don't ask.")
@flag(
    "--settings",
    help="Also rewrite paths in NEW/.claude/settings*.json and NEW/.mcp.json.",
)
@flag(
    "--desktop",
    help="Also rewrite paths in the desktop app's sessions, while it is not running.",
)
@options.hash_files
@options.allow_live
@flag("--skip-path-check", help="Don't check that OLD is gone and NEW exists.")
def move_command(
    call: Call,
    old: str | None,
    new: str | None,
    from_file: str | None,
    yes: bool,
    **wanted: Any,
) -> Result:
    """Move Claude Code's data for a project from OLD to NEW;
    ccmove OLD NEW is the same.
    """
    asked = MoveOptions(**wanted)
    if from_file and old is not None:
        message = "--from-file takes the place of OLD and NEW"
        raise UsageError(message, run("ccmove", "--from-file", from_file))
    if not from_file and old is None:
        raise UsageError("missing argument: OLD", USUAL)
    if old is not None and new is None and asked.move_folder:
        raise UsageError("missing argument: NEW", "--move-folder needs both paths")
    layout = call.recover(dry_run=asked.dry_run)
    if old is None:
        pairs = read_pairs(from_file or "")
    elif new is None:
        pairs = [find_pair(call, old, yes=yes, dry_run=asked.dry_run)]
    else:
        pairs = [resolve_pair(old, new)]
    call.moves = tuple(pair.real for pair in pairs)
    return move(layout, pairs, asked, call.progress(), call.rolled_back)
