"""`ccmove OLD NEW`."""

from dataclasses import replace

import click

from ccmove.cli import options
from ccmove.cli.boundary import Answer, Call
from ccmove.cli.completion import old_or_new
from ccmove.cli.options import flag
from ccmove.commands.move import move, read_pairs
from ccmove.commands.options import MoveOptions
from ccmove.commands.paths import USUAL, Pair, resolve_pair
from ccmove.errors import UsageError
from ccmove.hints import ask


@options.command("move", *options.WITH_DETAILS)
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
@flag("--merge", help="Merge even if NEW is a project with sessions of its own.")
@flag("-y", "--yes", help="With one path: take the only candidate, don't ask.")
@flag("--settings", help="Also rewrite paths in .claude/settings*.json, .mcp.json.")
@flag("--desktop", help="Also rewrite the desktop app's sessions; quit it before.")
@options.hash_files
@options.allow_live
@flag("--skip-path-check", help="Don't check that OLD is gone and NEW exists.")
def move_command(
    call: Call, arguments: tuple[str, ...], from_file: str | None, **flags: bool
) -> Answer:
    """Move Claude Code's data for a project from OLD to NEW;
    ccmove OLD NEW is the same.
    """
    config_dir = call.printer.config_dir
    asked = MoveOptions(
        arguments=arguments,
        from_file=from_file,
        config_dir=config_dir,
        **flags,
    )
    asked = call.asks(asked)
    _check_words(asked)
    layout = call.recover(dry_run=asked.dry_run)
    if len(asked.arguments) == 1:
        from ccmove.cli.find import find_pair

        both = find_pair(call, asked)
        asked = call.asks(replace(asked, arguments=both))
    pairs: list[Pair]
    if asked.from_file is not None:
        pairs = read_pairs(asked.from_file)
    else:
        pairs = [resolve_pair(*asked.arguments)]
    call.moves = tuple(pair.real for pair in pairs)
    result = move(layout, pairs, asked, call.progress(), call.rolled_back)
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
