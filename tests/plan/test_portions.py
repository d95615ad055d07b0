"""What a move takes of each directory, in which way, as a table.

Each project has one session, unless something else is said of it. `my-app`, `my_app`
and `my/app` have one directory.
"""

from dataclasses import dataclass

import pytest

from ccmove.claude.layout import Layout
from ccmove.claude.owners import Ledger
from ccmove.plan.model import Plan, Rename, Request
from ccmove.plan.planner import plan_move
from tests.support.state import StateBuilder, encoded_name

Row = tuple[str, str, str, int]  # path, new path, kind, sessions


@dataclass(frozen=True)
class Case:
    """Projects with one session each, the moves, and what is planned."""

    projects: str  # `+` after a path: its folder is there
    moves: str
    planned: tuple[Row, ...]
    without_sessions: str = ""
    only: bool = False


CASES = {
    "a rename": Case("old", "old>new", (("old", "new", "rename", 1),)),
    "what is below goes, too": Case(
        "old old/sub",
        "old>new",
        (("old", "new", "rename", 1), ("old/sub", "new/sub", "rename", 1)),
    ),
    "with --only it stays": Case(
        "old old/sub", "old>new", (("old", "new", "rename", 1),), only=True
    ),
    "a name that only begins alike is another project": Case(
        "old old-2", "old>new", (("old", "new", "rename", 1),)
    ),
    "NEW has sessions": Case("old new+", "old>new", (("old", "new", "merge", 1),)),
    "NEW has an empty directory": Case(
        "old", "old>new", (("old", "new", "merge", 1),), without_sessions="new+"
    ),
    "two come to one": Case(
        "one two",
        "one>new two>new",
        (("one", "new", "rename", 1), ("two", "new", "merge", 1)),
    ),
    "a swap": Case(
        "one+ two+",
        "one>two two>one",
        (("one", "two", "rename", 1), ("two", "one", "rename", 1)),
    ),
    "a chain": Case(
        "one+ two",
        "one>two two>new",
        (("one", "two", "rename", 1), ("two", "new", "rename", 1)),
    ),
    "OLD and NEW have one directory": Case(
        "my-app", "my-app>my_app", (("my-app", "my_app", "same", 1),)
    ),
    "a living twin keeps what is its own": Case(
        "my-app my_app+", "my-app>new", (("my-app", "new", "split", 1),)
    ),
    "a twin whose folder is gone comes along": Case(
        "my-app my_app",
        "my-app>new",
        (("my-app", "new", "rename", 1), ("my_app", "new", "rename", 1)),
    ),
    "twins that go to one directory stay together": Case(
        "in/my-app in/my_app",
        "in>out",
        (
            ("in/my-app", "out/my-app", "rename", 1),
            ("in/my_app", "out/my_app", "rename", 1),
        ),
    ),
    "twins that part": Case(
        "my-app my_app",
        "my-app>one my_app>two",
        (("my-app", "one", "split", 1), ("my_app", "two", "split", 1)),
    ),
    "a part comes to what is there": Case(
        "my-app my_app+ new+", "my-app>new", (("my-app", "new", "split", 1),)
    ),
    "of twins one stays in the directory": Case(
        "my-app my_app+ my/app",
        "my-app>my.app my/app>new",
        (("my-app", "my.app", "same", 1), ("my/app", "new", "split", 1)),
    ),
}


def make(state: StateBuilder, projects: str, sessions: int) -> None:
    for word in projects.split():
        path = word.removesuffix("+")
        handle = state.project(path, sessions=sessions, make_folder=word != path)
        handle.directory.mkdir(exist_ok=True)


def plan_of(state: StateBuilder, case: Case) -> Plan:
    make(state, case.projects, 1)
    make(state, case.without_sessions, 0)
    moves = []
    for word in case.moves.split():
        old, new = word.split(">")
        moves.append((str(state.code / old), str(state.code / new)))
    layout = Layout(state.config_dir, state.config_file, state.home)
    request = Request(tuple(moves), only=case.only, merge=True)
    return plan_move(layout, request, Ledger())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_each_portion_goes_to_the_directory_of_its_new_path(
    state: StateBuilder, case: Case
) -> None:
    plan = plan_of(state, case)
    base = f"{state.code}/"
    rows = []
    for move in plan.projects:
        old = move.path.removeprefix(base)
        new = move.new_path.removeprefix(base)
        rows.append((old, new, move.kind, move.transcripts))
        assert move.source == encoded_name(move.path)
        assert move.target == encoded_name(move.new_path)
    assert sorted(rows) == sorted(case.planned)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_only_a_whole_directory_is_one_rename(state: StateBuilder, case: Case) -> None:
    plan = plan_of(state, case)
    ways = dict(plan.moved)
    for move in plan.projects:
        source = state.projects / move.source
        target = state.projects / move.target
        assert (ways.get(source) == target) == (move.kind == "rename")
        for name in move.entries:
            is_alone = (source / name) in ways
            assert is_alone == (move.kind in ("merge", "split"))


def test_a_swap_steps_aside_once(state: StateBuilder) -> None:
    plan = plan_of(state, CASES["a swap"])
    renames = [op for op in plan.operations if isinstance(op, Rename)]
    parked = [op for op in renames if op.target.parent.name == "parked"]
    assert (len(renames), len(parked)) == (3, 1)
