"""OLD and NEW have the same encoded name, or names that differ in case alone."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ccmove.claude.layout import find_layout
from ccmove.claude.owners import Ledger
from ccmove.claude.reading import ignores_case
from ccmove.plan.model import Plan, Rename, Request, Write, WriteHistory
from ccmove.plan.planner import plan_move
from tests.crash import places
from tests.shapes.bench import Bench, Expected, directory_of
from tests.support import tree
from tests.support.state import StateBuilder, encoded_name


def test_files_are_rewritten_and_nothing_is_renamed(
    bench: Bench, state: StateBuilder
) -> None:
    old = state.project(
        "my_app", index=True, memory={"MEMORY.md": "x\n"}, repo="acme/my-app"
    )
    new = bench.folder("my-app")
    expected = Expected(bench)
    expected.replace(old.index, (f'"{old.path}"', f'"{new}"'))
    expected.rewrite_lists(state, (old.path, new))
    moved = bench.cycle(expected, old.path, new)
    assert [(p["kind"], p["transcripts"]) for p in moved["projects"]] == [("same", 2)]
    assert "2 transcripts" in moved["left_alone"][0]["what"]


def test_where_nothing_changes_on_disk_the_run_still_says_whose_the_sessions_are(
    bench: Bench, state: StateBuilder
) -> None:
    """Else `list` would go on naming OLD, and the same move would be made for ever."""
    old = str(state.code / "my_app")
    new = str(bench.folder("my-app"))
    state.add_session(old)
    state.history.unlink(missing_ok=True)
    before = bench.tree()
    moved = bench.ok(old, new)
    assert (moved["status"], moved["counts"]["transcripts"]) == ("moved", 1)
    assert moved["backup"] is not None
    assert tree.diff(before, bench.tree()) == []
    assert known_paths(bench) == [new]
    bench.refused(old, new, code=3)
    bench.restore()
    assert known_paths(bench) == [old]
    assert tree.diff(before, bench.tree()) == []
    bench.ok(old, new)
    assert known_paths(bench) == [new]


def known_paths(bench: Bench) -> list[str]:
    return [project["path"] for project in bench.ok("list")["projects"]]


def test_new_sessions_in_the_same_directory_are_joined_by_the_old_ones(
    bench: Bench,
) -> None:
    state = bench.state
    old = state.project("my_app", index=True)
    new = state.project("my-app", sessions=1, index=True, make_folder=True)
    long_ago = state.add_session("before/that", directory=new.directory)
    expected = Expected(bench)
    expected.replace(old.index, (f'"{old.path}"', f'"{new.path}"'))
    expected.join_lists(state, (old.path, new.path))
    moved = bench.cycle(expected, old.path, new.path)
    assert not any(long_ago in row["file"] for row in moved["left_alone"])


def test_a_third_that_shares_the_directory_is_left_alone(
    bench: Bench, state: StateBuilder
) -> None:
    third = state.project("my/app", sessions=1, index=True, make_folder=True)
    old = state.project("my_app", index=True)
    new = bench.folder("my-app")
    expected = Expected(bench)
    expected.replace(old.index, (f'"{old.path}"', f'"{new}"'))
    expected.rewrite_lists(state, (old.path, new))
    bench.cycle(expected, old.path, new)
    assert json.loads(third.index.read_text())["originalPath"] == third.path


def test_a_parent_that_is_renamed_may_keep_some_names_and_change_others(
    bench: Bench,
) -> None:
    state = bench.state
    old = state.project("my_code", sessions=1, index=True)
    below = state.project("my_code/app", sessions=1, index=True)
    new = bench.folder("my-code")
    expected = Expected(bench)
    for handle, path in ((old, new), (below, new / "app")):
        expected.replace(handle.index, (f'"{handle.path}"', f'"{path}"'))
    expected.rewrite_lists(state, (old.path, new), (below.path, new / "app"))
    bench.cycle(expected, old.path, new)


def case_only(state: StateBuilder) -> tuple[str, str]:
    old = state.project("MyApp", index=True, memory={"MEMORY.md": "x\n"})
    state.project("MyApp/Sub", sessions=1)
    (state.code / "myapp").mkdir(exist_ok=True)
    return old.path, str(state.code / "myapp")


def test_a_rename_of_case_alone_is_a_move_like_any_other(
    bench: Bench, state: StateBuilder
) -> None:
    old, new = case_only(state)
    expected = Expected(bench)
    expected.move(state, old, new)
    expected.move(state, f"{old}/Sub", f"{new}/Sub")
    bench.cycle(expected, old, new)


def spelled(path: str) -> str:
    """`path` as it is on disk, where any case is taken for the same."""
    base = "/"
    for part in Path(path).parts[1:]:
        try:
            names = REAL["listdir"](base)
        except OSError:
            names = []
        same = [name for name in names if name == part] or [
            name for name in names if name.lower() == part.lower()
        ]
        base = os.path.join(base, same[0] if same else part)
    return base


REAL: dict[str, Any] = {
    name: getattr(os, name) for name in ("lstat", "stat", "listdir", "open")
}


@pytest.fixture
def any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at the disk takes any case for the same, as on a Mac.

    A real file system of that kind can't be mounted without a kernel that has one, so
    this stands in for it; it reaches everything that planning does, which is to look.
    Windows needs no such thing.
    """
    if os.name == "nt":
        return

    def look(name: str) -> Any:
        def looked(path: Any, *args: Any, **options: Any) -> Any:
            in_full = isinstance(path, (str, os.PathLike)) and os.path.isabs(path)
            return REAL[name](
                spelled(os.fspath(path)) if in_full else path, *args, **options
            )

        return looked

    for name in REAL:
        monkeypatch.setattr(os, name, look(name))


