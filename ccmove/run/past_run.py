"""What a finished run did, by where each thing was when it was done, and where each
thing that is at NEW now goes back to: one table for sessions, notes and directories.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.owners import session_of
from ccmove.claude.state import is_of_session
from ccmove.plan.tree import ends_of, moved_by
from ccmove.run.manifest import Manifest, Wrote
from ccmove.run.returning import PortionBack
from ccmove.run.since import Since


@dataclass(frozen=True)
class PastRun:
    """A run that is to be undone, and the portions that go back."""

    layout: Layout
    since: Since
    portions: tuple[PortionBack, ...]
    absent: frozenset[str]  # sessions that left, or were deleted

    # -- what it did

    @property
    def manifest(self) -> Manifest:
        return self.since.manifest

    @property
    def backup(self) -> Path:
        return self.layout.backups / self.manifest.id

    @cached_property
    def writes(self) -> dict[Path, Wrote]:
        return {wrote.ends: wrote for wrote in self.manifest.writes}

    @cached_property
    def came_from(self) -> dict[Path, Path]:
        """Where things in project directories ended that were renamed -> and began.

        A directory that was begun since, and follows, is as one that was brought.
        """
        projects = self.layout.projects
        came_from = {
            end: start
            for start, end in moved_by(self.manifest.operations).items()
            if start.is_relative_to(projects) and end.is_relative_to(projects)
        }
        filled = {move.target for move in self.manifest.projects}
        for source, portion in self.at_new.items():
            if portion.follows and source.name not in filled:
                came_from[source] = portion.target
        return came_from

    @cached_property
    def own_notes(self) -> dict[str, tuple[str, ...]]:
        """What NEW had before, by its path."""
        return {own.path: own.notes for own in self.manifest.own_at_new}

    def made(self, file: Path) -> bool:
        """Whether there was no such document before."""
        wrote = self.writes.get(file)
        return wrote is not None and wrote.before is None

    # -- what goes back, and where to

    @cached_property
    def at_new(self) -> dict[Path, PortionBack]:
        """The portion of each directory at NEW; the first of several."""
        return {part.source: part for part in reversed(self.moving)}

    @cached_property
    def at_old(self) -> dict[Path, PortionBack]:
        """The portion that goes to each directory at OLD; the first of several."""
        return {part.target: part for part in reversed(self.moving)}

    @cached_property
    def moving(self) -> tuple[PortionBack, ...]:
        """Nothing is renamed where OLD and NEW have one directory."""
        return tuple(part for part in self.portions if not part.is_in_place)

    @cached_property
    def portion_of_session(self) -> dict[tuple[Path, str], PortionBack]:
        """By directory and session the portion with which it goes back, if it does."""
        portion_of: dict[tuple[Path, str], PortionBack] = {}
        for portion in self.moving:
            for item in portion.items:
                session = session_of(item.name)
                portion_of[portion.source, session] = portion
        return portion_of

    def project_directory(self, path: Path) -> Path:
        """The one that this path is in."""
        projects = self.layout.projects
        return projects / path.relative_to(projects).parts[0]

    def goes_with_session(self, path: Path) -> bool:
        """Whether it is a session's, at NEW, that did not come by itself; not where OLD
        and NEW both had something of the session.
        """
        if path.parent not in self.at_new or path in self.came_from:
            return False
        session = session_of(path.name)
        is_of_both = session in self.since.had and session in self.since.brought
        return is_of_session(path.name) and not is_of_both

    def way_back(self, path: Path) -> Path:
        """Where what is at `path` goes, a file or all of a session; `path` if it stays.

        A session goes with its portion. Of all else what the run brought goes to where
        it was, and what came since follows the folder.
        """
        if self.goes_with_session(path):
            key = path.parent, session_of(path.name)
            own = self.portion_of_session.get(key)
            return path if own is None else own.target / path.name
        start = ends_of(path, self.came_from)
        if start == path:
            return self._way_of_since(path)
        old = self.project_directory(start)
        portion = self.at_old.get(old)
        if portion is None or portion.follows:
            return start
        name = start.relative_to(old)
        if name.as_posix() in portion.move.notes:
            return start
        return start if is_of_session(name.parts[0]) else path

    def _way_of_since(self, path: Path) -> Path:
        """Of what came to a directory that NEW had, or was there before."""
        portion = self.at_new.get(self.project_directory(path))
        if portion is None or not portion.follows:
            return path
        inside = path.relative_to(portion.source)
        own_notes = self.own_notes.get(portion.move.new_path, ())
        return path if inside.as_posix() in own_notes else portion.target / inside
