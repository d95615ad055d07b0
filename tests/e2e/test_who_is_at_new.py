"""Nothing merges by accident: what is at NEW already decides whether a move is what was
meant.
"""

from pathlib import Path

import pytest

from tests.inspect.conftest import git, make_repo
from tests.shapes.bench import Bench, directory_of
from tests.support.hints import commands
from tests.support.run import run_child
from tests.support.state import StateBuilder


def go_on(bench: Bench, report: dict[str, str], part: str) -> None:
    """Type the command of a hint as it stands; it must be done."""
    (command,) = [line for line in commands(report["hint"]) if part in line]
    done = run_child(["bash", "-c", command], state=bench.state, env=bench.on_path())
    assert done.exit == 0, (command, done.err)


@pytest.mark.parametrize(
    ("part", "becomes"), [("my-app INSIDE", "work/my-app"), ("--skip", "work")]
)
def test_a_folder_that_mv_brought_into_new_is_the_project(
    bench: Bench, part: str, becomes: str, state: StateBuilder
) -> None:
    """With the check skipped it is NEW itself."""
    old = state.project("my-app")
    inside = make_repo(state.code / "work/my-app")
    report = bench.refused(old.path, f"{state.code}/work/")
    assert str(inside) in report["error"]
    go_on(bench, report, part.replace("INSIDE", str(inside)))
    assert directory_of(state, state.code / becomes).is_dir()


@pytest.mark.parametrize(
    "repositories", [["site"], ["site", "site/mysite"], []], ids=", ".join
)
def test_a_repository_with_a_folder_of_its_own_name_is_moved(
    bench: Bench, repositories: list[str]
) -> None:
    """And a folder that has such a one, when neither is a repository."""
    old, _ = bench.state.project("mysite"), bench.folder("site/mysite")
    for name in repositories:
        make_repo(bench.state.code / name)
    bench.ok(old.path, bench.state.code / "site")


def test_move_folder_into_a_folder_that_exists_names_the_place_in_it(
    bench: Bench,
) -> None:
    state = bench.state
    old = state.project("app", make_folder=True)
    work = bench.folder("work")
    go_on(bench, bench.refused("-m", old.path, f"{work}/"), f"{old.path} {work}/app")
    assert (work / "app").is_dir()


def test_a_project_with_another_remote_is_not_merged_into_unless_that_is_asked_for(
    bench: Bench, state: StateBuilder
) -> None:
    old = state.project("app", repo="me/app")
    new = state.project("site", sessions=3, memory={"MEMORY.md": "x\n"})
    make_repo(state.code / "site", "acme/site")
    for option in ([], ["-n"]):
        report = bench.refused(*option, old.path, new.path)
        for fact in ("3 sessions of its own", "acme/site", "me/app"):
            assert fact in report["error"]
    assert bench.refused("-y", old.path, new.path)["status"] == "refused"
    go_on(bench, bench.refused(old.path, new.path), "--merge")
    assert len(list(new.directory.glob("*.jsonl"))) == 5


def test_a_project_without_a_common_root_commit_is_another_one(bench: Bench) -> None:
    state = bench.state
    old = state.project("app")
    new = state.project("site", sessions=1)
    make_repo(state.code / "app", commit=True)
    make_repo(state.code / "site", commit=True)
    assert (
        "root commit" in bench.refused("--skip-path-check", old.path, new.path)["error"]
    )
    assert (
        bench.ok("--skip-path-check", "--merge", old.path, new.path)["status"]
        == "moved"
    )


def test_nested_projects_do_not_merge_into_others_either(
    bench: Bench, state: StateBuilder
) -> None:
    old = state.project("old/app", repo="me/app")
    new = state.project("new/app", sessions=1)
    make_repo(state.code / "new/app", "acme/app")
    report = bench.refused(state.code / "old", state.code / "new")
    assert old.path in report["error"]
    assert new.path in report["error"]


@pytest.mark.parametrize(
    "known", ["the same remote", "nothing to compare", "no sessions at NEW"]
)
def test_what_is_not_known_to_be_another_project_is_merged(
    bench: Bench, known: str
) -> None:
    state = bench.state
    old = state.project("app", repo=None if known == "nothing to compare" else "Me/App")
    sessions = 0 if known == "no sessions at NEW" else 8
    new = state.project("site", sessions=sessions)
    make_repo(
        state.code / "site", "acme/site" if known == "no sessions at NEW" else "me/app"
    )
    preview = bench.run("-n", old.path, new.path).out
    done = bench.run(old.path, new.path)
    assert done.exit == 0, done.err
    lines = [line.strip() for line in done.out.splitlines()]
    assert ("Merged into a project that had 8 sessions of its own" in lines) == bool(
        sessions
    )
    assert ("into a project that has 8 sessions of its own" in preview) == bool(
        sessions
    )


def test_each_merge_below_a_parent_is_named_by_its_path(
    bench: Bench, state: StateBuilder
) -> None:
    for name in ("one", "two", "three"):
        state.project(f"old/{name}", sessions=1)
    new = [
        state.project(f"new/{name}", sessions=n) for name, n in (("one", 1), ("two", 2))
    ]
    (state.code / "new").mkdir(exist_ok=True)
    out = bench.run(state.code / "old", state.code / "new").out
    assert f"had 1 session of its own: {new[0].path}" in out
    assert f"had 2 sessions of its own: {new[1].path}" in out
    assert out.count("Merged into") == 2


