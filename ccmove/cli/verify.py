"""`ccmove verify`: is what is kept for a project, or for all, consistent?"""

from __future__ import annotations

import os

import click

from ccmove.claude.layout import Layout
from ccmove.claude.naming import possible_names
from ccmove.cli import options, values
from ccmove.cli.boundary import Call
from ccmove.cli.resolve import find_subject
from ccmove.inspect.checks import examine
from ccmove.inspect.findings import CommandLine, Finding
from ccmove.inspect.survey import Progress, Survey, look
from ccmove.report.result import Verification


@options.command("verify")
@click.argument("path", required=False, shell_complete=values.known_projects)
def verify_command(call: Call, path: str | None) -> Verification:
    """Check that Claude Code's data for PATH (default: all projects) is consistent.

    The exit code is 0 or 1, or 3 if Claude Code has no data for PATH.
    """
    return verify(call.find_layout(), path, call.printer.typed, call.progress())


def verify(
    layout: Layout, path: str | None, command: CommandLine, progress: Progress | None = None
) -> Verification:
    """Check one project with all that is nested in it, or everything."""
    survey = look(layout, progress)
    findings = examine(survey, command, None).findings
    paths = sorted(survey.by_path)
    elsewhere: set[str] = set()
    if path is not None:
        paths = sorted(find_subject(path, paths, paths))
        names = _names(survey, paths)
        findings = tuple(finding for finding in findings if _concerns(finding, names))
        elsewhere = {f.subject for f in findings if _is_elsewhere(layout, f, names)}
    failures = tuple(f for f in findings if f.fails and f.subject not in elsewhere)
    notes = tuple(finding for finding in findings if finding not in failures)
    return Verification(layout, tuple(paths), failures, notes)


def _names(survey: Survey, paths: list[str]) -> set[str]:
    """Everything a finding about these projects can be about: paths of now and before, names."""
    names = {*paths}
    for path in paths:
        names.update(survey.by_path[path].directories)
    return names | {old for old, homes in survey.former.items() if names.intersection(homes)}


def _concerns(finding: Finding, names: set[str]) -> bool:
    """An interrupted run and what can't be read concern everybody."""
    if finding.kind in ("interrupted-run", "unreadable"):
        return True
    return bool(names.intersection((finding.subject, *finding.names)))


def _is_elsewhere(layout: Layout, finding: Finding, names: set[str]) -> bool:
    """A project directory that can't be read, and none that these paths could have."""
    is_directory = os.path.dirname(finding.subject) == str(layout.projects)
    own = {name for path in names for name in possible_names(path)}
    return finding.kind == "unreadable" and is_directory and not own.intersection(finding.names)
