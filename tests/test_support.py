"""The sample state has the client's forms, a child sees nothing else, and the checks
can fail.
"""

import json
import os
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.history_oracle import stringify
from tests.support.oddlines import REWRITTEN, kind_names
from tests.support.run import run_ccmove, run_child
from tests.support.state import StateBuilder
from tests.support.tree import diff, snapshot

REPO = Path(__file__).parents[1]
FACTS = REPO / "fixtures" / "facts"
SESSION = "49529f21-ae4e-4ea6-a67c-117817d57b7d"
TRANSCRIPT, RESULT = (
    f"projects/-a/{SESSION}.jsonl",
    f"projects/-a/{SESSION}/tool-results/1.txt",
)


# -- a child process ------------------------------------------------------------------------------


def test_a_child_gets_the_state_as_its_home_and_nothing_of_claude_code(
    state: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/leaked")
    monkeypatch.setenv("SOMETHING_OF_OURS", "leaked")
    show = "import json, os; print(json.dumps([dict(os.environ), os.getcwd()]))"
    done = run_child([sys.executable, "-c", show], state=state, env={"NO_COLOR": "1"})
    environment, cwd = done.json()
    assert environment["HOME"] == cwd == str(state.home)
    assert environment["NO_COLOR"] == "1"
    assert "leaked" not in environment.values()
    assert environment["TMPDIR"].startswith(str(state.root))


def test_a_traceback_fails_the_test(state: StateBuilder) -> None:
    # A package of the same name in the working directory is found before the real one.
    (state.home / "ccmove").mkdir()
    (state.home / "ccmove" / "__init__.py").write_text("raise KeyError('boom')")
    with pytest.raises(AssertionError, match="KeyError: 'boom'"):
        run_ccmove("--version", state=state, alone=True)


# -- the sample state -----------------------------------------------------------------------------


def _shape(value: Any) -> Any:
    """Keys in order, and types: what two documents of one form have in common."""
    if isinstance(value, dict):
        return [(key, _shape(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [_shape(item) for item in value[:1]]
    return type(value).__name__


def _made_index(state: StateBuilder) -> bytes:
    return state.project("app", index=True).index.read_bytes()


def _made_prompt(state: StateBuilder) -> bytes:
    state.add_prompt("app", "prompt: fix the café menu")
    return state.history.read_bytes().removesuffix(b"\n")


def _made_session(state: StateBuilder) -> bytes:
    return state.session_file(4711, "/code/app", "183203", SESSION).read_bytes()


@pytest.mark.parametrize(
    ("fact", "make", "indent"),
    [
        ("client-2.1.23/sessions-index.json", _made_index, 2),
        ("client-2.1.23/history.jsonl", _made_prompt, None),
        ("client-2.1.325/history.jsonl", _made_prompt, None),
        ("client-2.1.325/sessions-PID.json", _made_session, None),
    ],
)
def test_it_has_the_form_that_the_real_client_gave_it(
    state: StateBuilder,
    fact: str,
    make: Callable[[StateBuilder], bytes],
    indent: int | None,
) -> None:
    real = (FACTS / fact).read_bytes()
    real, made = (
        real.splitlines()[0] if fact.endswith("history.jsonl") else real,
        make(state),
    )
    assert _shape(json.loads(made)) == _shape(json.loads(real))
    for data in (real, made):
        assert stringify(json.loads(data), indent) == data


def test_the_config_file_has_the_form_the_real_client_gave_it(
    state: StateBuilder,
) -> None:
    state.project("app")
    real = (FACTS / "client-2.1.325" / "dot-claude.json").read_bytes()
    made = state.config_file.read_bytes()
    assert list(json.loads(made)) == list(json.loads(real))
    for data in (real, made):
        assert stringify(json.loads(data), 2) == data


def test_what_must_survive_is_there_to_be_lost(state: StateBuilder) -> None:
    """Nanoseconds, different times, and files that nobody else may read."""
    statuses = [file.stat() for file in state.project("app", sessions=3).transcripts]
    assert len({status.st_mtime_ns for status in statuses}) == 3
    assert all(status.st_mtime_ns % 1000 for status in statuses)
    files = (*statuses, state.history.stat(), state.config_file.stat())
    assert {status.st_mode & 0o777 for status in files} == {0o600}


def test_the_oracle_moves_every_odd_line_that_counts_and_no_other(
    state: StateBuilder,
) -> None:
    old, new = "/home/dev/code/café", '/srv/new "home"/café\\'
    *odd, last = state.odd_history(old, len(kind_names()) + 1)
    assert state.history.read_bytes() == b"".join(line.raw for line in (*odd, last))
    assert [line.raw.find(b"\n") - len(line.raw) for line in odd] == [-1] * len(
        kind_names()
    )
    assert b"\n" not in last.raw
    assert [line.kind for line in odd if line.expected(old, new) != line.raw] == list(
        REWRITTEN
    )
    escaped = odd[kind_names().index("all escaped")]
    assert rb'"\u002f\u0068' in escaped.raw
    moved = '"project":"/srv/new \\"home\\"/café\\\\",'.encode()
    assert moved in escaped.expected(old, new)


# -- two trees are the same only if everything asked about is the same ----------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / RESULT).parent.mkdir(parents=True)
    (root / TRANSCRIPT).write_bytes(b"{}\n")
    (root / RESULT).write_bytes(b"result")
    (root / "config.json").write_bytes(b'{"a": 1}')
    (root / "link").symlink_to("config.json")
    return root


def _replace(file: Path) -> None:
    """Same bytes, same mtime, another inode."""
    status, content = file.stat(), file.read_bytes()
    other = file.with_name("other")
    other.write_bytes(content)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.chmod(status.st_mode & 0o777)
    other.replace(file)


def _relink(link: Path) -> None:
    link.unlink()
    link.symlink_to("elsewhere")


def _make_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


CHANGES: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "content": (
        "config.json",
        lambda f: f.write_bytes(b'{"a": 2}'),
        "content differs at byte 6",
    ),
    "longer": (
        "config.json",
        lambda f: f.write_bytes(b'{"a": 1} '),
        "content differs at byte 8",
    ),
    "mode": ("config.json", lambda f: f.chmod(0o400), "mode"),
    "gone": ("config.json", Path.unlink, "is gone"),
    "new": ("new", Path.touch, "is new"),
    "kind": ("config.json", _make_directory, "was a file, is a directory"),
    "link target": ("link", _relink, "points to 'config.json', now to 'elsewhere'"),
    "transcript mtime": (TRANSCRIPT, lambda f: os.utime(f, ns=(1, 1)), "mtime"),
    "transcript inode": (TRANSCRIPT, _replace, "inode"),
    "mtime in a session's folder": (RESULT, lambda f: os.utime(f, ns=(1, 1)), "mtime"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_kind_of_change_is_seen_and_named(root: Path, change: str) -> None:
    name, apply, words = CHANGES[change]
    before = snapshot(root)
    apply(root / name)
    (found,) = diff(before, snapshot(root))
    assert found.startswith(f"{name!r}: {words}")


def test_times_and_inodes_of_other_files_are_seen_when_asked_for(root: Path) -> None:
    before = snapshot(root)
    _replace(root / "config.json")
    os.utime(root / "config.json", ns=(1, 1))
    after = snapshot(root)
    assert any(
        "config.json': mtime" in line for line in diff(before, after, mtimes="all")
    )
    assert any(
        "config.json': inode" in line for line in diff(before, after, inodes="all")
    )


def test_an_ignored_directory_hides_what_is_below_it_and_nothing_else(
    root: Path,
) -> None:
    before = snapshot(root)
    (root / "ccmove" / "backups").mkdir(parents=True)
    (root / "ccmove" / "backups" / "saved").touch()
    (root / "ccmove-not").touch()
    assert diff(before, snapshot(root), ignore=["ccmove"]) == ["'ccmove-not': is new"]


# -- mutants ---------------------------------------------------------------------------------------


def test_every_mutant_written_by_hand_has_its_place_in_the_code() -> None:
    """What applies nowhere would be killed by nothing, and noticed by nobody."""
    by_hand = tomllib.loads((REPO / "tests/mutants/by_hand.toml").read_text("utf-8"))
    assert len(by_hand) > 5
    for module, rows in by_hand.items():
        (source,) = (REPO / "ccmove").glob(f"*/{module}.py")
        text = source.read_text("utf-8")
        for row in rows:
            assert text.count(row["was"]) == 1, (module, row["was"])
