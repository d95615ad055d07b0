"""The Python API does what its documentation shows, and is the code of the commands."""

import dataclasses
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ccmove import api
from ccmove.api import apply, plan_move, to_json, undo
from ccmove.cli.main import command_named, with_command
from ccmove.commands.options import MoveOptions
from ccmove.errors import CcmoveError, RefusedError, UsageError
from ccmove.report.result import Result
from tests.inspect.conftest import interrupted_move
from tests.support.run import run_child
from tests.support.state import StateBuilder
from tests.support.tree import snapshot

REPO = Path(__file__).parents[2]


@pytest.fixture
def known(state: StateBuilder, monkeypatch: pytest.MonkeyPatch) -> StateBuilder:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(state.home))
    state.project("old", index=True)
    (state.code / "new").mkdir()
    return state


def test_a_plan_changes_nothing_a_move_does_and_an_undo_brings_it_back(
    known: StateBuilder,
) -> None:
    before = contents(known)
    move = plan_move(str(known.code / "old"), str(known.code / "new"))
    planned = to_json(move.preview)
    assert planned["status"] == "planned"
    assert contents(known) == before
    done = apply(move)
    assert done.status == "moved"
    assert to_json(done)["changes"] == planned["changes"]
    assert contents(known) != before
    assert undo(done.backup).status == "undone"
    assert contents(known) == before


def contents(state: StateBuilder) -> dict[str, bytes | None]:
    tree = snapshot(state.home)
    return {
        name: entry.content
        for name, entry in tree.items()
        if ".claude/ccmove" not in name
    }


def test_options_are_those_of_the_command_line(known: StateBuilder) -> None:
    old, new, gone = (str(known.code / name) for name in ("old", "new", "gone"))
    with pytest.raises(RefusedError) as refused:
        plan_move(old, gone)
    assert refused.value.exit_code == 4
    assert plan_move(old, gone, skip_path_check=True).preview.status == "planned"
    with pytest.raises(CcmoveError) as nothing:
        plan_move(old, new, config_dir=str(known.root / "other"))
    assert nothing.value.exit_code == 3


