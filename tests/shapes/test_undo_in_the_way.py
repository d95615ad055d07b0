"""Undo when OLD is used again, when sessions were swept, and when one left by `/cd`."""

import subprocess
from dataclasses import replace

import pytest

from tests.shapes.undoing import Shape, Told, identities, words_of
from tests.support.run import Completed
from tests.support.seams import backup_ids
from tests.support.state import StateBuilder
from tests.support.tree import diff, snapshot

RENAME = Shape(moves=(("old", "new"),), had=("old",), since={"new": "new"})
MERGE = replace(RENAME, had=("old", "new"))
each_kind = pytest.mark.parametrize("shape", [RENAME, MERGE], ids=["rename", "merge"])


def lived(state: StateBuilder, shape: Shape = RENAME) -> Told:
    story = Told(state, shape)
    story.move()
    story.live()
    return story


def begin_again(story: Told) -> str:
    """Somebody works in a folder of OLD's name."""
    story.life.folder("old").mkdir(exist_ok=True)
    session = story.life.begin("old", "begun at OLD since")
    story.life.allow("old", "Bash(at OLD since)")
    story.life.write_note("old", "later.md", "note at OLD since")
    story.note_identities()
    return session


def make_repository(story: Told, name: str, repo: str) -> None:
    """A repository with a root commit and a remote of its own."""
    folder = story.life.folder(name)
    folder.mkdir(exist_ok=True)
    author = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    for words in (
        ["init", "-q"],
        ["remote", "add", "origin", f"https://github.com/acme/{repo}.git"],
        [*author, "commit", "-q", "--allow-empty", "-m", repo],
    ):
        subprocess.run(["git", "-C", str(folder), *words], check=True)


def assert_refused(story: Told, *words: str) -> Completed:
    """Exit 4, names OLD and the way around, and nothing has changed."""
    before = snapshot(story.state.root)
    done = story.run(*words)
    assert done.exit == 4, (done.out, done.err)
    after = snapshot(story.state.root)
    assert diff(before, after, mtimes="all", inodes="all") == []
    assert story.life.path("old") in words_of(done)
    assert "--merge" in words_of(done)
    return done


# -- OLD is used again -------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("preview", [(), ("-n",)], ids=["undo", "preview"])
def test_old_in_use_by_another_repository_refuses_the_undo(
    state: StateBuilder, shape: Shape, preview: tuple[str, ...]
) -> None:
    story = Told(state, shape)
    make_repository(story, "old", "first")
    if "new" in shape.had:
        story.life.folder("new").rmdir()
    story.move()
    story.live()
    make_repository(story, "old", "second")
    begin_again(story)
    assert_refused(story, "undo", *preview)


@each_kind
@pytest.mark.parametrize("preview", [(), ("-n",)], ids=["undo", "preview"])
def test_old_in_use_beside_new_refuses_the_undo_without_git_too(
    state: StateBuilder, shape: Shape, preview: tuple[str, ...]
) -> None:
    story = lived(state, shape)
    begin_again(story)
    assert_refused(story, "undo", *preview)


def test_old_in_use_by_what_a_later_move_brought_refuses_the_undo(
    state: StateBuilder,
) -> None:
    """Found by random lives: only what was begun at OLD itself was seen."""
    story = Told(state, replace(RENAME, had=("old", "other")))
    story.move()
    (run,) = backup_ids(state)
    story.life.begin("other", "begun since")
    story.rename_folders([("other", "old")])
    later = story.run(story.life.path("other"), story.life.path("old"))
    assert later.exit == 0, (later.out, later.err)
    assert_refused(story, "undo", run)


def test_old_in_use_in_the_directory_of_new_refuses_the_undo(
    state: StateBuilder,
) -> None:
    """Found by random lives: both have one encoded name, so nobody looked."""
    shape = Shape(moves=(("my_app", "my-app"),), had=("my_app",), since={})
    story = Told(state, shape)
    story.move()
    story.life.folder("my_app").mkdir()
    story.life.begin("my_app", "begun since")
    done = story.run("undo")
    assert done.exit == 4, (done.out, done.err)
    assert story.life.path("my_app") in words_of(done)


