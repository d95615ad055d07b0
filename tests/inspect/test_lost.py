"""Where a lost project may be now: evidence, confidence, and what is not evidence at
all.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ccmove.claude.git import Identity, identity
from tests.inspect.conftest import (
    Candidate,
    clone,
    examine,
    git,
    has_state,
    make_repo,
    moved_repo,
    run_ccmove,
)
from tests.support.state import ProjectHandle, StateBuilder


@pytest.fixture
def state(tmp_path: Path) -> StateBuilder:
    """Three folders deep, so that the neighbourhood of one test is not that of another."""
    return StateBuilder(tmp_path / "a" / "b" / "c")


def named(candidates: list[Candidate]) -> list[tuple[str, ...]]:
    """Their names, how sure each is, and all that speaks against it."""
    return [
        (Path(found.path).name, found.confidence, *found.against)
        for found in candidates
    ]


def homes(state: StateBuilder, *roots: Path) -> list[tuple[str, ...]]:
    """Where the only lost project may be."""
    (finding,) = examine(state, None, *roots)
    return named(finding.candidates)


def test_a_folder_renamed_where_it_was_is_found_without_git(
    state: StateBuilder,
) -> None:
    state.project("cafe")
    state.project("other", make_folder=True)
    (state.code / "bistro").mkdir()
    ((candidate,),) = (finding.candidates for finding in examine(state))
    assert candidate.evidence == [
        "the only folder there that Claude Code does not know"
    ]
    assert (candidate.path, candidate.confidence) == (
        str(state.code / "bistro"),
        "possible",
    )


def test_of_several_new_folders_one_with_a_similar_name_is_found(
    state: StateBuilder,
) -> None:
    state.project("cafe-menu")
    for name in ("bistro-menu", "x", "y"):
        (state.code / name).mkdir()
    ((candidate,),) = (finding.candidates for finding in examine(state))
    assert candidate.path == str(state.code / "bistro-menu")
    assert candidate.evidence == ["a similar name in the same place"]


def test_a_name_is_not_similar_for_a_few_letters(state: StateBuilder) -> None:
    state.project("thesis")
    for name in ("notes", "x"):
        (state.code / name).mkdir()
    assert homes(state) == []


def test_a_worktree_is_not_the_repository_that_was_renamed(
    state: StateBuilder,
) -> None:
    state.project("lib", repo="acme/lib")
    state.project("library-fix", repo="acme/lib")
    repo = make_repo(state.code / "library", "acme/lib", commit=True)
    git(repo, "worktree", "add", "-q", str(state.code / "library-fix"))
    doubt = f"it is a worktree of {repo}"
    assert homes(state) == [("library", "likely"), ("library-fix", "possible", doubt)]


def test_beside_the_same_repository_a_similar_name_is_not_offered(
    state: StateBuilder,
) -> None:
    state.project("webapp", repo="acme/webapp")
    make_repo(state.code / "frontend", "acme/webapp")
    (state.code / "my-app").mkdir()
    assert homes(state) == [("frontend", "likely")]


@pytest.mark.parametrize("place", ["squad", "archive/squad"])
def test_a_renamed_parent_is_one_move(state: StateBuilder, place: str) -> None:
    for name in ("app", "lib", "web"):
        state.project(f"team/{name}", sessions=2)
        (state.code / place / name).mkdir(parents=True)
    (finding,) = examine(state)
    assert (Path(finding.subject).name, finding.what) == (
        "team",
        "3 projects, 6 sessions",
    )
    assert named(finding.candidates) == [("squad", "possible")]
    # Asked for by the name of one of them it is the same.
    assert (
        len(run_ccmove("doctor", "--json", "lib", state=state).json()["findings"]) == 1
    )
    done = run_ccmove(*finding.candidates[0].command.split()[1:], state=state)
    assert done.exit == 0
    assert examine(state) == []


def test_a_parent_of_which_a_part_went_elsewhere_is_not_one_move(
    state: StateBuilder,
) -> None:
    for name in ("app", "lib"):
        state.project(f"team/{name}", repo=f"acme/{name}")
    make_repo(state.code / "squad" / "app", "acme/app")
    (state.code / "squad" / "lib").mkdir()
    make_repo(state.code / "elsewhere" / "lib", "acme/lib")
    assert {Path(finding.subject).name for finding in examine(state)} == {"app", "lib"}


def test_a_parent_is_as_doubtful_as_the_projects_in_it(state: StateBuilder) -> None:
    """Two deleted clones beside two that were used at the same time."""
    for name in ("app", "lib"):
        repo = f"acme/{name}"
        make_repo(Path(state.project(f"squad/{name}", repo=repo).path), repo)
    for name in ("app", "lib"):
        state.project(f"team/{name}", repo=f"acme/{name}")
    doubt = "it had conversations of its own before that"
    (finding,) = examine(state)
    assert named(finding.candidates) == [("squad", "possible", doubt)]


def test_what_came_since_to_a_folder_that_we_moved_follows_it(
    state: StateBuilder,
) -> None:
    """Below its old path, where the new one has no such folder."""
    old, new = state.code / "team", state.code / "squad"
    state.project("team")
    new.mkdir()
    assert run_ccmove(old, new, state=state).exit == 0
    state.project("team/lib")
    done = run_ccmove("-y", old, state=state)
    assert done.exit == 0, done
    assert has_state(state, "squad/lib")


def test_what_the_whole_home_was_searched_for_can_be_named(
    state: StateBuilder,
) -> None:
    state.project("gone")
    done = run_ccmove("doctor", "--search", state.home, state=state)
    assert done.exit == 1
    told = f"not found in {state.home}. If you know where it is: ccmove OLD NEW\n"
    assert told in done.out


def test_projects_that_were_not_found_have_one_search(state: StateBuilder) -> None:
    for name in ("one/tea", "two/cup", "three/pot"):
        state.project(name)
    commands = {finding.command for finding in examine(state)}
    assert commands == {f"ccmove doctor --search {state.home}"}
    told = run_ccmove("doctor", state=state).out
    assert told.count("--search") == 1


def test_a_nested_project_moves_with_the_one_it_is_in(state: StateBuilder) -> None:
    state.project("cafe-menu")
    state.project("cafe-menu/packages/core")
    (state.code / "bistro-menu" / "packages" / "core").mkdir(parents=True)
    outer, inner = examine(state)
    assert named(outer.candidates) == [("bistro-menu", "possible")]
    assert (inner.candidates, inner.along) == ([], outer.subject)


def test_the_same_remote_is_likely_the_new_home(state: StateBuilder) -> None:
    state.project("old", repo="acme/app")
    make_repo(state.code / "new", "acme/app")
    make_repo(state.code / "other", "acme/other")
    ((candidate,),) = (finding.candidates for finding in examine(state))
    assert (candidate.path, candidate.confidence) == (str(state.code / "new"), "likely")
    assert candidate.evidence[0] == "same remote, acme/app"


def test_the_remote_of_a_worktree_is_that_of_its_repository(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", "acme/app", commit=True)
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert identity(str(tmp_path / "tree")).remotes == {"acme/app"}


def test_the_root_commit_of_another_clone_is_evidence(state: StateBuilder) -> None:
    state.project("old", repo="acme/app")
    clone = make_repo(state.code / "clone", commit=True)
    git(clone, "clone", "-q", str(clone), str(state.code / "new"))
    git(state.code / "new", "remote", "remove", "origin")
    data = state.config()
    data["githubRepoPaths"]["acme/app"].append(str(clone))
    state.write_config(data)
    (finding,) = examine(state)
    found = {Path(c.path).name: c for c in finding.candidates}
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
    git(
        tmp_path,
        "clone",
        "-q",
        "--depth",
        "1",
        f"file://{repo}",
        str(tmp_path / "shallow"),
    )
    assert len(identity(str(repo)).roots) == 1
    assert identity(str(tmp_path / "shallow")).roots == frozenset()


def in_use(state: StateBuilder, name: str) -> ProjectHandle:
    """A checkout of acme/app that is a project itself."""
    handle = state.project(name, repo="acme/app")
    make_repo(Path(handle.path), "acme/app")
    return handle


def cloned_while_in_use(state: StateBuilder) -> None:
    handle = state.project("old", repo="acme/app")
    clone(state, "clone", at=int(handle.transcripts[0].stat().st_mtime) + 1)


def taken_by_cd(state: StateBuilder) -> None:
    """The client's own `/cd` moves one transcript to the other project's directory."""
    old, other = state.project("old"), state.project("other", make_folder=True)
    state.add_session("old", directory=other.directory, cwd=old.path)


def home_as_repository(state: StateBuilder) -> None:
    state.project("old", repo="acme/dotfiles")
    make_repo(state.home, "acme/dotfiles")
    state.project(str(state.home), repo="acme/dotfiles")


SIGNS: dict[str, tuple[Callable[[StateBuilder], object], list[tuple[str, ...]]]] = {
    "a folder of another repository is none": (
        lambda s: (
            s.project("deleted", repo="acme/deleted"),
            make_repo(s.code / "other", "acme/other", commit=True),
        ),
        [],
    ),
    "a clone that was used at the same time is only possible": (
        lambda s: (in_use(s, "clone"), s.project("deleted", repo="acme/app")),
        [("clone", "possible", "it had conversations of its own before that")],
    ),
    "a clone that was made afterwards is only possible": (
        lambda s: (s.project("deleted", repo="acme/app"), clone(s, "review")),
        [("review", "possible", "it was cloned after the project was last used")],
    ),
    "one that was used only afterwards is likely": (
        lambda s: (s.project("old", repo="acme/app"), in_use(s, "new")),
        [("new", "likely")],
    ),
    "a session that was taken elsewhere says nothing": (taken_by_cd, []),
    "a reflog of the time when the project was in use is proof": (
        lambda s: moved_repo(s, "old", "new"),
        [("new", "certain")],
    ),
    "a clone made while the project was in use is no proof": (
        cloned_while_in_use,
        [("clone", "likely")],
    ),
    "the home folder is nobody's new home": (home_as_repository, []),
}


@pytest.mark.parametrize("sign", SIGNS)
def test_what_is_a_sign_of_a_new_home(state: StateBuilder, sign: str) -> None:
    prepare, expected = SIGNS[sign]
    prepare(state)
    assert homes(state) == expected


def test_entries_without_a_date_do_not_decide_against_a_project_in_use(
    state: StateBuilder,
) -> None:
    in_use(state, "clone")
    state.project("deleted", sessions=0, prompts=0, repo="acme/app")
    (finding,) = examine(state)
    ((name, confidence, *_),) = named(finding.candidates)
    assert (name, confidence, finding.unambiguous) == ("clone", "possible", False)


def test_the_only_session_taken_into_a_used_project_brings_no_project(
    state: StateBuilder,
) -> None:
    other = state.project("other", make_folder=True)
    old = state.project("old", sessions=0)
    state.add_session("old", directory=other.directory, cwd=old.path)
    (finding,) = examine(state)
    assert (finding.kind, finding.candidates) == ("stale-entries", [])


def test_two_lost_clones_of_one_repository_are_equal_before_a_third(
    state: StateBuilder,
) -> None:
    for name in ("first", "second"):
        state.project(name, repo="acme/app")
    make_repo(state.code / "new", "acme/app")
    for finding in examine(state):
        assert finding.candidates[0].against == [
            "it could be another lost project as well"
        ]


@pytest.mark.slow
def test_a_folder_that_was_there_all_the_time_is_only_possible(
    state: StateBuilder,
) -> None:
    handle = state.project("deleted", repo="acme/app")
    make_repo(state.code / "clone", "acme/app")
    later = time.time() + 1
    time.sleep(
        1.1
    )  # the clone must be older than the last use, which must not be in the future
    os.utime(handle.transcripts[0], (later, later))
    against = "this folder is older than the last session"
    assert homes(state) == [("clone", "possible", against)]


def test_a_far_folder_is_found_only_when_told_where(
    state: StateBuilder, tmp_path: Path
) -> None:
    state.project("old", repo="acme/app")
    far = tmp_path / "far" / "1" / "2" / "3"
    make_repo(far / "new", "acme/app")
    assert homes(state) == []
    assert homes(state, tmp_path / "far") == [("new", "likely")]


def test_links_and_what_is_inside_repositories_are_not_walked_into(
    state: StateBuilder, tmp_path: Path
) -> None:
    state.project("old", repo="acme/app")
    make_repo(tmp_path / "elsewhere" / "new", "acme/app")
    (state.code / "link").symlink_to(tmp_path / "elsewhere")
    outer = make_repo(state.code / "outer", "acme/outer")
    make_repo(outer / "vendored", "acme/app")
    assert homes(state) == []


def test_one_search_is_offered_for_all_that_was_not_found(state: StateBuilder) -> None:
    """Also where some have sessions and others only settings."""
    for name, sessions in (("one", 1), ("two", 1), ("three", 0), ("four", 0)):
        state.project(name, sessions=sessions)
    out = run_ccmove("doctor", state=state).out
    assert out.count(" --search ") == 1
    assert "Entries of folders that are gone: harmless if they were deleted (2)" in out
