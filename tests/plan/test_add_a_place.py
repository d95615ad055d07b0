"""The example of CONTRIBUTING.md, executed: two snippets teach ccmove a new place."""

import errno
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ccmove.plan import files
from ccmove.rewrite import settings
from ccmove.run import disk, transaction
from tests.output.inprocess import Run, run
from tests.shapes.bench import in_json
from tests.support.run import Completed
from tests.support.state import StateBuilder
from tests.support.tree import Tree, diff, snapshot

__all__ = ["run"]  # a fixture

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
FUNCTION, ROW = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
TEXT = '{"bookmarks": [{"folder": "%s/src",  "n": 1.10}, {"folder": "/elsewhere"}]}\n'


def text(folder: Path) -> str:
    return TEXT % in_json(str(folder))


@pytest.fixture
def old(state: StateBuilder) -> Path:
    state.project("old")
    (state.code / "new").mkdir()
    return state.code / "old"


@pytest.fixture
def new(state: StateBuilder) -> Path:
    return state.code / "new"


@pytest.fixture
def file(state: StateBuilder, old: Path) -> Path:
    path = state.config_dir / "bookmarks/work/list.json"
    path.parent.mkdir(parents=True)
    path.write_text(text(old))
    return path


@pytest.fixture
def book(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same file, now that ccmove was taught its place."""
    made: dict[str, Any] = {}
    exec(FUNCTION, vars(settings), made)
    monkeypatch.setattr(settings, "bookmarks", made["bookmarks"], raising=False)
    files.PLACES.append(eval(ROW, vars(files)))
    yield file
    files.PLACES.pop()


def users(state: StateBuilder) -> Tree:
    """All but what is ccmove's own."""
    found = snapshot(state.home)
    return {
        name: entry for name, entry in found.items() if ".claude/ccmove" not in name
    }


def assert_as_it_was(before: Tree, state: StateBuilder, failed: Completed) -> None:
    assert failed.exit == 1, failed
    assert diff(before, users(state)) == []


def test_a_file_there_is_previewed_moved_and_restored_to_the_byte(
    run: Run, state: StateBuilder, old: Path, new: Path, book: Path
) -> None:
    before = users(state)
    preview = run("-n", "--json", old, new).json()
    assert book.read_text() == text(old)
    (change,) = [change for change in preview["changes"] if change["file"] == str(book)]
    assert (change["before"], change["after"]) == (f"{old}/src", f"{new}/src")
    moved = run("--json", old, new)
    assert moved.exit == 0, moved
    assert book.read_text() == text(new)
    assert str(book) not in str(moved.json()["to_do"])
    assert run("restore").exit == 0
    assert diff(before, users(state)) == []


def test_its_new_content_is_verified_before_it_goes_live(
    run: Run,
    state: StateBuilder,
    old: Path,
    new: Path,
    book: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_new = disk.write_new

    def spoiled(path: Path, pieces: Iterable[bytes], *rest: Any) -> None:
        is_staged = path.parent == book.parent
        write_new(path, [b"{}"] if is_staged else pieces, *rest)

    monkeypatch.setattr(disk, "write_new", spoiled)
    before = users(state)
    failed = run(old, new)
    assert_as_it_was(before, state, failed)
    assert "not what was planned" in failed.err


def test_what_came_since_is_kept_by_a_restore(
    run: Run, old: Path, new: Path, book: Path
) -> None:
    assert run(old, new).exit == 0
    book.write_text(book.read_text().replace("1.10", "2"))
    assert run("restore").exit == 0
    assert book.read_text() == (text(old)).replace("1.10", "2")


def fail(*_: object) -> None:
    raise OSError(errno.EIO, "planted")


def test_it_is_rolled_back_when_the_run_fails_later(
    run: Run,
    state: StateBuilder,
    old: Path,
    new: Path,
    book: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, seen = users(state), []

    def failing(*_: object) -> None:
        seen.append(book.read_text())
        fail()

    monkeypatch.setattr(transaction.Work, "verify", failing)
    assert_as_it_was(before, state, run(old, new))
    assert seen == [text(new)]


def test_it_is_rolled_back_from_the_disk_alone(
    run: Run, state: StateBuilder, old: Path, new: Path, book: Path
) -> None:
    before = users(state)
    with pytest.MonkeyPatch.context() as dying:
        dying.setattr(transaction.Work, "verify", fail)
        dying.setattr(transaction, "_roll_back", lambda *_: None)
        assert run(old, new).exit != 0
    assert book.read_text() == text(new)
    assert run("recover").exit == 0
    assert diff(before, users(state)) == []


def test_control_without_the_row_it_is_left_alone(
    run: Run, state: StateBuilder, old: Path, new: Path, file: Path
) -> None:
    moved = run("--json", old, new)
    assert moved.exit == 0, moved
    assert file.read_text() == text(old)


def test_control_without_the_row_no_backup_may_name_it(
    run: Run, old: Path, new: Path, book: Path
) -> None:
    assert run(old, new).exit == 0
    row = files.PLACES.pop()
    refused = run("restore")
    files.PLACES.append(row)
    assert refused.exit == 4, refused
    assert book.read_text() == text(new)
