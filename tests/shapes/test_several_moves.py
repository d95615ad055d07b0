"""Several moves in one transaction: swaps, chains, and what else can happen at one
moment.
"""

import shutil
from pathlib import Path

import pytest

from tests.shapes.bench import Bench, Expected, directory_of
from tests.support.state import ProjectHandle, StateBuilder, encoded_name


def listed(*moves: tuple[object, object]) -> str:
    return "".join(f"{old}\t{new}\n" for old, new in moves)


def projects(state: StateBuilder, *names: str) -> list[ProjectHandle]:
    return [
        state.project(name, sessions=1, index=True, memory={"MEMORY.md": f"{name}\n"})
        for name in names
    ]


def swapped(expected: Expected, state: StateBuilder, *cycle: str) -> None:
    """Each path of the cycle becomes the next one, everywhere and at one moment."""
    nexts = dict(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    marks = {path: f"<{number}>" for number, path in enumerate(cycle)}
    for path in cycle:
        expected.rename(directory_of(state, path), state.projects / marks[path])
    for path in cycle:
        target = directory_of(state, nexts[path])
        expected.rename(state.projects / marks[path], target)
        names = encoded_name(path), target.name
        expected.rewrite_index(
            target / "sessions-index.json", (path, nexts[path]), names
        )
    for file, form in ((state.history, '"project":"{}"'), (state.config_file, '"{}"')):
        spell = Path.as_posix if file == state.config_file else str
        away = [(form.format(path), form.format(marks[path])) for path in cycle]
        back = [
            (form.format(marks[path]), form.format(spell(Path(nexts[path]))))
            for path in cycle
        ]
        expected.replace(file, *away, *back)


@pytest.mark.parametrize("names", [("one", "two"), ("one", "two", "three")])
def test_a_swap_of_any_length_ends_with_everybody_in_place(
    bench: Bench, names: tuple[str, ...], state: StateBuilder
) -> None:
    paths = [handle.path for handle in projects(state, *names)]
    for path in paths:
        Path(path).mkdir()
    expected = Expected(bench)
    swapped(expected, state, *paths)
    moves = zip(paths, [*paths[1:], paths[0]], strict=True)
    bench.cycle(expected, "--from-file", "-", input=listed(*moves))


def test_a_chain_may_be_listed_in_any_order(bench: Bench, state: StateBuilder) -> None:
    one, two = projects(state, "one", "two")
    for name in ("two", "three"):
        (state.code / name).mkdir()
    three = state.code / "three"
    expected = Expected(bench)
    expected.move(state, two.path, three)
    expected.move(state, one.path, two.path)
    for moves in (
        [(one.path, two.path), (two.path, three)],
        [(two.path, three), (one.path, two.path)],
    ):
        bench.cycle(expected, "--from-file", "-", input=listed(*moves))


def test_a_chain_whose_end_exists_is_merged_there(
    bench: Bench, state: StateBuilder
) -> None:
    one, two, three = (state.project(n, sessions=1) for n in ("one", "two", "three"))
    for handle in (two, three):
        Path(handle.path).mkdir()
    expected = Expected(bench)
    expected.bring_sessions(two, three)
    expected.remove(two.directory)
    expected.join_lists(state, (two.path, three.path))
    expected.move(state, one.path, two.path)
    moves = (one.path, two.path), (two.path, three.path)
    bench.cycle(expected, "--from-file", "-", input=listed(*moves))


def test_undoing_a_chain_brings_what_a_session_got_since_back_to_it(
    bench: Bench,
) -> None:
    one, two, three = projects(bench.state, "one", "two", "three")
    chain = listed((one.path, two.path), (two.path, three.path))
    bench.ok("--skip-path-check", "--from-file", "-", input=chain)
    results = Path(two.sessions[0], "tool-results", "since.txt")
    (three.directory / results).write_text("since\n")
    shutil.rmtree(three.directory / two.sessions[0] / "subagents")
    aside = f"{two.sessions[0]}.jsonl.aside"
    (three.directory / aside).write_text("since\n")
    bench.restore()
    assert all((two.directory / name).exists() for name in (results, aside))


def test_a_swap_takes_nested_projects_along(bench: Bench, state: StateBuilder) -> None:
    paths = [handle.path for handle in projects(state, "one", "two")]
    projects(state, "one/sub", "two/sub")
    for path in paths:
        Path(path).mkdir()
    expected = Expected(bench)
    swapped(expected, state, *paths)
    swapped(expected, state, *(str(Path(path, "sub")) for path in paths))
    one, two = paths
    bench.cycle(expected, "--from-file", "-", input=listed((one, two), (two, one)))


def test_a_swap_of_two_in_one_directory_rewrites_only(
    bench: Bench, state: StateBuilder
) -> None:
    one = state.project("my-app", sessions=1, index=True, make_folder=True)
    two = state.project("my_app", sessions=2, index=True, make_folder=True)
    before = bench.tree()
    moves = (one.path, two.path), (two.path, one.path)
    moved = bench.ok("--from-file", "-", input=listed(*moves))
    assert [(p["kind"], p["transcripts"]) for p in moved["projects"]] == [
        ("same", 1),
        ("same", 2),
    ]
    again = bench.ok("--from-file", "-", input=listed(*moves))
    # The transcripts still name their first paths; our own records say whose they are
    # now.
    assert [(p["from"], p["transcripts"]) for p in again["projects"]] == [
        (one.path, 2),
        (two.path, 1),
    ]
    bench.expect(before)


def test_a_parent_and_one_of_its_children_can_go_to_different_places(
    bench: Bench,
) -> None:
    state = bench.state
    one, sub = projects(state, "one", "one/sub")
    new, apart = state.code / "new", state.code / "apart"
    for path in (new, apart):
        path.mkdir()
    expected = Expected(bench)
    expected.move(state, sub.path, apart)
    expected.move(state, one.path, new)
    moves = (one.path, new), (sub.path, apart)
    bench.cycle(expected, "--from-file", "-", input=listed(*moves))


def test_one_place_is_left_while_part_of_a_shared_directory_comes_to_it(
    bench: Bench,
) -> None:
    """`there` goes to `away`, and `my_app` of a shared directory comes to `there`."""
    state = bench.state
    one = state.project("my-app", sessions=1, index=True, make_folder=True)
    two = state.project(
        "my_app", sessions=1, index=True, memory={"MEMORY.md": "shared\n"}
    )
    there = state.project(
        "there", sessions=1, index=True, memory={"MEMORY.md": "there\n"}
    )
    (state.code / "there").mkdir()
    away = bench.folder("away")
    moves = (two.path, there.path), (there.path, away)
    with bench.moved("--from-file", "-", input=listed(*moves)):
        assert [p.stem for p in one.directory.glob("*.jsonl")] == one.sessions
        assert [p.stem for p in there.directory.glob("*.jsonl")] == two.sessions
        assert [
            p.stem for p in directory_of(state, away).glob("*.jsonl")
        ] == there.sessions
        assert two.sessions[0] in there.index.read_text()
        assert there.sessions[0] not in there.index.read_text()
        assert (
            there.sessions[0]
            in (directory_of(state, away) / "sessions-index.json").read_text()
        )
        assert (there.memory / "MEMORY.md").read_text() == "shared\n"
        assert (
            directory_of(state, away) / "memory" / "MEMORY.md"
        ).read_text() == "there\n"


def test_a_file_of_moves_may_have_comments_and_empty_lines(
    bench: Bench, tmp_path: Path
) -> None:
    state = bench.state
    (old,) = projects(state, "with space")
    new = bench.folder("new")
    moves = tmp_path / "moves.tsv"
    moves.write_text(f"# what went where\r\n\n{old.path}\t{new}\r\n")
    expected = Expected(bench)
    expected.move(state, old.path, new)
    bench.cycle(expected, "--from-file", moves)


def test_two_that_came_to_one_without_notes_each_get_their_own_back(
    bench: Bench, state: StateBuilder
) -> None:
    """Found by random merges: the notes of both went back to the first."""
    for name, note in (("one", "a"), ("two", "b"), ("new", "")):
        memory = {"plan.md": f"of {name}\n", f"{note}.md": "x\n"} if note else {}
        state.project(name, memory=memory)
    new = bench.folder("new")
    moves = "".join(f"{state.code / name}\t{new}\n" for name in ("one", "two"))
    with bench.moved("--from-file", "-", input=moves):
        memory = directory_of(state, new) / "memory"
        assert len(list(memory.iterdir())) == 4


@pytest.mark.parametrize("order", [("one", "two", "new"), ("new", "one", "two")])
def test_of_three_that_each_go_on_where_another_ends_each_comes_back(
    bench: Bench, state: StateBuilder, order: tuple[str, ...]
) -> None:
    """Found by random merges: what was in the middle went back to NEW."""
    session, turn = "11111111-2222-3333-4444-555555555555", '{"type":"user"}\n'
    for number, name in enumerate(order, 1):
        project = state.project(name, memory={"plan.md": "line\n" * number})
        (project.directory / f"{session}.jsonl").write_text(turn * number)
    new = bench.folder("new")
    moves = "".join(f"{state.code / name}\t{new}\n" for name in ("one", "two"))
    with bench.moved("--from-file", "-", input=moves):
        directory = directory_of(state, new)
        assert (directory / "memory" / "plan.md").read_text() == "line\n" * 3
        assert (directory / f"{session}.jsonl").read_text() == turn * 3
