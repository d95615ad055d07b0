"""Snapshots of a directory tree and what differs between two of them."""

import fnmatch
import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

Scope = Literal["none", "transcripts", "all"]

# Larger files are compared by hash alone.
_KEPT_CONTENT = 1 << 20
_CONTEXT = 30
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Entry:
    """One name in a tree, as `lstat` and its bytes describe it."""

    kind: str
    mode: int
    size: int
    sha256: str | None
    content: bytes | None
    target: str | None
    mtime_ns: int
    inode: int


Tree = dict[str, Entry]


def snapshot(root: Path) -> Tree:
    """Everything below `root` by relative name, with `/` everywhere.

    Names that are not UTF-8 are kept as surrogates.
    """
    return {
        os.path.relpath(path, root).replace(os.sep, "/"): _entry(path)
        for path in _walk(os.fspath(root))
    }


def diff(
    before: Mapping[str, Entry],
    after: Mapping[str, Entry],
    *,
    ignore: Iterable[str] = (),
    mtimes: Scope = "transcripts",
    inodes: Scope = "transcripts",
) -> list[str]:
    """One printable line for each difference; empty when the trees are the same.

    `ignore` holds fnmatch patterns of relative names; each also covers what is below
    its match. `mtimes` and `inodes` say for which names those are compared too.
    """
    patterns = tuple(ignore)
    differences: list[str] = []
    for name in sorted(before.keys() | after.keys()):
        if _is_ignored(name, patterns):
            continue
        found = _differences(before.get(name), after.get(name), name, mtimes, inodes)
        differences.extend(f"{name!r}: {what}" for what in found)
    return differences


def with_content(tree: Mapping[str, Entry], name: str, content: bytes) -> Tree:
    """`tree` with other bytes in the file `name`; its mode, mtime and inode stay as
    they were.
    """
    digest = hashlib.sha256(content).hexdigest()
    changed = replace(
        tree[name], size=len(content), sha256=digest, content=_kept(content)
    )
    return {**tree, name: changed}


def is_transcript(name: str) -> bool:
    """True for what a move may only rename: `*.jsonl` under `projects`, and session
    folders.
    """
    parts = Path(name).parts
    if "projects" not in parts:
        return False
    inside = parts[parts.index("projects") + 2 :]
    return name.endswith(".jsonl") or any(_UUID.fullmatch(part) for part in inside)


def _walk(directory: str) -> Iterator[str]:
    with os.scandir(directory) as entries:
        names = sorted(entries, key=lambda entry: entry.name)
    for entry in names:
        yield entry.path
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)


def _entry(path: str) -> Entry:
    status = os.lstat(path)
    kind = _kind(status.st_mode)
    data = Path(path).read_bytes() if kind == "file" else None
    return Entry(
        kind=kind,
        mode=_mode(status.st_mode),
        # A directory's size depends on the file system and on what it once held.
        size=status.st_size if kind == "file" else 0,
        sha256=None if data is None else hashlib.sha256(data).hexdigest(),
        content=None if data is None else _kept(data),
        target=os.readlink(path) if kind == "symlink" else None,
        mtime_ns=status.st_mtime_ns,
        inode=status.st_ino,
    )


def _kind(mode: int) -> str:
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}
    return kinds.get(stat.S_IFMT(mode), "special")


def _mode(mode: int) -> int:
    if sys.platform == "win32":  # where modes mean nothing, all is as it should be
        return 0o700 if stat.S_ISDIR(mode) else 0o600
    return stat.S_IMODE(mode)


def _kept(data: bytes) -> bytes | None:
    return data if len(data) <= _KEPT_CONTENT else None


def _is_ignored(name: str, patterns: tuple[str, ...]) -> bool:
    parents = [name, *map(str, PurePosixPath(name).parents)]
    return any(
        fnmatch.fnmatchcase(part, pattern) for part in parents for pattern in patterns
    )


def _differences(
    before: Entry | None, after: Entry | None, name: str, mtimes: Scope, inodes: Scope
) -> Iterator[str]:
    if before is None or after is None:
        yield "is new" if before is None else "is gone"
        return
    if before.kind != after.kind:
        yield f"was a {before.kind}, is a {after.kind}"
        return
    if before.mode != after.mode:
        yield f"mode {before.mode:o}, now {after.mode:o}"
    if before.target != after.target:
        yield f"points to {before.target!r}, now to {after.target!r}"
    if (before.size, before.sha256) != (after.size, after.sha256):
        yield _content_difference(before, after)
    if _in_scope(name, mtimes) and before.mtime_ns != after.mtime_ns:
        yield f"mtime {before.mtime_ns}, now {after.mtime_ns}"
    if _in_scope(name, inodes) and before.inode != after.inode:
        yield f"inode {before.inode}, now {after.inode}"


def _in_scope(name: str, scope: Scope) -> bool:
    return scope == "all" or (scope == "transcripts" and is_transcript(name))


def _content_difference(before: Entry, after: Entry) -> str:
    sizes = f"{before.size} bytes, now {after.size}"
    if before.content is None or after.content is None:
        return f"content differs ({sizes})"
    pairs = enumerate(zip(before.content, after.content, strict=False))
    shorter = min(before.size, after.size)
    at = next((place for place, (one, other) in pairs if one != other), shorter)
    start = max(0, at - _CONTEXT)
    was, now = (data[start : at + _CONTEXT] for data in (before.content, after.content))
    return f"content differs at byte {at} ({sizes}): {was!r}, now {now!r}"


def renamed(tree: Mapping[str, Entry], moves: Mapping[str, str]) -> Tree:
    """The tree with everything at or below the keys of `moves` at their values instead."""
    found: Tree = {}
    for name, entry in tree.items():
        old = next((o for o in moves if name == o or name.startswith(f"{o}/")), "")
        found[moves.get(old, "") + name[len(old) :]] = entry
    return found
