"""A move of some shape, life after it, and what must be where after `ccmove undo`.

A `Shape` is data: who had what before, what moves where, what happens to the folders,
and where SAFETY.md says that what came since must be afterwards. `Told` lives it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.life import INDEX, Life
from tests.support.run import Completed, run_ccmove
from tests.support.state import StateBuilder, encoded_name

Pairs = tuple[tuple[str, str], ...]
Identity = tuple[int, int, bytes]  # inode, mtime, bytes: what a transcript keeps


@dataclass(frozen=True)
class Shape:
    """A move and what follows; paths are below the folder of all projects."""

    moves: Pairs  # what the command line says
    since: dict[str, str]  # used after the move -> where that must be after the undo
    had: tuple[str, ...]  # projects with two sessions, notes, an index, a tool
    options: tuple[str, ...] = ()
    renamed: Pairs | None = None  # the folders' way before the run; None: as `moves`
    folders: tuple[str, ...] = ()  # further folders that are there
    trusted: tuple[str, ...] = ()  # an entry of the config file and nothing else
    prompted: tuple[str, ...] = ()  # one prompt and nothing else
    empty_memory: tuple[str, ...] = ()  # a trusted project's empty memory/
    without_index: tuple[str, ...] = ()
    without_notes: tuple[str, ...] = ()
    back: Pairs = ()  # folders that are renamed by hand before the undo
    made_since: tuple[str, ...] = ()  # folders that are made before the undo
    along: Pairs = ()  # gone paths with OLD's encoded name, and where the run takes them

    def moved(self, name: str) -> str:
        """Where the run takes what is at `name`."""
        if "--only" in self.options:
            return dict(self.moves).get(name, name)
        if name in dict(self.along):
            return dict(self.along)[name]
        for old, new in self.moves:
            if name == old or name.startswith(f"{old}/"):
                return new + name[len(old) :]
        return name

    @property
    def brought(self) -> list[str]:
        """The projects that the run moves, under their old names."""
        return [name for name in self.had if self.moved(name) != name]

    @property
    def own(self) -> list[str]:
        """The projects with sessions that are where the run brings something."""
        return [name for name in self.had if self.moved(name) == name]

    @property
    def stays(self) -> list[str]:
        """Where what came since stays."""
        return [new for new, place in self.since.items() if new == place]


@dataclass
class Project:
    """What a project had before the move."""

    sessions: list[str]
    memory: list[str]
    topic: list[str]
    tools: list[str]
    prompts: list[str] = field(default_factory=list)


class Told:
    """A shape on a disk, told step by step."""

    def __init__(self, state: StateBuilder, shape: Shape) -> None:
        self.state = state
        self.shape = shape
        self.life = Life(state)
        self.projects = {name: self._project(name) for name in shape.had}
        self.begun: dict[str, str] = {}
        self.identities: dict[str, Identity] = {}
        self._trials()
        self._make_folders()

    # -- before ----------------------------------------------------------------

    def _project(self, name: str) -> Project:
        life = self.life
        texts = [f"{name}: first", f"{name}: second"]
        sessions = [life.begin(name, text) for text in texts]
        if name not in self.shape.without_index:
            for session in sessions:
                life.list_in_index(name, session, create=True)
        project = Project(sessions, [], [], [f"Bash({name})"], texts)
        life.allow(name, project.tools[0])
        if name not in self.shape.without_notes:
            project.memory = [f"- {name} remembers"]
            project.topic = [f"topic of {name}"]
            life.remember(name, project.memory[0])
            life.write_note(name, self.topic(name), project.topic[0])
            life.write_note(name, self.untouched(name), f"untouched of {name}")
        return project

    def topic(self, name: str) -> str:
        """A note of this project that changes later."""
        return f"topic-{encoded_name(name)}.md"

    def untouched(self, name: str) -> str:
        """A note of this project that nobody changes."""
        return f"untouched-{encoded_name(name)}.md"

    def _trials(self) -> None:
        """Claude was started once at NEW, and no session came of it."""
        for name in (*self.shape.trusted, *self.shape.empty_memory):
            self.life.trust(name)
        for name in self.shape.empty_memory:
            self.life.memory(name).mkdir(parents=True)
        for name in self.shape.prompted:
            self.life.prompt(name, f"/resume in {name}")

    def _make_folders(self) -> None:
        for name in (*self.shape.had, *self.shape.folders):
            self.life.folder(name).mkdir(parents=True, exist_ok=True)

    # -- the move and life after it --------------------------------------------

    def move(self) -> None:
        """Rename the folders by hand (unless `-m` does) and run ccmove."""
        shape = self.shape
        if "-m" not in shape.options:
            pairs = shape.moves if shape.renamed is None else shape.renamed
            self.rename_folders(pairs)
        for gone, _ in shape.along:
            self.life.folder(gone).rmdir()
        if len(shape.moves) == 1:
            words = [self.life.path(name) for name in shape.moves[0]]
        else:
            file = self.state.root / "moves.txt"
            lines = [
                f"{self.life.path(old)}\t{self.life.path(new)}\n"
                for old, new in shape.moves
            ]
            file.write_text("".join(lines))
            words = ["--from-file", str(file)]
        done = self.run(*shape.options, *words)
        assert done.exit == 0, (done.out, done.err)

    def rename_folders(self, pairs: Iterable[tuple[str, str]]) -> None:
        """All at once, so that two can swap; two into one leave the one there."""
        aside = []
        for number, (old, new) in enumerate(pairs):
            place = self.life.folder(f"aside-{number}")
            self.life.folder(old).rename(place)
            aside.append((place, self.life.folder(new)))
        for place, target in aside:
            if target.exists():
                for path in sorted(place.rglob("*"), reverse=True):
                    path.rmdir()
                place.rmdir()
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                place.rename(target)

    def live(self) -> None:
        """A week of work: new sessions, and those that were there go on."""
        life = self.life
        for name, project in self.projects.items():
            place = self.shape.moved(name)
            text = f"{name}: goes on"
            life.go_on(place, project.sessions[0], text)
            project.prompts.append(text)
        for place in self.shape.since:
            life.folder(place).mkdir(parents=True, exist_ok=True)
            self.begun[place] = life.begin(place, self.prompt_since(place))
            life.allow(place, self.tool_since(place))
            life.remember(place, self.line_since(place))
            life.write_note(place, self.note_since(place), f"since at {place}")
        for name in self.changed_topics():
            place = self.shape.moved(name)
            life.write_note(place, self.topic(name), self.topic_since(name))
        self.note_identities()

    def changed_topics(self) -> list[str]:
        """The projects that were brought with a note, which changes since."""
        return [name for name in self.shape.brought if self.projects[name].topic]

    def prompt_since(self, place: str) -> str:
        return f"prompt since at {place}"

    def tool_since(self, place: str) -> str:
        return f"Bash(since {place})"

    def line_since(self, place: str) -> str:
        return f"- line since at {place}"

    def note_since(self, place: str) -> str:
        return f"since-{encoded_name(place)}.md"

    def topic_since(self, name: str) -> str:
        return f"more on the topic of {name}"

    def note_identities(self) -> None:
        self.identities = identities(self.state)

    def undo(self, *options: str) -> Completed:
        """The folders' way back by hand, if any, and `ccmove undo`, which must work."""
        self.rename_folders(self.shape.back)
        for name in self.shape.made_since:
            self.life.folder(name).mkdir(parents=True)
        done = self.run("undo", *options)
        assert done.exit == 0, (done.out, done.err)
        return done

    def run(self, *words: str) -> Completed:
        return run_ccmove(*words, state=self.state)

    def whole(self) -> Completed:
        """From the move to the undo."""
        self.move()
        self.live()
        return self.undo()

    # -- what is asserted ------------------------------------------------------

    def assert_together(self, session: str, name: str) -> None:
        """The session, its folder, index entries and prompts are in this project."""
        life, directory = self.life, encoded_name(self.life.path(name))
        assert life.directories_of(session) == [directory]
        folders = [
            path.parent.name for path in self.state.projects.glob(f"*/{session}")
        ]
        assert folders == [directory]
        prompts = [prompt for prompt in life.prompts() if prompt.session == session]
        assert {life.short(prompt.project) for prompt in prompts} == {name}
        for place, entry in life.index_entries():
            if entry["sessionId"] == session:
                assert place == directory
                assert entry["projectPath"] == life.path(name)
                transcript = self.state.projects / directory / f"{session}.jsonl"
                assert entry["fullPath"] == str(transcript)

    def assert_listed(self, session: str, name: str) -> None:
        """The index of this project names the session, once."""
        directory = encoded_name(self.life.path(name))
        places = [
            place
            for place, entry in self.life.index_entries()
            if entry["sessionId"] == session
        ]
        assert places == [directory]

    def assert_consistent(self) -> None:
        done = self.run("verify")
        assert done.exit == 0, (done.out, done.err)


def identities(state: StateBuilder) -> dict[str, Identity]:
    """What every file of a session must keep, by its name within its project."""
    found = {}
    for path in state.projects.rglob("*"):
        inside = path.relative_to(state.projects).parts[1:]
        if path.is_file() and is_session(inside):
            status = os.stat(path)
            key = "/".join(inside)
            found[key] = (status.st_ino, status.st_mtime_ns, path.read_bytes())
    return found


def is_session(inside: tuple[str, ...]) -> bool:
    return inside[0] not in ("memory", INDEX) and not inside[0].startswith(".")


def words_of(output: Completed) -> str:
    return output.out + output.err


def command_in(output: Completed, *paths: str | Path) -> list[str] | None:
    """The words of a printed `ccmove` command that ends with these paths, if any."""
    tail = [str(path) for path in paths]
    for line in words_of(output).splitlines():
        _, found, rest = line.partition("ccmove ")
        words = rest.split()
        if found and words[-len(tail) :] == tail:
            return words
    return None
