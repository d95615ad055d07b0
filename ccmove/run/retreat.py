"""The way back of everything that a run moved, into what is there by now.

What the run renamed goes back under its old name; if that is taken again, the two are united as
in any merge. What the run set aside comes back, what it made is set aside. Nothing is ever
overwritten, and what can't go back is named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.nofollow import is_there
from ccmove.claude.state import Document
from ccmove.errors import RefusedError, run
from ccmove.plan.arrange import Move, arrange
from ccmove.plan.folders import rename_folders
from ccmove.plan.model import Step, landings
from ccmove.plan.place import Placer, mode_of
from ccmove.plan.tree import Future, ignores_case
from ccmove.run.manifest import Manifest

NOWHERE = Path("/nowhere")  # where directories go that the run made


@dataclass
class Retreat:
    """Plans the steps that undo the steps of one run."""

    layout: Layout
    manifest: Manifest
    placer: Placer
    warnings: list[str] = field(default_factory=list)
    _parked: int = 0

    def __post_init__(self) -> None:
        self.landed = landings(self.manifest.steps)  # where things were -> where the run left them
        self.made = {step.path: step.mode for step in self._gone("mkdir", "rmdir")}

    @classmethod
    def of(cls, layout: Layout, manifest: Manifest, displaced: Path) -> Retreat:
        future = Future(ignores_case=ignores_case(layout.projects))
        return cls(layout, manifest, Placer(layout.projects, displaced, future=future))

    @property
    def steps(self) -> list[Step]:
        return self.placer.future.steps

    def plan(self) -> None:
        """Bring everything back; files that the run made were set aside before."""
        for step in sorted(self._gone("rmdir", "mkdir"), key=lambda step: step.path):
            if not self.placer.future.has(step.path):
                self._make_parents(step.path)
                self.placer.future.make_directory(step.path, step.mode)
        moves = self._moves()
        arrange([*moves, *((path, NOWHERE) for path in self.made)], self._bring, self._park)
        self._refuse_conflicts()
        folders = [(Path(new), Path(old)) for old, new in self.manifest.folders]
        rename_folders(self.placer.future, [f for f in folders if self._is_there(f)])

    def _gone(self, kind: str, opposite: str) -> list[Step]:
        """Directories that the run made (or removed) for good, not for a while."""
        passing = {step.path for step in self.manifest.steps if step.kind == opposite}
        return [s for s in self.manifest.steps if s.kind == kind and s.path not in passing]

    def _moves(self) -> list[Move]:
        """Where the things are that the run moved, and where they were."""
        folders = {Path(old) for old, _ in self.manifest.folders}
        moves = []
        for before, after in self.landed.items():
            if before not in folders and self._is_there((after, before)):
                moves.append((after, before))
        return moves

    def _is_there(self, move: Move) -> bool:
        there = is_there(move[0])
        if not there:
            self.warnings.append(f"{move[0]} is gone; it can't go back to {move[1]}")
        return there

    def _bring(self, path: Path, target: Path) -> None:
        if target == NOWHERE:
            self._remove(path, self.made[path])
            return
        self._make_parents(target)
        self.placer.bring(path, target)
        if path.suffix == ".jsonl" and path.parent.parent == self.layout.projects:
            self._bring_folder_of_session(path.with_suffix(""), target.with_suffix(""))

    def _make_parents(self, path: Path) -> None:
        """A directory that the client or its owner has removed since."""
        missing = [p for p in path.parents if not self.placer.future.has(p)]
        for parent in reversed(missing):
            self.placer.future.make_directory(parent, 0o700)

    def _park(self, path: Path) -> Path:
        parked = self.layout.own / "work" / str(self._parked)
        self._parked += 1
        self.placer.future.rename(path, parked)
        return parked

    def _bring_folder_of_session(self, folder: Path, home: Path) -> None:
        """A session that goes back takes along the folder that it got since."""
        if home not in self.landed and self.placer.future.is_directory(folder):
            self.placer.bring(folder, home)

    def _remove(self, path: Path, mode: int) -> None:
        """A directory that the run made, when nothing else is in it."""
        future = self.placer.future
        if not future.is_directory(path):
            return
        if future.names(path):
            self.warnings.append(f"{path} has something new in it and stays")
            return
        now = future.now(path)
        future.remove_directory(path, mode_of(now) if now is not None else mode)

    def set_aside(self, document: Document) -> None:
        """A file that the run made and that is as it left it."""
        self.placer.set_aside(document.path)

    def _refuse_conflicts(self) -> None:
        if self.placer.conflicts:
            raise RefusedError(
                "files are in the way of what is to come back, and are not the same",
                run("ccmove", "restore", self.manifest.id, text="move them away, then"),
                details=[f"{new}  is in the way of  {old}" for old, new in self.placer.conflicts],
            )