@pytest.mark.parametrize("words", [("undo",), ("undo", "--merge"), ("undo", "-n")])
def test_a_living_twin_of_old_refuses_the_undo(
    state: StateBuilder, words: tuple[str, ...]
) -> None:
    """Nothing lifts it: the client could not tell the two apart."""
    story = Told(state, Shape(moves=(("my_app", "new"),), had=("my_app",), since={}))
    story.move()
    (run,) = backup_ids(state)
    story.life.folder("my-app").mkdir()
    story.life.begin("my-app", "begun since")
    before = snapshot(story.state.root)
    done = story.run(*words)
    assert done.exit == 4, (done.out, done.err)
    assert diff(before, snapshot(story.state.root), mtimes="all", inodes="all") == []
    assert "could not tell them apart" in words_of(done)
    assert f"then: ccmove undo {run}" in words_of(done)

    twin = story.life.path("my-app")
    assert story.run("-m", twin, f"{twin}-2").exit == 0
    assert story.run("undo", run).exit == 0
    for session in story.projects["my_app"].sessions:
        story.assert_together(session, "my_app")


def test_a_living_twin_that_old_had_all_along_refuses_no_undo(
    state: StateBuilder,
) -> None:
    shape = Shape(moves=(("my_app", "new"),), had=("my_app", "my-app"), since={})
    story = Told(state, shape)
    story.move()
    assert story.run("undo").exit == 0
    for name in shape.had:
        for session in story.projects[name].sessions:
            story.assert_together(session, name)


@each_kind
def test_with_merge_the_undo_goes_on_into_an_old_in_use(
    state: StateBuilder, shape: Shape
) -> None:
    """Who began at OLD keeps all; what came since at NEW stays, since both are there."""
    story = lived(state, shape)
    begun = begin_again(story)
    story.undo("--merge")
    for session in (*story.projects["old"].sessions, begun):
        story.assert_together(session, "old")
    story.assert_together(story.begun["new"], "new")
    if "new" in shape.had:
        for session in story.projects["new"].sessions:
            story.assert_together(session, "new")
    tools = story.life.tools("old")
    assert tools is not None
    assert set(tools) == {"Bash(old)", "Bash(at OLD since)"}
    assert story.life.note_lines("old", "later.md") == ["note at OLD since"]
    assert identities(state) == story.identities
    story.assert_consistent()


@each_kind
def test_with_merge_what_stays_at_new_is_named(
    state: StateBuilder, shape: Shape
) -> None:
    story = lived(state, shape)
    begin_again(story)
    undone = story.undo("--merge")
    named = story.life.path("new")
    assert any(
        "ccmove " in line
        and line.rstrip().endswith(f"{named} {story.life.path('old')}")
        for line in words_of(undone).splitlines()
    )


@each_kind
def test_a_folder_that_was_renamed_back_and_used_is_merged_and_the_result_says_so(
    state: StateBuilder, shape: Shape
) -> None:
    story = lived(state, shape)
    story.rename_folders([("new", "old")])
    begun = begin_again(story)
    undone = story.undo()
    for session in (*story.projects["old"].sessions, begun, story.begun["new"]):
        story.assert_together(session, "old")
    if "new" in shape.had:
        for session in story.projects["new"].sessions:
            story.assert_together(session, "new")
    assert any("merge" in line.lower() for line in words_of(undone).splitlines())
    assert identities(state) == story.identities
    story.assert_consistent()


@each_kind
def test_a_tool_allowed_since_goes_to_a_folder_that_was_renamed_back_and_used(
    state: StateBuilder, shape: Shape
) -> None:
    story = lived(state, shape)
    since = story.tool_since("new")
    story.rename_folders([("new", "old")])
    begin_again(story)
    story.undo()
    old = [*story.projects["old"].tools, since, "Bash(at OLD since)"]
    assert sorted(story.life.tools("old") or ()) == sorted(old)
    own = story.projects["new"].tools if "new" in shape.had else None
    assert story.life.tools("new") == own


@pytest.mark.parametrize("own", [None, "Bash(NEW)"])
def test_a_tool_allowed_since_goes_there_also_if_the_run_wrote_no_settings(
    own: str | None, state: StateBuilder
) -> None:
    """OLD had none; what NEW had stays there."""
    story = Told(state, RENAME)
    config = state.config()
    config["projects"].clear()
    state.write_config(config)
    if own is not None:
        story.life.allow("new", own)
    story.move()
    story.life.allow("new", "Bash(since)")
    story.rename_folders([("new", "old")])
    story.life.allow("old", "Bash(again)")
    values = {"new": "of NEW", "old": "of OLD"}
    config = state.config()
    for name, value in values.items():
        config["projects"][story.life.path(name)]["lastSessionId"] = value
    state.write_config(config)
    story.undo()
    entries = state.config()["projects"]
    assert story.life.tools("old") == ["Bash(again)", "Bash(since)"]
    for name, value in values.items():
        assert entries[story.life.path(name)]["lastSessionId"] == value
    assert story.life.tools("new") == ([] if own is None else [own])