def test_a_path_object_is_taken_for_a_path(known: StateBuilder) -> None:
    move = plan_move(
        known.code / "old", known.code / "new", config_dir=known.config_dir
    )
    assert apply(move).status == "moved"
    assert undo(config_dir=known.config_dir).status == "undone"


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown name": ({"onlyy": True}, "onlyy"),
    "of another command": ({"prune": True}, "prune"),
    "a value that is no choice": ({"on_conflict": "keep_new"}, "on_conflict"),
    "a text for a flag": ({"only": "yes"}, "only"),
    "a number for a flag": ({"merge": 1}, "merge"),
    "a state that is no path": ({"config_dir": 5}, "config_dir"),
    "an empty state": ({"config_dir": ""}, "config_dir"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_not_an_option_or_not_its_value_is_named(
    known: StateBuilder, what: str
) -> None:
    options, name = WRONG[what]
    before = snapshot(known.home)
    with pytest.raises(UsageError, match=name):
        plan_move(known.code / "old", known.code / "new", **options)
    with pytest.raises(UsageError, match=name):
        undo(**{"allow_live": True, **options})
    assert snapshot(known.home) == before


@pytest.mark.parametrize("path", [5, None, b"/bytes", "", "\0"])
def test_what_is_not_a_path_is_an_error_of_ours(known: StateBuilder, path: Any) -> None:
    with pytest.raises(UsageError, match="OLD"):
        plan_move(path, known.code / "new")


ARCHIVE = "it.tar.gz"
SESSION = "01234567-89ab-cdef-0123-456789abcdef"
# What is wrong with a call, by the name that has to be said.
WRONG_CALLS: dict[str, Callable[[StateBuilder], object]] = {
    "config_dir": lambda _: api.where("/x", config_dir="\0"),
    "PATH": lambda _: api.where("\0"),
    "PATH is": lambda _: api.pack("\0", ARCHIVE),
    "FILE": lambda known: api.pack(known.code / "old", "\0"),
    "FILE is": lambda _: api.unpack("\0"),
    "NEW": lambda _: api.unpack(ARCHIVE, "\0"),
    "move": lambda _: apply(None),  # type: ignore[arg-type]
    "sessions": lambda known: api.pack(known.code / "old", ARCHIVE, sessions=SESSION),
    "sessions.*: 5": lambda known: api.pack(
        known.code / "old",
        ARCHIVE,
        sessions=5,  # type: ignore[arg-type]
    ),
    "sessions.*\\[5\\]": lambda known: api.pack(
        known.code / "old",
        ARCHIVE,
        sessions=[5],  # type: ignore[list-item]
    ),
    "mapped": lambda _: api.unpack(ARCHIVE, mapped=5),  # type: ignore[arg-type]
    "FROM": lambda _: api.unpack(ARCHIVE, mapped={5: "/x"}),  # type: ignore[dict-item]
    "TO": lambda _: api.unpack(ARCHIVE, mapped={"/x": None}),  # type: ignore[dict-item]
    "--map": lambda known: api.unpack(ARCHIVE, known.code, mapped={"/x": "/y"}),
    "--all": lambda known: api.pack(known.code / "old", ARCHIVE, all=True),
    "onlyy": lambda _: api.recover(onlyy=True),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_what_is_wrong_with_a_call_is_named(
    known: StateBuilder, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whatever is given; nothing is taken for something else, and nothing happens."""
    monkeypatch.chdir(known.root)
    before = snapshot(known.root)
    with pytest.raises(UsageError, match=name):
        WRONG_CALLS[name](known)
    assert snapshot(known.root) == before


def test_an_id_that_is_not_a_text_is_an_error_of_ours(known: StateBuilder) -> None:
    with pytest.raises(UsageError, match="5"):
        undo(5)  # type: ignore[arg-type]


def test_what_the_system_says_is_an_error_of_ours(
    known: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/some/file")

    monkeypatch.setattr("ccmove.commands.move.plan_move", fail)
    with pytest.raises(CcmoveError, match="/some/file: Permission denied"):
        plan_move(known.code / "old", known.code / "new")


@pytest.mark.slow
def test_after_a_crash_undo_rolls_back_and_undoes_nothing_else(
    known: StateBuilder,
) -> None:
    """An older and unrelated move used to be undone as well."""
    known.project("other")
    (known.code / "elsewhere").mkdir()
    apply(plan_move(known.code / "other", known.code / "elsewhere"))
    before = contents(known)
    identifier = interrupted_move(known, "old", "new")
    done = undo()
    assert done.status == "recovered"
    assert identifier in str(done.rolled_back)
    assert contents(known) == before
    assert undo().status == "undone"


def test_a_move_prints_itself_as_the_command_that_does_it(known: StateBuilder) -> None:
    old, new = str(known.code / "old"), str(known.code / "new")
    move = plan_move(old, new, only=True, skip_path_check=True)
    assert move.to_argv() == ["ccmove", "--only", "--skip-path-check", old, new]
    assert MoveOptions().to_argv() == []


def test_where_a_project_is_can_be_asked_for(known: StateBuilder) -> None:
    found = api.where(known.code / "old")
    assert (found.is_known, found.sessions) == (True, 2)
    assert found.directory.is_dir()
    assert not api.where(known.code / "new", config_dir=known.config_dir).is_known
    with pytest.raises(UsageError, match="PATH"):
        api.where(b"/bytes")  # type: ignore[arg-type]


def test_findings_can_be_asked_for(known: StateBuilder) -> None:
    assert {finding.subject for finding in api.doctor().findings} == {
        str(known.code / "old")
    }
    assert api.recover().rolled_back is None
    assert Path(str(known.code / "new")).is_dir()


def test_the_example_for_programs_is_what_is_checked_and_works(
    known: StateBuilder,
) -> None:
    """`make check` runs mypy over docs/example.py."""
    program = REPO / "docs" / "example.py"
    page = (REPO / "docs" / "for-programs.md").read_text(encoding="utf-8")
    assert f"```python\n{program.read_text(encoding='utf-8')}```" in page
    checked = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    assert "docs/example.py" in checked["tool"]["mypy"]["files"]
    old, new = str(known.code / "old"), str(known.code / "new")
    command = [sys.executable, str(program), old, new]
    done = run_child(command, state=known, env={"PYTHONPATH": str(REPO)})
    assert (done.exit, done.err) == (0, "")
    undo_line, directory = done.out.splitlines()
    assert undo_line.startswith("to undo: ccmove undo 2")
    assert Path(directory).is_dir()
    assert Path(directory) == api.where(new).directory


def test_the_page_for_programs_names_what_there_is() -> None:
    page = (REPO / "docs" / "for-programs.md").read_text(encoding="utf-8")
    calls = re.findall(r"`(\w+)\(", page)
    assert len(calls) > 6
    for name in {*calls} - {"to_argv"}:
        assert callable(getattr(api, name)), name
    for typed in re.findall(r"`ccmove ([^`]+)`", page):
        name, *rest = with_command(typed.split())
        assert command_named(name).make_context(name, rest)
    for kind, names in (
        (api.Whereabouts, re.search("`Whereabouts`: (.*?) \\|", page)),
        (Result, re.search("`Result`: (.*?) \\|", page)),
    ):
        assert names is not None
        fields = {field.name for field in dataclasses.fields(kind)}
        assert {*re.findall(r"`(\w+)`", names[1])} <= fields
