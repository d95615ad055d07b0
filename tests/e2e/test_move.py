"""A move and its undoing, through the real command line, on a state with everything odd
in it.
"""

import json
import os
from pathlib import Path

import pytest

from tests.shapes.bench import in_json, inside
from tests.support import tree
from tests.support.run import Completed, run_ccmove
from tests.support.state import StateBuilder, encoded_name


@pytest.fixture
def busy(state: StateBuilder) -> StateBuilder:
    """A project, a nested one, a sibling with the same prefix, an index, odd prompts, a
    config.
    """
    old = state.code / "my-app"
    state.project(
        old,
        sessions=3,
        index=True,
        memory={"MEMORY.md": "# notes\n"},
        repo="acme/my-app",
    )
    state.project(old / "packages" / "web", sessions=1)
    state.project(state.code / "my-app-docker", sessions=2, index=True)
    (state.code / "new-app").mkdir(parents=True)
    return state


def move(state: StateBuilder, *options: str) -> Completed:
    return run_ccmove(
        *options, state.code / "my-app", state.code / "new-app", state=state
    )


def differences(before: tree.Tree, state: StateBuilder) -> list[str]:
    """In all but what is ours."""
    return tree.diff(before, tree.snapshot(state.home), ignore=[".claude/ccmove"])


@pytest.mark.slow
def test_exactly_the_planned_bytes_change_among_20000_odd_history_lines(
    busy: StateBuilder,
) -> None:
    old, new = busy.code / "my-app", busy.code / "new-app"
    kept = busy.history.read_bytes()
    odd = busy.odd_history(old, 20_000)
    before = tree.snapshot(busy.home)
    done = move(busy)
    assert done.exit == 0, done.err
    expected = kept
    for end in ('"', os.sep):
        was, becomes = (
            in_json(f'"project":"{path}{end}').encode() for path in (old, new)
        )
        expected = expected.replace(was, becomes)
    expected += b"".join(line.expected(str(old), str(new)) for line in odd)
    assert busy.history.read_bytes() == expected
    assert os.name == "nt" or (busy.history.stat().st_mode & 0o777) == 0o600
    assert run_ccmove("restore", state=busy).exit == 0
    assert differences(before, busy) == []


def test_config_and_index_change_only_in_the_planned_values(busy: StateBuilder) -> None:
    old, new = str(busy.code / "my-app"), str(busy.code / "new-app")
    text = busy.config_file.read_text()
    index = busy.projects / encoded_name(old) / "sessions-index.json"
    index_text = index.read_text()
    assert move(busy).exit == 0
    expected = text
    for spell in (in_json, lambda path: Path(path).as_posix()):
        was, becomes = f'"{spell(old)}', f'"{spell(new)}'
        for end in '"/\\':
            expected = expected.replace(was + end, becomes + end)
    assert busy.config_file.read_text() == expected
    moved = busy.projects / encoded_name(new) / "sessions-index.json"
    renamed = index_text.replace(in_json(f'"{old}"'), in_json(f'"{new}"'))
    names = (in_json(inside(encoded_name(path))) for path in (old, new))
    renamed = renamed.replace(*names)
    assert moved.read_text() == renamed


def test_transcripts_keep_inode_bytes_and_mtime(busy: StateBuilder) -> None:
    old, new = busy.code / "my-app", busy.code / "new-app"
    source = busy.projects / encoded_name(str(old))
    before = files_of(source)
    assert move(busy).exit == 0
    assert not source.exists()
    assert files_of(busy.projects / encoded_name(str(new))) == before


def files_of(directory: Path) -> dict[Path, tuple[int, int, bytes]]:
    """Inode, date and bytes of all that a move only renames."""
    files = [
        p
        for p in directory.rglob("*")
        if p.is_file() and p.name != "sessions-index.json"
    ]
    assert len(files) > 6
    return {
        p.relative_to(directory): (
            p.stat().st_ino,
            p.stat().st_mtime_ns,
            p.read_bytes(),
        )
        for p in files
    }


def test_a_dry_run_changes_nothing_and_creates_nothing(busy: StateBuilder) -> None:
    """Not a byte, not a time, not a name; `tmp` is the child's own TMPDIR."""
    before = tree.snapshot(busy.root)
    done = move(busy, "--dry-run")
    assert done.exit == 0
    after = tree.snapshot(busy.root)
    assert tree.diff(before, after, ignore=["tmp"], mtimes="all", inodes="all") == []
    assert str(busy.code / "new-app") in done.out


