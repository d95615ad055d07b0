"""What a file system with APFS's idea of names does; skipped where the tests are on
another one.
"""

import os
import shlex
from pathlib import Path

import pytest

from tests.crash import places
from tests.shapes.bench import Bench, directory_of
from tests.support.state import StateBuilder


@pytest.fixture
def state(tmp_path: Path) -> StateBuilder:
    if places.case_counts(tmp_path):
        assert places.HERE not in os.environ, (
            "that place is not a file system of this kind"
        )
        pytest.skip(
            "names differ by case here; `make test-apfs` has a place where they don't"
        )
    return StateBuilder(tmp_path / "root")


def test_names_are_kept_as_they_were_given(state: StateBuilder) -> None:
    for name in ("Straße", "cafe\u0301", "Foo"):
        (state.code / name).mkdir()
    assert sorted(os.listdir(state.code)) == ["Foo", "Straße", "cafe\u0301"]
    assert (state.code / "CAF\u00c9").is_dir()


@pytest.mark.parametrize(
    ("old", "new"),
    [("my-app", "My-App"), ("caf\u00e9", "cafe\u0301")],
    ids=["case", "form"],
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


@pytest.mark.parametrize(
    ("spelled", "on_disk"),
    [
        ("My-App", "my-app"),
        ("caf\u00e9", "cafe\u0301"),
        ("cafe\u0301", "caf\u00e9"),
    ],
    ids=["case", "NFC", "NFD"],
)
def test_two_spellings_of_one_folder_are_found_and_merged(
    state: StateBuilder, spelled: str, on_disk: str
) -> None:
    bench = Bench(state)
    real = state.project(on_disk, sessions=1, make_folder=True)
    other = state.project(spelled, sessions=1)
    has_one = os.path.samefile(real.directory, other.directory)
    (twins,) = bench.run("doctor", "--json").json()["findings"]
    how = "in another spelling (case, Unicode form or slashes)"
    assert twins["what"] == f"the same folder as {real.path}, {how}"
    _, *words = shlex.split(twins["command"])
    assert words == [other.path, real.path]
    done = bench.run(*words)
    assert done.exit == 0
    assert f"{2 if has_one else 1} session" in done.out
    assert (
        "Merged" in done.out
    ) != has_one  # nothing to merge where both have had one directory
    assert bench.run("doctor").exit == 0
    assert [
        key for key in state.config()["projects"] if key in (real.path, other.path)
    ] == [real.path]
    names = {path.name for path in real.directory.glob("*.jsonl")}
    assert {
        f"{session}.jsonl" for session in (*real.sessions, *other.sessions)
    } <= names


@pytest.mark.parametrize(
    ("known", "typed"),
    [("My-App", "my-app"), ("caf\u00e9", "cafe\u0301"), ("cafe\u0301", "caf\u00e9")],
    ids=["case", "NFD", "NFC"],
)
def test_where_takes_every_spelling_of_a_folder(
    state: StateBuilder, known: str, typed: str
) -> None:
    project = state.project(known, make_folder=True)
    record = Bench(state).run("where", "--json", state.code / typed).json()
    assert (record["status"], record["path"]) == ("ok", project.path)
    assert (record["directory"], record["sessions"]) == (str(project.directory), 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [("Plan.md", "plan.md"), ("caf\u00e9.md", "cafe\u0301.md")],
    ids=["case", "form"],
)
def test_two_notes_whose_names_are_one_here_both_stay(
    state: StateBuilder, old: str, new: str
) -> None:
    bench = Bench(state)
    state.project("old", sessions=1, memory={old: "old\n"})
    memory = {new: "new\n", f"{Path(new).stem} (from OLD).md": "taken\n"}
    project = state.project("new", sessions=1, memory=memory, make_folder=True)
    before = bench.tree()
    bench.ok(state.code / "old", project.path)
    texts = {path.name: path.read_text() for path in project.memory.iterdir()}
    beside = f"{Path(old).stem} (from old 2).md"
    assert texts == {**memory, beside: "old\n"}
    bench.restore()
    bench.expect(before)
