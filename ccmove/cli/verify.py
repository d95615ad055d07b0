"""`ccmove verify`: is what is kept for a project, or for all, consistent?"""

import os

import click

from ccmove.claude.layout import Layout
from ccmove.claude.naming import possible_names
from ccmove.cli import options, values
from ccmove.cli.boundary import Call
from ccmove.cli.resolve import find_subject
from ccmove.inspect.checks import examine
from ccmove.inspect.findings import CommandLine, Examination, Finding
from ccmove.inspect.survey import Progress, Survey

FAILURES = {  # findings of these kinds; all others are harmless
    "interrupted-run",
    "unreadable",
    "moved-entries",
    "nested-directory",
    "split-session",
    "index",
}


@options.command("verify")
@click.argument("path", required=False, shell_complete=values.known_projects)
def verify_command(call: Call, path: str | None) -> Examination:
    """Check that Claude Code's data for PATH (default: all projects) is consistent.

    The exit code is 0 or 1, or 3 if Claude Code has no data for PATH.
    """
    return verify(call.find_layout(), path, call.printer.typed, call.progress())


def verify(
    layout: Layout, path: str | None, command: CommandLine, progress: Progress | None = None
) -> Examination:
    """Check one project with all that is nested in it, or everything."""
    survey = Survey(layout, progress)
    paths = sorted(survey.by_path)
    if path is not None:
        paths = sorted(find_subject(path, paths, paths))
    # What a finding about these can be about: paths of now and before, and their directories.
    names = {*paths, *(name for path in paths for name in survey.by_path[path].directories)}
    names |= {old for old, homes in survey.former.items() if names.intersection(homes)}
    own = {name for known in names for name in possible_names(known)}
    failures: list[Finding] = []
    notes: list[Finding] = []
    for finding in examine(survey, command, None).findings:
        is_unreadable = finding.kind == "unreadable"
        concerns_all = path is None or is_unreadable or finding.kind == "interrupted-run"
        if concerns_all or names.intersection((finding.subject, *finding.names)):
            is_directory = os.path.dirname(finding.subject) == str(layout.projects)
            is_others = path is not None and is_directory and not own.intersection(finding.names)
            is_failure = finding.kind in FAILURES and not (is_unreadable and is_others)
            (failures if is_failure else notes).append(finding)
    return Examination(survey, tuple(failures), tuple(notes), tuple(paths))
