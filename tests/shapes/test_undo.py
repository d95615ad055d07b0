"""Undo with life after the move, for every shape: the rule of SAFETY.md.

Everybody who was there went on, and at every NEW something was begun: a session with
its prompt and index entry, a line of MEMORY.md, a note, an allowed tool. A note that
the run brought was changed.
"""

import json
import subprocess
from collections.abc import Callable

import pytest

from tests.shapes.undoing import Shape, Told, command_in, identities
from tests.support.life import Life
from tests.support.run import Completed, run_ccmove
from tests.support.state import StateBuilder
from tests.support.tree import diff, snapshot

RENAME = Shape(moves=(("old", "new"),), had=("old",), since={"new": "old"})
MERGE = Shape(
    moves=(("old", "new"),), had=("old", "new"), since={"new": "new"}, renamed=(("old", "new"),)
)  # fmt: skip

SHAPES = {
    "a rename": RENAME,
    "a rename whose folder was renamed back by hand": Shape(
        moves=(("old", "new"),),
        had=("old",),
        back=(("new", "old"),),
        since={"new": "old"},
    ),
    "a rename, and a folder was made at OLD since": Shape(
        moves=(("old", "new"),),
        had=("old",),
        made_since=("old",),
        since={"new": "new"},
    ),
    "a merge": MERGE,
    "a merge into a project without an index": Shape(
        moves=(("old", "new"),),
        had=("old", "new"),
        without_index=("new",),
        since={"new": "new"},
    ),
    "a merge into a project without notes": Shape(
        moves=(("old", "new"),),
        had=("old", "new"),
        without_notes=("new",),
        since={"new": "new"},
    ),
    "a merge whose folder was renamed back by hand": Shape(
        moves=(("old", "new"),),
        had=("old", "new"),
        back=(("new", "old"),),
        since={"new": "old"},
    ),
    "NEW had an entry of the config file": Shape(
        moves=(("old", "new"),),
        had=("old",),
        trusted=("new",),
        since={"new": "old"},
    ),
    "NEW had one prompt": Shape(
        moves=(("old", "new"),),
        had=("old",),
        prompted=("new",),
        since={"new": "old"},
    ),
    "NEW had an empty memory": Shape(
        moves=(("old", "new"),),
        had=("old",),
        empty_memory=("new",),
        since={"new": "old"},
    ),
    "a swap": Shape(
        moves=(("aa", "bb"), ("bb", "aa")),
        had=("aa", "bb"),
        since={"aa": "bb", "bb": "aa"},
    ),
    "a chain": Shape(
        moves=(("bb", "cc"), ("aa", "bb")),
        had=("aa", "bb"),
        since={"cc": "bb", "bb": "aa"},
    ),
    "a chain in which all that came since stays": Shape(
        moves=(("bb", "cc"), ("aa", "bb")),
        had=("aa", "bb", "cc"),
        made_since=("aa",),
        since={"cc": "cc", "bb": "bb"},
    ),
    "a move below another one": Shape(
        moves=(("aa", "bb"), ("xx", "bb/lib")),
        had=("aa", "xx"),
        since={"bb": "aa", "bb/lib": "xx"},
    ),
    "two into one": Shape(
        moves=(("aa", "nn"), ("bb", "nn")),
        had=("aa", "bb"),
        since={"nn": "nn"},
    ),
    "two into one that had sessions": Shape(
        moves=(("aa", "nn"), ("bb", "nn")),
        had=("aa", "bb", "nn"),
        since={"nn": "nn"},
    ),
    "two into one that had sessions and no notes": Shape(
        moves=(("aa", "nn"), ("bb", "nn")),
        had=("aa", "bb", "nn"),
        without_notes=("nn",),
        since={"nn": "nn"},
    ),
    "two into one, in a chain": Shape(
        moves=(("yy", "aa"), ("aa", "bb"), ("zz", "bb"), ("bb", "cc")),
        had=("yy", "aa", "zz", "bb"),
        since={"aa": "yy", "bb": "bb", "cc": "bb"},
    ),
    "one comes to a swap": Shape(
        moves=(("xx", "aa"), ("aa", "bb"), ("bb", "aa")),
        had=("xx", "aa", "bb"),
        since={"aa": "aa", "bb": "aa"},
    ),
    "a split": Shape(
        moves=(("my_app", "shop"),),
        had=("my-app", "my_app"),
        without_notes=("my_app",),
        since={"shop": "my_app"},
    ),
    "the same encoded name": Shape(
        moves=(("my_app", "my-app"),),
        had=("my_app",),
        since={"my-app": "my_app"},
    ),
    "a twin whose folder is gone came along": Shape(
        moves=(("my-app", "shop"),),
        had=("my-app", "my_app"),
        along=(("my_app", "shop"),),
        without_notes=("my_app",),
        since={"shop": "my-app"},
    ),
    "a parent, one of whose children was merged": Shape(
        moves=(("old", "new"),),
        had=("old/x", "old/y", "new/x"),
        since={"new": "old", "new/x": "new/x", "new/y": "old/y", "new/z": "old/z"},
    ),
    "a move of the folder": Shape(
        moves=(("old", "new"),),
        had=("old",),
        options=("-m",),
        since={"new": "old", "new/sub": "old/sub"},
    ),
    "a move of the folder to a name that had sessions": Shape(
        moves=(("old", "new"),),
        had=("old", "new"),
        options=("-m",),
        since={"new": "old"},
    ),
    "a parent that was no project, with its folder": Shape(
        moves=(("old", "new"),),
        had=("old/x",),
        options=("-m",),
        since={"new": "old", "new/x": "old/x", "new/z": "old/z"},
    ),
    "--only": Shape(
        moves=(("old", "new"),),
        had=("old", "old/sub"),
        options=("--only",),
        since={"new": "old"},
    ),
    "twins begun since below NEW": Shape(
        moves=(("old", "new"),),
        had=("old",),
        since={"new": "old", "new/my-app": "old/my-app", "new/my_app": "old/my_app"},
    ),
    "a twin begun since of a project that came along": Shape(
        moves=(("old", "new"),),
        had=("old/my-app",),
        options=("-m",),
        folders=("old",),
        since={"new/my-app": "old/my-app", "new/my_app": "old/my_app"},
    ),
}  # fmt: skip
# Two paths, one memory:
SHARED = (
    "a split",
    "the same encoded name",
    "a twin whose folder is gone came along",
    "twins begun since below NEW",
    "a twin begun since of a project that came along",
)
# A rename saves no notes, so that a changed one is whole in one place or the other.
UNSAVED = (
    "a rename, and a folder was made at OLD since",
    "a chain in which all that came since stays",
)

