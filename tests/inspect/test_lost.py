"""Where a lost project may be now: evidence, confidence, and what is not evidence at all."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ccmove.claude.git import Identity, identity
from tests.inspect.conftest import Candidate, Examine, clone, git, make_repo, moved_repo
from tests.support.state import StateBuilder


@pytest.fixture
def state(tmp_path: Path) -> StateBuilder:
    """Three folders deep, so that the neighbourhood of one test is not that of another."""
    return StateBuilder(tmp_path / "a" / "b" / "c")


@pytest.fixture
def homes(examine: Examine) -> Examine:
    """The candidates for the only lost project."""

    def look(*roots: Path) -> list[Candidate]:
        (finding,) = examine(None, *roots)
        return list(finding.candidates)

    return look


def named(candidates: list[Candidate]) -> list[tuple[str, str]]:
    return [(Path(candidate.path).name, candidate.confidence) for candidate in candidates]


# -- renamed where it was -----------------------------------------------------------------------


def test_a_folder_renamed_where_it_was_is_found_without_git(
    state: StateBuilder, homes: Examine
) -> None:
    state.project("cafe")
    state.project("other", make_folder=True)
    (state.code / "bistro").mkdir()
    (candidate,) = homes()
    assert candidate.path == str(state.code / "bistro")
    assert candidate.evidence == ["the only folder there that Claude Code does not know"]
    assert candidate.confidence == "possible"


def test_of_several_new_folders_one_with_a_similar_name_is_found(
    state: StateBuilder, homes: Examine
) -> None:
    state.project("cafe-menu")
    for name in ("bistro-menu", "x", "y"):
        (state.code / name).mkdir()
    (candidate,) = homes()
    assert candidate.path == str(state.code / "bistro-menu")
    assert candidate.evidence == ["a similar name in the same place"]


def test_a_renamed_parent_is_found_and_what_is_in_it(state: StateBuilder, examine: Examine) -> None:
    state.project("team/app")
    state.project("team/lib")
    for name in ("app", "lib"):
        (state.code / "squad" / name).mkdir(parents=True)
    found = [(Path(f.subject).name, named(f.candidates)) for f in examine()]
    assert found == [("app", [("app", "possible")]), ("lib", [("lib", "possible")])]


def test_a_nested_project_moves_with_the_one_it_is_in(
    state: StateBuilder, examine: Examine
) -> None:
    state.project("cafe-menu")
    state.project("cafe-menu/packages/core")
    (state.code / "bistro-menu" / "packages" / "core").mkdir(parents=True)
    outer, inner = examine()
    assert named(outer.candidates) == [("bistro-menu", "possible")]
    assert (inner.candidates, inner.along) == ([], outer.subject)


# -- the same repository ------------------------------------------------------------------------


def test_the_same_remote_is_likely_the_new_home(state: StateBuilder, homes: Examine) -> None:
    state.project("old", repo="acme/app")
    make_repo(state.code / "new", "acme/app")
    make_repo(state.code / "other", "acme/other")
    (candidate,) = homes()
    assert candidate.path == str(state.code / "new")
    assert candidate.confidence == "likely"
    assert candidate.evidence[0] == "same remote, acme/app"


def test_the_remote_of_a_worktree_is_that_of_its_repository(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", "acme/app", commit=True)
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert identity(str(tmp_path / "tree")).remotes == {"acme/app"}


def test_the_root_commit_of_another_clone_is_evidence(state: StateBuilder, homes: Examine) -> None:
    state.project("old", repo="acme/app")
    clone = make_repo(state.code / "clone", commit=True)
    git(clone, "clone", "-q", str(clone), str(state.code / "new"))
    git(state.code / "new", "remote", "remove", "origin")
    data = state.config()
    data["githubRepoPaths"]["acme/app"].append(str(clone))
    state.write_config(data)
    found = {Path(c.path).name: c for c in homes()}
    assert "same root commit" in found["new"].evidence


def test_what_is_not_a_repository_of_its_own_has_no_identity(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", "acme/app", commit=True)
    (repo / "sub").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / ".git").write_text("gitdir: /no/such/place\n")
    for folder in (repo / "sub", tmp_path / "broken", tmp_path / "gone"):
        assert identity(str(folder)) == Identity()


def test_the_first_commit_of_a_shallow_clone_says_nothing(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", commit=True)
    git(repo, "commit", "-q", "--allow-empty", "-m", "more")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", str(tmp_path / "shallow"))
    assert len(identity(str(repo)).roots) == 1
    assert identity(str(tmp_path / "shallow")).roots == frozenset()


# -- a deleted project is not a moved one -------------------------------------------------------


def test_a_folder_of_another_repository_is_not_a_candidate(
    state: StateBuilder, homes: Examine
) -> None:
    state.project("deleted", repo="acme/deleted")
    make_repo(state.code / "other", "acme/other", commit=True)
    assert homes() == []


def test_another_clone_that_was_used_at_the_same_time_is_only_possible(
    state: StateBuilder, homes: Examine
) -> None:
    clone = state.project("clone", repo="acme/app")
    make_repo(Path(clone.path), "acme/app")
    state.project("deleted", repo="acme/app")
    (candidate,) = homes()
    assert (candidate.path, candidate.confidence) == (clone.path, "possible")
    assert candidate.against == ["it had conversations of its own before that"]


def test_a_clone_that_was_made_afterwards_is_only_possible(
    state: StateBuilder, homes: Examine
) -> None:
    state.project("deleted", repo="acme/app")
    clone(state, "review")
    (candidate,) = homes()
    assert candidate.against == ["it was cloned after the project was last used"]
    assert candidate.confidence == "possible"


def test_a_home_that_was_used_only_afterwards_is_likely(
    state: StateBuilder, homes: Examine
) -> None:
    state.project("old", repo="acme/app")
    new = state.project("new", repo="acme/app")
    make_repo(Path(new.path), "acme/app")
    (candidate,) = homes()
    assert (candidate.confidence, candidate.against) == ("likely", [])


def test_entries_without_a_date_do_not_decide_against_a_project_in_use(
    state: StateBuilder, examine: Examine
) -> None:
    clone = state.project("clone", repo="acme/app")
    make_repo(Path(clone.path), "acme/app")
    state.project("deleted", sessions=0, prompts=0, repo="acme/app")
    (finding,) = examine()
    assert (named(finding.candidates), finding.unambiguous) == ([("clone", "possible")], False)


def test_a_session_that_was_taken_elsewhere_says_nothing_about_the_project(
    state: StateBuilder, homes: Examine
) -> None:
    """The client's own `/cd` moves one transcript to the other project's directory."""
    old = state.project("old")
    other = state.project("other", make_folder=True)
    state.add_session("old", directory=other.directory, cwd=old.path)
    assert homes() == []


def test_the_only_session_taken_into_a_project_in_use_does_not_bring_its_project_along(
    state: StateBuilder, examine: Examine
) -> None:
    other = state.project("other", make_folder=True)
    old = state.project("old", sessions=0)
    state.add_session("old", directory=other.directory, cwd=old.path)
    (finding,) = examine()
    assert (finding.kind, finding.candidates) == ("stale-entries", [])


def test_a_reflog_of_the_time_when_the_project_was_in_use_is_proof(
    state: StateBuilder, homes: Examine
) -> None:
    moved_repo(state, "old", "new")
    assert named(homes()) == [("new", "certain")]


def test_a_clone_made_while_the_project_was_in_use_is_not_proof(
    state: StateBuilder, homes: Examine
) -> None:
    handle = state.project("old", repo="acme/app")
    clone(state, "clone", at=int(handle.transcripts[0].stat().st_mtime) + 1)
    assert named(homes()) == [("clone", "likely")]


def test_two_lost_clones_of_one_repository_are_equal_before_a_third(
    state: StateBuilder, examine: Examine
) -> None:
    for name in ("first", "second"):
        state.project(name, repo="acme/app")
    make_repo(state.code / "new", "acme/app")
    for finding in examine():
        assert finding.candidates[0].against == ["it could be another lost project as well"]


def test_the_home_folder_is_nobodys_new_home(state: StateBuilder, homes: Examine) -> None:
    state.project("old", repo="acme/dotfiles")
    make_repo(state.home, "acme/dotfiles")
    state.project(str(state.home), repo="acme/dotfiles")
    assert homes() == []


def test_a_folder_that_was_there_all_the_time_is_only_possible(
    state: StateBuilder, homes: Examine
) -> None:
    handle = state.project("deleted", repo="acme/app")
    make_repo(state.code / "clone", "acme/app")
    later = time.time() + 1
    time.sleep(1.1)  # the clone must be older than the last use, which must not be in the future
    os.utime(handle.transcripts[0], (later, later))
    (candidate,) = homes()
    assert candidate.against == ["it has been where it is since before the project was last used"]
    assert candidate.confidence == "possible"


# -- where it looks -----------------------------------------------------------------------------


def test_a_folder_far_away_is_found_only_when_told_where(
    state: StateBuilder, homes: Examine, tmp_path: Path
) -> None:
    state.project("old", repo="acme/app")
    far = tmp_path / "far" / "1" / "2" / "3"
    make_repo(far / "new", "acme/app")
    assert homes() == []
    assert named(homes(tmp_path / "far")) == [("new", "likely")]


def test_links_and_what_is_inside_repositories_are_not_walked_into(
    state: StateBuilder, homes: Examine, tmp_path: Path
) -> None:
    state.project("old", repo="acme/app")
    make_repo(tmp_path / "elsewhere" / "new", "acme/app")
    (state.code / "link").symlink_to(tmp_path / "elsewhere")
    outer = make_repo(state.code / "outer", "acme/outer")
    make_repo(outer / "vendored", "acme/app")
    assert homes() == []
