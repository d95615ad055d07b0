"""`ccmove unpack`."""

import click

from ccmove.cli import options
from ccmove.cli.boundary import Answer, Call
from ccmove.cli.options import flag
from ccmove.commands.options import UnpackOptions
from ccmove.commands.unpack import check_words, unpack


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
@flag("--merge", help="Merge even if NEW is another project that has sessions.")
def unpack_command(call: Call, asked: UnpackOptions) -> Answer:
    """Unpack an archive of ccmove pack; - is standard input.

    NEW is the project's folder here. Without it, the folder of the same path is taken,
    or the current one if it is the same repository.
    """
    check_words(asked)
    layout = call.recover(dry_run=asked.dry_run)
    result = unpack(layout, asked, call.progress(), call.rolled_back)
    return call.answer(result)