def planned(state: StateBuilder, old: str, new: str) -> Plan:
    layout = find_layout(str(state.config_dir), {})
    return plan_move(layout, Request(((old, new),)), Ledger())


def renames(plan: Plan) -> list[tuple[Path, Path]]:
    """All that is done to names; nothing is made or removed."""
    steps = [op for op in plan.operations if not isinstance(op, (Write, WriteHistory))]
    found = [(op.path, op.target) for op in steps if isinstance(op, Rename)]
    assert len(found) == len(steps)
    return found


def test_where_case_is_ignored_the_directory_is_renamed_and_not_merged_with_itself(
    state: StateBuilder, any_case: None
) -> None:
    old, new = case_only(state)
    assert ignores_case(state.projects)
    plan = planned(state, old, new)
    assert [(move.kind, move.target) for move in plan.projects] == [
        ("rename", encoded_name(new)),
        ("rename", encoded_name(f"{new}/Sub")),
    ]
    assert renames(plan) == [
        (directory_of(state, old), directory_of(state, new)),
        (directory_of(state, f"{old}/Sub"), directory_of(state, f"{new}/Sub")),
    ]


def test_where_case_is_ignored_sessions_begun_under_the_new_case_do_not_part_from_the_others(
    state: StateBuilder, any_case: None
) -> None:
    """The client finds the old directory by the new name, and goes on in it."""
    old, new = case_only(state)
    session = state.add_session(new, directory=directory_of(state, old))
    plan = planned(state, old, new)
    assert plan.projects[0].kind == "rename"
    assert len(renames(plan)) == 2
    assert (directory_of(state, old) / f"{session}.jsonl").exists()


def test_where_case_is_ignored_a_directory_in_another_case_is_found(
    state: StateBuilder, any_case: None
) -> None:
    """Renamed in case alone before, without ccmove: the directory has its first name."""
    handle = state.project("MyApp", sessions=1, config=None, prompts=0)
    state.add_session("myapp", directory=handle.directory)
    plan = planned(state, str(state.code / "myapp"), str(state.code / "other"))
    assert renames(plan) == [
        (handle.directory, directory_of(state, state.code / "other"))
    ]


def test_where_case_is_ignored_such_a_target_is_merged(
    state: StateBuilder, any_case: None
) -> None:
    old = state.project("old", sessions=1)
    there = state.project("NEW", sessions=1)
    plan = planned(state, old.path, str(state.code / "new"))
    assert [move.kind for move in plan.projects] == ["merge"]
    assert there.directory.exists()


def test_without_that_the_same_states_are_told_apart(state: StateBuilder) -> None:
    """The control: where case counts, the two directories are two."""
    if not places.case_counts(state.root):
        pytest.skip("case does not count here: the two directories can't be told apart")
    old = state.project("old", sessions=1)
    state.project("NEW", sessions=1)
    assert not ignores_case(state.projects)
    plan = planned(state, old.path, str(state.code / "new"))
    assert [move.kind for move in plan.projects] == ["rename"]
