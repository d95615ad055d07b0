"""What becomes of each session of an archive that meets this machine's own.

It is decided once for each, by the transcripts, and all that has its ID goes by that:
transcript, folder, tasks, prompts, entry of the index.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import names_in
from ccmove.plan.meeting import Relation
from ccmove.transfer.incoming import Came
from ccmove.transfer.request import UnpackRequest, place_here


class Fate(Enum):
    """What becomes of one session."""

    NEW = "it is not here yet"
    LONGER = "it went on there, and takes the place of its own beginning"
    KEPT = "all of it is here"
    APART = "it went on here and there: the one here stays"
    ELSEWHERE = "it is in another project here"
    TWICE = "it comes with another project of the archive"


SKIPPED = frozenset({Fate.APART, Fate.ELSEWHERE, Fate.TWICE})
BROUGHT = (Fate.NEW, Fate.LONGER)  # whose transcript here is that of the archive
_OF_KINDS = {Relation.LONGER: Fate.LONGER, Relation.BEGINNING: Fate.KEPT}
Meets = Callable[[Came, Path], Relation]  # compares what came with what is here
Places = Mapping[str, list[str]]  # session -> the project directories that have it


@dataclass(frozen=True, slots=True)
class Sessions:
    """The fate of each session, and where those are that are here already."""

    fates: Mapping[tuple[int, str], Fate]  # by the number of the project, and the ID
    places: Places

    def of(self, wanted: Fate) -> list[str]:
        return [session for (_, session), fate in self.fates.items() if fate is wanted]

    def fate(self, project: int, session: str) -> Fate:
        """Of what is beside the projects the one that its transcript has. Without a
        transcript nothing takes the place of what is here.
        """
        if project:
            return self.fates.get((project, session), Fate.KEPT)
        for fate in self._all_of(session):
            if fate is not Fate.TWICE:
                return fate
        return Fate.KEPT

    def brings(self, project: int, session: str) -> bool:
        """Whether all of a transcript that was packed is here by then."""
        fate = self.fates.get((project, session))
        return fate in BROUGHT or fate is Fate.KEPT

    def _all_of(self, session: str) -> list[Fate]:
        return [fate for (_, known), fate in self.fates.items() if known == session]

    def is_skipped(self, session: str | None, target: str) -> bool:
        """Whether what has this ID stays out of a project directory here."""
        if session is None:
            return False
        fates = self._all_of(session)
        if fates:
            return SKIPPED.issuperset(fates)
        places = self.places.get(session, [])
        return bool(places) and target not in places


def sessions_here(projects: Path, names: Iterable[str]) -> Places:
    """Each session of the state, and where its transcript is."""
    places: dict[str, list[str]] = {}
    for name in names:
        entries: list[str] = []
        with contextlib.suppress(PermissionError):  # closed to us, so to the client
            entries = names_in(projects / name)
        for entry in entries:
            session = entry.removesuffix(".jsonl")
            if session != entry:
                places.setdefault(session, []).append(name)
    return places


def decide(
    layout: Layout,
    request: UnpackRequest,
    files: Iterable[Came],
    places: Places,
    meets: Meets,
) -> Sessions:
    """The fate of each session that has a transcript in the archive."""
    fates: dict[tuple[int, str], Fate] = {}
    seen: set[str] = set()
    for came in files:
        part = came.part
        if part.role != "transcript":
            continue
        here = place_here(layout, request, part)
        names = places.get(part.id, [])
        if part.id in seen:
            fate = Fate.TWICE
        elif here.parent.name in names:
            fate = _OF_KINDS.get(meets(came, here), Fate.APART)
        else:
            fate = Fate.ELSEWHERE if names else Fate.NEW
        seen.add(part.id)
        fates[part.project, part.id] = fate
    return Sessions(fates, places)
