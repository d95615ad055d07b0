"""`ccmove verify`: is what is kept for a project, or for all, consistent?"""

from __future__ import annotations

import os
from dataclasses import dataclass

from ccmove.claude.layout import Layout
from ccmove.claude.naming import possible_names
from ccmove.cli.resolve import nearest
from ccmove.cli.restore import list_backups
from ccmove.errors import NothingKnownError
from ccmove.inspect.checks import examine
from ccmove.inspect.findings import CommandLine, Finding
from ccmove.inspect.survey import Survey, Tick, look
from ccmove.rewrite.pathmap import tail_below


@dataclass(frozen=True)
class Verification:
    """What was checked, what is wrong, and what is only worth knowing."""

    layout: Layout
    paths: tuple[str, ...]
    failures: tuple[Finding, ...]
    notes: tuple[Finding, ...]

    @property
    def exit_code(self) -> int:
        return 1 if self.failures else 0


def verify(
    layout: Layout, path: str | None, command: CommandLine, tick: Tick | None = None
) -> Verification:
    """Check one project with all that is nested in it, or everything."""
    survey = look(layout, tick)
    paths = _paths(survey, path, command)
    concerned = None if path is None else _names(survey, paths)
    findings = [
        finding
        for finding in examine(survey, command, list_backups(layout), None).findings
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


def _paths(survey: Survey, typed: str | None, command: CommandLine) -> tuple[str, ...]:
    known = sorted(survey.by_path)
    if typed is None:
        return tuple(known)
    for base in dict.fromkeys((os.path.realpath(typed), os.path.abspath(typed))):
        below = tuple(path for path in known if tail_below(path, base) is not None)
        if below:
            return below
    raise unknown(typed, survey, command, "verify")


def unknown(typed: str, survey: Survey, command: CommandLine, *words: str) -> NothingKnownError:
    """Names the nearest paths that are known, and the command for the first of them."""
    path = os.path.abspath(typed)
    near = nearest(path, sorted(survey.by_path))
    hint = f"did you mean: {command(*words, near[0])}" if near else command("list")
    return NothingKnownError(f"nothing is known about {path}", hint, details=near[1:])


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
