"""Paths of every sort: long ones, parents, worktrees, one inside the other, links,
Windows.
"""

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.shapes.bench import Bench, Expected, directory_of, inside
from tests.support import tree
from tests.support.oddlines import stringify
from tests.support.state import StateBuilder, encoded_name


def deep(state: StateBuilder) -> str:
    """A path of 230 characters: long enough to be cut, short enough for an uncut
    directory.
    """
    path = str(state.code / "deep")
    while len(path) < 230:
        path += f"{os.sep}and-deeper" if len(path) < 215 else "-"
    return path


def long_names(path: str) -> dict[str, str]:
    """The names under which some client may have kept a long path."""
    full = "".join(c if c.isascii() and c.isalnum() else "-" for c in path)
    assert len(full) > 200
    return {
        "hashed": encoded_name(path),
        "uncut": full,
        "unknown": f"{full[:200]}-1k9zq",
    }


@pytest.mark.parametrize("kind", ["hashed", "uncut", "unknown"])
def test_a_long_path_is_found_under_each_name_and_gets_the_current_one(
    bench: Bench, kind: str, state: StateBuilder
) -> None:
    old = deep(state)
    new = f"{old}-moved"
    source = state.projects / long_names(old)[kind]
    state.project(old, index=True, name=source.name)
    Path(new).mkdir(parents=True)
    expected = Expected(bench)
    target = directory_of(state, new)
    expected.rename(source, target)
    index = target / "sessions-index.json"
    expected.rewrite_index(index, (old, new), (source.name, target.name))
    expected.rewrite_lists(state, (old, new))
    bench.cycle(expected, old, new)


def test_a_long_path_that_several_clients_have_kept_is_brought_together(
    bench: Bench,
) -> None:
    state = bench.state
    old = deep(state)
    new = f"{old}-moved"
    handles = [
        state.project(old, sessions=1, name=name) for name in long_names(old).values()
    ]
    Path(new).mkdir(parents=True)
    with bench.moved(old, new):
        found = sorted(p.stem for p in directory_of(state, new).glob("*.jsonl"))
        assert found == sorted(handle.sessions[0] for handle in handles)
        assert os.listdir(state.projects) == [encoded_name(new)]


def test_a_long_neighbour_with_the_same_beginning_is_left_alone(bench: Bench) -> None:
    state = bench.state
    old = deep(state)
    other = f"{old}-other"
    state.project(old, sessions=1, memory={"MEMORY.md": "old\n"})
    state.project(other, sessions=1, memory={"MEMORY.md": "other\n"})
    state.project(f"{other}2", sessions=0, memory={"MEMORY.md": "no sessions\n"})
    bench.plain_cycle(old, bench.folder("short"))


def test_a_composed_and_a_decomposed_spelling_have_their_own_directories(
    bench: Bench,
) -> None:
    """2.1.92 composed a path before encoding it, so `é` in two characters was kept as
    one.
    """
    state = bench.state
    old = str(state.code / unicodedata.normalize("NFD", "café"))
    composed = encoded_name(unicodedata.normalize("NFC", old))
    state.project(old, sessions=1, name=composed)
    new = bench.folder("cafe")
    expected = Expected(bench)
    expected.rename(state.projects / composed, directory_of(state, new))
    expected.rewrite_lists(state, (old, new))
    bench.cycle(expected, old, new)


# -- parents and what is nested ----------------------------------------------------------------

NESTED = (
    "old/app",
    "old/app/packages/core",
    "old/app/.claude/worktrees/fix-1",
    "old/other app",
    "old/ünï",
)


def test_a_parent_takes_every_project_below_it_along(
    bench: Bench, state: StateBuilder
) -> None:
    handles = [state.project(path, sessions=1, index=True) for path in NESTED]
    state.project("old-2", sessions=1)
    state.project("old.x/core", sessions=1)
    (state.code / "new").mkdir()
    expected = Expected(bench)
    moves = [(h.path, h.path.replace(inside("old"), inside("new"))) for h in handles]
    for old, new in moves:
        expected.move_directory(state, old, new)
    expected.rewrite_lists(state, *moves)
    moved = bench.cycle(expected, state.code / "old", state.code / "new")
    assert sorted(p["from"] for p in moved["projects"]) == sorted(
        h.path for h in handles
    )


