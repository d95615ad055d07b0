"""Projects whose folder is gone: what is still kept for them, and where they may be now."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from ccmove.inspect.catalogue import nearest_folder
from ccmove.inspect.findings import Choice, CommandLine, Finding
from ccmove.inspect.newhome import Candidate, is_unambiguous
from ccmove.inspect.survey import Project, Survey, ancestors
from ccmove.text import plural
from ccmove.text import readable_size as size

Homes = dict[str, tuple[Candidate, ...]]
DRIVES = ("/Volumes", "/media", "/mnt", "/run/media")
DRIVES_OF_USERS = ("/media", "/run/media")  # with a folder for each user
PLACES = {
    "memory": "memory file",
    "prompts": "prompt",
    "config": "config entry",
    "values": "value in the config file",
    "repository": "link of a repository",
    "plugins": "plugin",
    "jobs": "background job",
    "index": "index",
    "aliases": "list of aliases",
}


def lost_projects(survey: Survey) -> list[Project]:
    """Projects whose folder is gone and of which something is left."""
    return [project for project in survey.projects if project.is_missing and _has_worth(project)]


def project_findings(survey: Survey, homes: Homes, command: CommandLine) -> Iterator[Finding]:
    """One finding for each lost project."""
    lost = lost_projects(survey)
    contested = _contested(homes)
    for project in lost:
        assert project.path is not None
        candidates = homes.get(project.path) or _stated(survey, project.path)
        parent = _goes_along_with(project.path, candidates, homes)
        living = _living_project_around(survey, project.path)
        kind = _kind(survey, project, candidates, living)
        if kind == "removed-subfolder":
            candidates += _part_of(living, candidates)
        choices = () if parent else tuple(_choices(project.path, candidates, contested))
        yield Finding(
            kind,
            project.path,
            describe(project),
            _command(command, project.path, candidates, parent),
            _not_connected(project.path),
            candidates,
            choices,
            project.directories,
            parent,
        )


def _part_of(living: str | None, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """The project around a removed subfolder may take over what was its."""
    if living is None or any(candidate.path == living for candidate in candidates):
        return ()
    return (Candidate(living, looks_alike=("it was a part of it",)),)


def describe(project: Project) -> str:
    """What is kept of a project, in words."""
    parts = []
    if project.sessions:
        parts.append(plural(project.sessions, "session"))
    if project.size:
        parts.append(size(project.size))
    parts += [
        plural(number, PLACES[place]) for place, number in project.kept.items() if place in PLACES
    ]
    return ", ".join(parts) or "nothing but its name"


def _not_connected(path: str) -> tuple[str, ...]:
    """A drive that is not connected is not a deleted folder."""
    near = nearest_folder(path)
    is_drive = near in DRIVES or os.path.dirname(near) in DRIVES_OF_USERS
    return (f"nothing is left of it below {near}: is a drive not connected?",) if is_drive else ()


def _has_worth(project: Project) -> bool:
    """An empty directory alone is a left-over, not a project."""
    listed = set(project.kept) - {"index", "aliases"}
    return bool(project.sessions or listed)


def _stated(survey: Survey, path: str) -> tuple[Candidate, ...]:
    """What the state itself says, without looking for more."""
    known = survey.former.get(path, {})
    return tuple(Candidate(new, same_checkout=(how,)) for new, how in sorted(known.items()))


def _kind(
    survey: Survey, project: Project, candidates: tuple[Candidate, ...], living: str | None
) -> str:
    if living is not None and not any(candidate.settles for candidate in candidates):
        return "removed-subfolder"
    if project.sessions or "memory" in project.kept:
        return "orphan"
    return "moved-entries" if project.path in survey.former else "stale-entries"


def _living_project_around(survey: Survey, path: str) -> str | None:
    """The checkout or project in use in which the path lay; the home folder is neither."""
    home = str(survey.layout.home)
    for folder in list(ancestors(path))[1:]:
        if folder in (home, os.path.dirname(home)):
            return None
        known = survey.by_path.get(folder)
        is_used = known is not None and known.exists and known.sessions
        if is_used or os.path.lexists(os.path.join(folder, ".git")):
            return folder
    return None


def _contested(homes: Homes) -> set[str]:
    """Folders that more than one lost project could be by its repository alone."""
    claims: Counter[str] = Counter()
    for candidates in homes.values():
        settling = [c for c in candidates if c.settles and not c.same_checkout]
        claims.update(c.path for c in settling)
    return {path for path, number in claims.items() if number > 1}


def _goes_along_with(path: str, candidates: tuple[Candidate, ...], homes: Homes) -> str | None:
    """The lost project above this one whose move brings this one to its place as well."""
    for parent in list(ancestors(path))[1:]:
        for best in homes.get(parent, ())[:1]:
            along = best.path + path[len(parent) :]
            if best.settles and (not candidates or candidates[0].path == along):
                return parent
    return None


def _choices(path: str, candidates: tuple[Candidate, ...], contested: set[str]) -> Iterator[Choice]:
    unambiguous = is_unambiguous(candidates)
    for number, candidate in enumerate(candidates):
        sure = unambiguous and number == 0 and candidate.settles
        if candidate.path in contested and not candidate.same_checkout:
            sure = False
        label = f"it is {candidate.path} now ({candidate.confidence})"
        yield Choice(label, move=(path, candidate.path), sure=sure)


def _command(
    command: CommandLine, path: str, candidates: tuple[Candidate, ...], parent: str | None
) -> str:
    if parent is not None:
        return command("doctor", "--fix", parent)
    return command(path, candidates[0].path if candidates else "NEW")
