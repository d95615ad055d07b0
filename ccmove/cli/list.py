"""`ccmove list`: every project that Claude Code knows."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from ccmove.claude.layout import Layout
from ccmove.cli import options as shared
from ccmove.cli.boundary import Answer, Call
from ccmove.cli.completion import known_projects
from ccmove.cli.verify import unknown
from ccmove.inspect.survey import Project, Tick, look
from ccmove.report.inspect import show_list
from ccmove.report.result import Listing
from ccmove.rewrite.pathmap import tail_below

SORTS: dict[str, Callable[[Project], Any]] = {
    "path": lambda project: (project.path is None, project.path, project.directories),
    "used": lambda project: -(project.last_used or 0),
    "sessions": lambda project: -project.sessions,
    "size": lambda project: -project.size,
}


@click.command(name="list")
@click.argument("path", required=False, shell_complete=known_projects)
@click.option(
    "--sort",
    type=click.Choice(list(SORTS)),
    default="path",
    help="By path, or the last used, the most sessions, the largest first.",
)
@click.option("--reverse", is_flag=True, help="The other way round.")
@click.option("--missing", is_flag=True, help="Only projects whose folder is gone.")
@shared.common
def list_command(call: Call, path: str | None, sort: str, reverse: bool, missing: bool) -> Answer:
    """Show every project that Claude Code knows, or those at or below PATH.

    Exits with 3 when there is no state at all, and with 0 when no project is in it.
    """
    found = list_projects(
        call.find_layout(),
        sort=sort,
        reverse=reverse,
        missing=missing,
        below=path,
        tick=call.progress(counts=True).of("looking at projects"),
    )
    return found, show_list


def list_projects(
    layout: Layout,
    *,
    sort: str = "path",
    reverse: bool = False,
    missing: bool = False,
    below: str | None = None,
    tick: Tick | None = None,
) -> Listing:
    """Every known project, or those whose folder is missing, or those at or below a path."""
    survey = look(layout, tick)
    if below is not None and not any(is_below(project, below) for project in survey.projects):
        raise unknown(below, survey, "list")
    chosen = [
        project
        for project in survey.projects
        if (project.is_missing or not missing) and (below is None or is_below(project, below))
    ]
    chosen.sort(key=SORTS["path"])
    chosen.sort(key=SORTS[sort], reverse=reverse)
    return Listing(layout, tuple(chosen), tuple(survey.problems), len(survey.projects))


def is_below(project: Project, typed: str) -> bool:
    """Whether the project is the path as typed, or its real one, or lies below either."""
    bases = {os.path.abspath(typed), os.path.realpath(typed)}
    return project.path is not None and any(
        tail_below(project.path, base) is not None for base in bases
    )
