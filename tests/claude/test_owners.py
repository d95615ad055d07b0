"""One table says whose a directory and a session are; the planner and `list` read it."""

import itertools
from dataclasses import dataclass, field

import pytest

from ccmove.claude.layout import Layout
from ccmove.claude.owners import Holding, Ledger, Owners, folder_exists, listed_in
from ccmove.claude.state import State
from ccmove.inspect.survey import Survey
from ccmove.plan.model import ProjectMove
from ccmove.plan.portions import portions_of
from ccmove.rewrite.pathmap import PathMap
from tests.support.state import StateBuilder, encoded_name

SHARING = ("my-app", "my_app", "my/app")  # one directory for all of them
FATES = ("absent", "gone", "there")


def layout_of(state: StateBuilder) -> Layout:
    return Layout(state.config_dir, state.config_file, state.home)


def found_portions(
    layout: Layout, paths: PathMap, prompts: list[str], ledger: Ledger
) -> list[ProjectMove]:
    state = State(layout)
    owners = Owners(state, ledger, paths, listed_in(prompts, state.config_paths))
    holdings = owners.concerned()
    return [portion.move for holding in holdings for portion in portions_of(holding)]


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
    layout = layout_of(state)
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
    layout = layout_of(state)
    (holding,) = Survey(layout).directories.values()
    assert holding.ranked == (app.path,)
    paths = PathMap(((app.path, str(state.code / "new")),))
    (portion,) = found_portions(layout, paths, [app.path], Ledger())
    assert portion.kind == "rename"


def test_our_own_move_says_whose_a_session_is(state: StateBuilder) -> None:
    app = state.project("my-app", sessions=2, make_folder=True)
    other = str(state.code / "my_app")
    ledger = Ledger({(app.name, app.transcripts[0].name): other}, {app.name: {other}})
    layout = layout_of(state)
    paths = PathMap(((other, str(state.code / "new")),))
    (portion,) = found_portions(layout, paths, [], ledger)
    assert app.transcripts[0].name in portion.entries
    assert app.transcripts[1].name not in portion.entries


@dataclass(frozen=True)
class Row:
    """One directory, shared by `my-app`, `my_app` and `my/app`, and whose it is."""

    sessions: tuple[str, ...]  # the paths that they name, in this order
    owners: tuple[str | None, ...]  # whose each session is then
    claims: tuple[str, ...]
    listed: tuple[str, ...] = ()  # in the config file
    there: tuple[str, ...] = ()  # folders that exist
    asked: tuple[str, ...] = ()  # OLD and NEW of a move
    moved: dict[int, str] = field(default_factory=dict)  # sessions that we brought


ROWS = {
    "a session is its path's": Row(("my-app",), ("my-app",), ("my-app",)),
    "one of elsewhere is the only claimant's": Row(
        ("my-app", "far"), ("my-app", "my-app"), ("my-app",)
    ),
    "with two claimants it is nobody's": Row(
        ("my-app", "my_app", "far"), ("my-app", "my_app", None), ("my-app", "my_app")
    ),
    "also if one of the two is gone": Row(
        ("my-app", "my_app", "far"),
        ("my-app", "my_app", None),
        ("my-app", "my_app"),
        there=("my-app",),
    ),
    "our own move says whose it is": Row(
        ("my-app", "far"),
        ("my-app", "my_app"),
        ("my-app", "my_app"),
        moved={1: "my_app"},
    ),
    "who is only listed takes nothing from sessions": Row(
        ("my-app", "far"),
        ("my-app", "my-app"),
        ("my-app",),
        listed=("my_app",),
        there=("my_app",),
    ),
    "without sessions of its own it is who is listed": Row(
        ("far",), ("my_app",), ("my_app",), listed=("my_app",), there=("my_app",)
    ),
    "a stale entry is better than nothing": Row(
        ("far",), ("my_app",), ("my_app",), listed=("my_app",)
    ),
    "a folder that is there goes before a stale entry": Row(
        ("far",),
        ("my_app",),
        ("my_app",),
        listed=("my-app", "my_app"),
        there=("my_app",),
    ),
    "who asks by name goes before a stale entry": Row(
        ("far",), ("my-app",), ("my-app",), listed=("my_app",), asked=("my-app", "new")
    ),
    "a list goes before who asks by name": Row(
        ("far",),
        ("my_app",),
        ("my_app",),
        listed=("my_app",),
        there=("my_app",),
        asked=("my-app", "new"),
    ),
    "NEW asks by name, too": Row(
        ("far",), ("my-app",), ("my-app",), asked=("old", "my-app")
    ),
    "the one folder of the name": Row(
        ("far",), ("my_app",), ("my_app",), there=("my_app",)
    ),
    "two folders of the name": Row(("far",), (None,), (), there=("my_app", "my-app")),
    "nothing says anything": Row(("far",), (None,), ()),
}


def holding_of(state: StateBuilder, row: Row) -> tuple[Holding, list[str]]:
    """The directory of the row in the table, and its sessions in the row's order."""
    directory = state.projects / encoded_name(str(state.code / "my-app"))
    names = []
    for named in row.sessions:
        session = state.add_session(named, directory=directory)
        names.append(f"{session}.jsonl")
    for path in row.listed:
        state.project(path, sessions=0, prompts=0)
    for path in row.there:
        (state.code / path).mkdir(parents=True)
    brought = {
        (directory.name, names[number]): str(state.code / path)
        for number, path in row.moved.items()
    }
    layout = layout_of(state)
    asked = tuple(str(state.code / path) for path in row.asked)
    paths = PathMap((asked,) if len(asked) == 2 else ())
    look = State(layout)
    listed = listed_in((), look.config_paths)
    owners = Owners(look, Ledger(brought), paths, listed)
    return owners.of(directory.name), names


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_whose_a_directory_and_its_sessions_are(state: StateBuilder, row: Row) -> None:
    holding, names = holding_of(state, row)
    base = f"{state.code}/"
    assert tuple(sorted(holding.claims)) == tuple(base + path for path in row.claims)
    items = {item.name: item for item in holding.directory.items}
    owners = [holding.owner(items[name]) for name in names]
    assert owners == [base + path if path else None for path in row.owners]
    nobodys = [name for name, owner in zip(names, owners, strict=True) if not owner]
    assert sorted(item.name for item in holding.nobodys) == sorted(nobodys)


def test_a_folder_is_there_or_gone_or_that_can_not_be_told(
    state: StateBuilder,
) -> None:
    (state.code / "file").touch()
    (state.code / "link").symlink_to(state.code)
    (state.code / "dangling").symlink_to(state.code / "nothing")
    assert folder_exists(str(state.code)) is True
    assert folder_exists(str(state.code / "link")) is True
    for name in ("file", "file/below", "dangling", "nothing"):
        assert folder_exists(str(state.code / name)) is False
    assert folder_exists("/code/caf\ufffd") is None
