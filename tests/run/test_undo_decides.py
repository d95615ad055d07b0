"""What an undo decides about what came since: rows of data for `run.since`.

A name is a path below the folder of all projects, as in `tests/shapes`.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from ccmove.plan.model import Own, ProjectMove
from ccmove.run.manifest import Manifest
from ccmove.run.since import Since

Pairs = tuple[tuple[str, str], ...]

BROUGHT = "11111111-1111-1111-1111-111111111111"
HAD = "22222222-2222-2222-2222-222222222222"
LATER = "33333333-3333-3333-3333-333333333333"


@dataclass(frozen=True)
class Row:
    """A run, the folders that there are, and where a prompt of since belongs."""

    moves: Pairs
    folders: tuple[str, ...]
    since: dict[str, str]  # where something came since -> where that belongs
    sessions_at: tuple[str, ...] = ()  # paths that had sessions before
    known_at: tuple[str, ...] = ()  # paths that had an entry of the config file
    with_folder: bool = False  # `-m`


MOVE = (("old", "new"),)
SWAP = (("a", "b"), ("b", "a"))
CHAIN = (("a", "b"), ("b", "c"))
INTO_ONE = (("a", "new"), ("b", "new"))

ROWS = {
    "renamed by hand": Row(MOVE, ("new",), {"new": "old", "new/sub": "old/sub"}),
    "what is beside NEW stays": Row(MOVE, ("new",), {"new-2": "new-2"}),
    "NEW had sessions": Row(MOVE, ("new",), {"new": "new"}, sessions_at=("new",)),
    "an entry of the config file does not count": Row(
        MOVE, ("new",), {"new": "old"}, known_at=("new",)
    ),
    "NEW had sessions, and its folder is gone": Row(
        MOVE, ("old",), {"new": "old"}, sessions_at=("new",)
    ),
    "NEW had sessions, and its folder goes back": Row(
        MOVE, ("new",), {"new": "old"}, sessions_at=("new",), with_folder=True
    ),
    "OLD's folder is there again": Row(MOVE, ("old", "new"), {"new": "new"}),
    "both folders are gone": Row(MOVE, (), {"new": "old"}),
    "a project below NEW had sessions": Row(
        MOVE,
        ("new", "new/lib"),
        {"new": "old", "new/lib": "new/lib", "new/lib/x": "new/lib/x"},
        sessions_at=("new/lib",),
    ),
    "a swap: each OLD is another's NEW": Row(
        SWAP, ("a", "b"), {"a": "b", "b": "a", "a/x": "b/x"}
    ),
    "a chain": Row(CHAIN, ("b", "c"), {"b": "a", "c": "b"}),
    "a chain to a path with sessions": Row(
        CHAIN, ("b", "c"), {"b": "a", "c": "c"}, sessions_at=("c",)
    ),
    "two came together": Row(INTO_ONE, ("new",), {"new": "new"}),
    "a move below another one": Row(
        (("a", "b"), ("x", "b/lib")),
        ("b", "b/lib"),
        {"b": "a", "b/lib": "x", "b/lib/y": "x/y", "b/other": "a/other"},
    ),
    "of a move below another one what came since stays": Row(
        (("a", "b"), ("x", "b/lib")),
        ("b", "b/lib", "x"),
        {"b": "a", "b/lib": "b/lib", "b/other": "a/other"},
    ),
}


def since_of(row: Row, base: Path) -> Since:
    """The decisions about the run of a row, whose folders are made."""

    def path(name: str) -> str:
        return str(base / name)

    for name in row.folders:
        (base / name).mkdir(parents=True, exist_ok=True)
    pairs = tuple((path(old), path(new)) for old, new in row.moves)
    own = [Own(path(name), sessions=(HAD,)) for name in row.sessions_at]
    own += [Own(path(name)) for name in row.known_at]
    projects = [
        ProjectMove(old, new, "OLD", "NEW", "rename", (f"{BROUGHT}.jsonl",))
        for old, new in pairs[:1]
    ]
    folders = [(Path(old), Path(new)) for old, new in pairs if row.with_folder]
    manifest = Manifest(
        kind="move",
        moves=pairs,
        projects=tuple(projects),
        own_at_new=tuple(own),
        folders=tuple(folders),
        id="20261116T004112Z-3f9c",
        folders_at_new=(),
        undoes=None,
        config_file="~/.claude.json",
    )
    return Since(manifest)


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_what_came_since_follows_the_folder(row: Row, tmp_path: Path) -> None:
    since = since_of(row, tmp_path)
    belongs = {}
    for name in row.since:
        path = since.new_path(str(tmp_path / name), LATER)
        belongs[name] = str(Path(path or tmp_path / name).relative_to(tmp_path))
    assert belongs == {name: str(Path(place)) for name, place in row.since.items()}


# Whose a prompt at NEW is -> where it belongs, when what came since follows, and stays.
SESSIONS = {
    BROUGHT: ("old", "old"),
    HAD: ("new", "new"),
    LATER: ("old", "new"),
    None: ("old", "new"),
}


@pytest.mark.parametrize("session", SESSIONS)
def test_the_session_decides_before_the_folder(
    session: str | None, tmp_path: Path
) -> None:
    folders = {"follows": ("new",), "stays": ("old", "new")}
    places = []
    for name, there in folders.items():
        row = Row(MOVE, there, {}, sessions_at=("new/lib",))
        since = since_of(row, tmp_path / name)
        new = str(tmp_path / name / "new")
        places.append(Path(since.new_path(new, session) or new).name)
    assert tuple(places) == SESSIONS[session]


def test_a_session_that_left_new_stays_where_it_is(tmp_path: Path) -> None:
    decided = since_of(Row(MOVE, ("new",), {}), tmp_path)
    since = Since(decided.manifest, elsewhere=frozenset([BROUGHT]))
    assert BROUGHT not in since.brought
    assert since.new_path(str(tmp_path / "other"), BROUGHT) is None


def test_what_it_has_left_behind_at_new_follows_the_folder(tmp_path: Path) -> None:
    decided = since_of(Row(MOVE, ("new",), {}), tmp_path)
    since = Since(decided.manifest, elsewhere=frozenset([BROUGHT]))
    old = str(tmp_path / "old")
    assert since.new_path(str(tmp_path / "new"), BROUGHT) == old


def test_one_that_went_below_new_came_there_since(tmp_path: Path) -> None:
    decided = since_of(Row(MOVE, ("new",), {}), tmp_path)
    since = Since(decided.manifest, followed=frozenset([BROUGHT]))
    assert BROUGHT not in since.brought
    below = since.new_path(str(tmp_path / "new" / "lib"), BROUGHT)
    assert below == str(tmp_path / "old" / "lib")