def test_a_folder_at_old_in_which_nobody_began_refuses_nothing(
    state: StateBuilder,
) -> None:
    story = lived(state)
    story.life.folder("old").mkdir()
    story.undo()
    for session in story.projects["old"].sessions:
        story.assert_together(session, "old")
    story.assert_together(story.begun["new"], "new")


# -- sessions that are not there any more ------------------------------------------------------


@each_kind
def test_swept_sessions_block_nothing_and_are_counted_and_named(
    state: StateBuilder, shape: Shape
) -> None:
    story = lived(state, shape)
    project = story.projects["old"]
    third = story.life.begin("new", "a session that stays")
    for session in project.sessions:
        story.life.sweep("new", session)
    undone = story.undo()
    said = words_of(undone)
    assert "2 sessions" in said
    for session in project.sessions:
        assert session[:8] in said
        assert story.life.directories_of(session) == []
    for text in project.prompts:
        assert story.life.project_of_prompt(text) == "old"
    assert len(story.life.directories_of(third)) == 1
    story.assert_consistent()


@each_kind
def test_one_swept_session_leaves_the_other_to_go_back(
    state: StateBuilder, shape: Shape
) -> None:
    story = lived(state, shape)
    swept, left = story.projects["old"].sessions
    story.life.sweep("new", swept)
    undone = story.undo()
    story.assert_together(left, "old")
    assert swept[:8] in words_of(undone)
    story.assert_consistent()


@each_kind
def test_a_swept_session_of_news_own_is_nobodys_concern(
    state: StateBuilder, shape: Shape
) -> None:
    story = lived(state, shape)
    gone = story.begun["new"]
    story.life.sweep("new", gone)
    undone = story.undo()
    for session in story.projects["old"].sessions:
        story.assert_together(session, "old")
    assert gone[:8] not in words_of(undone)
    story.assert_consistent()


# -- a session that left -----------------------------------------------------------------------


@each_kind
def test_a_session_that_left_by_cd_stays_where_it_is_with_its_prompts(
    state: StateBuilder, shape: Shape
) -> None:
    story = Told(state, replace(shape, had=(*shape.had, "other")))
    story.move()
    story.live()
    gone, left = story.projects["old"].sessions
    story.life.change_directory("new", gone, "other")
    story.life.go_on("other", gone, "after /cd")
    story.note_identities()
    undone = story.undo()
    assert story.life.directories_of(gone) == [story.life.directory("other").name]
    assert story.life.project_of_prompt("after /cd") == "other"
    assert gone[:8] in words_of(undone)
    story.assert_together(left, "old")
    for session in story.projects["other"].sessions:
        story.assert_together(session, "other")
    assert identities(state) == story.identities
    story.assert_consistent()


@each_kind
def test_a_session_that_left_leaves_nothing_behind_in_an_index(
    state: StateBuilder, shape: Shape
) -> None:
    story = Told(state, replace(shape, had=(*shape.had, "other")))
    story.move()
    story.live()
    gone = story.projects["old"].sessions[0]
    story.life.change_directory("new", gone, "other")
    story.undo()
    story.assert_listed(gone, "other")


NESTED = Shape(moves=(("old", "new"),), since={}, had=("old", "old/sub"))


def test_a_session_that_went_to_another_project_of_the_move_goes_back_with_that(
    state: StateBuilder,
) -> None:
    story = Told(state, NESTED)
    story.move()
    went, left = story.projects["old"].sessions
    story.life.change_directory("new", went, "new/sub")
    story.life.go_on("new/sub", went, "after /cd")
    undone = story.undo()
    assert story.life.directories_of(went) == [story.life.directory("old/sub").name]
    assert story.life.project_of_prompt("after /cd") == "old/sub"
    story.assert_listed(went, "old/sub")
    assert "deleted since" not in words_of(undone)
    for session in (left, *story.projects["old/sub"].sessions):
        name = "old" if session == left else "old/sub"
        story.assert_together(session, name)
    story.assert_consistent()