def test_with_only_what_is_nested_stays(bench: Bench, state: StateBuilder) -> None:
    """Wherever it is known from."""
    old = state.project("old", sessions=1, index=True)
    nested: dict[str, dict[str, Any]] = {
        "all": {"index": True}, "config": {"sessions": 0, "prompts": 0},
        "history": {"sessions": 0, "config": None}, "sessions": {"prompts": 0, "config": None},
        "index": {"prompts": 0, "config": None, "index": True, "subagents": False},
    }  # fmt: skip
    for name, options in nested.items():
        handle = state.project(f"old/{name}", **options)
        if name == "index":
            for transcript in handle.transcripts:
                transcript.unlink()
    config = state.config()
    tool = {
        "command": f"{old.path}/bin/serve",
        "args": [f"{old.path}/{name}/x" for name in nested],
    }
    config["projects"][old.path]["mcpServers"] = {"s": tool}
    state.write_config(config)
    new = bench.folder("new")
    expected = Expected(bench)
    expected.move_directory(state, old.path, new)
    expected.replace(state.history, (f'"project":"{old.path}"', f'"project":"{new}"'))
    expected.replace(
        state.config_file,
        (f'"{old.path}": {{', f'"{new}": {{'),
        (f'"{old.path}/bin/serve"', f'"{new}/bin/serve"'),
    )
    bench.cycle(expected, "--only", old.path, new)
    bench.ok("--only", old.path, new)
    config = state.config()
    config["projects"][f"{new}/history"] = {
        "allowedTools": ["Bash(ls)"]
    }  # of another folder, since
    state.write_config(config)
    bench.restore()
    assert state.config()["projects"][f"{new}/history"] == {
        "allowedTools": ["Bash(ls)"]
    }


def test_with_only_a_nested_project_that_was_moved_there_before_stays(
    bench: Bench,
) -> None:
    state = bench.state
    old = state.project("old", sessions=1, config=None, prompts=0)
    came = state.project("came", sessions=1, config=None, prompts=0)
    (state.code / "old" / "sub").mkdir(parents=True)
    bench.ok(came.path, state.code / "old" / "sub")
    new = state.code / "new"
    (state.code / "old").rename(new)
    bench.ok("--only", old.path, new)
    names = {encoded_name(str(new)), encoded_name(str(state.code / "old" / "sub"))}
    assert set(os.listdir(state.projects)) == names


def test_nested_names_that_are_at_the_target_are_merged(
    bench: Bench, state: StateBuilder
) -> None:
    old = state.project("old/app", sessions=1)
    new = state.project("new/app", sessions=1)
    more = state.project("old/lib", sessions=1)
    state.project("new/mine", sessions=1)
    (state.code / "new").mkdir(exist_ok=True)
    expected = Expected(bench)
    expected.bring_sessions(old, new)
    expected.remove(old.directory)
    expected.join_lists(state, (old.path, new.path))
    expected.move(state, more.path, state.code / "new" / "lib")
    moved = bench.cycle(expected, state.code / "old", state.code / "new")
    assert sorted(p["kind"] for p in moved["projects"]) == ["merge", "rename"]


def test_nested_paths_that_collide_in_their_new_names_share_a_directory(
    bench: Bench,
) -> None:
    """`old/a/b` and `old/a-b` have one name; so have they below the new parent."""
    state = bench.state
    one = state.project("old/a/b", sessions=1)
    two = state.project("old/a_b", sessions=1)
    there = state.project("new/a.b", sessions=1)
    (state.code / "new").mkdir()
    with bench.moved(state.code / "old", state.code / "new"):
        found = sorted(p.stem for p in there.directory.glob("*.jsonl"))
        assert found == sorted([*one.sessions, *two.sessions, *there.sessions])


# -- one inside the other ----------------------------------------------------------------------


def test_old_below_new_the_contents_went_up(bench: Bench, state: StateBuilder) -> None:
    old = state.project("repo/app", sessions=1, index=True)
    deeper = state.project("repo/app/lib", sessions=1)
    beside = state.project("repo/docs", sessions=1)
    new = bench.folder("repo")
    expected = Expected(bench)
    expected.move_directory(state, old.path, new)
    expected.move_directory(state, deeper.path, new / "lib")
    expected.rewrite_lists(state, (old.path, new), (deeper.path, new / "lib"))
    bench.cycle(expected, old.path, new)
    assert beside.directory.is_dir()


def test_new_below_old_the_contents_went_down(
    bench: Bench, state: StateBuilder
) -> None:
    old = state.project("app", sessions=1, index=True)
    new = state.project("app/main", sessions=1, index=True, make_folder=True)
    deeper = state.project("app/main/lib", sessions=1)
    lib = state.project("app/lib", sessions=1)
    assert "--skip-path-check" in bench.refused(old.path, new.path)["hint"]
    expected = Expected(bench)
    for one, other in (
        (old, new),
        (lib, deeper),
    ):  # where app/lib comes to, there is one already
        expected.bring_sessions(one, other)
        expected.remove(one.directory)
    expected.join_lists(state, (old.path, new.path), (lib.path, deeper.path))
    bench.cycle(expected, "--skip-path-check", old.path, new.path)


