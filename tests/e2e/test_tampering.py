"""Manifests, journals and saved files are data, not orders: a changed one is refused untouched."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ccmove.run.manifest import _checksum
from tests.support import tree
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder

Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def moved(state: StateBuilder) -> StateBuilder:
    """A state after one move, with its backup."""
    state.project("my-app", index=True)
    (state.code / "new").mkdir(parents=True)
    assert run_ccmove(state.code / "my-app", state.code / "new", state=state).exit == 0
    return state


def manifest_of(state: StateBuilder) -> Path:
    return next((state.config_dir / "ccmove" / "backups").glob("*/manifest.json"))


def refused(state: StateBuilder) -> str:
    """Restoring is refused, and not a byte of the state is other than before."""
    before = tree.snapshot(state.root)
    done = run_ccmove("restore", manifest_of(state).parent.name, state=state)
    assert done.exit == 4, done.out
    differences = tree.diff(before, tree.snapshot(state.root), mtimes="all", inodes="all")
    assert [line for line in differences if "ccmove/lock" not in line] == []
    return done.err


def rewrite(path: Path, change: Change, *, sign: bool) -> None:
    record = json.loads(path.read_text())
    change(record)
    if sign:
        record["checksum"] = _checksum(record)
    path.write_text(json.dumps(record))


def test_a_changed_manifest_is_refused(moved: StateBuilder) -> None:
    rewrite(manifest_of(moved), lambda record: record.update(created="now"), sign=False)
    assert "changed" in refused(moved)


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_an_unknown_version_is_refused(moved: StateBuilder, version: object) -> None:
    rewrite(manifest_of(moved), lambda record: record.update(schema=version), sign=True)
    assert "version" in refused(moved)


OUTSIDE = ["/etc/passwd", "$C/../outside", "$C//etc/passwd", "../x", "$C/a/../../x", "", "x\0y", 7]


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("field", ["path", "target"])
def test_a_step_that_leads_outside_is_refused(
    moved: StateBuilder, field: str, path: object
) -> None:
    def change(record: dict[str, Any]) -> None:
        record["steps"][0][field] = path

    rewrite(manifest_of(moved), change, sign=True)
    refused(moved)


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("field", ["path", "ends"])
def test_a_file_outside_is_refused(moved: StateBuilder, field: str, path: object) -> None:
    def change(record: dict[str, Any]) -> None:
        record["files"][0][field] = path

    rewrite(manifest_of(moved), change, sign=True)
    refused(moved)


@pytest.mark.parametrize("name", ["files/../../lock", "/etc/passwd", "files/x", "files/0/1", 5])
def test_a_saved_file_elsewhere_is_refused(moved: StateBuilder, name: object) -> None:
    def change(record: dict[str, Any]) -> None:
        record["files"][0]["saved"] = name

    rewrite(manifest_of(moved), change, sign=True)
    refused(moved)


def test_a_manifest_of_another_backup_is_refused(moved: StateBuilder) -> None:
    other = "20200101T000000Z-0000"
    rewrite(manifest_of(moved), lambda record: record.update(id=other), sign=True)
    assert other in refused(moved)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema":1}', "[" * 100_000])
def test_garbage_instead_of_a_manifest_is_refused(moved: StateBuilder, text: str) -> None:
    manifest_of(moved).write_text(text)
    refused(moved)


def test_a_changed_saved_file_is_refused(moved: StateBuilder) -> None:
    saved = manifest_of(moved).parent / "files" / "0"
    saved.write_bytes(saved.read_bytes() + b" ")
    assert str(saved) in refused(moved)


def test_a_missing_saved_file_is_refused(moved: StateBuilder) -> None:
    (manifest_of(moved).parent / "files" / "0").unlink()
    refused(moved)


def test_a_link_instead_of_a_saved_file_is_refused(moved: StateBuilder, tmp_path: Path) -> None:
    saved = manifest_of(moved).parent / "files" / "0"
    saved.rename(tmp_path / "elsewhere")
    saved.symlink_to(tmp_path / "elsewhere")
    refused(moved)


@pytest.mark.parametrize(
    "identifier", ["../x", "20261116T004112Z", "x", "-x", "20261116T004112Z-zzzz"]
)
def test_what_is_no_id_is_wrong_usage(moved: StateBuilder, identifier: str) -> None:
    assert run_ccmove("restore", "--", identifier, state=moved).exit == 2


def test_an_unknown_id_is_nothing(moved: StateBuilder) -> None:
    assert run_ccmove("restore", "20200101T000000Z-0000", state=moved).exit == 3


SOME_ID = "20200101T000000Z-0000"
EMPTY = {"schema": 1, "id": SOME_ID, "mark": 1, "locks": [], "staged": [], "manifest": None}
JOURNALS = [
    "",
    "{",
    "[]",
    json.dumps(EMPTY | {"schema": 9}),
    json.dumps(EMPTY | {"id": "../.."}),
    json.dumps(EMPTY | {"locks": ["/etc"]}),
    json.dumps(EMPTY | {"staged": ["/etc/passwd"]}),
    json.dumps(EMPTY | {"staged": [f"$C/../.ccmove-{SOME_ID}-1"]}),
]


@pytest.mark.parametrize("text", JOURNALS)
def test_a_journal_that_can_not_be_trusted_is_exit_5_and_nothing_is_touched(
    moved: StateBuilder, text: str
) -> None:
    journal = moved.config_dir / "ccmove" / "journal.json"
    journal.write_text(text)
    before = tree.snapshot(moved.root)
    for command in (
        ["recover"],
        ["restore"],
        [str(moved.code / "my-app"), str(moved.code / "new")],
    ):
        done = run_ccmove(*command, state=moved)
        assert done.exit == 5, (command, done)
        assert str(journal) in done.err
    assert tree.diff(before, tree.snapshot(moved.root)) == []


def test_a_backup_is_not_taken_back_twice(moved: StateBuilder) -> None:
    identifier = manifest_of(moved).parent.name
    assert run_ccmove("restore", identifier, state=moved).exit == 0
    done = run_ccmove("restore", identifier, state=moved)
    assert done.exit == 4
    assert "already" in done.err


def test_pruning_keeps_the_newest(moved: StateBuilder) -> None:
    for names in (("new", "third"), ("third", "fourth")):
        old, new = (moved.code / name for name in names)
        old.rename(new)
        assert run_ccmove(old, new, state=moved).exit == 0
    assert run_ccmove("backups", "--prune", state=moved).exit == 2
    assert run_ccmove("backups", "--prune", "--older-than", "1d", state=moved).exit == 0
    assert len(run_ccmove("backups", "--json", state=moved).json()["backups"]) == 3
    assert run_ccmove("backups", "--prune", "--keep", "1", state=moved).exit == 0
    (left,) = run_ccmove("backups", "--json", state=moved).json()["backups"]
    assert left["moves"][0]["new"] == str(moved.code / "fourth")
    assert run_ccmove("restore", state=moved).exit == 0
