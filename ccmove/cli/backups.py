"""`ccmove backups`: what can be undone, and removing what nobody needs any more."""

import re

import click

from ccmove.claude.layout import Layout
from ccmove.claude.reading import is_there
from ccmove.cli import options, values
from ccmove.cli.boundary import Call
from ccmove.errors import NothingKnownError, UsageError, run
from ccmove.inspect.backups import SET_ASIDE, list_backups
from ccmove.report.result import Backups
from ccmove.run.backups import backup_ids, prune
from ccmove.run.locks import own_lock
from ccmove.run.preflight import refuse_foreign_state
from ccmove.run.rollback import roll_back

UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}  # seconds
KEEP_TEN = ("ccmove", "backups", "--prune", "--keep", "10")
OLDER_THAN = ("ccmove", "backups", "--prune", "--older-than", "30d")


@options.command("backups")
@click.argument("identifiers", metavar="[ID]...", nargs=-1, shell_complete=values.backups)
@click.option("--prune", is_flag=True, help="Remove backups: those with these IDs, or as below.")
@click.option(
    "--keep", type=click.IntRange(min=0), metavar="N", help="With --prune: keep the newest N."
)
@click.option(
    "--older-than", metavar="AGE", help="With --prune: remove only what is older, such as 30d."
)
@click.option("-n", "--dry-run", is_flag=True, help="With --prune: show what would be removed.")
def backups_command(
    call: Call,
    identifiers: tuple[str, ...],
    prune: bool,
    keep: int | None,
    older_than: str | None,
    dry_run: bool,
) -> Backups:
    """List the moves that can be undone; --prune removes old backups."""
    layout = call.find_layout()
    if not prune and (keep is not None or older_than or dry_run):
        raise UsageError("--keep, --older-than and --dry-run need --prune", run(*KEEP_TEN))
    rows = tuple(list_backups(layout))
    if not prune:
        return Backups(tuple(row for row in rows if not identifiers or row.id in identifiers))
    age = seconds(older_than) if older_than else None
    why = prune_backups(layout, keep, age, identifiers, dry_run)
    return Backups(rows, {row.id: why.get(row.id, SET_ASIDE) for row in rows}, dry_run)


def prune_backups(
    layout: Layout, keep: int | None, age: float | None, named: tuple[str, ...], dry_run: bool
) -> dict[str, str]:
    """As `prune`, once it is clear what to remove and nobody else is running."""
    if keep is None and age is None and not named:
        raise UsageError(
            "--prune needs to know what to remove",
            run(*KEEP_TEN, text="all but the newest 10"),
            run(*OLDER_THAN, text="what is older than 30 days"),
        )
    if not is_there(layout.own):
        return {}
    if unknown := [one for one in named if one not in backup_ids(layout)]:
        raise NothingKnownError(f"there is no backup {unknown[0]}", run("ccmove", "backups"))
    if dry_run:
        return prune(layout, keep, age, named, dry_run=True)
    refuse_foreign_state(layout)
    with own_lock(layout):
        roll_back(layout)
        return prune(layout, keep, age, named)


def seconds(text: str) -> float:
    """`30d`, `12h`, `45m` -> seconds."""
    if re.fullmatch("[0-9]{1,9}[mhdw]", text):
        return int(text[:-1]) * UNITS[text[-1]]
    hint = run(*OLDER_THAN, text="a number and m, h, d or w")
    raise UsageError(f"{text!r} is not a duration", hint)
