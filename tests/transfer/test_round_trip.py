"""What was packed is there after it was unpacked, in every shape, by an oracle that
reads the files itself.
"""

import json
import os
from pathlib import Path

import pytest

from ccmove import api
from ccmove.errors import CcmoveError, UnfinishedRunError, UsageError
from tests.support.packed import handle_at
from tests.support.run import Completed, run_ccmove
from tests.support.state import StateBuilder, encoded_name

MEMORY = {"MEMORY.md": "- likes tea\n", "deep/notes.md": "long\n"}


class Machine:
    """A home, and what it knows of a project."""

    def __init__(self, root: Path) -> None:
        self.state = StateBuilder(root)
        self.code = self.state.code

    def ccmove(self, *words: str | Path) -> Completed:
        done = run_ccmove(*words, state=self.state, cwd=self.code)
        assert done.exit == 0, done
        return done

    def sessions(self, path: str) -> dict[str, tuple[bytes, int]]:
        """Every file of a project's sessions and memory."""
        directory = handle_at(self.state, path).directory
        found = {}
        for file in directory.rglob("*"):
            if file.is_file() and file.name != "sessions-index.json":
                inside = file.relative_to(directory).as_posix()
                found[inside] = file.read_bytes(), file.stat().st_mtime_ns
        return found

    def prompts(self, path: str) -> list[tuple[str, str]]:
        spelled = str(self.code / path)
        found = []
        for line in self.state.history.read_bytes().splitlines():
            record = json.loads(line)
            if record["project"] == spelled:
                found.append((record["display"], record["sessionId"]))
        return found

    def index(self, path: str) -> set[str]:
        file = handle_at(self.state, path).index
        if not file.exists():
            return set()
        entries = json.loads(file.read_bytes())["entries"]
        directory = file.parent
        for entry in entries:
            assert entry["projectPath"] == str(self.code / path)
            assert Path(entry["fullPath"]).parent == directory
        return {entry["sessionId"] for entry in entries}

    def all_of(self, path: str) -> object:
        return self.sessions(path), self.prompts(path), self.index(path)


@pytest.fixture
def there(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "there")


@pytest.fixture
def here(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "here")


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz"])
def test_a_project_with_those_inside_it(
    there: Machine, here: Machine, suffix: str
) -> None:
    there.state.project("app", index=True, memory=MEMORY, make_folder=True)
    there.state.project("app/pkg", sessions=1)
    there.state.project("app/.claude/worktrees/wt", sessions=1)
    there.state.project("app-docker", sessions=1)
    archive = there.state.root / f"app{suffix}"
    there.ccmove("pack", "app", "-o", archive)
    (here.code / "neu").mkdir()
    here.ccmove("unpack", archive, "neu")
    for inside in ("", "/pkg", "/.claude/worktrees/wt"):
        assert here.all_of(f"neu{inside}") == there.all_of(f"app{inside}")
    names = {p.name for p in here.state.projects.iterdir()}
    assert not any("docker" in name for name in names)


def test_one_session_makes_the_round_trip_alone(there: Machine, here: Machine) -> None:
    app = there.state.project("app", memory=MEMORY, make_folder=True)
    session = app.sessions[0]
    archive = there.state.root / "one.tar.gz"
    there.ccmove("pack", "app", "--session", session, "-o", archive)
    (here.code / "neu").mkdir()
    here.ccmove("unpack", archive, "neu")
    after = handle_at(here.state, "neu")
    assert after.sessions == [session]
    assert not after.memory.exists()
    assert {one for _, one in here.prompts("neu")} == {session}


def test_a_shared_directory_gives_only_what_is_the_projects(
    there: Machine, here: Machine
) -> None:
    there.state.project("my-app", sessions=1, make_folder=True)
    mine = there.state.project("my_app", sessions=2, make_folder=True)
    archive = there.state.root / "mine.tar.gz"
    there.ccmove("pack", "my_app", "-o", archive)
    (here.code / "neu").mkdir()
    here.ccmove("unpack", archive, "neu")
    assert set(handle_at(here.state, "neu").sessions) == set(mine.sessions)
    assert here.prompts("neu") == there.prompts("my_app")


def test_all_projects_with_the_home_of_here(there: Machine, here: Machine) -> None:
    for name in ("one", "two"):
        path = there.state.home / "src" / name
        there.state.project(path, memory=MEMORY, make_folder=True)
    there.state.project("outside", make_folder=True)
    archive = there.state.root / "all.tar.gz"
    there.ccmove("pack", "--all", "-o", archive)
    outside = f"{there.code}={here.code / 'other'}"
    here.ccmove("unpack", archive, "--map", outside)
    for name in ("one", "two"):
        new = str(here.state.home / "src" / name)
        old = str(there.state.home / "src" / name)
        assert here.sessions(new) == there.sessions(old)
    assert here.sessions("other/outside") == there.sessions("outside")


