"""The options that several commands have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from ccmove.cli.boundary import Answer, Asked
from ccmove.cli.completion import folders

COMMON = frozenset(("verbose", "quiet", "as_json", "config_dir"))


def common(function: Callable[..., Answer]) -> Callable[..., Asked]:
    """Every command has these; and nothing is done before the whole line is parsed."""

    @functools.wraps(function)
    def parsed(*args: Any, **options: Any) -> Asked:
        of_printer = {name: options.pop(name) for name in COMMON}
        return Asked(lambda call: function(call, *args, **options), of_printer)

    declared: Callable[..., Asked] = parsed
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="Say more, and why."),
        click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option(
            "--config-dir", metavar="DIR", help="Instead of ~/.claude.", shell_complete=folders
        ),
    ):
        declared = option(declared)
    return declared


dry_run = click.option("-n", "--dry-run", is_flag=True, help="Show the plan; change nothing.")
full = click.option(
    "--verify",
    type=click.Choice(["quick", "full"]),
    default="quick",
    help="full: hash every moved file.",
)
allow_live = click.option(
    "--allow-live", is_flag=True, help="Go on although a session is running there."
)
