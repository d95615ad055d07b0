"""The verifier sees what should not be, and then everything is put back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ccmove.claude.layout import Layout, find_layout
from ccmove.errors import CcmoveError
from ccmove.plan.model import Plan, Request
from ccmove.plan.planner import plan_move
from ccmove.rewrite import alike
from ccmove.rewrite.splice import Edit
from ccmove.run import disk as files
from ccmove.run import transaction, verifier
from ccmove.run.backups import read_ledger
from tests.support import tree
from tests.support.state import StateBuilder, encoded_name


@pytest.fixture
def layout(state: StateBuilder, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv("HOME", str(state.home))
    state.project("my-app", index=True, sessions=2, memory={"MEMORY.md": "x\n"})
    return find_layout(None, {})


def run(layout: Layout, state: StateBuilder, *, full: bool = False) -> transaction.Outcome:
    request = Request(((str(state.code / "my-app"), str(state.code / "new")),))

    def make_plan(displaced: Path) -> Plan:
        return plan_move(layout, request, read_ledger(layout), displaced)

    return transaction.run(layout, make_plan, full=full)


def sabotage_after_the_renames(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Someone interferes after the last rename and before the verification."""
    original = transaction.Run.change

    def change(self: transaction.Run) -> None:
        original(self)
        act()

    monkeypatch.setattr(transaction.Run, "change", change)


def test_nothing_wrong_is_nothing_said(layout: Layout, state: StateBuilder) -> None:
    assert run(layout, state).identifier is not None


