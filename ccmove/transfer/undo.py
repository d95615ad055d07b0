"""Plan how to undo an unpack: what it brought goes into the backup, what it changed
goes back.

A session that went on since, or left for another project, stays with all that has its
ID. So do a history and a config file that the unpack made, without what was unpacked:
Claude Code may use them by now. The backup of such an undo is the only one that holds
what is nowhere else: it says so, and is pruned only by its ID.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.owners import session_of
from ccmove.claude.reading import is_there
from ccmove.claude.state import INDEX, State, is_of_session
from ccmove.plan.model import (
    Arrival,
    Mkdir,
    Plan,
    ProjectMove,
    Rename,
    WriteHistory,
)
from ccmove.plan.placing import Placer
from ccmove.rewrite import index
from ccmove.rewrite.history import Tick
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.run.arrived import (
    arrivals,
    is_as_it_came,
    session_at,
    sessions_that_went_on,
)
from ccmove.run.manifest import Manifest, Wrote
from ccmove.run.returning import absent_sessions, listed
from ccmove.run.saved import EMPTY_CONFIG, document_back, plan_history_back
from ccmove.run.since import Since
from ccmove.text import plural


def plan_removal(layout: Layout, manifest: Manifest, tick: Tick) -> Plan:
    """The plan that undoes an unpack, from what is there now."""
    state = State(layout)
    _ = state.config_paths  # refuses a config file that can't be read
    absent = absent_sessions(state, manifest)
    went_on = absent.followed | sessions_that_went_on(manifest.operations)
    left = absent.elsewhere.keys()
    since = Since(manifest, went_on | left)
    removal = Removal(state, since)
    removal.plan()
    prompts = removal.prompts(tick)
    back = [(new, old) for old, new in manifest.moves]
    moved = removal.tree.moved().items()
    seen = removal.placer.seen.items()
    removal.warnings += _told(went_on - left)
    removal.warnings += absent.told()
    return Plan(
        kind="undo",
        moves=tuple(back),
        operations=removal.placer.operations(prompts),
        moved=tuple(moved),
        seen=tuple(seen),
        projects=tuple(removal.projects()),
        warnings=tuple(removal.warnings),
        undoes=manifest.id,
        options=manifest.options,
    )


def _told(went_on: Collection[str]) -> Iterator[str]:
    """What is said of sessions that went on."""
    if went_on:
        number = plural(len(went_on), "session")
        verb = "stay"
        if len(went_on) == 1:
            verb = "stays"
        what = f"{number} went on since and {verb}, with all that is its own"
        yield f"{what}: {listed(went_on)}"


class Removal:
    """Collects what undoes one unpack."""

    def __init__(self, state: State, since: Since) -> None:
        self.state = state
        self.layout = state.layout
        self.staying = since.elsewhere  # sessions that went on, or left
        self._since = since
        self._manifest = since.manifest
        self._operations = since.manifest.operations
        self.directory = self.layout.backups / since.manifest.id
        self.placer = Placer(state)
        self.tree = self.placer.tree
        self.warnings: list[str] = []

    def plan(self) -> None:
        """Documents first, as they are where they are; then files and directories."""
        for wrote in self._manifest.writes:
            if wrote.before is not None or wrote.form == "config":
                self._take_change_out(wrote)
            else:
                self._take_entries_out(wrote)
        for path in self._tops():
            self._take_out(path)
        self._bring_former_versions()
        for operation in reversed(self._operations):
            match operation:
                case Mkdir(path) if path != self.layout.projects:
                    self._retire_if_empty(path)

    # -- files

    @cached_property
    def going(self) -> dict[Path, Arrival]:
        """What came and is as it came, but for the sessions that went on."""
        files: dict[Path, Arrival] = {}
        for path, arrival in arrivals(self._operations):
            if session_at(path) in self.staying or not is_there(path):
                continue
            if is_as_it_came(path, arrival):
                files[path] = arrival
            else:
                self.warnings.append(f"{path} has changed since, so it stays")
        return files

    @cached_property
    def _made(self) -> list[Path]:
        """Documents that were made, are as they were left, and are no longer needed."""
        paths = []
        for wrote in self._manifest.writes:
            path = wrote.path
            document = self.state.document(path)
            if wrote.before is not None or document is None:
                continue
            if wrote.form == "config":
                continue
            if wrote.form == "index" and self._stays_in(path.parent):
                continue
            if wrote.left(document.data):
                paths.append(path)
        return paths

    def _stays_in(self, directory: Path) -> bool:
        """Whether a session of this project directory went on."""
        names = [f"{session}.jsonl" for session in self.staying]
        return any(is_there(directory / name) for name in names)

    def _tops(self) -> Iterator[Path]:
        """What was brought at once, and what was made."""
        for operation in self._operations:
            if isinstance(operation, Rename):
                yield operation.target
        yield from self._made

    def _take_out(self, path: Path) -> None:
        """All of it into the backup, or of a directory what goes."""
        tree = self.tree
        if path.is_relative_to(self.layout.ccmove) or not tree.has(path):
            return
        files = [path]
        is_directory = tree.is_directory(path)
        if is_directory:
            files = [path / name for name in tree.files_below(path)]
        if files and all(map(self._goes, files)):
            self.placer.retire(path)
        elif is_directory:
            for name in tree.names(path):
                self._take_out(path / name)
            self._retire_if_empty(path)

    def _goes(self, file: Path) -> bool:
        return file in self.going or file in self._made

    def _retire_if_empty(self, path: Path) -> None:
        if not self.tree.has(path) or not self.tree.is_directory(path):
            return
        if not self.tree.names(path):
            self.placer.retire(path)

    def _bring_former_versions(self) -> None:
        """What the run replaced comes back where that is free again."""
        for path, kept in self._manifest.retired.items():
            outlived = session_at(path) in self.staying
            if self.tree.has(kept) and not outlived and not self.tree.has(path):
                self.tree.rename(kept, path)

    # -- documents

    def _take_change_out(self, wrote: Wrote) -> None:
        """The document as it is now, without what the run changed."""
        document = self.state.document(wrote.ends)
        if document is None:
            what = "is gone; its old content is in the backup"
            self.warnings.append(f"{wrote.ends} {what}")
            return
        data = document.data
        back = document_back(self.layout, self.directory, self._since, wrote, data)
        self.warnings += back.stays
        draft = self.placer.draft(document.path)
        draft.text = back.text
        draft.mtime_ns = back.mtime_ns
        if wrote.form == "index":
            directory = document.path.parent
            draft.text = self._with_staying(directory, draft.text, document.text)
        if wrote.before is None and back.content == EMPTY_CONFIG:
            self._name_emptied(wrote.ends)

    def _name_emptied(self, file: Path) -> None:
        self.warnings.append(f"{file} was made by the unpack and stays, empty")

    def _with_staying(self, directory: Path, text: str, now: str) -> str:
        """The index with the entries of sessions that stay, as they are now."""
        staying = []
        try:
            for session, entry in index.entries(now):
                is_here = is_there(directory / f"{session}.jsonl")
                if session in self.staying and is_here:
                    staying.append((session, entry))
            return index.with_entries(text, staying)
        except NotJsonError:
            return text

    def _take_entries_out(self, wrote: Wrote) -> None:
        """Of an index that was made, and that stays, those of what goes."""
        path = wrote.path
        is_there_still = self.state.document(path) is not None
        if path.name != INDEX or path in self._made or not is_there_still:
            return
        gone = set()
        for file in self.going:
            if file.parent == path.parent and is_of_session(file.name):
                gone.add(session_of(file.name))
        draft = self.placer.draft(path)
        try:
            draft.text = index.without(draft.text, gone)
        except NotJsonError:
            self.warnings.append(f"{path} is not valid JSON, and stays as it is")

    def prompts(self, tick: Tick) -> WriteHistory | None:
        """The history without what came."""
        write = plan_history_back(self.layout, self.directory, self._since, tick)
        wrote = self._manifest.history
        is_made = wrote is not None and wrote.before is None
        if is_made and write is not None and not write.scan.new_size():
            self._name_emptied(write.path)
        return write

    # -- what is told

    def projects(self) -> Iterator[ProjectMove]:
        """What of each project goes into the backup."""
        for move in self._manifest.projects:
            directory = self.layout.projects / move.target
            entries: dict[str, None] = {}
            notes: list[str] = []
            sizes: list[int] = []
            for path, arrival in self.going.items():
                if not path.is_relative_to(directory):
                    continue
                inside = path.relative_to(directory)
                if inside.parts[0] not in move.entries:
                    continue  # of another project in the same directory
                entries[inside.parts[0]] = None
                if inside.as_posix() in move.notes:
                    notes.append(inside.as_posix())
                if path.suffix == ".jsonl" and path.parent == directory:
                    sizes.append(arrival.size)
            if entries:
                yield replace(
                    move,
                    path=move.new_path,
                    entries=tuple(entries),
                    notes=tuple(notes),
                    transcripts=len(sizes),
                    size=sum(sizes),
                )