each_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
each_unshared = pytest.mark.parametrize(
    "shape",
    [shape for name, shape in SHAPES.items() if name not in SHARED],
    ids=[name for name in SHAPES if name not in SHARED],
)
each_saved = pytest.mark.parametrize(
    "shape",
    [shape for name, shape in SHAPES.items() if name not in (*SHARED, *UNSAVED)],
    ids=[name for name in SHAPES if name not in (*SHARED, *UNSAVED)],
)
each_that_leaves = pytest.mark.parametrize(
    "shape",
    [shape for shape in SHAPES.values() if shape.stays],
    ids=[name for name, shape in SHAPES.items() if shape.stays],
)


def told(state: StateBuilder, shape: Shape) -> Told:
    story = Told(state, shape)
    if "-m" in shape.options and "new" in shape.had:
        story.life.folder("new").rmdir()  # it was thrown away, its sessions were not
    return story


Undone = Callable[[Shape], tuple[Told, Completed]]


@pytest.fixture(scope="module")
def undone(tmp_path_factory: pytest.TempPathFactory) -> Undone:
    """A shape that was moved, lived in and undone: once, for all that only look at it."""
    stories: dict[str, tuple[Told, Completed]] = {}

    def lived(shape: Shape) -> tuple[Told, Completed]:
        name = repr(shape)
        if name not in stories:
            story = told(StateBuilder(tmp_path_factory.mktemp("told")), shape)
            stories[name] = story, story.whole()
        return stories[name]

    return lived


