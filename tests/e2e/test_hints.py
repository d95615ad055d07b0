"""A command that ccmove prints acts on the same state, and keeps what else was typed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.inspect.conftest import interrupted_move
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder
from tests.support.tree import diff, snapshot


@pytest.fixture
def config_dir(state: StateBuilder) -> str:
    """OLD has state and is renamed to NEW already."""
    state.project("old")
    (state.code / "new").mkdir()
    return str(state.config_dir)


def test_the_folders_of_a_swap_get_their_names_back_by_what_is_printed(
    state: StateBuilder,
) -> None:
    one, two = state.code / "one", state.code / "two"
    for folder in (one, two):
        state.project(folder.name, make_folder=True)
        (folder / folder.name).touch()
    swap = f"{one}\t{two}\n{two}\t{one}\n"
    done = run_ccmove("--from-file", "-", state=state, input=swap)
    assert done.exit == 0, done
    undone = run_ccmove("undo", "--json", state=state).json()
    whats = [row["what"] for row in undone["to_do"]]
    assert [what.partition("; ")[2] for what in whats] == [
        "to make room first",
        "to rename it too",
        "to give it its old name",
    ]
    assert "is here only to make room" in whats[2]
    one.rename(state.code / "x")  # they were swapped
    two.rename(one)
    (state.code / "x").rename(two)
    for row in undone["to_do"]:
        subprocess.run(row["command"], shell=True, check=True)
    assert (one / "one").exists()
    assert (two / "two").exists()


@pytest.mark.parametrize(
    "command",
    [
        ["OLD", "NEW"],
        ["-m", "OLD", "NEW"],
        ["OLD"],
        ["undo"],
        ["prune", "--keep=0"],
    ],
)
def test_a_preview_beside_an_interrupted_run_is_exit_5_with_the_way_on(
    state: StateBuilder, config_dir: str, command: list[str]
) -> None:
    """What is there is half moved, so that a preview would show what is not so."""
    interrupted_move(state, "old", "new")
    typed = [word.replace("OLD", str(state.code / 'old')).replace("NEW", str(state.code / 'new'))
             for word in command]  # fmt: skip
    done = run_ccmove("--config-dir", config_dir, "-n", *typed, state=state)
    assert (done.exit, done.out) == (5, "")
    assert done.err.endswith(f"  -> ccmove --config-dir {config_dir} recover\n")


@pytest.mark.parametrize(
    ("command", "code"),
    [(["undo"], 0), (["prune", "--keep=0"], 0), (["/neither", "/nor"], 4)],
)
def test_whatever_rolls_back_an_interrupted_run_says_so(
    state: StateBuilder, config_dir: str, command: list[str], code: int
) -> None:
    identifier = interrupted_move(state, "old", "new")
    done = run_ccmove(*command, state=state)
    assert done.exit == code
    assert f"Rolled back the interrupted run {identifier}" in done.out + done.err
    assert run_ccmove("recover", state=state).out.startswith("Nothing to roll back")


def test_what_was_rolled_back_before_an_unpack_is_in_its_report(
    state: StateBuilder, config_dir: str
) -> None:
    packed = state.project("packed", make_folder=True)
    archive = state.root / "packed.tar.gz"
    assert run_ccmove("pack", packed.path, "-o", archive, state=state).exit == 0
    shutil.rmtree(packed.directory)
    identifier = interrupted_move(state, "old", "new")
    done = run_ccmove("unpack", "--json", archive, packed.path, state=state).json()
    assert (done["status"], identifier in done["rolled_back"]) == ("unpacked", True)
    assert run_ccmove("show", "--json", state=state).json() == done


def test_did_you_mean_keeps_every_option(state: StateBuilder, config_dir: str) -> None:
    options = ("--config-dir", config_dir, "--only", "--desktop")
    done = run_ccmove(*options, state.code / "olt", state.code / "new", state=state)
    typed = f"--config-dir {config_dir} --only --desktop"
    assert f"ccmove {typed} {state.code / 'old'} {state.code / 'new'}" in done.err


def test_did_you_mean_a_subject_keeps_every_option(
    state: StateBuilder, config_dir: str
) -> None:
    (state.code / "old").mkdir()
    done = run_ccmove("doctor", "--fix", "--yes", state.code / "olt", state=state)
    assert done.exit == 3
    assert f"did you mean: ccmove doctor --fix --yes {state.code / 'old'}\n" in done.err


@pytest.mark.parametrize("typed", [["-m", "-n"], ["-nm"], ["--move-folder", "-n"]])
def test_one_option_is_left_out_and_the_others_stay(
    state: StateBuilder, config_dir: str, typed: list[str]
) -> None:
    done = run_ccmove(
        "--only", *typed, state.code / "old", state.code / "new", state=state
    )
    assert done.exit == 4
    assert (
        f"out: ccmove --dry-run --only {state.code / 'old'} {state.code / 'new'}\n"
        in done.err
    )


def test_a_config_directory_in_the_folder_to_be_renamed_comes_along_by_hand(
    state: StateBuilder,
) -> None:
    """It would be renamed under the run's feet; both commands can be typed as they
    stand.
    """
    old, new = state.home, state.root / "new home"
    state.project(old, sessions=1)
    before = snapshot(state.home)
    done = run_ccmove("-m", old, new, state=state, cwd=state.root)
    assert (done.exit, str(state.config_dir) in done.err.splitlines()[0]) == (4, True)
    assert diff(before, snapshot(state.home), mtimes="all", inodes="all") == []
    mv, then = (line.partition(": ")[2] for line in done.err.splitlines()[1:])
    assert mv == f"mv {old} '{new}'"
    ccmove = f'ccmove() {{ "{sys.executable}" -m ccmove "$@"; }}'
    program = f'{ccmove}; env() {{ export "$1"; "${{@:2}}"; }}'
    environment = {
        **os.environ,
        "HOME": str(old),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    subprocess.run(
        ["bash", "-ec", f"{program}; {mv}; {then}"],
        env=environment,
        check=True,
        cwd="/",
    )
    assert str(new) in json.loads((new / ".claude.json").read_text())["projects"]


@pytest.mark.parametrize("command", ["doctor", "verify"])
def test_beside_an_interrupted_run_nothing_else_is_advised(
    state: StateBuilder, config_dir: str, command: str
) -> None:
    """What is half moved would look wrong, and moving it away would be one more fault."""
    state.project("old", index=True)
    interrupted_move(state, "old", "new")
    done = run_ccmove(command, "--json", state=state)
    assert done.exit == 1
    assert [finding["kind"] for finding in done.json()["findings"]] == [
        "interrupted-run"
    ]


def test_settings_follow_by_the_command_that_is_printed_also_where_old_is_still_there(
    state: StateBuilder, config_dir: str
) -> None:
    old, new = state.code / "old", state.code / "new"
    old.mkdir()
    (new / ".mcp.json").write_text(json.dumps({"command": f"{old}/run"}))
    report = run_ccmove("--json", "--skip-path-check", old, new, state=state).json()
    (row,) = report["to_do"]
    typed = row["command"].split()[1:]
    assert run_ccmove(*typed, state=state).exit == 0
    assert json.loads((new / ".mcp.json").read_text()) == {"command": f"{new}/run"}


def test_an_index_that_can_not_be_read_is_still_to_do(
    state: StateBuilder, config_dir: str
) -> None:
    index = state.project("old").directory / "sessions-index.json"
    index.write_text("{")
    (row,) = run_ccmove(
        "--json", state.code / "old", state.code / "new", state=state
    ).json()["to_do"]
    assert subprocess.run(row["command"], shell=True).returncode == 0
    assert run_ccmove("verify", state=state).exit == 0
