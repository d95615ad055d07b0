"""Plan how to undo a finished run, starting from what is there now.

Goes backward through the manifest's operations and plans the opposite of each: what was renamed
goes back under its old name and is merged with what is there by now, what was set aside comes
back, what was made is set aside, and each document loses the run's change. Nothing is ever
overwritten, and what can't go back is named. The plan is a run like any other.
"""

import os
from dataclasses import replace
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import (
    Fingerprint,
    is_there,
    open_history,
    open_regular,
    read_document,
    reader,
)
from ccmove.claude.state import SESSION_ID, State
from ccmove.errors import RefusedError, run
from ccmove.plan.model import (
    FolderHolds,
    Holds,
    Mkdir,
    Operation,
    Plan,
    ProjectMove,
    Rename,
    Rmdir,
    WriteHistory,
)
from ccmove.plan.place import Placer, mode_of, refuse_conflicts
from ccmove.plan.planner import own_paths
from ccmove.plan.tree import folder_holds
from ccmove.rewrite import history
from ccmove.rewrite.pathmap import PathMap, are_nested, tail_below
from ccmove.run.backups import all_backups, read_changed, read_saved
from ccmove.run.manifest import Manifest, Wrote, WroteHistory, sha256
from ccmove.run.recognise import holds, is_folder
from ccmove.run.takeback import document_back, history_back, way_back


def plan_restore(layout: Layout, manifest: Manifest) -> Plan:
    """The plan that undoes the run; RefusedError when a saved file is not what was saved."""
    directory = layout.backups / manifest.id
    refuse_built_on(layout, manifest)
    check_saved_files(directory, manifest)
    strangers = _strangers(layout, manifest)
    manifest = _without(manifest, strangers)
    undoing = Undoing(layout, manifest, directory, strangers)
    undoing.plan()
    prompts = _history(layout, manifest, directory, undoing.warnings)
    moved = undoing.placer.tree.moved()
    operations: list[Operation] = [*undoing.placer.writes()]
    operations += [prompts] if prompts is not None else []
    operations += undoing.placer.tree.operations
    own = _own_paths(layout, manifest)
    plan = Plan(
        kind="restore",
        moves=manifest.paths.reversed().moves,
        operations=tuple(operations),
        moved=tuple(moved.items()),
        projects=tuple(
            replace(
                move,
                path=move.new_path,
                new_path=move.path,
                source=move.target,
                target=move.source,
                kind=undoing.kind_of(move),
            )
            for move in manifest.projects
        ),
        folders=tuple((new, old) for old, new in undoing.folders),
        places=manifest.places,
        fresh=tuple((new, old) for old, new in manifest.fresh if old not in own),
        own=own,
        warnings=tuple(undoing.warnings),
        undoes=manifest.id,
    )
    if not plan.changes_anything and undoing.warnings:
        raise RefusedError(
            f"nothing of {manifest.id} can be undone",
            run("ccmove", "backups"),
            details=undoing.warnings,
        )
    return plan


def refuse_built_on(layout: Layout, manifest: Manifest) -> None:
    """What a later move took on from NEW, or brought there as well, has to go back first.

    The undoing of a run never counts: it cancels out with that run.
    """
    news = [new for _, new in manifest.moves]
    for later in reversed(all_backups(layout)):
        run_since = later.manifest
        if later.id <= manifest.id or run_since is None or not later.stands:
            continue
        if run_since.kind != "move" or not (run_since.projects or run_since.history):
            continue
        pairs = [*run_since.moves, *((move.path, move.new_path) for move in run_since.projects)]
        for old, new in pairs:
            if any(are_nested(old, ours) or tail_below(new, ours) is not None for ours in news):
                raise RefusedError(
                    f"a later run builds on {manifest.id}: {later.id} moved {old} to {new}",
                    run("ccmove", "restore", later.id, text="undo that first"),
                )


