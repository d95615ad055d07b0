"""What `ccmove doctor` finds in a state, and git repositories for it to find."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.crash.fork import Job
from tests.support.run import Completed
from tests.support.state import StateBuilder, encoded_name
from tests.support.tree import diff, snapshot
from tests.systems import windows


def run_ccmove(
    *args: str | os.PathLike[str],
    state: StateBuilder,
    cwd: Path | None = None,
    answers: str = "",
) -> Completed:
    """Like that of `tests.support.run`, but Python is started only once for all of
    them.
    """
    words = [os.fspath(arg) for arg in args]
    ended = Job(state, words, answers, cwd=cwd or state.home).run()
    assert "Traceback" not in ended.err, ended.err
    return Completed(ended.exit, ended.out, ended.err)


@contextmanager
def nothing_changes(state: StateBuilder) -> Iterator[None]:
    before = snapshot(state.home)
    yield
    assert diff(before, snapshot(state.home), mtimes="all", inodes="all") == []


def has_state(state: StateBuilder, path: Path | str) -> bool:
    """Whether there is a directory for this path; a relative one is below `code`."""
    return (state.projects / encoded_name(str(state.code / path))).is_dir()


def interrupted_move(state: StateBuilder, old: str, new: str) -> str:
    """A move that was killed before it renamed anything; the ID of its run."""
    words = [str(state.code / old), str(state.code / new)]
    ended = Job(state, ["--skip-path-check", *words], sabotage=["die_at=40"]).run()
    assert ended.exit == -9, ended
    manifest = state.config_dir / "ccmove" / "run" / "manifest.json"
    return str(json.loads(manifest.read_text())["id"])


@dataclass(frozen=True)
class Candidate:
    path: str
    basis: int
    is_proven: bool
    confidence: str
    evidence: list[str]
    against: list[str]
    command: str


@dataclass(frozen=True)
class Finding:
    """One finding, as `--json` tells it."""

    kind: str
    subject: str
    what: str
    means: str
    command: str
    details: list[str]
    names: list[str]
    along: str | None
    candidates: list[Candidate]
    unambiguous: bool


def examine(
    state: StateBuilder, kind: str | None = None, *roots: Path
) -> list[Finding]:
    """All findings, or those of one kind."""
    searched = [word for root in roots for word in ("--search", str(root))]
    done = run_ccmove("doctor", "--json", *searched, state=state)
    rows = [
        Finding(**{**row, "candidates": [Candidate(**c) for c in row["candidates"]]})
        for row in done.json()["findings"]
    ]
    assert done.exit == bool(rows), done
    return [row for row in rows if kind in (None, row.kind)]


def git(folder: Path | str, *arguments: str, at: int | None = None) -> str:
    """Run git in a folder, as nobody in particular and with nobody's settings."""
    who = ("-c", "user.name=dev", "-c", "user.email=dev@example.invalid")
    command = [
        windows.git(),
        "-C",
        str(folder),
        *who,
        "-c",
        "init.defaultBranch=main",
        *arguments,
    ]
    date = {} if at is None else {"GIT_COMMITTER_DATE": f"@{at} +0000"}
    env = {**os.environ, **date}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return done.stdout.strip()


def make_repo(
    folder: Path,
    remote: str | None = None,
    *,
    commit: bool = False,
    at: int | None = None,
) -> Path:
    """A git repository, with a remote or a commit when asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    if remote is not None:
        git(folder, "remote", "add", "origin", f"git@github.com:{remote}.git")
    if commit or at is not None:
        git(
            folder, "commit", "-q", "--allow-empty", "-m", f"begin {folder.name}", at=at
        )
    return folder


def clone(state: StateBuilder, name: str, at: int | None = None) -> Path:
    origin = make_repo(state.root / "origin" / "app.git", commit=True)
    git(state.code, "clone", "-q", str(origin), name, at=at)
    git(state.code / name, "remote", "set-url", "origin", "https://github.com/acme/app")
    return state.code / name


def moved_repo(state: StateBuilder, old: str, new: str) -> None:
    """A repository that was renamed: there are commits of the time when its sessions
    went on.
    """
    handle = state.project(old, index=True, repo=f"acme/{old}")
    make_repo(
        state.code / new,
        f"acme/{old}",
        at=int(handle.transcripts[0].stat().st_mtime) + 1,
    )
