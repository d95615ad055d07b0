"""What editors, file systems and git do differently: named, passed over, or refused."""

import errno
import os
import sys
from pathlib import Path

import pytest

from tests.shapes.bench import Bench
from tests.support.run import run_ccmove, run_child
from tests.support.state import StateBuilder


@pytest.fixture
def renamed(state: StateBuilder) -> tuple[str, str]:
    old = state.project("old", sessions=1).path
    (state.code / "new").mkdir()
    return old, str(state.code / "new")


def test_a_bom_at_the_beginning_of_a_list_is_passed_over(
    state: StateBuilder, renamed: tuple[str, str]
) -> None:
    moves = state.root / "moves.txt"
    moves.write_bytes(b"\xef\xbb\xbf" + "\t".join(renamed).encode() + b"\r\n")
    assert run_ccmove("--from-file", moves, state=state).exit == 0


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_a_history_in_another_encoding_stays_and_is_named(
    state: StateBuilder, renamed: tuple[str, str], encoding: str
) -> None:
    text = state.history.read_text()
    state.history.write_bytes(text.encode(encoding))
    for words in (["-n"], []):
        done = run_ccmove(*words, *renamed, state=state)
        assert done.exit == 0
        note = f"Note: {state.history} is not UTF-8 (UTF-16?), so its prompts stay"
        assert note in done.out
    assert state.history.read_bytes() == text.encode(encoding)


def test_a_history_that_can_be_read_has_no_such_note(
    state: StateBuilder, renamed: tuple[str, str]
) -> None:
    assert "UTF-8" not in run_ccmove(*renamed, state=state).out


SCRIPT = """
import errno, filelock, os, sys, types
from ccmove import system
from ccmove.cli.main import main
{patch}
main(sys.argv[1:])
"""
NO_LOCKS = """
def fail(fd, blocking):
    raise OSError({number}, os.strerror({number}))
filelock.lock_descriptor = fail
"""
ZEROS = """
zeros = dict.fromkeys(("f_blocks", "f_bavail", "f_frsize", "f_files", "f_favail"), 0)
os.statvfs = lambda _: types.SimpleNamespace(**zeros)
"""


def patched(state: StateBuilder, patch: str, *words: str) -> tuple[int, str]:
    script = SCRIPT.format(patch=patch)
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", script, *words]
    done = run_child(command, state=state, env={"PYTHONPATH": root})
    return done.exit, done.err


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP])
def test_where_there_are_no_locks_the_file_is_named_and_what_to_do(
    state: StateBuilder, renamed: tuple[str, str], number: int
) -> None:
    code, said = patched(state, NO_LOCKS.format(number=number), *renamed)
    assert code == 4
    assert str(state.config_dir / "ccmove" / "lock") in said.splitlines()[0]
    assert os.strerror(number) in said
    assert "mount it with locks" in said


def test_a_file_system_that_does_not_tell_its_room_is_not_full(
    state: StateBuilder, renamed: tuple[str, str]
) -> None:
    assert patched(state, ZEROS, *renamed) == (0, "")


@pytest.mark.parametrize("is_relative", [False, True])
def test_a_submodule_is_left_to_git_mv(bench: Bench, is_relative: bool) -> None:
    state = bench.state
    old, new = state.code / "app/lib", state.code / "app/library"
    state.project("app/lib", sessions=1, make_folder=True)
    above = "../.git" if is_relative else f"{state.code}/app/.git"
    (old / ".git").write_text(f"gitdir: {above}/modules/lib\n")
    report = bench.refused("-m", old, new)
    assert report["error"] == f"{old} is a git submodule of {state.code / 'app'}"
    assert f"git -C {state.code / 'app'} mv {old} {new}" in report["hint"]
    (old / ".git").write_text(f"gitdir: {above}/worktrees/lib\n")
    bench.ok("-n", "-m", old, new)