def _strangers(layout: Layout, manifest: Manifest) -> set[Path]:
    """Directories at NEW that hold nothing of what the run brought there: somebody started over."""
    noted = {
        op.target: op.holds
        for op in manifest.operations
        if isinstance(op, Rename) and isinstance(op.holds, Holds) and op.holds.entries
        if op.target.parent == layout.projects and is_there(op.target)
    }
    strangers = {path for path in noted if not holds(path, noted[path])}
    if strangers and len(strangers) == len(noted):
        names = ", ".join(sorted(map(str, strangers)))
        raise RefusedError(
            f"nothing that {manifest.id} moved is in {names} any more",
            run("ccmove", "list", text="what is where now"),
        )
    return strangers


def _without(manifest: Manifest, strangers: set[Path]) -> Manifest:
    """The run as if it had never been about these."""
    names = {path.name for path in strangers}
    others = [move for move in manifest.projects if move.target in names]
    news = {move.new_path for move in others}
    return replace(
        manifest,
        kept=(*manifest.kept, *(move.path for move in others)),
        projects=tuple(move for move in manifest.projects if move not in others),
        fresh=tuple(pair for pair in manifest.fresh if pair[1] not in news),
    )


def check_saved_files(directory: Path, manifest: Manifest) -> None:
    """Every saved file must still be what was saved, before a byte is written."""
    for wrote in manifest.written:
        if isinstance(wrote, WroteHistory):
            read_changed(directory, wrote)
        else:
            for which in ("before", "after") if wrote.before is not None else ("after",):
                read_saved(directory, wrote, which)


def _own_paths(layout: Layout, manifest: Manifest) -> tuple[str, ...]:
    """What is known by now at the places to which this undoing brings things back."""
    paths = manifest.paths.reversed()
    olds = PathMap(tuple((old, old) for _, old in paths.moves))
    with open_history(layout) as (read, seen):
        prompts = [path for path, _ in history.scan(read, seen.size, olds).counts]
    state = State(layout)
    try:
        return own_paths(state, paths, (*prompts, *state.config_paths))
    except RefusedError:  # the config file is not valid JSON: it stays as it is, and is named
        return own_paths(state, paths, prompts)


