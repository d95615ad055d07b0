"""Plan how to undo a finished run, starting from what is there now.

Goes backward through the manifest's operations and plans the opposite of each: what was
renamed goes back under its old name and is merged with what is there by now, what was
set aside comes back, what was made is set aside, and each document loses the run's
change. Nothing is ever overwritten, and what can't go back is named. The plan is a run
like any other.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.naming import may_be_name_of
from ccmove.claude.owners import folder_exists, session_of
from ccmove.claude.reading import (
    hashed_history,
    is_there,
    open_history,
    read_document,
    sha256_of,
)
from ccmove.claude.state import INDEX, SESSION_ID, State
from ccmove.errors import RefusedError, again, run
from ccmove.plan.model import (
    FolderHolds,
    Holds,
    Mkdir,
    Plan,
    ProjectMove,
    Rename,
    WriteHistory,
)
from ccmove.plan.place import Placer, refuse_conflicts
from ccmove.plan.planner import fresh_pairs
from ccmove.rewrite import config, history, index
from ccmove.rewrite.jsonspan import NotJsonError
from ccmove.rewrite.pathmap import Move, NameMap, PathMap, are_nested, tail_below
from ccmove.rewrite.threeway import taken_out
from ccmove.run.backups import Backup, read_saved, read_scan, stamp
from ccmove.run.manifest import Manifest, Wrote, sha256
from ccmove.run.verifier import has_grown, is_noted


def plan_restore(layout: Layout, manifest: Manifest, tick: history.Tick = None) -> Plan:
    """The plan that undoes the run;
    RefusedError when a saved file is not what was saved.
    """
    refuse_strangers(layout, manifest)
    undoing = Undoing(layout, manifest)
    undoing.plan()
    prompts = plan_history_back(layout, undoing.directory, manifest)
    if manifest.history is not None and not is_there(layout.history):
        undoing.warnings.append(
            f"{layout.history} is gone; its old content is in the backup"
        )
    operations = undoing.placer.operations(prompts)
    if undoing.warnings and not operations:
        what = f"nothing of {manifest.id} can be undone"
        raise RefusedError(what, run("ccmove", "backups"), details=undoing.warnings)
    projects = tuple(map(undoing.back, manifest.projects))
    return Plan(
        kind="restore",
        moves=manifest.paths.reversed().moves,
        operations=operations,
        moved=tuple(undoing.placer.tree.moved().items()),
        seen=tuple(undoing.placer.seen.items()),
        projects=projects,
        folders=tuple((new, old) for old, new in undoing.folders),
        places=manifest.places,
        fresh=_fresh(layout, manifest, projects, tick),
        only_copies=tuple(undoing.only_copies),
        warnings=tuple(undoing.warnings),
        undoes=manifest.id,
    )


def refuse_built_on(manifest: Manifest, backups: Iterable[Backup]) -> None:
    """What a later move took on from NEW, or brought there as well, has to go back
    first.

    The undoing of a run that came later does not count: the two cancel out.
    """
    news = [new for _, new in manifest.moves]
    names = {
        move.target for move in manifest.projects
    }  # also of a path that has the same one
    since = [
        b.manifest for b in backups if b.manifest and b.stands and b.id > manifest.id
    ]
    for later in reversed(since):
        if (later.undoes or "") > manifest.id or not (later.projects or later.history):
            continue
        moves = [(move.path, move.new_path) for move in later.projects]
        shared = [
            (m.path, m.new_path) for m in later.projects if names & {m.source, m.target}
        ]
        for old, new in [*later.moves, *moves]:
            is_nested = any(
                are_nested(old, n) or tail_below(new, n) is not None for n in news
            )
            if is_nested or (old, new) in shared:
                raise RefusedError(
                    f"a later run builds on {manifest.id}: {later.id} moved {old} to "
                    f"{new}",
                    run("ccmove", "restore", later.id, text="undo that first"),
                )


def refuse_strangers(layout: Layout, manifest: Manifest) -> None:
    """A directory at NEW with nothing of what the run brought there: somebody started
    over. Or with sessions of another folder, which has the same name for Claude Code.
    """
    brought = [op for op in manifest.operations if isinstance(op, Rename)]
    for path, noted in ((op.target, op.holds) for op in brought):
        is_known = path.parent == layout.projects and noted.entries and is_there(path)
        if is_known and isinstance(noted, Holds) and not is_noted(path, noted):
            raise RefusedError(
                f"nothing that {manifest.id} moved is in {path} any more",
                run("ccmove", "list", text="what is where now"),
            )
    state, ours = (
        State(layout),
        {os.path.realpath(move.new_path) for move in manifest.projects},
    )
    for (
        move
    ) in manifest.projects:  # of what was merged or split only that part goes back
        is_whole = move.kind == "rename" and move.target in state.directory_names
        for item in state.directory(move.target).transcripts if is_whole else ():
            owner = item.path or move.new_path
            is_ours = item.name in move.entries or os.path.realpath(owner) in ours
            if (
                not is_ours
                and may_be_name_of(move.target, owner)
                and folder_exists(owner)
            ):
                raise RefusedError(
                    f"{owner} has sessions in {layout.projects / move.target}, too",
                    run(
                        "ccmove", "-m", move.new_path, move.path, text="to part the two"
                    ),
                )


def _fresh(
    layout: Layout,
    manifest: Manifest,
    projects: Iterable[ProjectMove],
    tick: history.Tick,
) -> tuple[Move, ...]:
    """Of what was fresh the part that goes back to
    where nothing has been begun since.
    """
    olds = PathMap(tuple((old, old) for old, _ in manifest.moves))
    with open_history(layout.history) as (read, seen):
        prompts = history.scan(read, seen.size, olds, tick=tick).staying
    pairs = [(new, old) for old, new in manifest.fresh]
    return fresh_pairs(State(layout), pairs, prompts, projects)


def document_back(
    directory: Path, manifest: Manifest, wrote: Wrote, now: bytes
) -> tuple[bytes, list[str], int | None]:
    """The document without the run's change, what can't be taken out, and the date to
    give back.

    One that is as the run left it gets its original bytes; in any other the three-way
    rules of `rewrite.threeway` hold, and what came later stays. Recovery does the same.
    """
    assert wrote.before is not None
    digest = sha256(now)
    if digest == wrote.before.sha256:
        return now, [], None
    before = read_saved(directory, wrote, "before")
    if digest == wrote.after.sha256:
        return before, [], wrote.before.mtime_ns
    renamed = [
        (move.target, move.source)
        for move in manifest.projects
        if move.kind == "rename"
    ]
    text, named = taken_out(
        "lines"
        if wrote.place == "other" and wrote.path.suffix != ".json"
        else wrote.place,
        _text(before),
        _text(read_saved(directory, wrote, "after")),
        _text(now),
        NameMap(tuple(renamed), manifest.way_back).map,  # what came since
        manifest.paths.map,
    )
    return text.encode("utf-8", "surrogateescape"), named, None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def plan_history_back(
    layout: Layout, directory: Path, manifest: Manifest
) -> WriteHistory | None:
    """The history without the run's change; None when there is nothing to take out.

    Prompts that came since follow, even where the run itself has found none.
    """
    path, wrote, back, mtime = layout.history, manifest.history, manifest.way_back, None
    with hashed_history(path, before := hashlib.sha256()) as (read, seen):
        if wrote is None:
            scan = history.scan(read, seen.size, back)
        elif (
            not is_there(path)
            or sha256_of(path, wrote.before.size) == wrote.before.sha256
        ):
            return None
        else:
            kept, size = read_scan(directory, wrote), wrote.after.size
            if sha256_of(path, size) == wrote.after.sha256:
                scan = history.spans_back(kept, size)
                scan.extend(history.scan(read, seen.size, back, start=size))
                mtime = wrote.before.mtime_ns if seen.size == size else None
            else:
                scan = history.lines_back(kept, read, seen.size, back)
    return WriteHistory(path, scan, seen, before, mtime) if scan.lines else None


class Undoing:
    """Collects the opposite of each operation."""

    def __init__(self, layout: Layout, manifest: Manifest) -> None:
        self.layout = layout
        self.manifest = manifest
        self.directory = layout.backups / manifest.id
        self.placer = Placer(layout)
        self.tree = self.placer.tree
        self.folders: list[tuple[Path, Path]] = []
        self.only_copies: list[Path] = []
        self.warnings: list[str] = []

    def plan(self) -> None:
        for operation in reversed(self.manifest.operations):
            if isinstance(operation, Wrote):
                self._take_out(operation)
        self._follow()
        waiting = list(self.manifest.projects)
        for operation in reversed(self.manifest.operations):
            # Of those into one directory the last goes first: by then its old place has
            # made way.
            into = (
                operation.target.parent
                if isinstance(operation, Rename)
                else operation.path
            )
            for move in [m for m in waiting if self.layout.projects / m.target == into]:
                waiting.remove(move)
                self._bring_what_grew(move)
            match operation:
                case Rename(holds=FolderHolds()):
                    self._rename_folder_back(operation)
                case Rename():
                    self._bring_back(operation)
                case Mkdir(path) if self.tree.is_directory(path):
                    if self.tree.names(path):
                        self.warnings.append(
                            f"{path} has something new in it, so it stays"
                        )
                    else:
                        self.placer.set_aside(path)
        refuse_conflicts(self.placer, again("move one of the two away, then try again"))

    def _follow(self) -> None:
        """What was made at NEW since,
        in a config file or an index that the run did not write.
        """
        back = partial(config.rewritten, paths=self.manifest.way_back, repos=False)
        made = self.manifest.id[:16]  # an index that is later names what has come since
        rewrites: list[tuple[Path, Callable[[str], str]]] = [
            (self.layout.real_config_file, back)
        ]
        for move in self.manifest.projects:
            file = self.layout.projects / move.target / INDEX
            paths = PathMap(((move.new_path, move.path),))
            names = NameMap(((move.target, move.source),), paths)
            if move.kind == "rename":
                rewrites.append(
                    (file, partial(index.rewritten, paths=paths, names=names))
                )
            elif (
                move.kind != "same"
                and is_there(file)
                and stamp(os.lstat(file).st_mtime) > made
            ):
                gone = {session_of(entry) for entry in move.entries}
                rewrites.append((file, partial(index.without, keys=gone)))
        ours = {
            getattr(op, "ends", getattr(op, "target", 0))
            for op in self.manifest.operations
        }
        for path, rewrite in rewrites:
            with contextlib.suppress(NotJsonError, RefusedError):
                if path not in ours and (document := read_document(path)) is not None:
                    draft = self.placer.draft(path, document)
                    draft.text = rewrite(draft.text)

    def back(self, move: ProjectMove) -> ProjectMove:
        """The opposite; where the old name was used again since, it is a merge."""
        source, target = (
            self.layout.projects / name for name in (move.target, move.source)
        )
        is_whole = self.tree.now(target) == source
        return replace(
            move,
            path=move.new_path,
            new_path=move.path,
            source=move.target,
            target=move.source,
            kind="merge" if move.kind == "rename" and not is_whole else move.kind,
        )

    def _bring_what_grew(self, move: ProjectMove) -> None:
        """Folders that sessions got since,
        and sessions begun in a part that was split off.
        """
        source, target = (
            self.layout.projects / name for name in (move.target, move.source)
        )
        if move.kind in ("rename", "same") or not self.tree.is_directory(source):
            return
        made = any(
            isinstance(op, Mkdir) and op.path == source
            for op in self.manifest.operations
        )
        sessions = {session_of(entry) for entry in move.entries}
        for name in self.tree.names(source):
            is_session = name.endswith(".jsonl") or SESSION_ID.match(name)
            comes = (made and is_session) or session_of(name) in sessions
            if comes and name not in move.entries:
                self._make_parents(target / name)
                self.placer.bring(source / name, target / name)

    def _bring_back(self, rename: Rename) -> None:
        source, target = self._here(rename.target), self._here(rename.path)
        if not self.tree.has(source):
            self.warnings.append(
                f"{rename.target} is gone; it can't go back to {rename.path}"
            )
            return
        if target.parent == self.layout.run / "aside":
            if self._came_since(source, rename.holds):
                self.warnings.append(f"{source} has something new in it, so it stays")
                return
            place = self._old_place(source)
            has_gone = place is not None and not self.tree.has(
                place
            )  # what it was joined with
            is_joined = (
                place is not None and not has_gone and self.placer.is_joined(place)
            )
            if place is not None and is_joined and place.name != INDEX:
                self.placer.bring(source, place)  # what that lacks by now is added
                return
            if place is not None and has_gone and place.name != INDEX:
                target = place
            elif rename.holds.entries and (
                has_gone or not self.placer.is_joined(source)
            ):
                self.only_copies.append(target)
        self._make_parents(target)
        self.placer.bring(source, target)

    def _came_since(self, path: Path, noted: Holds | FolderHolds) -> bool:
        """Whether what is to be hidden in a backup again
        was used since it came out of one.
        """
        now, known = self.tree.now(path), {entry[0] for entry in noted.entries}
        if now is not None and not self.tree.is_directory(path):
            return has_grown(now, noted)
        is_whole = not any(
            name.endswith(".jsonl") for name in known
        )  # every file was noted
        return is_whole and not known.issuperset(self.tree.files_below(path))

    def _here(self, path: Path) -> Path:
        """What the run had parked, or is to go back to a backup, is in this run."""
        if is_there(path) or not path.is_relative_to(self.layout.backups):
            return path
        _, where, name, *inside = path.relative_to(self.layout.backups).parts
        return self.layout.run.joinpath(where, f"again-{name}", *inside)

    def _make_parents(self, path: Path) -> None:
        """A directory that the client or its owner has removed since."""
        for parent in reversed(path.parents):
            if not self.tree.has(parent) and not parent.is_relative_to(self.layout.run):
                self.tree.make_directory(parent, 0o700)

    def _rename_folder_back(self, rename: Rename) -> None:
        """A project folder goes back only if it is the one that was renamed,
        to a free place.
        """
        assert isinstance(rename.holds, FolderHolds)
        now = self.tree.now(rename.target)
        if now is None:
            self.warnings.append(
                f"{rename.target} is gone; it can't go back to {rename.path}"
            )
            return
        if not is_noted(now, rename.holds):
            raise RefusedError(
                f"{rename.target} is not the folder that was renamed from "
                f"{rename.path}",
                run(
                    "ccmove",
                    "backups",
                    text="it stays where it is; what else can be undone",
                ),
            )
        self.placer.rename_folder(rename.target, rename.path)
        self.folders.append((rename.path, rename.target))

    def _take_out(self, wrote: Wrote) -> None:
        """The document as it is now without the run's change; one that the run made
        goes into the backup, unless it was changed since.
        """
        document = read_document(wrote.ends)
        place = (
            self._old_place(wrote.ends) if wrote.place != "index" else None
        )  # other paths there
        back = self.manifest.paths.reversed().map(str(wrote.ends))
        if (
            document is None and back is not None
        ):  # its owner has renamed the folder back
            document = read_document(Path(back))
        if document is None:
            self.warnings.append(
                f"{wrote.ends} is gone; its old content is in the backup"
            )
        elif wrote.before is not None:
            data = document.data
            content, named, mtime = document_back(
                self.directory, self.manifest, wrote, data
            )
            draft = self.placer.draft(document.path, document)
            draft.text, draft.mtime_ns = (
                content.decode("utf-8", "surrogateescape"),
                mtime,
            )
            self.warnings += [
                f"{wrote.ends}: {n} has changed since, so it stays" for n in named
            ]
        elif sha256(document.data) != wrote.after.sha256:
            self.warnings.append(f"{wrote.ends} has changed since, so it stays")
        elif place is not None and not self.tree.has(place):
            self._make_parents(
                place
            )  # a note that was copied, and is gone where it came from
            self.placer.bring(wrote.ends, place)
        else:
            self.placer.set_aside(document.path)

    def _old_place(self, path: Path) -> Path | None:
        for move in self.manifest.projects:
            directory = self.layout.projects / move.target
            if path.is_relative_to(directory):
                return directory.with_name(move.source) / path.relative_to(directory)
        return None