def test_a_swept_session_has_no_entry_in_an_index_that_stayed_at_old(
    state: StateBuilder,
) -> None:
    """Found by random lives: OLD's twin has kept the index."""
    shape = Shape(moves=(("my_app", "q"),), had=("my-app", "my_app"), since={})
    story = Told(state, shape)
    story.move()
    swept, left = story.projects["my_app"].sessions
    story.life.sweep("q", swept)
    story.undo()
    listed = [entry["sessionId"] for _, entry in story.life.index_entries()]
    assert swept not in listed
    story.assert_listed(left, "my_app")
    story.assert_consistent()


def test_prompts_of_a_session_that_left_follow_the_folder(state: StateBuilder) -> None:
    """Found by random lives: they named NEW, which was not there any more."""
    shape = replace(RENAME, had=("old", "other"), options=("-m",))
    story = Told(state, shape)
    story.move()
    left, _ = story.projects["old"].sessions
    story.life.change_directory("new", left, "other")
    story.life.go_on("other", left, "after /cd")
    story.undo()
    assert story.life.project_of_prompt("old: first") == "old"
    assert story.life.project_of_prompt("after /cd") == "other"
    story.assert_consistent()


# -- entries of an index go with their sessions, whatever became of OLD's index


def test_an_entry_begun_since_goes_with_its_session_past_another_that_stays(
    state: StateBuilder,
) -> None:
    """Found by random lives: in a swap, with a twin at one of the two."""
    swap = (("b", "my_app"), ("my_app", "b"))
    story = Told(state, Shape(moves=swap, had=("b", "my_app"), since={}))
    story.move()
    begun = story.life.begin("b", "begun since")
    story.rename_folders([("my_app", "my-app")])
    story.life.begin("my-app", "of a twin")
    story.rename_folders([("b", "q"), ("my-app", "r")])  # a living twin would refuse
    story.undo()
    story.assert_together(begun, "my_app")
    story.assert_listed(begun, "my_app")


def test_entries_come_back_to_an_old_whose_index_has_gone_since(
    state: StateBuilder,
) -> None:
    """Found by random lives: the twin left, and took OLD's directory along."""
    shape = Shape(
        moves=(("my-app", "q"),),
        had=("my-app", "my_app", "q"),
        since={},
        options=("--merge",),
    )
    story = Told(state, shape)
    story.move()
    (run,) = backup_ids(state)
    story.rename_folders([("my_app", "b")])
    later = story.run(story.life.path("my_app"), story.life.path("b"))
    assert later.exit == 0, (later.out, later.err)
    story.undo(run)
    for session in story.projects["my-app"].sessions:
        story.assert_together(session, "my-app")
        story.assert_listed(session, "my-app")


def test_entries_come_back_to_an_old_whose_index_names_it_again(
    state: StateBuilder,
) -> None:
    """Found by random lives: its twin got OLD's name, and that looked as if the change
    were out already.
    """
    shape = Shape(moves=(("my-app", "q"),), had=("my-app", "my_app"), since={})
    story = Told(state, shape)
    story.move()
    (run,) = backup_ids(state)
    story.rename_folders([("my_app", "my-app")])
    later = story.run(story.life.path("my_app"), story.life.path("my-app"))
    assert later.exit == 0, (later.out, later.err)
    story.undo("--merge", run)
    for session in story.projects["my-app"].sessions:
        story.assert_together(session, "my-app")
        story.assert_listed(session, "my-app")


def test_entries_of_a_split_name_old_again_whose_directory_has_gone_since(
    state: StateBuilder,
) -> None:
    """Found by random lives: the twin's move took the whole directory along, and the
    index that the split had made went back as it was.
    """
    shape = Shape(moves=(("my_app", "b"),), had=("my-app", "my_app"), since={})
    story = Told(state, shape)
    story.move()
    (run,) = backup_ids(state)
    story.rename_folders([("my-app", "q")])
    later = story.run(story.life.path("my-app"), story.life.path("q"))
    assert later.exit == 0, (later.out, later.err)
    story.undo(run)
    for session in story.projects["my_app"].sessions:
        story.assert_together(session, "my_app")
        story.assert_listed(session, "my_app")
    assert not story.life.directory("b").exists()


def test_an_index_that_a_split_made_goes_with_its_last_entry(
    state: StateBuilder,
) -> None:
    """Although it was written again since, so that it is not the run's any more."""
    shape = Shape(moves=(("my_app", "b"),), had=("my-app", "my_app"), since={})
    story = Told(state, shape)
    story.move()
    session, _ = story.projects["my_app"].sessions
    story.life.go_on("b", session, "goes on")
    story.undo()
    story.assert_together(session, "my_app")
    story.assert_listed(session, "my_app")
    assert not story.life.directory("b").exists()
