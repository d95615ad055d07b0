"""How to take back what a run did, also when life went on since.

- A file is as the run left it: it gets its saved bytes back.
- The history only grew: the saved bytes, then what was added, pointed at the old path again.
- Anything else: undone field by field, each only where the value is still what the run wrote.
Nothing is ever overwritten blindly, and what can't be undone is named.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from ccmove import edits as make
from ccmove import history, rewriter
from ccmove.manifest import Content, Manifest, SavedFile, read_edits, sha256, sha256_of
from ccmove.config import config_change
from ccmove.errors import RefusedError
from ccmove.jsonspan import NotJsonError, find, parse, show
from ccmove.layout import Layout
from ccmove.ownership import Portion, Share
from ccmove.pathmap import PathMap
from ccmove.placing import Placer
from ccmove.plan import FileChange, HistoryChange, HistoryPart, Plan, ProjectMove, Step
from ccmove.relocate import Relocator
from ccmove.rewriter import NameMap
from ccmove.state import Fingerprint, open_regular, read_directory, read_document, reader


@dataclass
class Reversal:
    """Collects the plan that takes one run back."""

    layout: Layout
    manifest: Manifest
    displaced: Path
    steps: list[Step] = field(default_factory=list)
    files: list[FileChange] = field(default_factory=list)
    history: HistoryChange | None = None
    warnings: list[str] = field(default_factory=list)
    _set_aside: int = 0

    @property
    def paths(self) -> PathMap:
        return self.manifest.paths.reversed()


def plan_restore(layout: Layout, manifest: Manifest, displaced: Path) -> Plan:
    """The plan that undoes the run of this manifest; RefusedError when a saved file is not sound."""
    check_saved_files(layout, manifest)
    reversal = Reversal(layout, manifest, displaced)
    back_again = _occupied(manifest)
    for file in manifest.files:
        if file.is_history:
            reversal.history = reversed_history(
                layout, manifest, file, file.ends, reversal.warnings
            )
        elif file.before is None:
            _set_aside(reversal, file)
        elif not any(file.ends.is_relative_to(step.target or "/-") for step in back_again):
            _restore_file(reversal, file)
    _reverse_steps(reversal, back_again)
    return Plan(
        "restore",
        reversal.paths,
        tuple(_reversed_project(move) for move in manifest.projects),
        tuple(reversal.steps),
        tuple(reversal.files),
        reversal.history,
        (),
        tuple(reversal.warnings),
        undoes=manifest.id,
        folders=tuple((new, old) for old, new in manifest.folders),
    )


def check_saved_files(layout: Layout, manifest: Manifest) -> None:
    """Every saved file must still be what was saved, before a byte is written."""
    for file in manifest.files:
        if file.saved is None or file.before is None:
            continue
        path = layout.backups / manifest.id / file.saved
        fd = open_regular(path)
        if fd is None:
            raise RefusedError(f"{path} is missing", "this backup can't be restored")
        os.close(fd)
        if sha256_of(path) != file.before.sha256:
            raise RefusedError(
                f"{path} was changed since it was saved", "this backup can't be restored"
            )


def _reversed_project(move: ProjectMove) -> ProjectMove:
    return replace(
        move, path=move.new_path, new_path=move.path, source=move.target, target=move.source
    )


# -- files ------------------------------------------------------------------------------------------


def _restore_file(reversal: Reversal, file: SavedFile) -> None:
    document = read_document(file.ends)
    if document is None:
        reversal.warnings.append(f"{file.ends} is gone; its old content is in the backup")
        return
    manifest, layout = reversal.manifest, reversal.layout
    after, lost, keep_times = reversed_content(layout, manifest, file, document.data)
    for what in lost:
        reversal.warnings.append(f"{file.ends}: {what} was changed since and stays")
    if after == document.data:
        return
    change = FileChange(
        file.ends,
        file.path,
        file.place,
        before=document.data,
        after=after,
        seen=document.seen,
        keep_times=keep_times,
    )
    reversal.files.append(change)


def reversed_content(
    layout: Layout, manifest: Manifest, file: SavedFile, current: bytes
) -> tuple[bytes, list[str], int | None]:
    """What the file is to hold, what could not be undone, and the mtime to give back."""
    assert file.before is not None and file.saved is not None
    now = sha256(current)
    if now == file.before.sha256:
        return current, [], None
    if now == file.after.sha256:
        saved = read_document(layout.backups / manifest.id / file.saved)
        assert saved is not None  # checked before
        return saved.data, [], file.before.mtime_ns
    text = current.decode("utf-8", "surrogateescape")
    edits, lines, appended = read_edits(manifest, file, layout)
    lost: list[str] = []
    try:
        if edits:
            text = _undo_edits(text, edits, file, manifest, lost)
    except NotJsonError as error:
        return current, [f"it is no longer valid JSON ({error}): everything in it"], None
    text = rewriter.change_lines(text, [(number, after, before) for number, before, after in lines])
    if appended:
        text, found = _without(text, appended)
        lost += [] if found else ["the text that was added to it"]
    return text.encode("utf-8", "surrogateescape"), lost, None


def _without(text: str, appended: str) -> tuple[str, bool]:
    at = text.rfind(appended)
    return (text[:at] + text[at + len(appended) :], True) if at >= 0 else (text, False)


def _undo_edits(
    text: str, edits: list[make.Edit], file: SavedFile, manifest: Manifest, lost: list[str]
) -> str:
    back, not_undone = make.undo(text, edits)
    text = make.apply(text, back)
    paths = manifest.paths.reversed()
    renamed = {str(e.describe()[1]) for e in edits if e.kind == "key"}
    if file.place == "config" and renamed:
        # A key that the move made was nobody's before: what was added to it since goes along.
        only = PathMap(
            tuple(move for move in paths.moves), frozenset(_foreign(text, renamed, paths))
        )
        text = make.apply(text, config_change(text, only).edits)
    elif file.place == "index" and file.path.parent != file.ends.parent:
        names = NameMap(((file.ends.parent.name, file.path.parent.name),), paths)
        text = make.apply(text, rewriter.index_edits(text, paths, names))
        not_undone = []
    lost += [show(edit.pointer) for edit in not_undone if not _is_back(text, edit)]
    return text


def _foreign(text: str, ours: set[str], paths: PathMap) -> list[str]:
    """Keys of the config file in the reversed move that the move did not make."""
    root = parse(text, lambda at: at in ((), ("projects",)))
    projects = root.get("projects")
    keys = [key.value for key in projects.keys] if projects is not None else []
    return [key for key in keys if paths.covers(key) and key not in ours]


def _is_back(text: str, edit: make.Edit) -> bool:
    """Whether the value is what it was before by some other way."""
    root = parse(text)
    node = find(root, edit.pointer)
    if edit.kind == "key" or edit.before is None:
        return node is not None if edit.kind == "key" else node is None
    return node is not None and text[node.start : node.end] == edit.before


def _set_aside(reversal: Reversal, file: SavedFile) -> None:
    """A file that the run made goes into the backup, unless it was changed since."""
    document = read_document(file.ends)
    if document is None:
        return
    if sha256(document.data) != file.after.sha256:
        reversal.warnings.append(f"{file.ends} was changed since and stays")
        return
    target = reversal.displaced / str(reversal._set_aside)
    reversal._set_aside += 1
    reversal.steps.append(Step("rename", file.ends, target))


# -- history ----------------------------------------------------------------------------------------


def reversed_history(
    layout: Layout, manifest: Manifest, file: SavedFile, path: Path, warnings: list[str]
) -> HistoryChange | None:
    """The history with the run taken back; None when there is nothing to take back."""
    assert file.before is not None and file.saved is not None
    fd = open_regular(path)
    if fd is None:
        warnings.append(f"{path} is gone; its old content is in the backup")
        return None
    saved = layout.backups / manifest.id / file.saved
    paths = manifest.paths.reversed()
    try:
        seen = Fingerprint.of(os.fstat(fd))
        if seen.size >= file.after.size and sha256_of(path, file.after.size) == file.after.sha256:
            tail = history.scan(reader(fd), seen.size, paths, file.after.size)
            untouched = history.Scan(size=file.before.size)
            keep = file.before.mtime_ns if seen.size == file.after.size else None
            parts = (HistoryPart(saved, untouched), HistoryPart(path, tail, file.after.size))
            return HistoryChange(path, parts, seen, keep)
        return _line_by_line(reader(fd), seen, path, saved, manifest)
    finally:
        os.close(fd)


def _line_by_line(
    read: history.Read, seen: Fingerprint, path: Path, saved: Path, manifest: Manifest
) -> HistoryChange | None:
    """Lines that the run wrote get their old value back; lines that came since are mapped back."""
    forward, backward = manifest.paths, manifest.paths.reversed()
    written, native = _lines_of_the_run(saved, forward, backward)
    found = history.scan(read, seen.size, backward)
    result = history.Scan(size=seen.size)
    for start, end, which in zip(found.starts, found.ends, found.which, strict=True):
        line = _line_around(read, start, seen.size)
        digest = hashlib.sha256(line.rstrip(b"\r\n")).digest()
        if digest in native:
            continue
        before = written.get(digest)
        raw = before if before is not None else found.replacements[which]
        result.add_raw(start, end, raw)
    return HistoryChange(path, (HistoryPart(path, result),), seen) if result.lines else None


def _line_around(read: history.Read, offset: int, size: int) -> bytes:
    start = offset
    block = b""
    while start > 0 and b"\n" not in block:
        step = min(start, 4096)
        start -= step
        block = read(start, step) + block
    line_start = start + block.rfind(b"\n") + 1 if b"\n" in block else 0
    line = b""
    position = line_start
    while position < size and b"\n" not in line:
        line += read(position, 4096)
        position += 4096
    return line.split(b"\n", 1)[0]


def _lines_of_the_run(
    saved: Path, forward: PathMap, backward: PathMap
) -> tuple[dict[bytes, bytes], set[bytes]]:
    """Hashes of the lines that the run wrote, with the value each had; and of NEW's own lines."""
    written: dict[bytes, bytes] = {}
    native: set[bytes] = set()
    with open(saved, "rb") as file:
        for line in file:
            try:
                ours = history.project_values(line, forward)
                theirs = [] if ours else history.project_values(line, backward)
            except (NotJsonError, UnicodeDecodeError):
                continue
            if ours:
                new = line
                for value in reversed(ours):
                    new = new[: value.start] + history.encoded(value.after) + new[value.end :]
                key = hashlib.sha256(new.rstrip(b"\r\n")).digest()
                written[key] = line[ours[0].start : ours[0].end]
            elif theirs:
                native.add(hashlib.sha256(line.rstrip(b"\r\n")).digest())
    return written, native


