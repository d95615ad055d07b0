"""`ccmove OLD NEW`."""

import click

from ccmove.cli import options
from ccmove.cli.boundary import Answer, Call
from ccmove.cli.completion import old_or_new
from ccmove.cli.options import flag
from ccmove.commands.move import move, pairs_of
from ccmove.commands.options import MoveOptions
from ccmove.commands.paths import USUAL
from ccmove.errors import UsageError
from ccmove.hints import ask


@options.command("move", MoveOptions, *options.with_details())
@options.words(metavar="OLD NEW", shell_complete=old_or_new)
@options.dry_run
@flag("-m", "--move-folder", help="Rename the folder too, in the same step.")
@flag("--only", help="Move only OLD itself, not projects nested inside it.")
@click.option(
    "--from-file",
    metavar="FILE",
    help="Read moves from FILE, one OLD<TAB>NEW per line (- for stdin); all or none "
    "are made.",
)
@flag("--merge", help="Merge even if NEW is another project that has sessions.")
@flag("-y", "--yes", help="With one path: take the only candidate, don't ask.")
@flag("--settings", help="Also rewrite paths in .claude/settings*.json, .mcp.json.")
@flag("--desktop", help="Also rewrite the desktop app's sessions; quit it before.")
@options.hash_files
@options.allow_live
@flag("--skip-path-check", help="Don't check that OLD is gone and NEW exists.")
def move_command(call: Call, asked: MoveOptions) -> Answer:
    """Move Claude Code's data for a project from OLD to NEW;
    ccmove OLD NEW is the same.
    """
    _check_words(asked)
    layout = call.recover(dry_run=asked.dry_run)
    if len(asked.arguments) == 1:
        from ccmove.cli.find import find_pair

        asked = find_pair(call, asked)
    pairs = pairs_of(asked)
    for pair in pairs:
        call.moves.append(pair.real)
    progress = call.progress()
    result = move(layout, pairs, asked, progress, call.rolled_back)
    return call.answer(result)


def _check_words(asked: MoveOptions) -> None:
    """UsageError unless there are OLD and NEW, one path, or a file with moves."""
    paths = asked.arguments
    if asked.from_file is not None:
        if paths:
            message = "--from-file takes the place of OLD and NEW"
            raise UsageError(message, ask(MoveOptions(from_file=asked.from_file)))
        return
    if not paths:
        raise UsageError("missing argument: OLD", USUAL)
    if len(paths) == 1 and asked.move_folder:
        raise UsageError("missing argument: NEW", "--move-folder needs both paths")
    if len(paths) > 2:
        raise UsageError(f"expected OLD and NEW, got {len(paths)} paths", USUAL)
