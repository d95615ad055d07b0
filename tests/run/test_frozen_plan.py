"""A plan is data: no run changes one, whatever it does.

Every object in a plan is hashed deeply before a run and after it, also where the run is
rolled back, and where it has to carry over what the history grew by.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from ccmove.claude.layout import Layout
from ccmove.plan.model import Plan, WriteHistory
from ccmove.run import transaction, verify
from tests.support import seams
from tests.support.state import StateBuilder


def deep_hash(value: object) -> str:
    """Of a value and of all that is in it; of what can't change its name is enough."""
    parts = [type(value).__name__, *parts_of(value)]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()


def parts_of(value: object) -> Iterator[str]:
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield field.name
            yield deep_hash(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield deep_hash(key)
            yield deep_hash(item)
    elif isinstance(value, Set):
        yield from sorted(deep_hash(item) for item in value)
    elif isinstance(value, tuple | list):
        yield from map(deep_hash, value)
    elif hasattr(value, "hexdigest"):
        yield value.hexdigest()
    elif isinstance(value, str | bytes | bytearray | int | float | Path | None):
        yield repr(value)
    else:
        raise TypeError(f"{value!r} is not data")


class Watch:
    """Hashes the plan of each attempt before and after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plans: list[Plan] = []
        attempt = transaction.attempt

        def watched(work: transaction.Work, *arguments: object) -> None:
            before = deep_hash(work.plan)
            self.plans.append(work.plan)
            try:
                attempt(work, *arguments)  # type: ignore[arg-type]
            finally:
                assert deep_hash(work.plan) == before

        monkeypatch.setattr(transaction, "attempt", watched)


@pytest.fixture
def watch(state: StateBuilder, monkeypatch: pytest.MonkeyPatch) -> Watch:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(state.home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return Watch(monkeypatch)


@pytest.fixture
def names(state: StateBuilder) -> tuple[str, str]:
    """OLD, whose folder is gone, and NEW, with sessions and notes of its own."""
    state.project("old", sessions=2, memory={"MEMORY.md": "- old\n", "a.md": "old\n"})
    state.project("new", sessions=1, memory={"MEMORY.md": "- new\n", "a.md": "new\n"})
    (state.code / "new").mkdir(parents=True, exist_ok=True)
    return str(state.code / "old"), str(state.code / "new")


def prompt(path: str) -> bytes:
    record = {"display": "late", "pastedContents": {}, "timestamp": 1, "project": path}
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


def test_a_merge_and_its_undo_change_no_plan(
    watch: Watch, names: tuple[str, str]
) -> None:
    assert seams.exit_code_of(["--yes", "--merge", *names]) == 0
    assert seams.exit_code_of(["undo"]) == 0
    assert [plan.kind for plan in watch.plans] == ["move", "undo"]
    assert any(isinstance(op, WriteHistory) for op in watch.plans[0].operations)


def test_a_plain_move_changes_no_plan(watch: Watch, state: StateBuilder) -> None:
    state.project("old", sessions=2)
    (state.code / "third").mkdir(parents=True)
    pair = [str(state.code / "old"), str(state.code / "third")]
    assert seams.exit_code_of(["--yes", *pair]) == 0
    assert len(watch.plans) == 1


def test_a_history_that_grows_changes_no_plan(
    watch: Watch,
    names: tuple[str, str],
    state: StateBuilder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commit = transaction.Work.commit
    grown: list[bytes] = []

    def grow_once(work: transaction.Work) -> None:
        commit(work)
        if not grown:
            grown.append(prompt(names[0]))
            with state.history.open("ab") as history:
                history.write(grown[0])

    monkeypatch.setattr(transaction.Work, "commit", grow_once)
    assert seams.exit_code_of(["--yes", "--merge", *names]) == 0
    assert len(watch.plans) == 1
    assert state.history.read_bytes().endswith(prompt(names[1]))


def test_a_run_that_is_rolled_back_changes_no_plan(
    watch: Watch, names: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object) -> list[str]:
        return ["something is not as planned"]

    monkeypatch.setattr(verify, "check", wrong)
    assert seams.exit_code_of(["--yes", "--merge", *names]) == 1
    assert len(watch.plans) == 1


def test_control_a_change_deep_in_a_plan_is_seen(
    names: tuple[str, str], state: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_again = transaction.Work.look_again

    def meddle(work: transaction.Work) -> None:
        assert work.plan.history is not None
        work.plan.history.scan.met.append(b"x")
        look_again(work)

    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(state.home))
    monkeypatch.setattr(transaction.Work, "look_again", meddle)
    Watch(monkeypatch)
    assert seams.exit_code_of(["--yes", "--merge", *names]) != 0


def test_the_layout_is_hashed_by_value() -> None:
    """The control of the control: equal values have one hash, others another."""
    one, two, three = (
        Layout(Path(f"/h/{name}"), Path("/h/c"), Path("/h")) for name in "aab"
    )
    assert deep_hash(one) == deep_hash(two)
    assert deep_hash(one) != deep_hash(three)
