"""`ccmove list`: every project that Claude Code knows."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ccmove.claude.layout import Layout
from ccmove.claude.lists import Problem
from ccmove.cli.verify import unknown
from ccmove.inspect.findings import CommandLine
from ccmove.inspect.survey import Project, Tick, look
from ccmove.rewrite.pathmap import tail_below

SORTS: dict[str, Callable[[Project], Any]] = {
    "path": lambda project: (project.path is None, project.path, project.directories),
    "used": lambda project: -(project.last_used or 0),
    "sessions": lambda project: -project.sessions,
    "size": lambda project: -project.size,
}


@dataclass(frozen=True)
class Listing:
    """The projects that were asked for, in the order that was asked for."""

    layout: Layout
    projects: tuple[Project, ...]
    problems: tuple[Problem, ...]
    known: int  # how many there are in all
    exit_code: int = 0


def list_projects(
    layout: Layout,
    *,
    sort: str = "path",
    reverse: bool = False,
    missing: bool = False,
    below: str | None = None,
    tick: Tick | None = None,
    command: CommandLine | None = None,
) -> Listing:
    """Every known project, or those whose folder is missing, or those at or below a path."""
    survey = look(layout, tick)
    if below is not None and not any(is_below(project, below) for project in survey.projects):
        raise unknown(below, survey, command or CommandLine(), "list")
    chosen = [
        project
        for project in survey.projects
        if (project.is_missing or not missing) and (below is None or is_below(project, below))
    ]
    chosen.sort(key=SORTS["path"])
    chosen.sort(key=SORTS[sort], reverse=reverse)
    return Listing(layout, tuple(chosen), survey.problems, len(survey.projects))


def is_below(project: Project, typed: str) -> bool:
    """Whether the project is the path as typed, or its real one, or lies below either."""
    bases = {os.path.abspath(typed), os.path.realpath(typed)}
    return project.path is not None and any(
        tail_below(project.path, base) is not None for base in bases
    )
