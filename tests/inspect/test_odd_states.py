"""Whatever is in the state, looking at it ends with an answer."""

from collections.abc import Callable

import pytest

from tests.inspect.conftest import run_ccmove
from tests.support.state import ProjectHandle, StateBuilder
from tests.systems import windows

IN_THE_STATE: dict[str, Callable[[StateBuilder], object]] = {
    "a file among the projects": lambda s: (s.projects / "file").write_text("x"),
    "a very long path": lambda s: s.project(
        "/" + "long/" * 1500, sessions=0, prompts=1
    ),
    "a directory as the history": lambda s: (s.history.unlink(), s.history.mkdir()),
    "a history of anything": lambda s: s.odd_history("app", 120),
    "a link as the history": lambda s: (
        s.history.unlink(),
        s.history.symlink_to("/etc/passwd"),
    ),
    "a directory as the config": lambda s: (
        s.config_file.unlink(),
        s.config_file.mkdir(),
    ),
    "a list as the config": lambda s: s.config_file.write_text("[]"),
    "an empty config": lambda s: s.config_file.write_text(""),
    "strange values in the config": lambda s: s.config_file.write_text(
        '{"projects": {"": 1, "x": null, "/a": []}, "githubRepoPaths": {"a": "b", "c": [1]}}'
    ),
    "a file as the jobs": lambda s: (s.config_dir / "jobs").write_text("x"),
    "a list as the plugins": lambda s: spoil_plugins(s, "[]"),
    "strange plugins": lambda s: spoil_plugins(
        s, '{"plugins": {"a": [1, {}], "b": 2}}'
    ),
    "a file as ccmove's own": lambda s: (s.config_dir / "ccmove").write_text("x"),
    "a file as the backups": lambda s: spoil_backups(s, None),
    "a file as a backup": lambda s: spoil_backups(s, "20261116T004112Z-3f9c"),
    "no projects at all": lambda s: s.projects.rename(s.root / "away"),
    "a link among the projects": lambda s: (s.projects / "-link").symlink_to(
        s.projects
    ),
}

IN_THE_PROJECT: dict[str, Callable[[ProjectHandle], object]] = {
    "a link that leads nowhere": lambda p: (p.directory / "x.jsonl").symlink_to(
        "/nowhere"
    ),
    "a link to itself": lambda p: (p.directory / "loop").symlink_to("loop"),
    "a pipe as a transcript": lambda p: windows.make_pipe(p.directory / "pipe.jsonl"),
    "a directory as a transcript": lambda p: (p.directory / "dir.jsonl").mkdir(),
    "a directory as the index": lambda p: p.index.mkdir(),
    "a link as the index": lambda p: p.index.symlink_to("/etc/passwd"),
    "a list as the index": lambda p: p.index.write_text("[1, 2]"),
    "an index without entries": lambda p: p.index.write_text('{"entries": 7}'),
    "an index of strange entries": lambda p: p.index.write_text(
        '{"entries": [1, {}, null]}'
    ),
    "a deep index": lambda p: p.index.write_text("[" * 100_000 + "]" * 100_000),
    "an empty transcript": lambda p: (p.directory / "empty.jsonl").write_bytes(b""),
    "a transcript of zeros": lambda p: (p.directory / "zeros.jsonl").write_bytes(
        bytes(99_999)
    ),
    "a relative path in a transcript": lambda p: (p.directory / "r.jsonl").write_text(
        '{"cwd":"../x"}\n'
    ),
    "half a character in a path": lambda p: (p.directory / "h.jsonl").write_text(
        '{"cwd":"/a/\\ud83d"}\n'
    ),
    "a NUL in a path": lambda p: (p.directory / "n.jsonl").write_text(
        '{"cwd":"/a/\\u0000"}\n'
    ),
    "memory as a file": lambda p: p.memory.write_text("x"),
    "a directory as the aliases": lambda p: (p.directory / ".session-aliases").mkdir(),
    "aliases of bytes": lambda p: (p.directory / ".session-aliases").write_bytes(
        b"/\xff\n\0\n"
    ),
}


def spoil_plugins(state: StateBuilder, text: str) -> None:
    (state.config_dir / "plugins").mkdir()
    (state.config_dir / "plugins" / "installed_plugins.json").write_text(text)


def spoil_backups(state: StateBuilder, name: str | None) -> None:
    backups = state.config_dir / "ccmove" / "backups"
    if name is None:
        backups.parent.mkdir()
        backups.write_text("x")
    else:
        backups.mkdir(parents=True)
        (backups / name).write_text("x")


@pytest.mark.parametrize("odd", [*IN_THE_STATE, *IN_THE_PROJECT])
def test_an_odd_state_is_looked_at_to_the_end(state: StateBuilder, odd: str) -> None:
    handle = state.project("app", sessions=1, make_folder=True)
    if odd in IN_THE_STATE:
        IN_THE_STATE[odd](state)
    else:
        IN_THE_PROJECT[odd](handle)
    for command in ("list", "doctor", "verify"):
        done = run_ccmove(command, "--json", state=state)
        assert done.exit in (0, 1), done.out
        assert done.json()["error"] is None