def test_saved_files_are_readable_by_the_owner_only(busy: StateBuilder) -> None:
    """Whatever the umask is."""
    busy.config_file.chmod(0o644)
    before = os.umask(0)
    try:
        assert move(busy).exit == 0
    finally:
        os.umask(before)
    assert (busy.config_file.stat().st_mode & 0o777) == 0o644
    own = busy.config_dir / "ccmove"
    for path in (own, *own.rglob("*")):
        mode = path.stat().st_mode & 0o777
        assert mode == (0o700 if path.is_dir() else 0o600), path
    assert run_ccmove("restore", state=busy).exit == 0
    assert (busy.config_file.stat().st_mode & 0o777) == 0o644


def test_json_tells_everything(busy: StateBuilder) -> None:
    record = move(busy, "--json").json()
    paths = {"old": str(busy.code / "my-app"), "new": str(busy.code / "new-app")}
    config_dir = str(busy.config_dir)
    told = {
        "schema": 1,
        "status": "moved",
        "config_dir": config_dir,
        "error": None,
        **paths,
    }
    assert {key: record[key] for key in told} == told
    assert (record["counts"]["transcripts"], record["counts"]["index"]) == (4, 7)
    assert {project["kind"] for project in record["projects"]} == {"rename"}
    assert (busy.config_dir / "ccmove" / "backups" / record["backup"]).is_dir()
    rows = [row for row in record["changes"] if row["file"].endswith("history.jsonl")]
    assert len(rows) == 1


def test_moving_there_and_back_gives_the_same_state(busy: StateBuilder) -> None:
    before = tree.snapshot(busy.home)
    assert move(busy).exit == 0
    (busy.code / "new-app").rename(busy.code / "my-app")
    back = run_ccmove(busy.code / "new-app", busy.code / "my-app", state=busy)
    assert back.exit == 0, back.err
    assert differences(before, busy) == []


def test_undo_keeps_what_was_added_since(busy: StateBuilder) -> None:
    old, new = busy.code / "my-app", busy.code / "new-app"
    assert move(busy).exit == 0
    session = busy.add_session(new)
    busy.add_prompt(new, "asked in the new place")
    config = busy.config()
    config["addedSince"] = True
    config["projects"][str(new)]["lastCost"] = 7
    busy.write_config(config)
    assert run_ccmove("restore", state=busy).exit == 0
    assert (busy.projects / encoded_name(str(old)) / f"{session}.jsonl").is_file()
    last = json.loads(busy.history.read_bytes().splitlines()[-1])
    assert (last["display"], last["project"]) == ("asked in the new place", str(old))
    after = busy.config()
    assert after["addedSince"] is True
    assert after["projects"][str(old)]["lastCost"] == 7
    assert str(new) not in after["projects"]


def test_an_undo_is_not_undone_the_move_is_made_again(busy: StateBuilder) -> None:
    assert move(busy).exit == 0
    moved = tree.snapshot(busy.home)
    undo = run_ccmove("restore", "--json", state=busy).json()
    assert undo["status"] == "undone"
    done = run_ccmove("undo", undo["backup"], state=busy)
    assert done.exit == 3
    command = done.err.partition("to move again: ccmove ")[2].splitlines()[0]
    assert run_ccmove(*command.split(), state=busy).exit == 0
    assert differences(moved, busy) == []


@pytest.mark.parametrize("how", [[], ["--hash"]])
def test_a_move_passes_by_dates_and_by_hashes(
    busy: StateBuilder, how: list[str]
) -> None:
    assert move(busy, *how).exit == 0


def test_a_link_left_at_the_old_place_is_no_obstacle(busy: StateBuilder) -> None:
    (busy.code / "my-app").symlink_to(busy.code / "new-app")
    done = move(busy)
    assert done.exit == 0, done.err
    assert (busy.projects / encoded_name(str(busy.code / "new-app"))).is_dir()


def test_an_index_with_lists_where_strings_should_be_is_not_a_bug(
    state: StateBuilder,
) -> None:
    handle = state.project("my-app", index=True)
    state.add_session("my_app", directory=handle.directory)
    index = json.loads(handle.index.read_text())
    index["entries"].append({"sessionId": ["x"], "projectPath": ["y"]})
    handle.index.write_text(json.dumps(index))
    (state.code / "new").mkdir(parents=True)
    done = run_ccmove(state.code / "my-app", state.code / "new", state=state)
    assert done.exit == 0, done.err
