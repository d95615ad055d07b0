"""Whatever is in the state, looking at it ends with an answer."""

from dataclasses import dataclass

import pytest

from tests.inspect.conftest import run_ccmove
from tests.support.state import ProjectHandle, StateBuilder
from tests.systems import windows


@dataclass(frozen=True)
class Odd:
    """Something that is at a place of the state, instead of what belongs there."""

    at: str  # a path below the config directory, or "PROJECT" and one below its directory
    text: str | bytes | None = None  # None: a directory
    link: str = ""
    is_pipe: bool = False

    def put(self, state: StateBuilder, project: ProjectHandle) -> None:
        root, _, below = self.at.partition("/")
        roots = {"PROJECT": project.directory, "$C": state.config_dir}
        path = roots[root] / below if root in roots else state.home / self.at
        if path.is_dir():
            path.rename(state.root / "taken")
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.link:
            path.symlink_to(self.link)
        elif self.is_pipe:
            windows.make_pipe(path)
        elif self.text is None:
            path.mkdir()
        else:
            data = self.text
            path.write_bytes(data if isinstance(data, bytes) else data.encode())


STRANGE_CONFIG = (
    '{"projects": {"": 1, "x": null, "/a": []},'
    ' "githubRepoPaths": {"a": "b", "c": [1]}}'
)
INDEX = "PROJECT/sessions-index.json"
CONFIG = ".claude.json"
PLUGINS = "$C/plugins/installed_plugins.json"
BACKUP = "$C/ccmove/backups/20261116T004112Z-3f9c"
ODD = {
    "a file among the projects": Odd("$C/projects/file", "x"),
    "a file instead of the projects": Odd("$C/projects", "x"),
    "a directory as the history": Odd("$C/history.jsonl"),
    "a link as the history": Odd("$C/history.jsonl", link="/etc/passwd"),
    "a directory as the config": Odd(CONFIG),
    "a list as the config": Odd(CONFIG, "[]"),
    "an empty config": Odd(CONFIG, ""),
    "strange values in the config": Odd(CONFIG, STRANGE_CONFIG),
    "a file as the jobs": Odd("$C/jobs", "x"),
    "a list as the plugins": Odd(PLUGINS, "[]"),
    "strange plugins": Odd(PLUGINS, '{"plugins": {"a": [1, {}], "b": 2}}'),
    "a file as ccmove's own": Odd("$C/ccmove", "x"),
    "a file as the backups": Odd("$C/ccmove/backups", "x"),
    "a file as a backup": Odd(BACKUP, "x"),
    "a link among the projects": Odd("$C/projects/-link", link="/"),
    "a link that leads nowhere": Odd("PROJECT/x.jsonl", link="/nowhere"),
    "a link to itself": Odd("PROJECT/loop", link="loop"),
    "a pipe as a transcript": Odd("PROJECT/pipe.jsonl", is_pipe=True),
    "a directory as a transcript": Odd("PROJECT/dir.jsonl"),
    "a directory as the index": Odd(INDEX),
    "a link as the index": Odd(INDEX, link="/etc/passwd"),
    "a list as the index": Odd(INDEX, "[1, 2]"),
    "an index without entries": Odd(INDEX, '{"entries": 7}'),
    "an index of strange entries": Odd(INDEX, '{"entries": [1, {}, null]}'),
    "a deep index": Odd(INDEX, "[" * 100_000 + "]" * 100_000),
    "an empty transcript": Odd("PROJECT/empty.jsonl", ""),
    "a transcript of zeros": Odd("PROJECT/zeros.jsonl", bytes(99_999)),
    "a relative path in a transcript": Odd("PROJECT/r.jsonl", '{"cwd":"../x"}\n'),
    "half a character in a path": Odd("PROJECT/h.jsonl", '{"cwd":"/a/\\ud83d"}\n'),
    "a NUL in a path": Odd("PROJECT/n.jsonl", '{"cwd":"/a/\\u0000"}\n'),
    "memory as a file": Odd("PROJECT/memory", "x"),
    "a directory as the aliases": Odd("PROJECT/.session-aliases"),
    "aliases of bytes": Odd("PROJECT/.session-aliases", b"/\xff\n\0\n"),
}


def assert_looked_at_to_the_end(state: StateBuilder) -> None:
    for command in ("list", "doctor", "verify"):
        done = run_ccmove(command, "--json", state=state)
        assert done.exit in (0, 1), done.out
        assert done.json()["error"] is None


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_state_is_looked_at_to_the_end(state: StateBuilder, odd: str) -> None:
    project = state.project("app", sessions=1, make_folder=True)
    ODD[odd].put(state, project)
    assert_looked_at_to_the_end(state)


def test_a_very_long_path_is_looked_at_to_the_end(state: StateBuilder) -> None:
    state.project("/" + "long/" * 1500, sessions=0, prompts=1)
    assert_looked_at_to_the_end(state)


def test_any_line_of_a_history_is_looked_at_to_the_end(state: StateBuilder) -> None:
    state.project("app", sessions=1, make_folder=True)
    state.odd_history("app", 120)
    assert_looked_at_to_the_end(state)


def test_a_state_without_projects_is_looked_at_to_the_end(state: StateBuilder) -> None:
    state.project("app", sessions=1, make_folder=True)
    state.projects.rename(state.root / "away")
    assert_looked_at_to_the_end(state)