def test_what_sessions_have_beside_their_project(there: Machine, here: Machine) -> None:
    app = there.state.project("app", sessions=1, make_folder=True)
    session = app.sessions[0]
    with app.transcripts[0].open("ab") as file:
        file.write(b'{"type":"user","slug":"brave-fox"}\n')
    state = there.state.config_dir
    files = [
        f"tasks/{session}/1.json",
        f"file-history/{session}/a@v1",
        "plans/brave-fox.md",
    ]
    for name in files:
        (state / name).parent.mkdir(parents=True, exist_ok=True)
        (state / name).write_text(name)
    archive = there.state.root / "app.tar.gz"
    there.ccmove("pack", "app", "-o", archive)
    (here.code / "neu").mkdir()
    here.ccmove("unpack", archive, "neu")
    for name in files:
        assert (here.state.config_dir / name).read_text() == name


def test_through_a_pipe_into_a_used_project_and_undone(
    there: Machine, here: Machine
) -> None:
    """What was here is here again to the byte, but for the dates of directories."""
    there.state.project("app", index=True, memory=MEMORY, make_folder=True)
    here.state.add_session("neu", session_id="11111111-2222-4333-8444-555555555555")
    here.state.project("neu", sessions=0, index=True, memory={"MEMORY.md": "- x\n"})
    (here.code / "neu").mkdir()
    archive = there.state.root / "app.tar"
    there.ccmove("pack", "app", "-o", archive)
    before = contents(here.state.home)
    done = run_ccmove("unpack", "-", here.code / "neu", state=here.state,
                      input=archive.read_bytes())  # fmt: skip
    assert done.exit == 0, done
    assert (
        "- likes tea" in (handle_at(here.state, "neu").memory / "MEMORY.md").read_text()
    )
    assert len(handle_at(here.state, "neu").sessions) == 3
    here.ccmove("undo")
    assert contents(here.state.home) == before


def test_control_the_oracle_sees_a_lost_turn(there: Machine, here: Machine) -> None:
    app = there.state.project("app", make_folder=True)
    archive = there.state.root / "app.tar.gz"
    there.ccmove("pack", "app", "-o", archive)
    (here.code / "neu").mkdir()
    here.ccmove("unpack", archive, "neu")
    assert here.all_of("neu") == there.all_of("app")
    transcript = handle_at(here.state, "neu").transcripts[0]
    text = transcript.read_bytes()
    transcript.write_bytes(text[: text.rindex(b"\n", 0, -1) + 1])
    assert here.all_of("neu") != there.all_of("app")
    assert app.directory.name == encoded_name(str(there.code / "app"))


def contents(home: Path) -> dict[str, tuple[bytes, int]]:
    found = {}
    for base, _, names in os.walk(home):
        if "ccmove" in Path(base).relative_to(home).parts:
            continue
        for name in names:
            file = Path(base) / name
            found[str(file)] = file.read_bytes(), file.stat().st_mtime_ns
    return found


def test_the_python_api_packs_and_unpacks_the_same(
    there: Machine, here: Machine
) -> None:
    app = there.state.project("app", make_folder=True)
    archive = there.state.root / "app.tar.gz"
    packed = api.pack(app.path, archive, config_dir=there.state.config_dir)
    assert packed.file == str(archive)
    (here.code / "neu").mkdir()
    planned = api.unpack(
        archive, here.code / "neu", config_dir=here.state.config_dir, dry_run=True
    )
    assert planned.status == "planned"
    done = api.unpack(
        archive, here.code / "neu", config_dir=here.state.config_dir, with_config=True
    )
    assert done.status == "unpacked"
    assert here.sessions("neu") == there.sessions("app")
    again = api.unpack(archive, here.code / "neu", config_dir=here.state.config_dir)
    assert again.status == "nothing"
    undone = api.undo(done.backup, config_dir=here.state.config_dir)
    assert undone.status == "undone"
    with pytest.raises(CcmoveError):
        api.unpack(archive, here.code / "neu", config_dir="", merge=True)
    for file in ("", "a\0b.tar"):
        with pytest.raises(UsageError, match="FILE is "):
            api.pack(app.path, file, config_dir=there.state.config_dir)
        with pytest.raises(UsageError, match="FILE is "):
            api.unpack(file, config_dir=here.state.config_dir)


def test_what_is_half_moved_is_not_packed_from_python_either(there: Machine) -> None:
    app = there.state.project("app", make_folder=True)
    run = there.state.config_dir / "ccmove" / "run"
    run.mkdir(parents=True)
    (run / "manifest.json").write_text("{}")
    archive = there.state.root / "app.tar.gz"
    with pytest.raises(UnfinishedRunError):
        api.pack(app.path, archive, config_dir=there.state.config_dir)
    assert not archive.exists()
