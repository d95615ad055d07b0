"""Where a lost project may be now: evidence, confidence, and what is no evidence at all."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from ccmove import catalogue
from ccmove.gitfolder import Checkout
from ccmove.layout import Layout
from ccmove.newhome import COMMON, HomeFinder
from ccmove.survey import look
from tests.inspect.conftest import git, make_repo
from tests.support.run import run_ccmove
from tests.support.state import ProjectHandle, StateBuilder


@pytest.fixture
def state(tmp_path: Path) -> StateBuilder:
    """Three folders deep, so that the neighbourhood of one test is not that of another."""
    return StateBuilder(tmp_path / "a" / "b" / "c")


@dataclass(frozen=True)
class Candidate:
    """One place that `doctor --json` names; `settles` is whether it needs no question."""

    path: str
    confidence: str
    evidence: tuple[str, ...]
    against: tuple[str, ...]
    settles: bool


def homes(state: StateBuilder, handle: ProjectHandle, *roots: Path) -> tuple[Candidate, ...]:
    search = [word for root in roots for word in ("--search", str(root))]
    found = run_ccmove("doctor", "--json", *search, state=state).json()["findings"]
    (row,) = [row for row in found if row["subject"] == handle.path]
    return tuple(
        Candidate(
            one["path"], one["confidence"], tuple(one["evidence"]), tuple(one["against"]),
            row["unambiguous"],
        )
        for one in row["candidates"]
    )  # fmt: skip


def named(candidates: tuple[Candidate, ...]) -> list[tuple[str, str]]:
    return [(Path(candidate.path).name, candidate.confidence) for candidate in candidates]


def say(handle: ProjectHandle, text: str) -> None:
    """Append a record with this text to the first conversation, dated as it was before."""
    transcript = handle.transcripts[0]
    before = transcript.stat()
    with transcript.open("a") as file:
        file.write('{"type":"user","message":{"content":"' + text + '"}}\n')
    os.utime(transcript, ns=(before.st_atime_ns, before.st_mtime_ns))


# -- the same repository ------------------------------------------------------------------------


def test_the_same_remote_is_likely_the_new_home(state: StateBuilder) -> None:
    handle = state.project("old", repo="acme/app")
    make_repo(state.code / "new", "acme/app")
    make_repo(state.code / "other", "acme/other")
    (candidate,) = homes(state, handle)
    assert candidate.path == str(state.code / "new")
    assert candidate.confidence == "likely"
    assert candidate.evidence == ("the same remote, acme/app",)


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:Acme/App.git", "https://github.com/acme/app", "https://x@github.com/acme/app/",
        "ssh://git@github.com:22/acme/app.git",
    ],
)  # fmt: skip
def test_a_remote_is_known_however_it_is_spelled(tmp_path: Path, url: str) -> None:
    repo = make_repo(tmp_path / "repo")
    git(repo, "remote", "add", "origin", url)
    assert Checkout(str(repo)).remotes == {"acme/app"}


def test_the_remote_of_a_worktree_is_that_of_its_repository(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", "acme/app", commit=True)
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert Checkout(str(tmp_path / "tree")).remotes == {"acme/app"}


def test_the_root_commit_of_another_clone_is_evidence(state: StateBuilder) -> None:
    handle = state.project("old", repo="acme/app")
    clone = make_repo(state.code / "clone", commit=True)
    git(clone, "clone", "-q", str(clone), str(state.code / "new"))
    git(state.code / "new", "remote", "remove", "origin")
    data = state.config()
    data["githubRepoPaths"]["acme/app"].append(str(clone))
    state.write_config(data)
    found = {Path(c.path).name: c for c in homes(state, handle)}
    assert "the same root commit" in found["new"].evidence


def test_a_root_commit_named_in_a_conversation_is_evidence(state: StateBuilder) -> None:
    handle = state.project("old")
    first = make_repo(state.code / "first", commit=True)
    git(first, "clone", "-q", str(first), str(state.code / "new"))
    root = git(first, "rev-parse", "--short=7", "HEAD")
    say(handle, f"[main (root-commit) {root}] begin")
    found = {Path(c.path).name: c for c in homes(state, handle)}
    assert found["new"].evidence == ("the same root commit",)


def test_no_hook_and_no_filter_runs_while_git_is_asked(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", commit=True)
    trap = tmp_path / "sprung"
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        hook = repo / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {trap}\n")
        hook.chmod(0o755)
    for setting in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external"):
        git(repo, "config", setting, f"touch {trap}")
    root = git(repo, "-c", "core.fsmonitor=false", "--no-pager", "rev-parse", "HEAD")
    trap.unlink(missing_ok=True)
    before = {path: path.stat().st_mtime_ns for path in repo.rglob("*")}
    assert Checkout(str(repo)).root_commits == {root}
    assert not trap.exists()
    assert {path: path.stat().st_mtime_ns for path in repo.rglob("*")} == before


def test_a_broken_repository_says_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /no/such/place\n")
    checkout = Checkout(str(tmp_path))
    assert (checkout.remotes, checkout.root_commits, checkout.commits_made_here) == (
        frozenset(), frozenset(), frozenset(),
    )  # fmt: skip


# -- the same checkout --------------------------------------------------------------------------


def test_a_commit_of_the_conversations_in_the_log_is_certain(state: StateBuilder) -> None:
    handle = state.project("old")
    repo = make_repo(state.code / "new", commit=True)
    commit = git(repo, "rev-parse", "--short=7", "HEAD")
    say(handle, f"[main {commit}] mend the menu")
    assert named(homes(state, handle)) == [("new", "certain")]


def test_a_clone_that_only_fetched_the_commit_is_not_certain(state: StateBuilder) -> None:
    handle = state.project("old")
    repo = make_repo(state.code / "first", commit=True)
    git(repo, "clone", "-q", str(repo), str(state.code / "clone"))
    commit = git(repo, "rev-parse", "--short=7", "HEAD")
    say(handle, f"[main {commit}] mend the menu")
    assert ("first", "certain") in named(homes(state, handle))
    assert "clone" not in dict(named(homes(state, handle)))


def test_a_worktree_of_its_own_that_git_still_knows_at_the_old_path_is_certain(
    state: StateBuilder,
) -> None:
    handle = state.project("old")
    repo = make_repo(state.code / "old", commit=True)
    git(repo, "worktree", "add", "-q", str(repo / ".claude" / "worktrees" / "try"))
    repo.rename(state.code / "new")
    assert named(homes(state, handle)) == [("new", "certain")]


def test_a_moved_worktree_that_git_still_knows_at_the_old_path_is_certain(
    state: StateBuilder,
) -> None:
    handle = state.project("tree")
    repo = make_repo(state.code / "repo", commit=True)
    git(repo, "worktree", "add", "-q", str(state.code / "tree"))
    (state.code / "tree").rename(state.code / "moved-tree")
    assert ("moved-tree", "certain") in named(homes(state, handle))
    assert "repo" not in dict(named(homes(state, handle)))


def test_a_python_environment_that_names_the_old_path_is_certain(state: StateBuilder) -> None:
    handle = state.project("old")
    activate = state.code / "new" / ".venv" / "bin" / "activate"
    activate.parent.mkdir(parents=True)
    activate.write_text(f'VIRTUAL_ENV="{handle.path}/.venv"\nexport VIRTUAL_ENV\n')
    assert named(homes(state, handle)) == [("new", "certain")]


# -- what only looks alike ----------------------------------------------------------------------


def test_a_folder_of_the_same_name_is_no_more_than_possible(state: StateBuilder) -> None:
    handle = state.project("app")
    (state.code / "archive" / "app").mkdir(parents=True)
    (candidate,) = homes(state, handle)
    assert (candidate.confidence, candidate.settles) == ("possible", False)


def test_files_named_in_conversations_and_prompts_lead_to_a_renamed_folder(
    state: StateBuilder,
) -> None:
    handle = state.project("old")
    state.add_prompt("old", "look at @recipes/soup.md and @prices.csv")
    new = state.code / "something-else"
    (new / "recipes").mkdir(parents=True)
    for name in ("menu.txt", "prices.csv", "recipes/soup.md"):
        (new / name).write_text("x")
    (candidate,) = homes(state, handle)
    assert candidate.path == str(new)
    assert candidate.evidence == ("has 3 of 3 files that its conversations name",)
    assert (candidate.confidence, candidate.settles) == ("possible", False)


def test_a_name_that_everybody_has_leads_nowhere(state: StateBuilder) -> None:
    handle = state.project("old")
    for number in range(COMMON + 1):
        folder = state.code / f"folder-{number}"
        folder.mkdir()
        (folder / "menu.txt").write_text("x")
    assert homes(state, handle) == ()


def test_a_folder_that_claude_code_gives_the_same_name_is_a_candidate(state: StateBuilder) -> None:
    handle = state.project("my_app")
    (state.code / "my-app").mkdir()
    (candidate,) = homes(state, handle)
    assert candidate.evidence == ("Claude Code keeps both under one name",)


def test_a_branch_of_the_conversations_is_a_sign(state: StateBuilder) -> None:
    handle = state.project("old", repo="acme/app")
    repo = make_repo(state.code / "new", "acme/app", commit=True)
    git(repo, "branch", "menu/soup")
    for transcript in handle.transcripts:
        data = transcript.read_bytes().replace(b'"gitBranch":"main"', b'"gitBranch":"menu/soup"')
        transcript.write_bytes(data)
    (candidate,) = homes(state, handle)
    assert "has the branch menu/soup" in candidate.evidence


def test_where_a_conversation_went_on_is_a_candidate(state: StateBuilder) -> None:
    handle = state.project("old")
    (state.code / "new").mkdir()
    with handle.transcripts[0].open("a") as file:
        file.write('{"type":"user","cwd":"' + str(state.code / "new") + '"}\n')
    (candidate,) = homes(state, handle)
    assert candidate.evidence == ("a conversation of it went on there",)


# -- a deleted project is not a moved one -------------------------------------------------------


def test_nothing_alike_means_no_candidate(state: StateBuilder) -> None:
    handle = state.project("deleted", repo="acme/deleted")
    make_repo(state.code / "other", "acme/other", commit=True)
    assert homes(state, handle) == ()


def test_another_clone_that_was_used_at_the_same_time_is_only_possible(state: StateBuilder) -> None:
    clone = state.project("clone", repo="acme/app")
    make_repo(Path(clone.path), "acme/app")
    handle = state.project("deleted", repo="acme/app")
    (candidate,) = homes(state, handle)
    assert candidate.path == clone.path
    assert (candidate.confidence, candidate.settles) == ("possible", False)
    assert candidate.against == (
        "it had conversations of its own while the project was still in use",
    )


def test_a_home_that_was_used_only_afterwards_is_likely(state: StateBuilder) -> None:
    handle = state.project("old", repo="acme/app")
    new = state.project("new", repo="acme/app")
    make_repo(Path(new.path), "acme/app")
    (candidate,) = homes(state, handle)
    assert (candidate.confidence, candidate.against) == ("likely", ())


def test_entries_without_a_date_do_not_settle_it_against_a_project_in_use(
    state: StateBuilder,
) -> None:
    clone = state.project("clone", repo="acme/app")
    make_repo(Path(clone.path), "acme/app")
    handle = state.project("deleted", sessions=0, prompts=0, repo="acme/app")
    (candidate,) = homes(state, handle)
    assert (candidate.confidence, candidate.settles) == ("possible", False)


def test_the_home_folder_is_nobodys_new_home(state: StateBuilder) -> None:
    handle = state.project("old", repo="acme/dotfiles")
    make_repo(state.home, "acme/dotfiles")
    state.project(str(state.home), repo="acme/dotfiles")
    assert homes(state, handle) == ()


def test_a_folder_that_was_there_all_the_time_is_only_possible(state: StateBuilder) -> None:
    handle = state.project("deleted", repo="acme/app")
    make_repo(state.code / "clone", "acme/app")
    later = time.time() + 1
    time.sleep(1.1)  # the clone must be older than the last use, which must not lie in the future
    os.utime(handle.transcripts[0], (later, later))
    (candidate,) = homes(state, handle)
    assert candidate.against == ("it has been where it is since before the project was last used",)
    assert candidate.confidence == "possible"


# -- where it looks -----------------------------------------------------------------------------


def test_a_folder_far_away_is_found_only_when_told_where(
    state: StateBuilder, tmp_path: Path
) -> None:
    handle = state.project("old", repo="acme/app")
    far = tmp_path / "far" / "1" / "2" / "3"
    make_repo(far / "new", "acme/app")
    assert homes(state, handle) == ()
    assert named(homes(state, handle, tmp_path / "far")) == [("new", "likely")]


def test_a_renamed_parent_is_found(state: StateBuilder) -> None:
    handle = state.project("team/old", repo="acme/app")
    make_repo(state.code / "squad" / "old", "acme/app")
    assert named(homes(state, handle)) == [("old", "likely")]


def test_links_and_what_is_inside_repositories_are_not_walked_into(
    state: StateBuilder, tmp_path: Path
) -> None:
    handle = state.project("old", repo="acme/app")
    make_repo(tmp_path / "elsewhere" / "new", "acme/app")
    (state.code / "link").symlink_to(tmp_path / "elsewhere")
    outer = make_repo(state.code / "outer")
    make_repo(outer / "vendored", "acme/app")
    assert homes(state, handle) == ()


def test_a_walk_that_is_cut_short_says_so(
    state: StateBuilder, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.project("old")
    for number in range(5):
        (state.code / str(number)).mkdir()
    monkeypatch.setattr(catalogue, "MOST_FOLDERS", 3)
    survey = look(layout)
    finder = HomeFinder(survey)
    finder.find([project for project in survey.projects if project.is_missing])
    assert str(state.code) in finder.catalogue.cut_short


def test_several_homes_come_best_first(state: StateBuilder) -> None:
    handle = state.project("app", repo="acme/app")
    (state.code / "x" / "app").mkdir(parents=True)
    make_repo(state.code / "likely", "acme/app")
    activate = state.code / "certain" / ".venv" / "bin" / "activate"
    activate.parent.mkdir(parents=True)
    activate.write_text(f'VIRTUAL_ENV="{handle.path}/.venv"\n')
    assert [confidence for _, confidence in named(homes(state, handle))] == [
        "certain", "likely", "possible",
    ]  # fmt: skip
