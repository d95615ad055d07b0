"""Looking changes nothing: no file, no directory, not even a date."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.inspect.conftest import make_repo, run_ccmove
from tests.support.run import run_child
from tests.support.state import StateBuilder
from tests.support.tree import diff, snapshot
from tests.systems import windows

COMMANDS = [
    "list", "list --json --sort size", "doctor", "doctor --json --search .", "doctor --plan",
    "verify", "verify --json", "completion bash",
]  # fmt: skip


@pytest.fixture
def everything_wrong(state: StateBuilder) -> StateBuilder:
    state.project("old", index=True, repo="acme/app")
    if windows.has_git():
        make_repo(state.code / "new", "acme/app", commit=True)
    outer = state.project("here", index=True, make_folder=True)
    state.add_session("inner", directory=outer.directory / "-gone-inner")
    two = state.project("two", make_folder=True)
    shutil.copy2(outer.transcripts[0], two.directory)
    (state.projects / "-empty").mkdir()
    return state


@pytest.mark.parametrize("command", COMMANDS)
def test_looking_changes_nothing(everything_wrong: StateBuilder, command: str) -> None:
    state = everything_wrong
    before = (snapshot(state.home), snapshot(state.code))
    done = run_ccmove(*command.split(), state=state, cwd=state.code)
    assert done.exit in (0, 1), done.err
    for root, was in zip((state.home, state.code), before, strict=True):
        assert diff(was, snapshot(root), mtimes="all", inodes="all") == []
    assert not (state.config_dir / "ccmove").exists()


def test_the_comparison_sees_a_date(everything_wrong: StateBuilder) -> None:
    state = everything_wrong
    before = snapshot(state.home)
    state.config_file.touch()
    assert len(diff(before, snapshot(state.home), mtimes="all")) == 1


@pytest.mark.parametrize("command", ["list", "doctor", "verify"])
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_no_system_call_opens_anything_for_writing(
    everything_wrong: StateBuilder, tmp_path: Path, command: str
) -> None:
    trace = tmp_path / "trace"
    strace = ["strace", "-f", "-e", "trace=%file", "-o", str(trace)]
    python = [sys.executable, "-B", "-m", "ccmove", command]
    done = run_child([*strace, *python], state=everything_wrong)
    assert done.exit in (0, 1), done.err
    lines = trace.read_text().splitlines()
    assert changes(lines, everything_wrong.root) == []
    assert any(f'"{everything_wrong.config_file}"' in line for line in lines)


def changes(lines: list[str], root: Path) -> list[str]:
    """Calls of a trace that name something below `root` and could change it."""
    found = []
    for line in lines:
        call = re.match(r"\d+ +(\w+)\(", line)
        harmless = call is not None and call[1] in READING
        writes = re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)", line)
        if f'"{root}' in line and (writes or not harmless):
            found.append(line)
    return found


READING = frozenset(
    (
        "open", "openat", "stat", "lstat", "newfstatat", "statx", "access", "faccessat",
        "faccessat2", "readlink", "readlinkat", "getcwd", "chdir", "execve",
    )
)  # fmt: skip


def test_the_trace_reader_sees_changes(tmp_path: Path) -> None:
    lines = [
        f'7 openat(AT_FDCWD, "{tmp_path}/x", O_RDONLY) = 3',
        f'7 openat(AT_FDCWD, "{tmp_path}/x", O_WRONLY|O_CREAT, 0600) = 3',
        f'7 unlink("{tmp_path}/open") = 0',
        f'7 utimensat(AT_FDCWD, "{tmp_path}/x", NULL, 0) = 0',
        '7 unlink("/elsewhere") = 0',
    ]
    assert changes(lines, tmp_path) == lines[1:4]
