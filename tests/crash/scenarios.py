"""The states that are put to the proof: small, but with every shape that a move knows."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from tests.support.life import Life
from tests.support.packed import handle_at, packed
from tests.support.state import StateBuilder


@dataclass(frozen=True)
class Scenario:
    """A state and the move that is made in it; the paths are relative to the code
    folder.
    """

    name: str
    build: Callable[[StateBuilder], None]
    args: tuple[str, ...]
    moves: tuple[tuple[str, str], ...] = ()  # for `--from-file -`
    since: Callable[[StateBuilder], None] | None = None  # before it is undone

    def input(self, state: StateBuilder) -> str:
        return "".join(
            f"{state.code / old}\t{state.code / new}\n" for old, new in self.moves
        )


def _move(state: StateBuilder) -> None:
    """Index, memory, subagents, a nested project, a sibling, odd history, plugins, a
    job.
    """
    memory = {"MEMORY.md": "- likes tea\n", "notes.md": "brew it long\n"}
    app = state.project("app", index=True, memory=memory, repo="me/app")
    state.project("app/pkg", sessions=1, prompts=1)
    other = state.project("app-docker", sessions=1, index=True, prompts=1)
    (other.directory / ".session-aliases").write_text(f"{app.directory}\n")
    _plugins(state, app.path)
    _job(state, app.path)
    state.odd_history("app", 12)
    (state.code / "neu").mkdir()


def _merge(state: StateBuilder) -> None:
    """Both have an index, memory, aliases and prompts, and files of one name that
    differ.
    """
    memory = {
        "MEMORY.md": "- likes tea\n- tall\n",
        "notes.md": "old notes\n",
        "same.md": "x\n",
    }
    old = state.project("app", sessions=2, index=True, memory=memory, repo="me/app")
    memory = {
        "MEMORY.md": "- likes tea\n- new\n",
        "notes.md": "new notes\n",
        "same.md": "x\n",
    }
    new = state.project("neu", sessions=1, index=True, memory=memory, repo="me/app")
    (state.code / "neu").mkdir()
    third = state.project("third", sessions=1, prompts=1)
    for handle, target in ((old, third), (new, old)):
        (handle.directory / ".session-aliases").write_text(f"{target.directory}\n")
    state.project("app/pkg", sessions=1, prompts=1)


def _life_after_the_merge(state: StateBuilder) -> None:
    """A session was begun at NEW and is in its index; a note was changed, a tool
    allowed.
    """
    life = Life(state)
    life.begin("neu", "begun since")
    life.write_note("neu", "notes.md", "since")
    life.allow("neu", "Bash(since)")


def _split(state: StateBuilder) -> None:
    """One directory shared by two paths: only what is the one's moves, the memory is
    copied.
    """
    memory = {"MEMORY.md": "- shared\n", "deep/notes.md": "n\n"}
    state.project("my-app", sessions=1, index=True, memory=memory, make_folder=True)
    mine = state.project("my_app", sessions=2, index=True)
    _plugins(state, mine.path)
    # With a second name for it a link would be no backup: it has to be copied.
    os.link(
        state.config_dir / "plugins/installed_plugins.json",
        state.home / "second-name.json",
    )
    (state.code / "neu").mkdir()


def _swap(state: StateBuilder) -> None:
    """Two projects change places, so both are parked on the way; some backups are
    copies.
    """
    memory = {"MEMORY.md": "- one\n"}
    one = state.project("one", sessions=1, index=True, memory=memory, make_folder=True)
    state.project("two", sessions=1, index=True, make_folder=True)
    state.project("two/deep", sessions=1, prompts=1)
    os.link(state.history, state.home / "second-history.jsonl")
    os.link(one.directory / "sessions-index.json", state.home / "second-index.json")


def _folder(state: StateBuilder) -> None:
    """The folder itself is renamed too, and its settings name it."""
    app = state.project("app", sessions=1, make_folder=True)
    settings = state.code / "app/.claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(
        json.dumps({"permissions": {"allow": [f"Read({app.path}/**)"]}})
    )
    (state.code / "app/.mcp.json").write_text(
        json.dumps({"args": [f"{app.path}/serve.py"]})
    )
    (state.code / "app/menu.txt").write_text("café\n")


def _there(state: StateBuilder, **seed: int) -> StateBuilder:
    """Another machine, on which the project went on."""
    there = StateBuilder(state.root / "there", **seed)
    memory = {"MEMORY.md": "- likes tea\n- and cake\n", "notes.md": "other notes\n"}
    app = there.project("app", sessions=2, index=True, memory=memory, prompts=2)
    there.project("app/pkg", sessions=1, prompts=1)
    first, _ = app.sessions
    tasks = there.config_dir / "tasks" / first
    tasks.mkdir(parents=True)
    (tasks / "1.json").write_text('{"status": "completed"}')
    (there.config_dir / "plans").mkdir()
    (there.config_dir / "plans/brave-fox.md").write_text("brew\n")
    return there


def _unpack(state: StateBuilder) -> None:
    """A used machine: one session went on there, the notes differ, there are older
    tasks; the history ends within a line.
    """
    there = _there(state)
    memory = {"MEMORY.md": "- likes tea\n- tall\n", "notes.md": "notes\n"}
    new = state.project(
        "neu",
        sessions=1,
        index=True,
        memory=memory,
        subagents=False,
        make_folder=True,
    )
    data = packed(there, "app", "app/pkg")
    app = handle_at(there, "app")
    for session in app.sessions:
        tasks = there.config_dir / "tasks" / session
        if not tasks.exists():
            continue
        text = (app.directory / f"{session}.jsonl").read_bytes()
        beginning = new.directory / f"{session}.jsonl"
        beginning.write_bytes(text[: text.rindex(b"\n", 0, -1) + 1])
        beginning.chmod(0o600)
        older = state.config_dir / "tasks" / session
        older.mkdir(parents=True)
        (older / "1.json").write_text('{"status": "open"}')
    with state.history.open("ab") as file:
        file.write(b'{"display":"torn')
    _end_of(there, state, data)


def _unpack_empty(state: StateBuilder) -> None:
    """A machine on which Claude Code was never started."""
    there = _there(state, seed=1)  # sessions that are begun here get other IDs
    data = packed(there, "app", "app/pkg")
    (state.code / "neu").mkdir()
    state.history.unlink()
    state.config_file.unlink()
    state.projects.rmdir()
    _end_of(there, state, data)


def _end_of(there: StateBuilder, state: StateBuilder, data: bytes) -> None:
    """Only the archive is left of the other machine."""
    shutil.rmtree(there.root)
    (state.code / "app.tar.gz").write_bytes(data)


def _plugins(state: StateBuilder, path: str) -> None:
    """Readable by all, unlike a backup: so its mode changes on the way there and back."""
    file = state.config_dir / "plugins/installed_plugins.json"
    file.parent.mkdir()
    entry = {"scope": "project", "projectPath": path, "version": "1.0"}
    file.write_text(
        json.dumps({"version": 2, "plugins": {"tea@shop": [entry]}}, indent=2)
    )
    file.chmod(0o644)


def _job(state: StateBuilder, path: str) -> None:
    file = state.config_dir / "jobs/1/state.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"cwd": path, "originCwd": path}))
    file.chmod(0o600)


_FREE = ("--skip-path-check",)
SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("move", _move, ("app", "neu")),
        Scenario("merge", _merge, ("app", "neu")),
        Scenario("split", _split, ("my_app", "neu")),
        Scenario(
            "swap",
            _swap,
            ("--from-file", "-", *_FREE),
            (("one", "two"), ("two", "one")),
        ),
        Scenario("unpack", _unpack, ("unpack", "--with-config", "app.tar.gz", "neu")),
        Scenario(
            "unpack-empty",
            _unpack_empty,
            ("unpack", "--with-config", "app.tar.gz", "neu"),
        ),
        Scenario("folder", _folder, ("--move-folder", "--settings", "app", "neu")),
    )
}

# Only for its undo: the move is that of the merge.
LIFE_WENT_ON = Scenario("life", _merge, ("app", "neu"), since=_life_after_the_merge)