# -- where the state is, and how paths are written ---------------------------------------------


def test_a_parent_that_is_a_link_is_seen_through(
    bench: Bench, state: StateBuilder
) -> None:
    old = state.project("real/old", sessions=1, index=True)
    (state.code / "real" / "new").mkdir(parents=True)
    (state.code / "link").symlink_to("real")
    expected = Expected(bench)
    expected.move(state, old.path, state.code / "real" / "new")
    bench.cycle(expected, state.code / "link" / "old", state.code / "link" / "new")


def test_a_path_known_only_as_it_was_typed_is_moved(
    bench: Bench, state: StateBuilder
) -> None:
    (state.code / "real").mkdir()
    (state.code / "link").symlink_to("real")
    old = state.project("link/old", sessions=1)
    (state.code / "real" / "new").mkdir()
    expected = Expected(bench)
    expected.move(state, old.path, state.code / "real" / "new")
    bench.cycle(expected, old.path, state.code / "link" / "new")


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_state_elsewhere_is_moved_and_the_usual_one_is_not_touched(
    bench: Bench, how: str, state: StateBuilder
) -> None:
    other = StateBuilder(state.root / "other")
    elsewhere = other.config_dir
    (elsewhere / ".claude.json").write_bytes(b"")
    other.config_file = elsewhere / ".claude.json"
    other.write_config({"projects": {}, "githubRepoPaths": {}})
    old = other.project("old", sessions=1, index=True)
    state.project(old.path, sessions=1)
    new = other.code / "new"
    new.mkdir()
    expected = Expected(bench)
    expected.move_directory(other, old.path, new)
    expected.replace(other.history, (f'"project":"{old.path}"', f'"project":"{new}"'))
    expected.replace(other.config_file, (f'"{old.path}"', f'"{new}"'))
    args = ["--config-dir", str(elsewhere)] if how == "option" else []
    if how == "variable":
        bench.env = {"CLAUDE_CONFIG_DIR": str(elsewhere)}
    bench.ok(*args, old.path, new)
    own = (elsewhere / "ccmove").relative_to(state.root).as_posix()
    after = {
        n: e
        for n, e in bench.tree().items()
        if n != own and not n.startswith(own + "/")
    }
    assert {n: e.sha256 for n, e in after.items()} == {
        n: e.sha256 for n, e in expected.items()
    }


def test_an_old_config_file_inside_the_directory_is_the_one_that_counts(
    bench: Bench,
) -> None:
    state = bench.state
    usual = state.config_file
    state.config_file = state.config_dir / ".config.json"
    state.write_config({"projects": {}, "githubRepoPaths": {}})
    old = state.project("old", sessions=1, repo="acme/old")
    usual.write_bytes(stringify({"projects": {old.path: {}}}, 2))
    bench.plain_cycle(old.path, bench.folder("new"))


def test_a_config_file_that_is_a_link_stays_a_link(
    bench: Bench, state: StateBuilder
) -> None:
    old = state.project("old", sessions=1)
    real = state.home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    state.config_file.rename(real)
    state.config_file.symlink_to("dotfiles/claude.json")
    new = bench.folder("new")
    expected = Expected(bench)
    expected.move_directory(state, old.path, new)
    expected.replace(state.history, (f'"project":"{old.path}"', f'"project":"{new}"'))
    expected.replace(real, (f'"{old.path}"', f'"{new}"'))
    bench.cycle(expected, old.path, new)
    assert state.config_file.is_symlink()


def test_a_state_inside_the_folder_that_was_renamed_gets_its_own_new_path(
    bench: Bench,
) -> None:
    """CLAUDE_CONFIG_DIR in the project: every full path in the state has the old folder
    in it.
    """
    state = bench.state
    folder = state.root / "home"
    old, new = str(folder), str(state.root / "new home")
    app = state.project(f"{old}/app", sessions=1, index=True)
    other = state.project("other", sessions=1)
    aliases = other.directory / ".session-aliases"
    aliases.write_text(f"{app.directory}\n{other.directory}\n")
    folder.rename(new)
    config_dir = Path(new) / ".claude"
    index = json.loads(
        (config_dir / "projects" / app.name / "sessions-index.json").read_text()
    )
    assert index["entries"][0]["fullPath"].startswith(old)
    done = bench.run("--json", "--config-dir", config_dir, old, new, cwd=state.root)
    assert done.exit == 0, done.out
    moved = config_dir / "projects" / encoded_name(f"{new}/app")
    index = json.loads((moved / "sessions-index.json").read_text())
    (entry,) = index["entries"]
    assert entry["fullPath"] == str(moved / f"{app.sessions[0]}.jsonl")
    lines = (config_dir / "projects" / other.name / ".session-aliases").read_text()
    assert lines == f"{moved}\n{config_dir / 'projects' / other.name}\n"


