"""Law 8: what the real run would refuse the preview refuses, with the same exit code
and reason.
"""

import os

import pytest

from tests.hostile.surroundings import needs_root
from tests.shapes.bench import Bench, directory_of
from tests.support import tree
from tests.support.state import StateBuilder


def prepare(case: str, state: StateBuilder) -> list[str]:
    """Bring about a reason to refuse; what to type."""
    old, new = (directory_of(state, state.code / name) for name in ("old", "new"))
    match case:
        case "no parent":
            (state.code / "old").mkdir()
            return ["-m", "old", "no/such/new"]
        case "target taken":
            (state.code / "old").mkdir()
            return ["-m", "old", "new"]
        case "conflict":
            session = next(old.glob("*.jsonl")).stem
            state.add_session("new", session_id=session, text="another one")
        case "history of another user":
            os.chown(state.history, 12345, -1)
        case "config of another user":
            os.chown(state.config_file, 12345, -1)
        case "broken config":
            state.config_file.write_text("{ broken")
        case "history is a directory":
            state.history.unlink()
            state.history.mkdir()
        case "directory is a link":
            old.symlink_to(old.rename(state.home / "elsewhere"))
        case "a file in the target's place":
            new.write_text("a file")
    return ["old", "new"]


CASES = [
    "no parent",
    pytest.param("history of another user", marks=needs_root),
    pytest.param("config of another user", marks=needs_root),
    *("target taken", "conflict", "broken config", "history is a directory"),
    *("directory is a link", "a file in the target's place"),
]


@pytest.mark.parametrize("case", CASES)
def test_the_preview_refuses_what_the_run_refuses(case: str, bench: Bench) -> None:
    state = bench.state
    state.project("old", index=True)
    (state.code / "new").mkdir()
    args = prepare(case, state)
    before = tree.snapshot(state.root)
    preview = bench.run("-n", *args, cwd=state.code)
    assert (
        tree.diff(before, tree.snapshot(state.root), mtimes="all", inodes="all") == []
    )
    real = bench.run(*args, cwd=state.code)
    assert preview.exit == real.exit, (preview, real)
    if real.exit:
        assert preview.err.splitlines()[0] == real.err.splitlines()[0]
