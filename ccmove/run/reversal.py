"""How to take back what a run did, also when life went on since.

- A file is as the run left it: it gets its saved bytes back.
- The history only grew: the saved bytes, then what was added, pointed at the old path again.
- Anything else: undone field by field, each only where the value is still what the run wrote.
Nothing is ever overwritten blindly, and what can't be undone is named.

A restore is a run like any other and is taken back in the same way. It keeps no edits of its
own: those of the move that it undid are made again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ccmove.bothends import paths_in
from ccmove.claude.layout import Layout
from ccmove.claude.reading import history_file, open_regular
from ccmove.claude.state import Document, read_document
from ccmove.errors import NothingKnownError, RefusedError, StaleLookError, again, look_at, run
from ccmove.plan.drafts import listed_again, without_entries
from ccmove.plan.model import FileChange, HistoryChange, Plan, ProjectMove
from ccmove.rewrite import rewriter
from ccmove.rewrite import splice as make
from ccmove.rewrite.config import PROJECTS, config_change
from ccmove.rewrite.jsonspan import NotJsonError, find, parse, show
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.rewriter import NameMap
from ccmove.rewrite.splice import Edit
from ccmove.run.backups import read_manifest
from ccmove.run.history_back import pointed_back
from ccmove.run.history_back import reversed_history as reversed_history
from ccmove.run.manifest import Manifest, SavedFile, read_edits, sha256, sha256_of
from ccmove.run.retreat import Retreat
from ccmove.run.wayback import WayBack, way_back


def plan_restore(layout: Layout, manifest: Manifest, displaced: Path) -> Plan:
    """The plan that undoes the run; RefusedError when a saved file is not what was saved."""
    check_saved_files(layout, manifest)
    retreat = Retreat.of(layout, manifest, displaced)
    back = way_back(layout, manifest)
    changes: list[FileChange] = []
    for file in manifest.files:
        if not file.is_history:
            changes += _restore_file(layout, manifest, file, retreat, back)
    retreat.plan()
    history = _restore_history(layout, manifest, back, retreat.warnings)
    plan = Plan(
        "restore",
        back,
        tuple(_reversed_project(move) for move in manifest.projects),
        tuple(retreat.steps),
        (*changes, *retreat.placer.changes()),
        history,
        (),
        tuple(retreat.warnings),
        undoes=manifest.id,
        folders=tuple((new, old) for old, new in manifest.folders),
        native=paths_in(history_file(layout), manifest.paths) if history is None else (),
    )
    if not plan.changes_anything and retreat.warnings:
        raise RefusedError(
            f"nothing of {manifest.id} can be undone",
            run("ccmove", "backups"),
            details=retreat.warnings,
        )
    return plan


def check_saved_files(layout: Layout, manifest: Manifest) -> None:
    """Every saved file must still be what was saved, before a byte is written."""
    for file in manifest.files:
        if file.saved is None or file.before is None:
            continue
        path = layout.backups / manifest.id / file.saved
        fd = open_regular(path)
        if fd is None:
            raise RefusedError(
                f"{path} is missing, so this backup can't be restored",
                run("ls", "-l", path.parent, text="see what is left of it"),
            )
        os.close(fd)
        if sha256_of(path) != file.before.sha256:
            raise RefusedError(
                f"{path} was changed since it was saved, so this backup can't be restored",
                look_at(path),
            )


def _reversed_project(move: ProjectMove) -> ProjectMove:
    return move._replace(
        path=move.new_path, new_path=move.path, source=move.target, target=move.source
    )


def _restore_history(
    layout: Layout, manifest: Manifest, back: WayBack, warnings: list[str]
) -> HistoryChange | None:
    for file in manifest.files:
        if file.is_history:
            return reversed_history(layout, manifest, file, file.ends, warnings, back)
    return pointed_back(history_file(layout), back)


# -- files -----------------------------------------------------------------------------------


def _restore_file(
    layout: Layout, manifest: Manifest, file: SavedFile, retreat: Retreat, back: WayBack
) -> list[FileChange]:
    """The change of a file that stays where it is; others are drafts of the retreat."""
    document = _found(manifest, file)
    if document is None:
        retreat.warnings.append(f"{file.ends} is gone; its old content is in the backup")
        return []
    if file.before is None:
        _take_away(file, document, retreat)
        return []
    after, lost, keep_times = reversed_content(layout, manifest, file, document.data, back)
    retreat.warnings += [f"{file.ends}: {what} was changed since and stays" for what in lost]
    if after == document.data:
        return []
    if document.path.is_relative_to(layout.projects):
        draft = retreat.placer.drafts.needed(document.path)
        draft.whole, draft.keep_times = after, keep_times
        return []
    return [_change(manifest, file, document, after, keep_times)]


def _found(manifest: Manifest, file: SavedFile) -> Document | None:
    """Where the run left it, or at the old place, if its owner has renamed the folder back."""
    document = read_document(file.ends)
    back = manifest.paths.reversed().map(str(file.ends))
    if document is None and back is not None:
        document = read_document(Path(back))
    return document


def _take_away(file: SavedFile, document: Document, retreat: Retreat) -> None:
    """A file that the run made goes into the backup, unless it was changed since."""
    if sha256(document.data) == file.after.sha256:
        retreat.set_aside(document)
    else:
        retreat.warnings.append(f"{file.ends} was changed since and stays")


def _change(
    manifest: Manifest, file: SavedFile, document: Document, after: bytes, keep_times: int | None
) -> FileChange:
    ends = document.path
    for old, new in manifest.folders:  # which are renamed back as well
        if ends.is_relative_to(new):
            ends = Path(old) / ends.relative_to(new)
    return FileChange(
        document.path,
        ends,
        file.place,
        before=document.data,
        after=after,
        seen=document.seen,
        keep_times=keep_times,
    )


# -- the content of one file -----------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    """What a run did to a file of text, so that it can be undone piece by piece."""

    edits: list[Edit]
    lines: list[tuple[int, str, str]]
    appended: str = ""
    removed: str = ""  # text that was taken out
    unlisted: tuple[str, ...] = ()  # entries that were taken out of an index
    undoes: bool = False  # it was an undoing itself

    @property
    def is_empty(self) -> bool:
        changed = self.edits or self.lines or self.appended
        return not (changed or self.removed or self.unlisted or self.undoes)

    def opposite(self) -> Recorded:
        """What takes this back, as if a run had done it."""
        lines = [(number, after, before) for number, before, after in self.lines]
        added = tuple(e.after for e in self.edits if e.kind == "add" and e.after is not None)
        edits = _opposite_edits(self.edits)
        return Recorded(edits, lines, self.removed, self.appended, added, not self.undoes)


def _opposite_edits(edits: list[Edit]) -> list[Edit]:
    """Pointers are those of the text before an edit: here that is the one with the new keys.

    Additions are left out: what they added is to be added again in the form of the text then.
    """
    renamed = {e.pointer: str(e.describe()[1]) for e in edits if e.kind == "key"}
    kinds = {"set": "set", "key": "key", "remove": "add"}
    return [
        Edit(
            kinds[e.kind],
            tuple(renamed.get(e.pointer[: i + 1], token) for i, token in enumerate(e.pointer)),
            e.after,
            e.before,
            anchor=e.anchor,
        )
        for e in edits
        if e.kind in kinds
    ]


def recorded(layout: Layout, manifest: Manifest, file: SavedFile) -> Recorded | None:
    """What the run did to the file; None when the move that it undid is no longer known."""
    if manifest.undoes is None:
        return Recorded(*read_edits(manifest, file, layout))
    try:
        original = read_manifest(manifest.undoes, layout)
    except (NothingKnownError, RefusedError):
        return None
    back = original.paths.map(str(file.path)) or str(file.path)
    for other in original.files:
        if other.ends in (file.path, Path(back)) and other.before is not None:
            known = recorded(layout, original, other)
            return known.opposite() if known is not None else None
    return None


def reversed_content(
    layout: Layout,
    manifest: Manifest,
    file: SavedFile,
    current: bytes,
    back: WayBack | None = None,
) -> tuple[bytes, list[str], int | None]:
    """What the file is to hold, what could not be undone, and the mtime to give back.

    To find the way `back` takes a look at the whole saved history, so who knows it says so.
    """
    assert file.before is not None
    assert file.saved is not None
    now = sha256(current)
    if now == file.before.sha256:
        return current, [], None
    if now == file.after.sha256:
        path = layout.backups / manifest.id / file.saved
        saved = read_document(path)
        if saved is None:
            raise StaleLookError(f"{path} is gone", again("run it again"))
        return saved.data, [], file.before.mtime_ns
    known = recorded(layout, manifest, file)
    if known is None or known.is_empty:
        return current, ["everything that the run changed in it"], None
    lost: list[str] = []
    text = current.decode("utf-8", "surrogateescape")
    try:
        back = back or way_back(layout, manifest)
        if file.place == "config":
            text = _undo_config(text, known, back, lost)
        elif file.place == "index":
            text = _undo_index(text, known, file, back, lost)
        elif known.edits:
            text = _undo_edits(text, known.edits, lost)
    except NotJsonError as error:
        return current, [f"it is no longer valid JSON ({error}): everything in it"], None
    text = _undo_lines(text, known, lost)
    return text.encode("utf-8", "surrogateescape"), lost, None


def _undo_edits(text: str, edits: list[Edit], lost: list[str]) -> str:
    undoing, not_undone = make.undo(text, edits)
    text = make.apply(text, undoing)
    lost += [show(edit.pointer) for edit in not_undone if not _is_back(text, edit)]
    return text


def _undo_config(text: str, known: Recorded, back: WayBack, lost: list[str]) -> str:
    """What was added since to a project that goes back follows it."""
    if not known.undoes:
        text = _undo_edits(text, known.edits, lost)
        if _goes_on(back):
            return text
        for key in (str(e.describe()[0]) for e in known.edits if e.kind == "key"):
            node = find(parse(text), (PROJECTS, key))
            if node is not None:
                inside = rewriter.string_edits(text, node, (PROJECTS, key), back.map)
                text = make.apply(text, inside)
    return make.apply(text, config_change(text, back).edits)


def _undo_index(text: str, known: Recorded, file: SavedFile, back: WayBack, lost: list[str]) -> str:
    """Entries that were added since follow their directory.

    An entry that the client has rewritten or dropped meanwhile is no loss: it goes by the session.
    """
    kept = [edit for edit in known.edits if len(edit.pointer) == 1]
    text = _undo_edits(text, [edit for edit in known.edits if edit not in kept], [])
    text = _undo_edits(text, kept, lost)
    text = without_entries(text, (e.after for e in known.edits if e.kind == "add"))
    text = listed_again(text, known.unlisted)
    if _goes_on(back):
        return text
    names = NameMap(((file.ends.parent.name, file.path.parent.name),), PathMap(back.moves))
    return make.apply(text, rewriter.index_edits(text, back, names))


def _goes_on(back: WayBack) -> bool:
    """In a swap or a chain a path that has gone back looks like one that has yet to go.

    Then only what the run wrote is undone; what was added since keeps the path that it names.
    """
    paths = PathMap(back.moves)
    return any(paths.covers(new) for _, new in back.moves)


def _is_back(text: str, edit: Edit) -> bool:
    """Whether the value is what it was before by some other way."""
    node = find(parse(text), edit.pointer)
    if edit.kind == "key" or edit.before is None:
        return (node is not None) == (edit.kind == "key")
    return node is not None and text[node.start : node.end] == edit.before


def _undo_lines(text: str, known: Recorded, lost: list[str]) -> str:
    back = [(number, after, before) for number, before, after in known.lines]
    text = rewriter.change_lines(text, back)
    if known.removed:
        text += rewriter.appendix(text, known.removed)
    if known.appended and known.appended in text:
        at = text.rfind(known.appended)
        text = text[:at] + text[at + len(known.appended) :]
    elif known.appended:
        lost.append("the text that was added to it")
    return text
