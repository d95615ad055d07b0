"""Law 8: what the real run would refuse the preview refuses, with the same exit code and reason."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.hostile.surroundings import needs_root
from tests.shapes.bench import Bench, directory_of
from tests.support import tree
from tests.support.state import StateBuilder

Case = Callable[[StateBuilder], list[str]]


def no_parent(state: StateBuilder) -> list[str]:
    (state.code / "new").rmdir()
    (state.code / "old").mkdir()
    return ["-m", "old", "no/such/new"]


def target_taken(state: StateBuilder) -> list[str]:
    (state.code / "old").mkdir()
    return ["-m", "old", "new"]


def conflict(state: StateBuilder) -> list[str]:
    session = next(directory_of(state, state.code / "old").glob("*.jsonl")).stem
    state.add_session("new", session_id=session, text="another one")
    return ["old", "new"]


def history_of_another_user(state: StateBuilder) -> list[str]:
    os.chown(state.history, 12345, -1)
    return ["old", "new"]


def config_of_another_user(state: StateBuilder) -> list[str]:
    os.chown(state.config_file, 12345, -1)
    return ["old", "new"]


def broken_config(state: StateBuilder) -> list[str]:
    state.config_file.write_text("{ broken")
    return ["old", "new"]


def history_is_a_directory(state: StateBuilder) -> list[str]:
    state.history.unlink()
    state.history.mkdir()
    return ["old", "new"]


def directory_is_a_link(state: StateBuilder) -> list[str]:
    directory = directory_of(state, state.code / "old")
    directory.symlink_to(directory.rename(state.home / "elsewhere"))
    return ["old", "new"]


def a_file_in_the_targets_place(state: StateBuilder) -> list[str]:
    directory_of(state, state.code / "new").write_text("a file")
    return ["old", "new"]


UNSEEN = pytest.mark.xfail(strict=True, reason="law 8: a preview skips the preflight checks")
CASES = [
    pytest.param(no_parent, marks=UNSEEN),
    target_taken,
    conflict,
    pytest.param(history_of_another_user, marks=[needs_root, UNSEEN]),
    pytest.param(config_of_another_user, marks=[needs_root, UNSEEN]),
    broken_config,
    history_is_a_directory,
    directory_is_a_link,
    a_file_in_the_targets_place,
]


@pytest.mark.parametrize("case", CASES)
def test_the_preview_refuses_what_the_run_refuses(case: Case, bench: Bench) -> None:
    state = bench.state
    state.project("old", index=True)
    (state.code / "new").mkdir()
    args = case(state)
    before = tree.snapshot(state.root)
    preview = bench.run("-n", *args, cwd=state.code)
    assert tree.diff(before, tree.snapshot(state.root), mtimes="all", inodes="all") == []
    real = bench.run(*args, cwd=state.code)
    assert preview.exit == real.exit, (preview, real)
    if real.exit:
        assert preview.err.splitlines()[0] == real.err.splitlines()[0]
