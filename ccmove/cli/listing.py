"""`ccmove list` and `where`: the projects Claude Code knows, and where it keeps one."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import click

from ccmove.cli import options
from ccmove.cli.boundary import Answer, Call
from ccmove.cli.completion import known_projects
from ccmove.cli.options import flag
from ccmove.commands.options import USUAL_SORT, ListOptions
from ccmove.commands.paths import find_subject, resolve_path, unknown
from ccmove.hints import Asked
from ccmove.inspect.survey import Project, Survey
from ccmove.inspect.where import find_whereabouts
from ccmove.report.listing import show_list, show_where
from ccmove.report.result import Result

SORTS: dict[str, Callable[[Project], int | tuple[bool, list[str]]]] = {
    "path": lambda project: (project.path is None, (project.path or "").split("/")),
    "used": lambda project: -(project.last_used or 0),
    "sessions": lambda project: -project.sessions,
    "size": lambda project: -project.bytes,
}


@options.command(
    "list", ListOptions, *options.with_details("Also show what else there is of each.")
)
@options.one_word(metavar="[PATH]", shell_complete=known_projects)
@click.option(
    "--sort",
    type=click.Choice(list(SORTS)),
    default=USUAL_SORT,
    help="By path; or the last used, the most sessions, the largest first.",
)
@flag("--missing", help="Only projects whose folder is gone.")
def list_command(call: Call, asked: ListOptions) -> Answer:
    """List all projects Claude Code knows, or those in PATH.

    The exit code is 3 if Claude Code has no data for PATH.
    """
    layout = call.find_layout()
    survey = Survey(layout, call.progress())
    paths = set(survey.by_path)
    projects = []
    for typed in asked.arguments:
        paths = find_subject(layout, asked, typed, paths, paths)
    for project in survey.projects:
        if asked.arguments and project.path not in paths:
            continue
        if asked.missing and project.exists is not False:
            continue
        projects.append(project)
    projects.sort(key=SORTS[asked.sort])
    in_detail = replace(asked, verbose=True).to_line()
    show = partial(show_list, survey, projects, in_detail)
    return Answer(show)


@options.command("where", Asked, options.CONFIG_DIR, options.JSON)
@options.one_word(metavar="[PATH]", default=".", shell_complete=known_projects)
def where_command(call: Call, asked: Asked) -> Answer:
    """Print the directory in which Claude Code keeps PATH's sessions.

    PATH is the current folder unless it is given. Of a path that Claude Code does not
    know it is the directory that it would use, and the exit code is 3.
    """
    layout = call.find_layout()
    (typed,) = asked.arguments
    spellings = resolve_path(typed)
    where = find_whereabouts(layout, *spellings)
    result = Result("ok")
    if not where.is_known:
        path = where.path
        known = where.known_paths
        error = unknown(layout, asked, typed, path, known)
        result = call.failed(error)
    show = partial(show_where, where, result)
    return Answer(show, result.exit_code)
