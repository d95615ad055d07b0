"""A state, its layout as the command line would find it, and ways to look at it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ccmove.layout import Layout, find_layout
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder


@dataclass(frozen=True)
class Finding:
    """One row of `doctor --json`."""

    kind: str
    subject: str
    what: str
    means: str
    command: str
    details: list[str]
    goes_along_with: str | None
    candidates: list[dict[str, Any]]
    unambiguous: bool


Examine = Callable[..., list[Finding]]


@pytest.fixture
def layout(state: StateBuilder, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv("HOME", str(state.home))
    return find_layout(None, {})


@pytest.fixture
def examine(state: StateBuilder) -> Examine:
    """All findings, or those of one kind, as the command line tells them."""

    def look(kind: str | None = None, *roots: Path) -> list[Finding]:
        search = [word for root in roots for word in ("--search", str(root))]
        done = run_ccmove("doctor", "--json", *search, state=state)
        found = [Finding(**row) for row in done.json()["findings"]]
        assert done.exit in (0, 1), done
        return [finding for finding in found if kind in (None, finding.kind)]

    return look


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, as nobody in particular and with nobody's settings."""
    who = ("-c", "user.name=dev", "-c", "user.email=dev@example.invalid")
    command = ["git", "-C", str(folder), *who, "-c", "init.defaultBranch=main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def make_repo(folder: Path, remote: str | None = None, *, commit: bool = False) -> Path:
    """A git repository, with a remote or a commit when asked for."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    if remote is not None:
        git(folder, "remote", "add", "origin", f"git@github.com:{remote}.git")
    if commit:
        git(folder, "commit", "-q", "--allow-empty", "-m", f"begin {folder.name}")
    return folder