class Undoing:
    """Collects the opposite of each operation."""

    def __init__(
        self, layout: Layout, manifest: Manifest, directory: Path, strangers: set[Path]
    ) -> None:
        self.layout = layout
        self.manifest = manifest
        self.directory = directory  # the backup
        self.strangers = strangers
        self.placer = Placer(layout)
        self.tree = self.placer.tree
        self.folders: list[tuple[Path, Path]] = []
        self.warnings: list[str] = []

    def plan(self) -> None:
        for operation in reversed(self.manifest.operations):
            match operation:
                case Rename(holds=FolderHolds()):
                    self._rename_folder_back(operation)
                case Rename():
                    self._bring_back(operation)
                case Mkdir():
                    self._remove(operation)
                case Rmdir(path, mode):
                    if not self.tree.has(path):
                        self._make_parents(path)
                        self.tree.make_directory(path, mode)
                case Wrote():
                    self._take_out(operation)
        away = "move one of the two away, then"
        refuse_conflicts(self.placer, run("ccmove", "restore", self.manifest.id, text=away))

    def kind_of(self, move: ProjectMove) -> str:
        """A directory whose old name was used again since is merged with what is there."""
        projects = self.layout.projects
        is_whole = self.tree.now(projects / move.source) == projects / move.target
        return "merge" if move.kind == "rename" and not is_whole else move.kind

    def _now(self, path: Path) -> Path:
        """What the run had parked for a while is parked by this one in its own place."""
        parked = self.directory / "parked"
        return self.layout.run / "parked" / path.name if path.parent == parked else path

    def _bring_back(self, rename: Rename) -> None:
        source, target = self._now(rename.target), self._now(rename.path)
        if not self.tree.has(source):
            self.warnings.append(f"{source} is gone; it can't go back to {target}")
            return
        if source in self.strangers:
            self.warnings.append(f"{source} has nothing of what was moved there, and stays")
            return
        backups = self.layout.backups
        if target.is_relative_to(backups) and not is_there(
            backups / target.relative_to(backups).parts[0]
        ):  # the run that it is to go back to was pruned
            self.placer.set_aside(source)
            return
        self._make_parents(target)
        self.placer.bring(source, target)
        if source.suffix == ".jsonl" and source.parent.parent == self.layout.projects:
            self._bring_folder_of_session(source.with_suffix(""), target.with_suffix(""))

    def _bring_folder_of_session(self, folder: Path, home: Path) -> None:
        """A session that goes back takes along the folder that it got since."""
        renames = [op for op in self.manifest.operations if isinstance(op, Rename)]
        if all(op.path != home for op in renames) and self.tree.is_directory(folder):
            self.placer.bring(folder, home)

    def _make_parents(self, path: Path) -> None:
        """A directory that the client or its owner has removed since."""
        if path.is_relative_to(self.layout.run):
            return
        missing = [place for place in path.parents if not self.tree.has(place)]
        for parent in reversed(missing):
            self.tree.make_directory(parent, 0o700)

    def _remove(self, made: Mkdir) -> None:
        """A directory that the run made, when nothing else is in it."""
        path = made.path
        if not self.tree.is_directory(path):
            return
        for move in self.manifest.projects:  # what was begun in a part that was split off
            if move.kind == "split" and path == self.layout.projects / move.target:
                for name in self.tree.names(path):
                    if name.endswith(".jsonl") or SESSION_ID.match(name):
                        self.placer.bring(path / name, path.with_name(move.source) / name)
        if self.tree.names(path):
            self.warnings.append(f"{path} has something new in it, so it stays")
            return
        now = self.tree.now(path)
        self.tree.remove_directory(path, mode_of(now) if now is not None else made.mode)

    def _rename_folder_back(self, rename: Rename) -> None:
        """A project folder goes back only if it is the one that was renamed, to a free place."""
        assert isinstance(rename.holds, FolderHolds)
        now = self.tree.now(rename.target)
        if now is None:
            self.warnings.append(f"{rename.target} is gone; it can't go back to {rename.path}")
        elif not is_folder(now, rename.holds):
            raise RefusedError(
                f"{rename.target} is not the folder that was renamed from {rename.path}",
                run("ccmove", "backups", text="it stays where it is; what else can be undone"),
            )
        elif self.tree.has(rename.path):
            raise RefusedError(
                f"{rename.path} exists, so {rename.target} can't be renamed to it",
                run("ccmove", "restore", self.manifest.id, text="move one of the two away, then"),
            )
        else:
            written = [wrote.ends for wrote in self.manifest.written if isinstance(wrote, Wrote)]
            self.tree.rename(rename.target, rename.path, folder_holds(now, written))
            self.folders.append((rename.path, rename.target))

    def _take_out(self, wrote: Wrote) -> None:
        """The document as it is now without the run's change; one that the run made goes into the
        backup, unless it was changed since."""
        document = read_document(wrote.ends)
        back = self.manifest.paths.reversed().map(str(wrote.ends))
        if document is None and back is not None:  # its owner has renamed the folder back
            document = read_document(Path(back))
        if document is None:
            self.warnings.append(f"{wrote.ends} is gone; its old content is in the backup")
            return
        path, now = document.path, document.data
        if wrote.before is None:
            if sha256(now) == wrote.after.sha256:
                self.placer.set_aside(path)
            else:
                self.warnings.append(f"{wrote.ends} has changed since, so it stays")
            return
        content, named, mtime = document_back(self.directory, self.manifest, wrote, now)
        self.warnings += [f"{wrote.ends}: {what} has changed since, so it stays" for what in named]
        if content == now:
            return
        draft = self.placer.draft(path, document)
        draft.text, draft.mtime_ns = content.decode("utf-8", "surrogateescape"), mtime


def _history(
    layout: Layout, manifest: Manifest, directory: Path, warnings: list[str]
) -> WriteHistory | None:
    """The history without the run's change; prompts that came since follow a NEW that was fresh."""
    path = layout.history
    fd = open_regular(path)
    if fd is None:
        if manifest.history is not None:
            warnings.append(f"{path} is gone; its old content is in the backup")
        return None
    try:
        seen = Fingerprint.of(os.fstat(fd))
        if manifest.history is not None:
            scan, mtime = history_back(directory, manifest, manifest.history, reader(fd), seen.size)
        else:
            scan, mtime = history.scan(reader(fd), seen.size, way_back(manifest)), None
    finally:
        os.close(fd)
    return WriteHistory(path, scan, seen, mtime) if scan.lines else None
