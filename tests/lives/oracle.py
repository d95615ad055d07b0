"""Looks at the disk after every command: is every promise kept?"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Mapping

from tests.lives.model import BrokenError, Model, Thing, has_twin
from tests.support import seams
from tests.support.life import Life
from tests.support.state import encoded_name

Identity = tuple[int, int, bytes]  # inode, mtime, bytes


class Oracle:
    """Compares what there is with what the model says must be there."""

    def __init__(self, life: Life, model: Model) -> None:
        self.life = life
        self.model = model
        self.identities: dict[str, Identity] = {}

    # -- what there is ---------------------------------------------------------

    def _transcripts(self) -> dict[str, list[str]]:
        """The directories that have a session's transcript, by its ID."""
        places = defaultdict(list)
        for transcript in self.life.transcripts():
            places[transcript.stem].append(transcript.parent.name)
        return places

    def _identity(self, directory: str, session: str) -> Identity:
        file = self.life.state.projects / directory / f"{session}.jsonl"
        status = os.stat(file)
        return status.st_ino, status.st_mtime_ns, file.read_bytes()

    def note_what_people_wrote(self) -> None:
        """After an act of the client: this is what transcripts are from now on."""
        places = self._transcripts()
        self.identities = {
            session.id: self._identity(places[session.id][0], session.id)
            for session in self.model.alive
        }

    def directory_of(self, session: str) -> str:
        return self._transcripts()[session][0]

    # -- what must be ----------------------------------------------------------

    def check(self) -> None:
        """Raise the first promise that is broken."""
        self._check_transcripts()
        self._check_prompts()
        self._check_indexes()
        self._check_notes()
        self._check_tools()
        self._check_left_over()

    def _check_transcripts(self) -> None:
        places = self._transcripts()
        for session in self.model.alive:
            found = places.pop(session.id, [])
            if len(found) != 1:
                raise BrokenError("transcript", f"{session.label} is in {found}")
            if self._identity(found[0], session.id) != self.identities[session.id]:
                raise BrokenError("transcript changed", session.label)
            folders = self.life.state.projects.glob(f"*/{session.id}")
            names = [folder.parent.name for folder in folders]
            if names != found:
                seen = f"{session.label} is in {found}, its folder in {names}"
                raise BrokenError("session folder", seen)
        if places:
            raise BrokenError("transcript", f"nobody wrote {sorted(places)}")

    def _check_prompts(self) -> None:
        prompts = self.life.prompts()
        texts = Counter(prompt.text for prompt in prompts)
        if texts != Counter(self.model.prompts.keys()):
            wrong = texts - Counter(self.model.prompts.keys())
            lost = Counter(self.model.prompts.keys()) - texts
            raise BrokenError("prompt lost or doubled", f"{dict(wrong)} {dict(lost)}")
        projects = defaultdict(set)
        for prompt in prompts:
            projects[prompt.session].add(self.life.short(prompt.project))
        for session in self.model.sessions.values():
            if not session.has_left:
                self._check_prompts_of(session.id, projects[session.id])

    def _check_prompts_of(self, session: str, projects: set[str]) -> None:
        label = self.model.sessions[session].label
        if len(projects) != 1:
            raise BrokenError("prompts apart", f"{label} has prompts in {projects}")
        if self.model.sessions[session].is_swept:
            return
        directory = self.directory_of(session)
        if directory != encoded_name(self.life.path(next(iter(projects)))):
            seen = f"{label} is in …{directory[-12:]}, its prompts in {projects}"
            raise BrokenError("prompts apart", seen)

    def _check_indexes(self) -> None:
        listed = set()
        places = self._transcripts()
        for directory, entry in self.life.index_entries():
            session = self.model.sessions.get(entry["sessionId"])
            if session is None:
                raise BrokenError("index", f"nobody wrote {entry['sessionId']}")
            if session.is_swept:
                continue
            if session.id in listed:
                raise BrokenError("index", f"{session.label} is listed twice")
            listed.add(session.id)
            file = self.life.state.projects / directory / f"{session.id}.jsonl"
            named = encoded_name(entry["projectPath"])
            if {directory, named} != set(places[session.id]):
                seen = (
                    f"{session.label} is in {places[session.id]}, its entry in "
                    f"{directory}, and names {entry['projectPath']}"
                )
                raise BrokenError("index entry apart", f"{seen}, it in {places}")
            if entry["fullPath"] != str(file):
                raise BrokenError("index", f"{session.label}: {entry['fullPath']}")
        for session in self.model.alive:
            if session.is_listed and session.id not in listed:
                raise BrokenError("index entry lost", session.label)

    def _check_notes(self) -> None:
        for note in self.model.notes.values():
            if not self._directories_of_note(note.id):
                raise BrokenError("note lost", note.id)

    def _directories_of_note(self, line: str) -> set[str]:
        files = self.life.state.projects.glob("*/memory/*")
        return {
            file.parent.parent.name
            for file in files
            if line in file.read_text().splitlines()
        }

    def _check_tools(self) -> None:
        for tool in self.model.tools.values():
            if not self._projects_of_tool(tool.id):
                raise BrokenError("allowed tool lost", tool.id)

    def _projects_of_tool(self, tool: str) -> set[str]:
        projects = self.life.state.config()["projects"]
        return {
            self.life.short(path)
            for path, entry in projects.items()
            if tool in entry.get("allowedTools", ())
        }

    def _check_left_over(self) -> None:
        if left := seams.left_over(self.life.state):
            raise BrokenError("left over", json.dumps(left))

    def check_places(self, expected: Mapping[str, str | None]) -> None:
        """Everything is where the promises say, as far as the model can tell."""
        for thing in self.model.things:
            place = expected[thing.id]
            if place is None or has_twin(place) or has_twin(thing.path):
                continue
            if thing.is_lost_sight_of:
                continue
            if not self._is_at(thing, place):
                seen = f"{thing.label} is not in {place} (before: {thing.path})"
                raise BrokenError(f"place of a {thing.kind}", seen)

    def _is_at(self, thing: Thing, place: str) -> bool:
        """A note may be in two places, since a merge saves it."""
        if thing.kind == "tool":
            return self._projects_of_tool(thing.id) == {place}
        directory = encoded_name(self.life.path(place))
        if thing.kind == "note":
            return directory in self._directories_of_note(thing.id)
        return self.directory_of(thing.id) == directory

    def follow(self, expected: Mapping[str, str | None]) -> None:
        """The model learns where everything is by now; two paths may share a name."""
        names = {self.life.short(prompt.project) for prompt in self.life.prompts()}
        for session in self.model.alive:
            directory = self.directory_of(session.id)
            prompted = [
                self.life.short(prompt.project)
                for prompt in reversed(self.life.prompts())
                if prompt.session == session.id
            ]
            for name in (*prompted, session.path, *sorted(names)):
                if encoded_name(self.life.path(name)) == directory:
                    session.path = name
                    break
        for thing in (*self.model.notes.values(), *self.model.tools.values()):
            place = expected[thing.id]
            if place is None or has_twin(place) or has_twin(thing.path):
                thing.is_lost_sight_of = True
            else:
                thing.path = place
