"""Two trees are the same only if everything asked about is the same."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.tree import diff, is_transcript, renamed, snapshot, with_content

SESSION = "49529f21-ae4e-4ea6-a67c-117817d57b7d"
TRANSCRIPT = f"projects/-a/{SESSION}.jsonl"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "projects" / "-a" / SESSION / "tool-results").mkdir(parents=True)
    (root / TRANSCRIPT).write_bytes(b"{}\n")
    (root / "projects" / "-a" / SESSION / "tool-results" / "1.txt").write_bytes(b"result")
    (root / "config.json").write_bytes(b'{"a": 1}')
    (root / "link").symlink_to("config.json")
    return root


def _replace(file: Path) -> None:
    """Same bytes, same mtime, another inode."""
    status, content = file.stat(), file.read_bytes()
    other = file.with_name("other")
    other.write_bytes(content)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.chmod(status.st_mode & 0o777)
    other.replace(file)


def _relink(link: Path) -> None:
    link.unlink()
    link.symlink_to("elsewhere")


def _make_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


CHANGES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "content": ("config.json", lambda f: f.write_bytes(b'{"a": 2}'), "content differs at byte 6"),
    "longer": ("config.json", lambda f: f.write_bytes(b'{"a": 1} '), "content differs at byte 8"),
    "mode": ("config.json", lambda f: f.chmod(0o400), "mode"),
    "gone": ("config.json", Path.unlink, "is gone"),
    "new": ("new", Path.touch, "is new"),
    "kind": ("config.json", _make_directory, "was a file, is a directory"),
    "link target": ("link", _relink, "points to 'config.json', now to 'elsewhere'"),
    "transcript mtime": (TRANSCRIPT, lambda f: os.utime(f, ns=(1, 1)), "mtime"),
    "transcript inode": (TRANSCRIPT, _replace, "inode"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_kind_of_change_is_seen_and_named(root: Path, change: str) -> None:
    name, apply, words = CHANGES[change]
    before = snapshot(root)
    apply(root / name)
    found = diff(before, snapshot(root))
    assert len(found) == 1
    assert found[0].startswith(f"{name!r}: {words}")


def test_a_tree_does_not_differ_from_itself(root: Path) -> None:
    assert diff(snapshot(root), snapshot(root), mtimes="all", inodes="all") == []


def test_times_and_inodes_of_other_files_count_only_when_asked_for(root: Path) -> None:
    before = snapshot(root)
    _replace(root / "config.json")
    os.utime(root / "config.json", ns=(1, 1))
    after = snapshot(root)
    assert diff(before, after) == []
    assert any("config.json': mtime" in line for line in diff(before, after, mtimes="all"))
    assert any("config.json': inode" in line for line in diff(before, after, inodes="all"))


def test_without_content_a_change_of_the_same_size_is_not_seen(root: Path) -> None:
    before = snapshot(root, content=False)
    (root / "config.json").write_bytes(b'{"a": 2}')
    assert diff(before, snapshot(root, content=False)) == []


def test_an_ignored_directory_hides_what_is_below_it_and_nothing_else(root: Path) -> None:
    before = snapshot(root)
    (root / "ccmove" / "backups").mkdir(parents=True)
    (root / "ccmove" / "backups" / "saved").touch()
    (root / "ccmove-not").touch()
    assert diff(before, snapshot(root), ignore=["ccmove"]) == ["'ccmove-not': is new"]


def test_a_renamed_directory_is_expected_with_all_that_it_holds(root: Path) -> None:
    before = snapshot(root)
    (root / "projects" / "-a").rename(root / "projects" / "-b")
    expected = renamed(before, {"projects/-a": "projects/-b"})
    assert diff(expected, snapshot(root), inodes="all") == []
    assert len(diff(before, snapshot(root))) == 10


def test_expected_content_can_be_given(root: Path) -> None:
    expected = with_content(snapshot(root), "config.json", b"{}")
    assert diff(expected, snapshot(root)) != []
    (root / "config.json").write_bytes(b"{}")
    assert diff(expected, snapshot(root)) == []


def test_names_that_are_not_utf8_are_kept_apart_and_printable(root: Path) -> None:
    before = snapshot(root)
    Path(os.fsdecode(os.fsencode(root) + b"/n\xff")).touch()
    Path(os.fsdecode(os.fsencode(root) + b"/n\xfe")).touch()
    found = diff(before, snapshot(root))
    assert found == [r"'n\udcfe': is new", r"'n\udcff': is new"]
    assert "".join(found).isascii()


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        (TRANSCRIPT, True),
        (f"home/.claude/projects/-a/{SESSION}/tool-results/1.txt", True),
        (f"projects/-a/{SESSION}", True),
        ("projects/-a/agent-1.jsonl", True),
        ("projects/-a/sessions-index.json", False),
        ("projects/-a/memory/MEMORY.md", False),
        ("projects/-a", False),
        ("history.jsonl", False),
    ],
)
def test_transcripts_are_told_from_other_files(name: str, is_one: bool) -> None:
    assert is_transcript(name) is is_one