def test_a_living_project_with_the_same_encoded_name_is_not_joined(
    bench: Bench,
) -> None:
    state = bench.state
    old = state.project("old")
    twin = state.project("my-app", sessions=1, make_folder=True)
    new = bench.folder("my_app")
    for options in (
        (),
        ("-n",),
        ("--merge", "--skip-path-check", "-y", "--allow-live"),
    ):
        report = bench.refused(*options, old.path, new)
        assert twin.path in report["error"]
        assert "could not tell them apart" in report["error"]
    for command in commands(report["hint"]):
        go_on(bench, report, command)
    assert directory_of(state, state.code / "my_app-2").is_dir()


def test_a_folder_is_not_renamed_to_a_living_twins_name_either(bench: Bench) -> None:
    state = bench.state
    old = state.project("old", make_folder=True)
    twin = state.project("my-app", sessions=1, make_folder=True)
    report = bench.refused("-m", old.path, state.code / "my_app")
    for part in (f"-m {twin.path}", f"{old.path} {state.code}/my_app"):
        go_on(bench, report, part)


def test_a_nested_living_twin_is_renamed_first(
    bench: Bench, state: StateBuilder
) -> None:
    state.project("old/a_b", sessions=1)
    twin = state.project("new/a.b", sessions=1, make_folder=True)
    report = bench.refused(state.code / "old", state.code / "new")
    assert twin.path in report["error"]
    for part in (f"-m {twin.path}", f"{state.code}/old {state.code}/new"):
        go_on(bench, report, part)
    assert directory_of(state, f"{twin.path}-2").is_dir()


@pytest.mark.parametrize(
    "why", ["its folder is gone", "it has no sessions", "it is a link to NEW"]
)
def test_a_twin_that_is_not_living_is_no_reason_to_refuse(
    bench: Bench, why: str
) -> None:
    state = bench.state
    old = state.project("old")
    new = bench.folder("my_app")
    twin = state.project("my-app", sessions=0 if why == "it has no sessions" else 1)
    if why == "it is a link to NEW":
        Path(twin.path).symlink_to(new)
    elif why == "it has no sessions":
        Path(twin.path).mkdir()
    bench.ok(old.path, new)


def test_a_twin_that_moves_away_in_the_same_run_is_no_reason_to_refuse(
    bench: Bench,
) -> None:
    state = bench.state
    old = state.project("old", sessions=1)
    twin = state.project("my-app", sessions=2, make_folder=True)
    for name in ("my_app", "other"):
        (state.code / name).mkdir()
    lines = f"{twin.path}\t{state.code}/other\n{old.path}\t{state.code}/my_app\n"
    bench.ok("--skip-path-check", "--from-file", "-", input=lines)
    assert len(list(directory_of(state, state.code / "my_app").glob("*.jsonl"))) == 1


def renamed_twice(state: StateBuilder, *, begun: int = -60) -> tuple[str, str]:
    """`old-name` became `new-name`, on disk and as a repository; Claude Code was
    started in it since. The checkout began so many seconds after OLD's last session.
    """
    old = state.project("old-name", repo="me/old-name")
    last = int(max(file.stat().st_mtime for file in old.transcripts))
    make_repo(state.code / "new-name", "me/new-name", at=last + begun)
    return old.path, state.project("new-name", sessions=1).path


def test_a_folder_whose_repository_was_renamed_too_is_the_same_project(
    bench: Bench,
) -> None:
    old, new = renamed_twice(bench.state)
    done = bench.run(old, new)
    assert done.exit == 0, done.err
    assert "Merged into a project that had 1 session of its own" in done.out


def test_a_checkout_that_is_younger_than_the_last_session_is_another_project(
    bench: Bench,
) -> None:
    old, new = renamed_twice(bench.state, begun=60)
    error = bench.refused(old, new)["error"]
    for fact in ("1 session of its own", "me/new-name", "me/old-name"):
        assert fact in error


def test_a_long_reflog_is_no_excuse_for_sessions_that_are_older(bench: Bench) -> None:
    """NEW is mistyped: a repository that was in use beside OLD."""
    state = bench.state
    new = state.project("site", sessions=1)
    began = int(new.transcripts[0].stat().st_mtime) - 1_000_000
    make_repo(state.code / "site", "acme/site", at=began)
    old = state.project("app", repo="me/app")
    assert "is another project" in bench.refused(old.path, new.path)["error"]
    assert bench.ok("--merge", old.path, new.path)["status"] == "moved"


def test_a_common_root_commit_says_more_than_the_remote(bench: Bench) -> None:
    state = bench.state
    old = state.project("app", sessions=1)
    new = state.project("site", sessions=1)
    make_repo(state.code / "app", "me/app", commit=True)
    git(state.code, "clone", "-q", old.path, "site")
    url = "git@github.com:acme/site.git"
    git(new.path, "remote", "set-url", "origin", url)
    assert bench.ok("--skip-path-check", old.path, new.path)["status"] == "moved"


def test_one_path_and_doctor_find_a_renamed_repository(bench: Bench) -> None:
    old, new = renamed_twice(bench.state)
    for path in (old, new):
        report = bench.refused(path)
        assert f"ccmove {old} {new}" in report["hint"].replace(" --json", "")
    (orphan,) = [
        row
        for row in bench.run("doctor", "--json").json()["findings"]
        if row["kind"] == "orphan"
    ]
    assert orphan["subject"] == old
    (place,) = orphan["candidates"]
    assert (place["path"], place["confidence"]) == (new, "possible")
    assert "its repository was renamed, too" in place["evidence"]


def test_a_neighbour_with_a_younger_checkout_is_not_found(bench: Bench) -> None:
    old, new = renamed_twice(bench.state, begun=60)
    bench.refused(new, code=3)
    findings = bench.run("doctor", "--json").json()["findings"]
    candidates = [row["candidates"] for row in findings if row["subject"] == old]
    assert candidates == [[]]
