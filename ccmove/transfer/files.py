"""Each file of an archive to its place, or to none; as few renames as possible."""

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from ccmove.claude.reading import Fingerprint
from ccmove.plan.meeting import Relation, is_file, names_beside
from ccmove.plan.model import INCOMING, Arrival, Arrived
from ccmove.plan.placing import Placer
from ccmove.transfer.incoming import Came, Incoming
from ccmove.transfer.request import UnpackRequest, is_memory_file, place_here
from ccmove.transfer.roles import Part
from ccmove.transfer.sessions import (
    BROUGHT,
    SKIPPED,
    Fate,
    Sessions,
    decide,
    sessions_here,
)

OF_A_SESSION = ("session-folder", "session-note", "file-history", "tasks")
BLOCK = 1 << 20


class Files:
    """Plans the way of all files that came."""

    finals: dict[Path, Came]  # where a file is brought, and which
    _seen: dict[Path, Fingerprint]  # what is here, before it was compared

    def __init__(
        self, placer: Placer, incoming: Incoming, request: UnpackRequest
    ) -> None:
        self.placer = placer
        self.layout = placer.layout
        self.tree = placer.tree
        self.incoming = incoming
        self.request = request
        self.base = self.layout.run_dir / INCOMING
        self.tree.make_room(self.base)
        self.finals = {}
        self.memories: list[tuple[Came, Path]] = []  # which are merged, and with what
        self.replaced: list[Path] = []  # of which a longer or later version comes
        self._seen = {}
        self.sessions = self._decided()

    def _decided(self) -> Sessions:
        """The fate of each session; and whose data is in what came."""
        for project in self.request.numbers:
            source = self.base / str(project)
            self.placer.came_from[source] = self.request.old(project)
        names = self.placer.state.directory_names
        places = sessions_here(self.layout.projects, names)
        return decide(
            self.layout,
            self.request,
            self.incoming.files,
            places,
            self.relation,
        )

    def relation(self, came: Came, here: Path) -> Relation:
        """What a file is to the one that is, or will be, here."""
        other = self.finals.get(here)
        if other is not None:
            return _relation_of_two(came, other)
        if not self.tree.has(here) or not is_file(here):
            return Relation.DIFFERENT
        return self._relation_to_one_here(came, here)

    def _relation_to_one_here(self, came: Came, here: Path) -> Relation:
        seen = Fingerprint.of(os.lstat(here))
        self._seen.setdefault(here, seen)
        return self.incoming.compare(came.place, here)

    def bring_all(self) -> None:
        """First decide for each file, then find the fewest renames."""
        places: dict[Path, Path] = {}  # among what came in -> here
        tree = self.tree
        for came in self.incoming.files:
            path = self.base / came.place
            tree.add_file(path)
            final = self._final(came)
            if final is not None:
                places[path] = final
                self.finals[final] = came
        for name in tree.names(self.base):
            path = self.base / name
            final = self.layout.config_dir / name
            if name.isdigit():
                target = self.request.target(int(name))
                final = self.layout.projects / target
            self._bring(path, final, places)

    def place_here(self, part: Part) -> Path:
        return place_here(self.layout, self.request, part)

    # -- where a file goes

    def _final(self, came: Came) -> Path | None:
        """None where all of it is here already, or where it stays out."""
        part = came.part
        final = self.place_here(part)
        if self._is_merged(came, final):
            self.memories.append((came, final))
            return None
        is_free = self._is_free(final)
        if part.role == "transcript":
            return self._transcript(part, final)
        if part.role in OF_A_SESSION:
            fate = self.sessions.fate(part.project, part.id)
            if fate in SKIPPED:
                return None
            if is_free:
                return final
            return self._of_session(came, final, fate)
        if is_free:
            return final
        if part.role == "paste":  # its name is the hash of what is in it
            return None
        if part.role == "plan":
            return self._of_session(came, final, self._fate_of_plan(part))
        return self._note(came, final)

    def _is_merged(self, came: Came, final: Path) -> bool:
        """Whether it is a MEMORY.md that joins the one here, or comes with another one
        for the same place: of such lines a document is made.
        """
        if not self._is_memory_text(came):
            return False
        is_here = self.tree.has(final) and is_file(final)
        return is_here or final in self._shared_memories

    def _is_memory_text(self, came: Came) -> bool:
        is_text = came.member.name in self.incoming.texts
        return is_text and is_memory_file(came.part)

    @cached_property
    def _shared_memories(self) -> set[Path]:
        """Where more than one MEMORY.md comes, all of them short enough to merge."""
        merged: dict[Path, list[bool]] = {}
        for came in self.incoming.files:
            if is_memory_file(came.part):
                final = self.place_here(came.part)
                merged.setdefault(final, []).append(self._is_memory_text(came))
        return {final for final, texts in merged.items() if all(texts) and texts[1:]}

    def _is_free(self, path: Path) -> bool:
        return path not in self.finals and not self.tree.has(path)

    def _transcript(self, part: Part, final: Path) -> Path | None:
        fate = self.sessions.fate(part.project, part.id)
        if fate is Fate.LONGER:
            return self._instead_of(final)
        if fate is Fate.NEW:
            return final
        return None

    def _of_session(self, came: Came, final: Path, fate: Fate) -> Path | None:
        """What is there is the same session's: the transcript that is kept decides.

        A subagent's only grows, too, and is never hidden in a backup.
        """
        relation = self.relation(came, final)
        is_transcript = final.suffix == ".jsonl"
        is_longer = relation is Relation.LONGER
        if relation is Relation.BEGINNING:
            return None
        if is_transcript and is_longer:
            return self._instead_of(final)
        if fate not in BROUGHT:
            return None
        if is_transcript:
            return self._beside(came, final)
        return self._instead_of(final)

    def _note(self, came: Came, final: Path) -> Path | None:
        """Of two notes that differ both stay."""
        relation = self.relation(came, final)
        if relation is Relation.BEGINNING:
            return None
        if relation is Relation.LONGER:
            return self._instead_of(final)
        return self._beside(came, final)

    def _beside(self, came: Came, final: Path) -> Path | None:
        """Under a name of its own, unless an earlier unpack brought it there."""
        origin = self.request.origin(came.part.project)
        names = names_beside(final.name, origin, has_suffix=True)
        for beside in map(final.with_name, names):
            if self._is_free(beside):
                pair = final, beside
                self.placer.kept_beside.append(pair)
                return beside
            relation = self.relation(came, beside)
            if relation is Relation.LONGER:
                return self._instead_of(beside)
            if relation is Relation.BEGINNING:
                break
        return None

    def _instead_of(self, here: Path) -> Path | None:
        """A former version goes into the backup, as it was when it was compared."""
        if not is_file(here):
            return None
        self.replaced.append(here)
        self.placer.seen[here] = self._seen[here]
        self.placer.retire(here)
        return here

    def _fate_of_plan(self, part: Part) -> Fate:
        """That of the session whose transcript here names the plan."""
        sign = f'"slug":"{part.id}"'.encode()
        for (project, session), fate in self.sessions.fates.items():
            if fate is not Fate.LONGER:
                continue
            transcript = Part("transcript", project, session)
            here = self.place_here(transcript)
            if _has(here, sign):
                return fate
        return Fate.KEPT

    # -- the way there

    def _bring(self, path: Path, final: Path, places: dict[Path, Path]) -> None:
        """What came to `path`, all at once where all of it goes and `final` is free."""
        tree = self.tree
        if path in places:
            final = places[path]
            arrival = self.finals[final].arrival
            tree.rename(path, final, Arrived((arrival,)))
            return
        if not tree.is_directory(path):
            return
        files = list(tree.files_below(path))
        going = [name for name in files if path / name in places]
        if not going:
            return
        if not tree.has(final):
            goes_whole = all(places.get(path / name) == final / name for name in files)
            if goes_whole:
                self._bring_whole(path, final, files)
                return
            self.placer.make_directories(final)
        for name in tree.names(path):
            self._bring(path / name, final / name, places)

    def _bring_whole(self, path: Path, final: Path, files: list[str]) -> None:
        arrivals: list[Arrival] = []
        for name in files:
            came = self.finals[final / name]
            arrivals.append(replace(came.arrival, name=name))
        self.placer.make_directories(final.parent)
        self.tree.rename(path, final, Arrived(tuple(arrivals)))


def _relation_of_two(came: Came, other: Came) -> Relation:
    """Of two that came."""
    is_equal = came.sha256 == other.sha256
    if is_equal:
        return Relation.BEGINNING
    return Relation.DIFFERENT


def _has(path: Path, sign: bytes) -> bool:
    """Whether these bytes are anywhere in a file."""
    rest = b""
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            if sign in rest + block:
                return True
            rest = block[-len(sign) :]
    return False


def came_to(files: Files, directory: Path) -> Iterator[tuple[Path, Came]]:
    """What is brought to a directory, by its place below that."""
    for final, came in files.finals.items():
        if final.is_relative_to(directory):
            yield final.relative_to(directory), came