# -- directories --------------------------------------------------------------------------------------


def _occupied(manifest: Manifest) -> list[Step]:
    """Whole directories that the run renamed and whose old name is in use again."""
    return [
        step
        for step in manifest.steps
        if step.target is not None and step.target.is_dir() and os.path.lexists(step.path)
    ]


def _reverse_steps(reversal: Reversal, occupied: list[Step]) -> None:
    for step in reversed(reversal.manifest.steps):
        opposite = step.opposite()
        if step in occupied:
            _merge_back(reversal, step)
        elif opposite.kind == "rename":
            _rename_back(reversal, opposite)
        elif opposite.kind == "mkdir":
            if not os.path.lexists(opposite.path):
                reversal.steps.append(opposite)
        elif _will_be_empty(reversal, opposite.path):
            reversal.steps.append(opposite)
        else:
            reversal.warnings.append(f"{opposite.path} has something new in it and stays")


def _rename_back(reversal: Reversal, step: Step) -> None:
    """Only what is still there can go back; where it came from must be free."""
    assert step.target is not None
    made_by_steps = {s.target for s in reversal.steps}
    if not os.path.lexists(step.path) and step.path not in made_by_steps:
        reversal.warnings.append(f"{step.path} is gone; it can't be moved back")
    elif os.path.lexists(step.target) and step.target not in {s.path for s in reversal.steps}:
        raise RefusedError(
            f"{step.target} exists again, so {step.path} can't be moved back",
            f"move one of the two out of the way, then: ccmove restore {reversal.manifest.id}",
        )
    else:
        reversal.steps.append(step)


