"""`ccmove list`: every project that Claude Code knows."""

from collections.abc import Callable
from typing import Any

import click

from ccmove.cli import options, values
from ccmove.cli.boundary import Call
from ccmove.cli.resolve import find_subject
from ccmove.inspect.survey import Project, Survey
from ccmove.report.result import Listing

SORTS: dict[str, Callable[[Project], Any]] = {
    "path": lambda project: (project.path is None, (project.path or "").split("/")),
    "used": lambda project: -(project.last_used or 0),
    "sessions": lambda project: -project.sessions,
    "size": lambda project: -project.size,
}


@options.command("list")
@click.argument("path", required=False, shell_complete=values.known_projects)
@click.option(
    "--sort",
    type=click.Choice(list(SORTS)),
    default="path",
    help="By path; or the last used, the most sessions, the largest first.",
)
@click.option("--reverse", is_flag=True, help="Reverse the order.")
@click.option("--missing", is_flag=True, help="Only projects whose folder is gone.")
def list_command(call: Call, path: str | None, sort: str, reverse: bool, missing: bool) -> Listing:
    """List all projects Claude Code knows, or those in PATH.

    The exit code is 3 if Claude Code has no data for PATH, or none at all.
    """
    survey = Survey(call.find_layout(), call.progress())
    chosen = survey.projects
    if path is not None:
        below = find_subject(path, survey.by_path, survey.by_path)
        chosen = [project for project in chosen if project.path in below]
    if missing:
        chosen = [project for project in chosen if project.is_missing]
    chosen = sorted(chosen, key=SORTS["path"])
    chosen.sort(key=SORTS[sort], reverse=reverse)
    problems, config_dir = tuple(survey.lists.problems), survey.layout.config_dir
    return Listing(config_dir, tuple(chosen), problems, len(survey.projects))
