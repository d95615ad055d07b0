"""Is a tree exactly as before a run, or exactly as after it? Anything else is bad."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tests.support.tree import Entry, Tree, diff, is_transcript

OWN = "home/.claude/ccmove"
BACKUPS = f"{OWN}/backups"
NEW = 0  # the inode of what a run makes in a session's place, as an unpack does
# What may be left of ours beside complete backups, and how.
_LEFT_OVER = {
    OWN: ("directory", 0o700),
    BACKUPS: ("directory", 0o700),
    f"{OWN}/unfinished": ("directory", 0o700),
    f"{OWN}/lock": ("file", 0o600),
}
_BACKUP = re.compile(rf"{BACKUPS}/(\d{{8}}T\d{{6}}Z-[0-9a-f]{{4}})(?=/|$)")


@dataclass(frozen=True)
class Verdict:
    """`outcome` is before, after or neither; `problems` says what is wrong with it."""

    outcome: str
    problems: tuple[str, ...] = ()


def judge(before: Tree, after: Tree, now: Tree) -> Verdict:
    """Compare by names, kinds, modes and bytes, transcripts also by inode and time.

    A tree as before has the time of every file, too. The backup that a run made counts
    as part of the tree after it, whatever its ID.
    """
    known = backup_ids(before)
    start, end, found = (_comparable(tree, known) for tree in (before, after, now))
    not_before = diff(start, found) + _other_times(start, found)
    if not not_before:
        return Verdict("before")
    not_after = diff(_with_new_ones(end, found), found)
    if not not_after:
        return Verdict("after")
    told = [f"not as before: {line}" for line in not_before[:5]]
    return Verdict(
        "neither", (*told, *(f"not as after: {line}" for line in not_after[:5]))
    )


def backup_ids(tree: Mapping[str, Entry]) -> frozenset[str]:
    return frozenset(found[1] for name in tree if (found := _BACKUP.match(name)))


def expected_after(reference: tuple[Tree, Tree], before: Tree) -> Tree:
    """The reference's end as it must be for this very start: its transcripts were only
    renamed.
    """
    start, end = reference
    origin = {entry.inode: name for name, entry in start.items() if is_transcript(name)}
    expected: Tree = {}
    for name, entry in end.items():
        was = before[origin[entry.inode]] if entry.inode in origin else entry
        expected[name] = replace(entry, inode=was.inode, mtime_ns=was.mtime_ns)
        if is_transcript(name) and entry.inode not in origin:
            expected[name] = replace(entry, inode=NEW)
    return expected


def _with_new_ones(end: Tree, found: Tree) -> Tree:
    """What a run makes has another inode each time, and a directory another date."""
    whole = dict(end)
    for name, entry in end.items():
        there = found.get(name)
        if entry.inode != NEW or there is None:
            continue
        whole[name] = replace(entry, inode=there.inode)
        if entry.kind == "directory":
            whole[name] = replace(whole[name], mtime_ns=there.mtime_ns)
    return whole


def _comparable(tree: Tree, known: frozenset[str]) -> Tree:
    """Without what may be left over, and with the new backup under a name without its
    ID.
    """
    comparable: Tree = {}
    for name, entry in tree.items():
        if _LEFT_OVER.get(name) == (entry.kind, entry.mode):
            continue
        found = _BACKUP.match(name)
        if found is None or found[1] in known:
            comparable[name] = entry
            continue
        inside = name[found.end() :]
        has_id = inside in ("/manifest.json", "/report.json")
        comparable[f"{BACKUPS}/NEW{inside}"] = (
            _without_content(entry) if has_id else entry
        )
    return comparable


def _without_content(entry: Entry) -> Entry:
    """A manifest holds its ID, inodes and times, a report the ID: no two are alike."""
    return replace(entry, size=0, sha256=None, content=None)


def _other_times(before: Tree, now: Tree) -> list[str]:
    return [
        f"{name!r}: mtime {entry.mtime_ns}, now {now[name].mtime_ns}"
        for name, entry in before.items()
        if entry.kind == "file" and name in now and entry.mtime_ns != now[name].mtime_ns
    ]