def _merge_back(reversal: Reversal, step: Step) -> None:
    """The old directory was made anew since: what the run took away is united with it."""
    assert step.target is not None
    placer = Placer(reversal.layout.projects, reversal.displaced)
    relocator = Relocator(placer, reversal.layout.own / "work", reversal.paths)
    directory = read_directory(step.target)
    names = tuple(item.name for item in directory.items)
    move = next(m for m in reversal.manifest.projects if m.target == step.target.name)
    share = Share(move.new_path, move.path, names)
    relocator.relocate([Portion(directory, step.path.name, (share,), True)], ())
    if placer.conflicts:
        listed = [f"{one}  differs from  {other}" for one, other in placer.conflicts]
        raise RefusedError(
            f"{step.path} exists again, with other files of the same names",
            f"move them out of the way, then: ccmove restore {reversal.manifest.id}",
        ).with_details(listed)
    reversal.steps += relocator.steps
    reversal.files += relocator.files


def _will_be_empty(reversal: Reversal, path: Path) -> bool:
    try:
        names = set(os.listdir(path))
    except FileNotFoundError:
        return path in {step.path for step in reversal.steps if step.kind == "mkdir"}
    leaving = {step.path for step in reversal.steps if step.kind != "mkdir"}
    return all(path / name in leaving for name in names)


def content_of(data: bytes, found: os.stat_result) -> Content:
    return Content(sha256(data), len(data), found.st_mode & 0o7777, found.st_mtime_ns)
