"""The judge of all crash tests sees every way in which a tree can be neither before nor
after.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.verdict import BACKUPS, OWN, judge
from tests.support.tree import Tree, snapshot

SESSION = "11111111-2222-4333-8444-555555555555"
OLD, NEW = (Path("home/.claude/projects", name) for name in ("-old", "-new"))
ID = "20261116T004112Z-3f9c"


def before(root: Path) -> Tree:
    _write(root / OLD / f"{SESSION}.jsonl", "a transcript\n")
    _write(root / "home/.claude.json", '{"projects": {"old": {}}}')
    _write(root / BACKUPS / "20260101T000000Z-0000/manifest.json", "{}")
    for name in (OWN, BACKUPS):
        (root / name).chmod(0o700)
    return snapshot(root)


def do_the_move(root: Path, identifier: str = ID) -> None:
    (root / OLD).rename(root / NEW)
    saved = root / BACKUPS / identifier / "files/0"
    saved.parent.mkdir(parents=True)
    (root / "home/.claude.json").rename(saved)
    _write(root / "home/.claude.json", '{"projects": {"new": {}}}')
    _write(saved.parents[1] / "manifest.json", f"made by {identifier}")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o600)


def reference_end(tmp_path: Path) -> Tree:
    """The tree after the move, with the inodes of `root`, as a rename keeps them."""
    root, copy = tmp_path / "root", tmp_path / "copy"
    shutil.copytree(root, copy)
    do_the_move(copy, "20261231T235959Z-ffff")
    end = snapshot(copy)
    for name in [name for name in end if name.startswith(NEW.as_posix())]:
        end[name] = snapshot(root)[name.replace(NEW.as_posix(), OLD.as_posix())]
    return end


def verdict_after(tmp_path: Path, change: Callable[[Path], object]) -> str:
    root = tmp_path / "root"
    start = before(root)
    end = reference_end(tmp_path)
    change(root)
    return judge(start, end, snapshot(root)).outcome


GOOD: dict[str, tuple[Callable[[Path], object], str]] = {
    "untouched": (lambda _: None, "before"),
    "our lock may stay": (lambda root: _write(root / OWN / "lock", ""), "before"),
    "the whole move, whatever its ID": (do_the_move, "after"),
}


@pytest.mark.parametrize("what", GOOD)
def test_these_trees_are_before_or_after(what: str, tmp_path: Path) -> None:
    change, outcome = GOOD[what]
    assert verdict_after(tmp_path, change) == outcome


def _copy_in_place(root: Path) -> None:
    file = root / OLD / f"{SESSION}.jsonl"
    found = file.stat()
    text = file.read_text()
    spare = file.with_name("spare")  # keeps the inode in use
    file.rename(spare)
    _write(file, text)
    os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))
    spare.unlink()


def _move_and_lose_the_backup(root: Path) -> None:
    do_the_move(root)
    shutil.rmtree(root / BACKUPS / ID)


def _open_lock(root: Path) -> None:
    _write(root / OWN / "lock", "")
    (root / OWN / "lock").chmod(0o644)


BAD: dict[str, Callable[[Path], object]] = {
    "half of the move": lambda root: (root / OLD).rename(root / NEW),
    "one byte": lambda root: (root / "home/.claude.json").write_text(
        '{"projects": {"olD": {}}}'
    ),
    "a mode": lambda root: (root / "home/.claude.json").chmod(0o644),
    "a time": lambda root: os.utime(root / "home/.claude.json", ns=(5, 5)),
    "a transcript's time": lambda root: os.utime(
        root / OLD / f"{SESSION}.jsonl", ns=(5, 5)
    ),
    "a transcript's inode": _copy_in_place,
    "a file is gone": lambda root: (root / "home/.claude.json").unlink(),
    "a staged file is left": lambda root: _write(root / "home/.ccmove-x-0", ""),
    "a run is left": lambda root: (root / OWN / "run").mkdir(),
    "a work directory is left": lambda root: (root / OWN / "work").mkdir(),
    "a client's lock is left": lambda root: (
        root / "home/.claude/history.jsonl.lock"
    ).mkdir(),
    "a backup is left of a move that was rolled back": lambda root: (
        root / BACKUPS / ID
    ).mkdir(),
    "our directory is open to others": lambda root: (root / OWN).chmod(0o755),
    "our lock is open to others": _open_lock,
    "an older backup was changed": lambda root: _write(
        root / BACKUPS / "20260101T000000Z-0000/manifest.json", "[]"
    ),
    "the move without its backup": _move_and_lose_the_backup,
    "a moved transcript that is a copy": lambda root: (
        _copy_in_place(root),
        do_the_move(root),
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_any_other_tree_is_neither(what: str, tmp_path: Path) -> None:
    assert verdict_after(tmp_path, BAD[what]) == "neither"
