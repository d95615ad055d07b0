"""`ccmove pack`."""

import sys
from collections.abc import Iterator
from functools import partial

import click

from ccmove.cli import options
from ccmove.cli.boundary import Answer, Call, give_up_on
from ccmove.cli.completion import known_projects
from ccmove.cli.options import flag
from ccmove.commands.options import PackOptions
from ccmove.commands.pack import check_words, pack, with_file
from ccmove.errors import CcmoveError, UsageError
from ccmove.hints import ask
from ccmove.report.packing import show_packed


@options.command(
    "pack", PackOptions, *options.with_details("List all projects, however many.")
)
@options.one_word(metavar="[PATH]", shell_complete=known_projects)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write to FILE (.tar.gz, .tar or .tar.zst) [default: standard output].",
)
@flag("-n", "--dry-run", help="Preview: show what would be packed.")
@flag("--only", help="Pack only PATH itself, not projects nested inside it.")
@click.option(
    "--session",
    multiple=True,
    metavar="ID",
    help="Only this session and its prompts; may be repeated.",
)
@flag("--all", help="Pack all projects of this home.")
@flag("--with-secrets", help="Also pack env values, headers, passwords of MCP servers.")
def pack_command(call: Call, asked: PackOptions) -> Answer:
    """Pack a project into an archive for another machine.

    PATH is the current folder unless it is given. ccmove unpack is the other end.
    Claude Code may be running.
    """
    _check_words(asked)
    layout = call.find_layout()
    progress = call.progress(call.printer.on_stderr())
    packed = pack(layout, asked, progress, _write_to_pipe)
    return Answer(partial(show_packed, packed))


def _check_words(asked: PackOptions) -> None:
    """UsageError for words that contradict each other, or no place for an archive."""
    check_words(asked)
    if asked.dry_run or asked.output is not None:
        return
    if asked.json:
        raise UsageError("--json needs -o FILE: the archive goes to standard output")
    if sys.stdout is None or sys.stdout.isatty():
        hint = ask(with_file(asked))
        raise UsageError("an archive is not for a terminal", hint)


def _write_to_pipe(pieces: Iterator[bytes]) -> int:
    """Write to standard output; how many bytes."""
    size = 0
    for piece in pieces:
        try:
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        except OSError as error:
            give_up_on(sys.stdout)
            what = f"the archive could not be written: {error.strerror}"
            raise CcmoveError(what) from None
        size += len(piece)
    return size
