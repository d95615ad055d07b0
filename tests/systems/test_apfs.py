"""What a file system with APFS's idea of names does; skipped where the tests are on another one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.crash import places
from tests.shapes.bench import Bench, directory_of
from tests.support.state import StateBuilder


@pytest.fixture
def state(tmp_path: Path) -> StateBuilder:
    (tmp_path / "Name").touch()
    if not (tmp_path / "name").exists():
        assert places.HERE not in os.environ, "that place is not a file system of this kind"
        pytest.skip("names differ by case here; `make test-apfs` has a place where they don't")
    return StateBuilder(tmp_path / "root")


def test_names_are_kept_as_they_were_given(state: StateBuilder) -> None:
    for name in ("Straße", "cafe\u0301", "Foo"):
        (state.code / name).mkdir()
    assert sorted(os.listdir(state.code)) == ["Foo", "Straße", "cafe\u0301"]
    assert (state.code / "CAF\u00c9").is_dir()


@pytest.mark.parametrize(
    ("old", "new"), [("my-app", "My-App"), ("caf\u00e9", "cafe\u0301")], ids=["case", "form"]
)
def test_a_folder_that_only_changes_its_spelling_is_moved_and_comes_back(
    state: StateBuilder, old: str, new: str
) -> None:
    bench = Bench(state)
    project = state.project(old, index=True, make_folder=True)
    before = bench.tree()
    bench.ok("--move-folder", project.path, state.code / new)
    assert os.listdir(state.code) == [new]
    assert str(state.code / new) in state.config()["projects"]
    assert directory_of(state, state.code / new).is_dir()
    bench.restore()
    bench.expect(before)


def test_two_spellings_of_one_folder_are_found_and_merged(state: StateBuilder) -> None:
    bench = Bench(state)
    real = state.project("my-app", sessions=1, make_folder=True)
    other = state.project("My-App", sessions=1)
    found = bench.run("doctor", "--json").json()["findings"]
    (twins,) = [row for row in found if other.path in row["command"]]
    assert real.path in twins["command"]
    bench.ok(other.path, real.path)
    assert [key for key in state.config()["projects"] if key.lower() == real.path.lower()] == [
        real.path
    ]
    names = {path.name for path in real.directory.glob("*.jsonl")}
    assert {f"{session}.jsonl" for session in (*real.sessions, *other.sessions)} <= names
