"""`ccmove verify`: is what is kept for a project, or for all, consistent?"""

from __future__ import annotations

import os

import click

from ccmove.claude.layout import Layout
from ccmove.claude.naming import possible_names
from ccmove.cli import options as shared
from ccmove.cli.boundary import Answer, Call
from ccmove.cli.completion import known_projects
from ccmove.cli.resolve import nearest
from ccmove.errors import NothingKnownError, run
from ccmove.inspect.checks import examine
from ccmove.inspect.findings import CommandLine, Finding
from ccmove.inspect.survey import Survey, Tick, look
from ccmove.report.inspect import show_verification
from ccmove.report.result import Verification
from ccmove.rewrite.pathmap import tail_below


@click.command(name="verify")
@click.argument("path", required=False, shell_complete=known_projects)
@shared.common
def verify_command(call: Call, path: str | None) -> Answer:
    """Check that what is kept for PATH, or for every project, is consistent; exit 0 or 1.

    Exits with 3 when nothing is known about PATH.
    """
    tick = call.progress(counts=True).of("looking at projects")
    checked = verify(call.find_layout(), path, CommandLine(call.config_dir), tick)
    return checked, show_verification


def verify(
    layout: Layout, path: str | None, command: CommandLine, tick: Tick | None = None
) -> Verification:
    """Check one project with all that is nested in it, or everything."""
    survey = look(layout, tick)
    paths = _paths(survey, path)
    concerned = None if path is None else _names(survey, paths)
    findings = [
        finding
        for finding in examine(survey, command, None).findings
        if concerned is None or _concerns(finding, concerned)
    ]
    failures = tuple(f for f in findings if f.fails and not _is_elsewhere(layout, f, concerned))
    notes = tuple(finding for finding in findings if finding not in failures)
    return Verification(layout, paths, failures, notes)


def _is_elsewhere(layout: Layout, finding: Finding, concerned: set[str] | None) -> bool:
    """A directory that can't be read, and none that these paths could have."""
    if concerned is None or finding.kind != "unreadable":
        return False
    is_directory = os.path.dirname(finding.subject) == str(layout.projects)
    own = {name for path in concerned for name in possible_names(path)}
    return is_directory and not own.intersection(finding.names)


def _paths(survey: Survey, typed: str | None) -> tuple[str, ...]:
    known = sorted(survey.by_path)
    if typed is None:
        return tuple(known)
    for base in dict.fromkeys((os.path.realpath(typed), os.path.abspath(typed))):
        below = tuple(path for path in known if tail_below(path, base) is not None)
        if below:
            return below
    raise unknown(typed, survey, "verify")


def unknown(typed: str, survey: Survey, command: str) -> NothingKnownError:
    """Names the nearest paths that are known, and the command for the first of them."""
    path = os.path.abspath(typed)
    near = nearest(path, sorted(survey.by_path))
    meant = run("ccmove", command, near[0], text="did you mean") if near else None
    return NothingKnownError(
        f"nothing is known about {path}", meant or run("ccmove", "list"), details=near[1:]
    )


def _names(survey: Survey, paths: tuple[str, ...]) -> set[str]:
    """Everything a finding about these projects can be about: paths of now and before, names."""
    names = {*paths}
    for path in paths:
        names.update(survey.by_path[path].directories)
    for old, homes in survey.former.items():
        if names.intersection(homes):
            names.add(old)
    return names


def _concerns(finding: Finding, names: set[str]) -> bool:
    """An interrupted run and what can't be read concern everybody."""
    if finding.kind in ("interrupted-run", "unreadable"):
        return True
    return bool(names.intersection((finding.subject, *finding.names)))