@each_shape
def test_what_the_run_brought_goes_back_to_old_with_all_that_has_its_id(
    undone: Undone, shape: Shape
) -> None:
    story, _ = undone(shape)
    for name in shape.brought:
        project = story.projects[name]
        for session in project.sessions:
            story.assert_together(session, name)
            story.assert_listed(session, name)
        for text in project.prompts:
            assert story.life.project_of_prompt(text) == name


@each_shape
def test_what_new_had_before_the_run_stays_at_new(undone: Undone, shape: Shape) -> None:
    story, _ = undone(shape)
    for name in shape.own:
        project = story.projects[name]
        for session in project.sessions:
            story.assert_together(session, name)
            if name not in shape.without_index:
                story.assert_listed(session, name)
        for text in project.prompts:
            assert story.life.project_of_prompt(text) == name
    for name in shape.prompted:
        assert story.life.project_of_prompt(f"/resume in {name}") == name
    for name in (*shape.trusted, *shape.empty_memory):
        assert story.life.tools(name) == []
        assert story.state.config()["projects"][story.life.path(name)][
            "hasTrustDialogAccepted"
        ]


@each_shape
def test_a_session_begun_since_follows_the_folder(undone: Undone, shape: Shape) -> None:
    story, _ = undone(shape)
    for begun_at, place in shape.since.items():
        story.assert_together(story.begun[begun_at], place)
        prompt = story.prompt_since(begun_at)
        assert story.life.project_of_prompt(prompt) == place


@each_shape
def test_a_tool_allowed_since_follows_the_folder(undone: Undone, shape: Shape) -> None:
    story, _ = undone(shape)
    allowed: dict[str, set[str]] = {}
    for name, project in story.projects.items():
        allowed.setdefault(name, set()).update(project.tools)
    for begun_at, place in shape.since.items():
        allowed.setdefault(place, set()).add(story.tool_since(begun_at))
    for name in (*shape.trusted, *shape.empty_memory):
        allowed.setdefault(name, set())
    projects = story.state.config()["projects"]
    tools = {
        story.life.short(path): set(entry["allowedTools"])
        for path, entry in projects.items()
    }
    assert tools == allowed


@each_saved
def test_each_memory_has_its_own_lines_and_those_that_follow_the_folder(
    undone: Undone, shape: Shape
) -> None:
    story, _ = undone(shape)
    lines: dict[str, set[str]] = {}
    for name, project in story.projects.items():
        lines.setdefault(name, set()).update(project.memory)
    for begun_at, place in shape.since.items():
        lines.setdefault(place, set()).add(story.line_since(begun_at))
    for name in {*lines, *shape.since}:
        memory = story.life.note_lines(name, "MEMORY.md")
        assert len(memory) == len(set(memory))
        assert set(memory) == lines.get(name, set()), name


@each_unshared
def test_a_note_written_since_follows_the_folder(undone: Undone, shape: Shape) -> None:
    story, _ = undone(shape)
    for begun_at, place in shape.since.items():
        note = story.note_since(begun_at)
        assert story.life.note_lines(place, note) == [f"since at {begun_at}"]
        copies = [*story.state.projects.glob(f"*/memory/{note}")]
        assert len(copies) == 1


@each_saved
def test_a_brought_note_that_changed_since_is_whole_where_its_change_is(
    undone: Undone, shape: Shape
) -> None:
    """And where the change stays at NEW, OLD has the note as it was."""
    story, _ = undone(shape)
    for name in shape.brought:
        original = story.projects[name].topic
        changed = [*original, story.topic_since(name)] if original else []
        new = shape.moved(name)
        stays = new in shape.stays
        at_old = story.life.note_lines(name, story.topic(name))
        at_new = story.life.note_lines(new, story.topic(name))
        assert at_old == (original if stays else changed)
        assert at_new == (changed if stays else [])


@each_unshared
def test_a_brought_note_that_nobody_changed_is_at_old_alone(
    undone: Undone, shape: Shape
) -> None:
    story, _ = undone(shape)
    for name in shape.had:
        if name not in shape.without_notes:
            note = story.untouched(name)
            assert story.life.note_lines(name, note) == [f"untouched of {name}"]
            assert len([*story.state.projects.glob(f"*/memory/{note}")]) == 1