@pytest.mark.parametrize("full", [False, True])
def test_an_index_with_a_value_too_many_is_put_back(
    layout: Layout, state: StateBuilder, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    index = state.projects / encoded_name(str(state.code / "new")) / "sessions-index.json"
    before = tree.snapshot(state.home)

    def add_a_value() -> None:
        record = json.loads(index.read_text())
        record["intruder"] = 1
        staged = index.with_name("staged")
        staged.write_text(json.dumps(record))
        staged.rename(index)

    sabotage_after_the_renames(monkeypatch, add_a_value)
    with pytest.raises(CcmoveError) as caught:
        run(layout, state, full=full)
    assert any("intruder" in line for line in caught.value.details)
    assert caught.value.exit_code == 1
    old = state.projects / encoded_name(str(state.code / "my-app")) / "sessions-index.json"
    assert json.loads(old.read_text())["intruder"] == 1  # what came later is kept
    assert json.loads(old.read_text())["originalPath"] == str(state.code / "my-app")
    differences = tree.diff(before, tree.snapshot(state.home), ignore=[".claude/ccmove"])
    assert all("sessions-index.json" in line for line in differences)


def test_a_transcript_of_another_date_is_put_back(
    layout: Layout, state: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = state.projects / encoded_name(str(state.code / "new"))

    def touch() -> None:
        os.utime(next(target.glob("*.jsonl")))

    sabotage_after_the_renames(monkeypatch, touch)
    with pytest.raises(CcmoveError) as caught:
        run(layout, state)
    assert any(".jsonl" in line for line in caught.value.details)
    assert not target.exists()


def test_only_the_full_check_sees_bytes_changed_behind_the_same_size_and_date(
    layout: Layout, state: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = state.projects / encoded_name(str(state.code / "new"))

    def flip_a_byte() -> None:
        path = next(target.glob("*.jsonl"))
        found = path.stat()
        with open(path, "r+b") as file:
            file.write(b"#")
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    sabotage_after_the_renames(monkeypatch, flip_a_byte)
    with pytest.raises(CcmoveError):
        run(layout, state, full=True)
    monkeypatch.undo()
    monkeypatch.setenv("HOME", str(state.home))
    sabotage_after_the_renames(monkeypatch, flip_a_byte)
    assert run(layout, state, full=False).identifier is not None


def test_a_history_that_is_not_the_staged_one_is_put_back(
    layout: Layout, state: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = state.history.read_bytes()

    def replace_it() -> None:
        staged = state.history.with_name("other")
        staged.write_bytes(state.history.read_bytes())
        staged.rename(state.history)

    sabotage_after_the_renames(monkeypatch, replace_it)
    with pytest.raises(CcmoveError):
        run(layout, state)
    assert state.history.read_bytes() == before


def test_a_history_staged_wrongly_never_goes_live(
    layout: Layout, state: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree.snapshot(state.home)
    write_new = files.write_new

    def short(path: Path, pieces: Any, attributes: Any = None) -> int:
        lost = list(pieces)
        if attributes is not None and len(lost) == 1 and b'"display"' in lost[0]:
            lost = [lost[0][:-1] + b" "]
        return write_new(path, lost, attributes)

    monkeypatch.setattr(files, "write_new", short)
    with pytest.raises(CcmoveError, match="history"):
        run(layout, state)
    assert tree.diff(before, tree.snapshot(state.home), ignore=[".claude/ccmove"]) == []


def test_an_index_replaced_in_a_wrong_place_never_goes_live(
    layout: Layout, state: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree.snapshot(state.home)
    replaced = alike._replaced

    def one_too_many(data: bytes, changes: Any) -> bytes:
        return replaced(data, changes).replace(b'"version": 1', b'"version": 2')

    monkeypatch.setattr(alike, "_replaced", one_too_many)
    with pytest.raises(CcmoveError) as caught:
        run(layout, state)
    assert any("version" in line for line in caught.value.details)
    assert tree.diff(before, tree.snapshot(state.home), ignore=[".claude/ccmove"]) == []


def test_of_two_alike_in_a_list_the_removed_one_is_the_removed_one() -> None:
    before, after = '{"l": ["/a", "/b", "/b"]}', '{"l": ["/b", "/c"]}'
    edits = [
        Edit("set", ("l", 0), '"/a"', '"/b"'),
        Edit("set", ("l", 1), '"/b"', '"/c"'),
        Edit("remove", ("l", 2), '"/b"', None),
    ]
    assert list(verifier.json_problems(before, after, edits)) == []
    assert list(verifier.json_problems(before, '{"l": ["/c", "/b"]}', edits)) != []


def test_items_are_removed_by_where_they_were() -> None:
    before, after = '{"l": [1, [2, 3], 4, [5, 6]]}', '{"l": [[2], [6, 7]]}'
    edits = [
        Edit("remove", ("l", 0), "1", None),
        Edit("remove", ("l", 1, 1), "3", None),
        Edit("remove", ("l", 2), "4", None),
        Edit("remove", ("l", 3, 0), "5", None),
        Edit("add", ("l", 3, 2), None, "7"),
    ]
    assert list(verifier.json_problems(before, after, edits)) == []


BEFORE = '{"a": {"p": "/old", "n": 1.10}, "l": ["x", "/old"], "d": 1}'


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        (Edit("set", ("a", "p"), '"/old"', '"/new"'), BEFORE.replace('"p": "/old"', '"p": "/new"')),
        (Edit("set", ("l", 1), '"/old"', '"/new"'), BEFORE.replace(', "/old"]', ', "/new"]')),
        (Edit("key", ("a",), '"a"', '"b"'), BEFORE.replace('"a":', '"b":')),
        (Edit("remove", ("d",), "1", None), BEFORE.replace(', "d": 1', "")),
        (Edit("add", ("e",), None, "[2]"), BEFORE.replace('"d": 1', '"d": 1, "e": [2]')),
        (Edit("add", ("l", 2), None, '"z"'), BEFORE.replace('"/old"]', '"/old", "z"]')),
        (Edit("remove", ("l", 0), '"x"', None), BEFORE.replace('"x", ', "")),
    ],
)
def test_a_planned_edit_explains_its_own_difference_and_no_other(edit: Edit, after: str) -> None:
    assert list(verifier.json_problems(BEFORE, after, [edit])) == []
    assert list(verifier.json_problems(BEFORE, after, [edit], full=True)) == []
    assert list(verifier.json_problems(BEFORE, after, [])) != []
    assert list(verifier.json_problems(BEFORE, BEFORE, [edit])) != []
    assert list(verifier.json_problems(BEFORE, after.replace("1.10", "1.1"), [edit])) != []
