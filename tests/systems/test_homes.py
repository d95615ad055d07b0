"""Homes that are not one plain directory: links of a dotfile manager, mounts; and
bytes.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.surroundings import mounted, needs_root, tmpfs
from tests.shapes.bench import Bench, Expected
from tests.support import tree
from tests.support.state import StateBuilder

# What may be a link, and through how many others it may lead.
LINKED = [
    (".claude", 1),
    (".claude/projects", 1),
    (".claude/settings.json", 1),
    (".claude.json", 1),
    (".claude.json", 3),
]


@pytest.fixture
def bench(state: StateBuilder) -> Bench:
    state.project("old", sessions=2, index=True, memory={"MEMORY.md": "- a note\n"})
    state.project("other", make_folder=True)
    (state.config_dir / "settings.json").write_text("{}")
    (state.code / "new").mkdir()
    return Bench(state)


def moved(bench: Bench, *options: str) -> int:
    return bench.run(*options, bench.state.code / "old", bench.state.code / "new").exit


def lead_away(bench: Bench, name: str, hops: int) -> Path:
    """What a dotfile manager does: the thing itself is elsewhere, a link is in its
    place.
    """
    place, there = bench.state.home / name, bench.state.root / "synced"
    there.mkdir()
    real = place.rename(there / place.name)
    for hop in range(1, hops):
        (there / f"hop{hop}").symlink_to(real)
        real = there / f"hop{hop}"
    place.symlink_to(os.path.relpath(real, place.parent))
    return place


@pytest.mark.parametrize(("name", "hops"), LINKED)
def test_what_is_the_users_own_may_be_a_link_and_stays_one(
    bench: Bench, name: str, hops: int
) -> None:
    link = lead_away(bench, name, hops)
    before = tree.snapshot(bench.state.root)
    assert moved(bench) == 0
    assert link.is_symlink()
    names = os.listdir(bench.state.projects)
    assert any(name.endswith("-new") for name in names)
    assert not any(name.endswith("-old") for name in names)
    assert str(bench.state.code / "new") in bench.state.config()["projects"]
    assert bench.run("verify").exit == 0
    assert bench.run("restore").exit == 0
    assert link.is_symlink()
    own = bench.state.config_dir.resolve() / "ccmove"
    ours = str(own.relative_to(bench.state.root.resolve()))
    now = tree.snapshot(bench.state.root)
    assert (
        tree.diff(before, {n: e for n, e in now.items() if not n.startswith(ours)})
        == []
    )


@pytest.fixture(params=["a different file system", "a different mount"])
def elsewhere(bench: Bench, request: pytest.FixtureRequest) -> Iterator[str]:
    """`projects/` is a disk of its own, or another part of the same one; what that is
    called.
    """
    there = bench.state.projects
    before = shutil.move(there, bench.state.root / "before")
    there.mkdir()
    is_disk = request.param.endswith("system")
    with (
        tmpfs(there, "size=16m", before)
        if is_disk
        else mounted(there, "--bind", before)
    ):
        yield request.param


@pytest.mark.limits
@needs_root
def test_projects_on_a_disk_of_their_own_can_be_moved(
    bench: Bench, elsewhere: str
) -> None:
    expected = Expected(bench)
    assert moved(bench) == 0
    assert bench.run("verify").exit == 0
    assert bench.run("restore").exit == 0
    assert tree.diff(expected, bench.tree()) == []


@pytest.mark.limits
@needs_root
@pytest.mark.parametrize("what", ["swap", "merge", "conflict"])
def test_what_needs_a_place_on_another_disk_is_refused_before_anything_changes(
    bench: Bench, elsewhere: str, what: str
) -> None:
    """What is parked or set aside is put beside the backups, on the disk of the state."""
    state = bench.state
    old, other = state.code / "old", state.code / "other"
    swap = state.root / "swap"
    swap.write_text(f"{old}\t{other}\n{other}\t{old}\n")
    if what == "conflict":
        memory = next(state.projects.glob("*-other")) / "memory"
        memory.mkdir()
        (memory / "note.md").write_text("one")
        (next(state.projects.glob("*-old")) / "memory" / "note.md").write_text(
            "another"
        )
    args = (
        ["--skip-path-check", "--from-file", swap] if what == "swap" else [old, other]
    )
    for more in ([], ["-n"]):
        report = bench.refused(*more, *args)
        assert f"is on {elsewhere} than its new place" in report["error"]


@pytest.mark.limits
@needs_root
@pytest.mark.parametrize("has_sessions", [False, True], ids=["rename", "merge"])
def test_what_an_overlay_can_not_rename_is_rolled_back_with_the_reason(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory, has_sessions: bool
) -> None:
    """As in a container whose image holds the home: a directory of a lower layer can't
    be renamed, which nothing tells before it is tried.
    """
    state, layers = bench.state, tmp_path_factory.mktemp("layers")
    (old,) = state.projects.glob("*-old")
    if has_sessions:
        state.project("new", sessions=1)
    with tmpfs(layers, "size=64m"):
        shutil.copytree(state.root, layers / "lower", symlinks=True)
        (layers / "upper").mkdir()
        (layers / "work").mkdir()
        parts = f"lowerdir={layers}/lower,upperdir={layers}/upper,workdir={layers}/work"
        with mounted(
            state.root, "-t", "overlay", "-o", f"{parts},redirect_dir=off", "overlay"
        ):
            before = bench.tree()
            done = bench.run(state.code / "old", state.code / "new")
            assert done.exit == 1
            what = rf"{re.escape(str(old))}(/[^/:]+)?: can't be renamed here: on an overlay"
            assert re.search(what, done.err), done.err
            assert "everything is as it was" in done.err
            bench.expect(before)


@pytest.mark.limits
@needs_root
def test_a_folder_that_is_mounted_at_a_second_place_is_found_and_merged(
    bench: Bench,
) -> None:
    state = bench.state
    state.project("again", sessions=1, make_folder=True)
    with mounted(state.code / "again", "--bind", state.code / "other"):
        (twins,) = bench.run("doctor", "again", "--json").json()["findings"]
        assert twins["what"].endswith("through a link or a mount")
        assert bench.run(*twins["command"].split()[1:]).exit == 0
        assert bench.run("doctor", "other").exit == 0
    (left,) = (
        path
        for path in state.projects.iterdir()
        if path.name[-5:] in ("other", "again")
    )
    assert len(list(left.glob("*.jsonl"))) == 3


BYTES = b"a lone \n, \r\n and \x1a stay\n"


def test_line_ends_and_ctrl_z_come_through_unchanged(
    bench: Bench, state: StateBuilder
) -> None:
    """Where text is not told from bytes, line ends change and Ctrl-Z ends a file."""
    (project,) = (
        path for path in state.projects.iterdir() if path.name.endswith("-old")
    )
    transcript = next(project.glob("*.jsonl"))
    with transcript.open("ab") as file:
        file.write(BYTES)
    with state.history.open("ab") as file:
        file.write(BYTES)
    (project / ".session-aliases").write_bytes(f"{project}\r\n{project}\n\x1a".encode())
    prompts, said = state.history.read_bytes(), transcript.read_bytes()
    aliases = (project / ".session-aliases").read_bytes()
    assert moved(bench) == 0
    new = project.with_name(project.name.removesuffix("-old") + "-new")
    assert (new / transcript.name).read_bytes() == said
    assert state.history.read_bytes().endswith(BYTES)
    assert state.history.read_bytes().count(b"\r") == prompts.count(b"\r")
    assert bench.run("restore").exit == 0
    assert state.history.read_bytes() == prompts
    assert (project / ".session-aliases").read_bytes() == aliases