@each_shape
def test_every_line_of_every_note_is_still_there(undone: Undone, shape: Shape) -> None:
    story, _ = undone(shape)
    notes = [file.read_text() for file in story.state.projects.glob("*/memory/*")]
    texts = [line for project in story.projects.values() for line in project.memory]
    texts += [story.line_since(place) for place in shape.since]
    texts += [f"since at {place}" for place in shape.since]
    texts += [story.topic_since(name) for name in story.changed_topics()]
    for text in texts:
        assert any(text in note for note in notes), text


@each_shape
def test_no_transcript_is_written_copied_or_dated_again(
    undone: Undone, shape: Shape
) -> None:
    story, _ = undone(shape)
    assert identities(story.state) == story.identities


@each_shape
def test_the_data_is_consistent_afterwards(undone: Undone, shape: Shape) -> None:
    story, _ = undone(shape)
    story.assert_consistent()


@each_shape
def test_a_preview_of_the_undo_changes_nothing_and_is_not_refused(
    state: StateBuilder, shape: Shape
) -> None:
    story = told(state, shape)
    story.move()
    story.live()
    prompts, places = story.life.prompts(), sorted(story.life.transcripts())
    story.undo("--dry-run")
    assert story.life.prompts() == prompts
    assert sorted(story.life.transcripts()) == places
    assert identities(state) == story.identities


@each_that_leaves
def test_what_stays_at_new_is_named_with_the_command_that_brings_it_along(
    undone: Undone, shape: Shape
) -> None:
    story, done = undone(shape)
    for new in shape.stays:
        olds = [name for name in shape.brought if shape.moved(name) == new]
        commands = [
            command_in(done, story.life.path(new), story.life.path(old)) for old in olds
        ]
        assert any(commands), (done.out, done.err)


def test_the_command_that_is_named_brings_it_along(state: StateBuilder) -> None:
    story = told(state, SHAPES["a rename, and a folder was made at OLD since"])
    undone = story.whole()
    paths = [story.life.path(name) for name in ("new", "old")]
    words = command_in(undone, *paths)
    assert words is not None, (undone.out, undone.err)
    done = story.run(*words)
    assert done.exit == 0, (done.out, done.err)
    story.assert_together(story.begun["new"], "old")


@pytest.mark.parametrize(
    "shape",
    [RENAME, MERGE, SHAPES["two into one that had sessions and no notes"]],
    ids=["a rename", "a merge", "two into one"],
)
def test_without_life_after_it_everything_is_as_it_was(
    state: StateBuilder, shape: Shape
) -> None:
    story = told(state, shape)
    before = snapshot(state.home)
    story.move()
    story.undo()
    after = snapshot(state.home)
    assert diff(before, after, ignore=[".claude/ccmove"]) == []


def test_a_tool_follows_the_folder_in_a_swap_with_one_that_had_no_settings(
    state: StateBuilder,
) -> None:
    """Found by random lives: the swapped folder has got settings since."""
    life = Life(state)
    for name in ("one", "two"):
        life.begin(name, f"begun in {name}")
        life.folder(name).mkdir(parents=True)
    life.allow("one", "Bash(of one)")
    moves = f"{life.path('one')}\t{life.path('two')}\n"
    moves += f"{life.path('two')}\t{life.path('one')}\n"
    done = run_ccmove("--from-file", "-", state=state, input=moves)
    assert done.exit == 0, (done.out, done.err)
    life.allow("one", "Bash(of two)")
    done = run_ccmove("undo", state=state)
    assert done.exit == 0, (done.out, done.err)
    assert life.tools("one") == ["Bash(of one)"]
    assert life.tools("two") == ["Bash(of two)"]


