"""A state, its layout as the command line would find it, and ways to look at it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ccmove.claude.layout import Layout, find_layout
from ccmove.cli.doctor import Search, doctor
from ccmove.inspect.findings import CommandLine, Finding
from tests.support.state import StateBuilder

Examine = Callable[..., list[Finding]]


@pytest.fixture
def layout(state: StateBuilder, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv("HOME", str(state.home))
    return find_layout(None, {})


@pytest.fixture
def examine(layout: Layout) -> Examine:
    """All findings, or those of one kind."""

    def look(kind: str | None = None, *roots: Path) -> list[Finding]:
        search = Search(CommandLine(), roots=tuple(str(root) for root in roots))
        found = doctor(layout, search).findings
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
