"""What a finished run did, by where each thing was when it was done, and the portion
with which that goes back.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.owners import session_of
from ccmove.claude.state import INDEX
from ccmove.plan.tree import ends_of, moved_by
from ccmove.run.manifest import Manifest, SavedNote, Wrote
from ccmove.run.returning import PortionBack, sessions_of
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
    def saved_notes(self) -> dict[Path, SavedNote]:
        return {saved.ends: saved for saved in self.manifest.notes_saved}

    @cached_property
    def own_notes(self) -> dict[str, tuple[str, ...]]:
        """What NEW had before, by its path."""
        return {own.path: own.notes for own in self.manifest.own_at_new}

    @cached_property
    def own_config(self) -> dict[str, str]:
        """The entry of the config file that NEW had before, by its path."""
        own_at_new = self.manifest.own_at_new
        return {own.path: own.config for own in own_at_new if own.config}

    @cached_property
    def retired(self) -> dict[Path, Path]:
        """Where things were that the run put into its backup -> where they are."""
        return self.manifest.retired

    @cached_property
    def brought(self) -> dict[Path, Path]:
        """Where things in project directories ended that were renamed -> and began."""
        projects = self.layout.projects
        return {
            end: start
            for start, end in moved_by(self.manifest.operations).items()
            if start.is_relative_to(projects) and end.is_relative_to(projects)
        }

    def made(self, file: Path) -> bool:
        """Whether there was no such document before."""
        wrote = self.writes.get(file)
        return wrote is not None and wrote.before is None

    def brought_index(self, portion: PortionBack) -> bool:
        """Whether the index at NEW is the very file that OLD had."""
        start = ends_of(portion.source / INDEX, self.brought)
        return start == portion.target / INDEX

    def is_of_both(self, name: str) -> bool:
        """Whether OLD and NEW both had something of the session of this name."""
        session = session_of(name)
        return session in self.since.had and session in self.since.brought

    # -- what goes back

    @cached_property
    def at_new(self) -> dict[Path, PortionBack]:
        """The portion of each directory at NEW; the first of several."""
        return {part.source: part for part in reversed(self._moving)}

    @cached_property
    def at_old(self) -> dict[Path, PortionBack]:
        """The portion that goes to each directory at OLD; the first of several."""
        return {part.target: part for part in reversed(self._moving)}

    @cached_property
    def whole(self) -> tuple[PortionBack, ...]:
        """Directories that go back as they are."""
        return tuple(portion for portion in self._moving if portion.is_whole)

    @cached_property
    def emptied(self) -> frozenset[Path]:
        """Where those are now."""
        return frozenset(portion.source for portion in self.whole)

    @cached_property
    def parts(self) -> tuple[PortionBack, ...]:
        """What goes back one by one; what a directory came with leaves it last."""
        parts = [portion for portion in self._moving if not portion.is_whole]
        parts.sort(key=lambda portion: portion.move.kind == "rename")
        return tuple(parts)

    @cached_property
    def _moving(self) -> tuple[PortionBack, ...]:
        """Nothing is renamed where OLD and NEW have one directory."""
        return tuple(part for part in self.portions if not part.is_in_place)

    @cached_property
    def portion_of_session(self) -> dict[str, PortionBack]:
        """The portion with which each session goes back that does."""
        portion_of: dict[str, PortionBack] = {}
        for portion in self.portions:
            portion_of.update(dict.fromkeys(sessions_of(portion.items), portion))
        return portion_of

    def project_directory(self, path: Path) -> Path:
        """The one that this path is in."""
        projects = self.layout.projects
        return projects / path.relative_to(projects).parts[0]

    def portion_with(self, path: Path) -> PortionBack | None:
        """The portion of the directory at NEW that this path is in."""
        return self.at_new.get(self.project_directory(path))
