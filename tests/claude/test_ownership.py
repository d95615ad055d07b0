"""The planner and `list` give the same answer to the question whose a session is."""

import itertools

import pytest

from ccmove.claude.layout import Layout, find_layout
from ccmove.claude.ownership import Ledger, cases_of_moves
from ccmove.claude.state import State
from ccmove.inspect.survey import Survey
from ccmove.plan.shares import Portion, portions_of
from ccmove.rewrite.pathmap import PathMap
from tests.support.state import StateBuilder

SHARING = ("my-app", "my_app", "my/app")  # one directory for all of them
FATES = ("absent", "gone", "there")


def found_portions(
    layout: Layout, paths: PathMap, prompts: list[str], ledger: Ledger
) -> list[Portion]:
    cases = cases_of_moves(State(layout), paths, prompts, ledger)
    return [portion for case in cases for portion in portions_of(case)]


@pytest.mark.parametrize(
    "fates", list(itertools.product(FATES, repeat=3)), ids=" ".join
)
def test_a_move_takes_what_list_tells_of(
    state: StateBuilder, fates: tuple[str, str, str]
) -> None:
    sessions = {}
    for number, (name, fate) in enumerate(zip(SHARING, fates, strict=True), 1):
        if fate != "absent":
            handle = state.project(name, sessions=number, make_folder=fate == "there")
            sessions[handle.path] = number
    layout = find_layout(str(state.config_dir), {})
    known = {path: project.sessions for path, project in Survey(layout).by_path.items()}
    assert known == sessions
    living = {
        str(state.code / n)
        for n, fate in zip(SHARING, fates, strict=True)
        if fate == "there"
    }
    for path, own in known.items():
        paths = PathMap(((path, str(state.code / "new")),))
        portions = found_portions(layout, paths, [path], Ledger())
        taken = sum(
            e.endswith(".jsonl") for portion in portions for e in portion.entries
        )
        # Where nobody living has a claim beside it, those whose folder is gone come
        # along.
        assert taken == (own if living - {path} else sum(sessions.values()))
        assert all(
            (portion.kind == "rename") == (not living - {path}) for portion in portions
        )


@pytest.mark.parametrize("listed", ["config", "prompts", "both"])
def test_a_stale_entry_keeps_nothing_in_a_directory(
    state: StateBuilder, listed: str
) -> None:
    app = state.project("my-app", make_folder=True)
    if listed != "prompts":
        state.project("my_app", sessions=0, prompts=0)
    if listed != "config":
        state.add_prompt("my_app", "hello")
    layout = find_layout(str(state.config_dir), {})
    (directory,) = Survey(layout).directories.values()
    assert directory.claims == (app.path,)
    paths = PathMap(((app.path, str(state.code / "new")),))
    (portion,) = found_portions(layout, paths, [app.path], Ledger())
    assert portion.kind == "rename"


def test_our_own_move_says_whose_a_session_is(state: StateBuilder) -> None:
    app = state.project("my-app", sessions=2, make_folder=True)
    other = str(state.code / "my_app")
    ledger = Ledger({(app.name, app.transcripts[0].name): other}, {app.name: {other}})
    layout = find_layout(str(state.config_dir), {})
    paths = PathMap(((other, str(state.code / "new")),))
    (portion,) = found_portions(layout, paths, [], ledger)
    assert app.transcripts[0].name in portion.entries
    assert app.transcripts[1].name not in portion.entries
