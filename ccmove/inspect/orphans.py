"""Projects whose folder is gone: what is still kept for them, and the move that brings it along."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from ccmove.inspect.findings import Candidate, Choice, CommandLine, Finding
from ccmove.inspect.lost import Homes, nearest_folder
from ccmove.inspect.survey import Project, Survey, ancestors
from ccmove.text import plural, readable_size

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
    """Projects whose folder is gone and of which more is left than an empty directory."""
    return [
        project
        for project in survey.projects
        if project.is_missing and (project.sessions or set(project.kept) - {"index", "aliases"})
    ]


def project_findings(survey: Survey, homes: Homes, command: CommandLine) -> Iterator[Finding]:
    """One finding for each lost project."""
    claimed = Counter(c.path for found in homes.values() for c in found if c.settles)
    for project in lost_projects(survey):
        path = project.path or ""
        candidates = homes.get(path) or _stated(survey, path)
        parent = _moves_with(path, candidates, homes)
        living = _living_project_around(survey, path)
        settled = any(candidate.settles for candidate in candidates)
        kind = "removed-subfolder" if living and not settled else _kind(survey, project)
        if living and not settled and living not in [c.path for c in candidates]:
            candidates += (Candidate(living, looks_alike=["it was a part of it"]),)
        choices = () if parent else tuple(_choices(path, candidates, claimed))
        new = candidates[0].path if candidates else "NEW"
        yield Finding(
            kind,
            path,
            describe(project),
            command("doctor", "--fix", parent) if parent else command(path, new),
            _not_connected(path),
            candidates,
            choices,
            project.directories,
            parent,
        )


def describe(project: Project) -> str:
    """What is kept of a project, in words."""
    parts = [plural(project.sessions, "session")] if project.sessions else []
    parts += [readable_size(project.size)] if project.size else []
    parts += [plural(n, PLACES[place]) for place, n in project.kept.items() if place in PLACES]
    return ", ".join(parts) or "nothing but its name"


def _stated(survey: Survey, path: str) -> tuple[Candidate, ...]:
    known = survey.former.get(path, {})
    return tuple(Candidate(new, stated=[how]) for new, how in sorted(known.items()))


def _kind(survey: Survey, project: Project) -> str:
    if project.sessions or "memory" in project.kept:
        return "orphan"
    return "moved-entries" if project.path in survey.former else "stale-entries"


def _living_project_around(survey: Survey, path: str) -> str | None:
    """The checkout or project in use in which the path was; the home folder is neither."""
    home = str(survey.layout.home)
    for folder in list(ancestors(path))[1:]:
        if folder in (home, os.path.dirname(home)):
            return None
        known = survey.by_path.get(folder)
        is_used = known is not None and known.exists and known.sessions
        if is_used or os.path.lexists(os.path.join(folder, ".git")):
            return folder
    return None


def _moves_with(path: str, candidates: tuple[Candidate, ...], homes: Homes) -> str | None:
    """The lost project above this one whose move brings this one to its place as well."""
    for parent in list(ancestors(path))[1:]:
        for best in homes.get(parent, ())[:1]:
            along = best.path + path[len(parent) :]
            if candidates[0].path == along if candidates else best.settles:
                return parent
    return None


def _choices(
    path: str, candidates: tuple[Candidate, ...], claimed: Counter[str]
) -> Iterator[Choice]:
    """Sure is a folder that alone has evidence which settles it, and for no other project."""
    settling = [candidate for candidate in candidates if candidate.settles]
    best = [candidate for candidate in settling if candidate.stated] or settling
    for number, candidate in enumerate(candidates):
        sure = number == 0 and best == [candidate]
        if claimed[candidate.path] > 1 and not candidate.stated:
            sure = False
        label = f"it is {candidate.path} now ({candidate.confidence})"
        yield Choice(label, move=(path, candidate.path), sure=sure)


def _not_connected(path: str) -> tuple[str, ...]:
    """A drive that is not connected is not a deleted folder."""
    near = nearest_folder(path)
    is_drive = near in DRIVES or os.path.dirname(near) in DRIVES_OF_USERS
    return (f"nothing is left of it below {near}: is a drive not connected?",) if is_drive else ()