# -- Windows-style data ------------------------------------------------------------------------

WINDOWS = [
    (r"C:\Work\me\x", r"C:\Work\me\y", r"C:\Work\me\x", r"C:\Work\me\y"),
    (r"C:\Work\me\x", r"C:\Work\me\y", r"c:\Work\me\x", r"C:\Work\me\y"),
    (r"c:\Work\me\x", r"C:\Work\me\y", r"C:\WORK\Me\X", r"C:\Work\me\y"),
    (r"\\nas\me\x", r"C:\Work\me\y", r"\\NAS\me\x", r"C:\Work\me\y"),
    (r"C:\Work\me\x", r"D:\work\y", r"c:\Work\me\x", r"D:\work\y"),
    (r"C:\Work\me\x", r"C:\Work\me\y", r"C:\Work\me\x\sub", r"C:\Work\me\y\sub"),
    ("C:/Work/me/x", "C:/Work/me/y", r"C:\Work\me\x", r"C:\Work\me\y"),
]


@pytest.mark.parametrize(("old", "new", "known", "becomes"), WINDOWS)
def test_windows_paths_in_the_data_are_moved_as_they_are_spelled(
    bench: Bench, old: str, new: str, known: str, becomes: str, state: StateBuilder
) -> None:
    source = state.projects / encoded_name(known)
    session = state.add_session("/unused", cwd=known, directory=source)
    line = stringify(
        {"display": "hi", "timestamp": 1, "project": known, "sessionId": session}
    )
    state.history.write_bytes(line + b"\n")
    slashes = known.replace("\\", "/")
    state.write_config({"projects": {slashes: {"hasTrustDialogAccepted": True}}})
    expected = Expected(bench)
    expected.rename(source, state.projects / encoded_name(becomes))
    after = stringify({**json.loads(line), "project": becomes})
    expected.write(state.history, after + b"\n")
    config = {
        "projects": {becomes.replace("\\", "/"): {"hasTrustDialogAccepted": True}}
    }
    expected.write(state.config_file, state.config_bytes(config))
    bench.cycle(expected, "--skip-path-check", old, new)


def test_all_spellings_of_a_windows_folder_come_together(
    bench: Bench, state: StateBuilder
) -> None:
    """`c:/x`, `C:/x` and `C:\\X` are one folder, and NEW's spelling is the one on disk."""
    spellings = [r"c:\work\x", r"C:\work\x", r"C:\WORK\X"]
    for path in spellings:
        state.add_session(
            "/unused", cwd=path, directory=state.projects / encoded_name(path)
        )
    slashes = [path.replace("\\", "/") for path in spellings]
    state.write_config(
        {"projects": {path: {"allowedTools": [path]} for path in slashes}}
    )
    lines = [
        stringify({"project": path, "sessionId": "s"}) + b"\n" for path in spellings
    ]
    state.history.write_bytes(b"".join(lines))
    before = bench.tree()
    done = bench.run("--skip-path-check", r"C:\work\x", r"C:\work\y")
    assert done.exit == 0, done
    assert [path.name for path in state.projects.iterdir()] == ["C--work-y"]
    assert len(list((state.projects / "C--work-y").glob("*.jsonl"))) == 3
    assert list(json.loads(state.config_file.read_bytes())["projects"]) == ["C:/work/y"]
    moved = stringify({"project": r"C:\work\y", "sessionId": "s"}) + b"\n"
    assert state.history.read_bytes() == moved * 3
    assert bench.run("restore").exit == 0
    assert tree.diff(before, bench.tree()) == []


def test_a_windows_neighbour_with_the_same_beginning_is_left_alone(
    bench: Bench,
) -> None:
    state = bench.state
    for path in (r"C:\Work\me\x", r"C:\Work\me\x-2", r"C:\Work\me\x2"):
        state.add_session(
            "/unused", cwd=path, directory=state.projects / encoded_name(path)
        )
    expected = Expected(bench)
    expected.rename(state.projects / "C--Work-me-x", state.projects / "C--Work-me-y")
    bench.cycle(expected, "--skip-path-check", r"C:\Work\me\x", r"C:\Work\me\y")