def test_tools_allowed_since_follow_their_folders_in_a_chain(
    state: StateBuilder,
) -> None:
    """Found by random lives: what came to the middle one stayed there."""
    shape = Shape(moves=(("c", "b"), ("q", "c")), had=(), since={})
    story = Told(state, shape)
    for name in ("c", "q"):
        story.life.begin(name, f"begun in {name}")
        story.life.folder(name).mkdir(parents=True)
    story.move()
    story.life.allow("b", "Bash(of c)")
    story.life.allow("c", "Bash(of q)")
    story.undo()
    assert story.life.tools("c") == ["Bash(of c)"]
    assert story.life.tools("q") == ["Bash(of q)"]


@pytest.mark.parametrize("without_notes", [("aa",), (), ("bb",)])
def test_a_line_remembered_since_stays_where_two_became_one(
    state: StateBuilder, without_notes: tuple[str, ...]
) -> None:
    """Found by random lives: with no session begun since, the directory went back to
    one of the two, and took the line along.
    """
    moves = (("aa", "nn"), ("bb", "nn"))
    shape = Shape(moves, had=("aa", "bb"), since={}, without_notes=without_notes)
    story = told(state, shape)
    story.move()
    story.life.remember("nn", "- since the two are one")
    story.undo()
    assert story.life.note_lines("nn", "MEMORY.md") == ["- since the two are one"]
    for name in shape.had:
        lines = story.life.note_lines(name, "MEMORY.md")
        assert lines == story.projects[name].memory


@pytest.mark.parametrize(
    "moves",
    [
        (("aa", "bb"), ("bb", "aa")),
        (("aa", "bb"), ("bb", "cc"), ("cc", "aa")),
        (("bb", "cc"), ("aa", "bb")),
        (("aa", "bb"), ("xx", "bb/lib")),
        (("aa", "deep/er/bb"), ("xx", "yy")),
    ],
    ids=["a swap", "three in a ring", "a chain", "one below another", "apart"],
)
def test_the_commands_for_the_folders_bring_each_back_when_typed_in_order(
    state: StateBuilder, moves: tuple[tuple[str, str], ...]
) -> None:
    """Found by hand: a swap had none, and of one below another the second failed."""
    olds = tuple(old for old, _ in moves)
    story = told(state, Shape(moves, had=olds, since={}))
    for name in olds:
        (story.life.folder(name) / f"this is {name}").touch()
    story.move()
    report = json.loads(story.undo("--json").out)
    for row in report["to_do"]:
        subprocess.run(row["command"], shell=True, check=True)
    for name in olds:
        assert (story.life.folder(name) / f"this is {name}").exists()
    assert sorted(path.name for path in state.code.iterdir() if path.name in olds) == (
        sorted(olds)
    )


@pytest.mark.parametrize(
    "shape",
    [
        Shape((("old", "new"),), {"new/z": "new/z"}, ("old/x", "new")),
        Shape((("old", "new"),), {"new/x": "new/x"}, ("old", "old/x"), ("--only",)),
    ],
    ids=["below a merge", "--only"],
)
def test_a_project_begun_below_new_that_stays_is_named_with_the_command(
    state: StateBuilder, shape: Shape
) -> None:
    """Found by hand: it was not named."""
    story = told(state, shape)
    undone = story.whole()
    (new,) = shape.since
    old = new.replace("new", "old")
    paths = [story.life.path(name) for name in (new, old)]
    words = command_in(undone, *paths)
    assert words is not None, (undone.out, undone.err)
    done = story.run(*words)
    assert done.exit == 0, (done.out, done.err)
    story.assert_together(story.begun[new], old)


@pytest.mark.parametrize("had", [("old",), ("old", "new-x")], ids=["since", "before"])
def test_a_project_begun_below_new_goes_back_out_of_a_neighbours_directory(
    state: StateBuilder, had: tuple[str, ...]
) -> None:
    """Found by hand: its prompts went back, and its session stayed."""
    since = {"new": "old", "new/x": "old/x", "new-x": "new-x"}
    story = told(state, Shape((("old", "new"),), since, had))
    story.whole()
    for begun_at, place in since.items():
        story.assert_together(story.begun[begun_at], place)
    if "new-x" in had:
        assert story.life.note_lines("new-x", story.topic("new-x"))
        for session in story.projects["new-x"].sessions:
            story.assert_together(session, "new-x")
    story.assert_consistent()
