"""A state that is ready to be moved, a place outside of it, and a judge of what became
of both.
"""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.fork import Job
from tests.support import tree
from tests.support.run import Completed, run_ccmove
from tests.support.state import ProjectHandle, StateBuilder, encoded_name
from tests.support.tree import Tree

# Everything that a terminal would act on, and what makes one name look like another.
HARMFUL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
EXIT_CODES = {0, 1, 2, 3, 4, 5, 130}


@dataclass
class Target:
    """A project with everything that a move reads or writes, and a victim beside the
    home.
    """

    state: StateBuilder
    handle: ProjectHandle
    neighbour: ProjectHandle
    old: Path
    new: Path
    outside: Path
    _seen: dict[str, Tree] = field(default_factory=dict)

    @property
    def target(self) -> Path:
        """Where the project directory goes."""
        return self.state.projects / encoded_name(str(self.new))

    @property
    def own(self) -> Path:
        return self.state.config_dir / "ccmove"

    @property
    def job(self) -> Path:
        return self.state.config_dir / "jobs" / "1a2b" / "state.json"

    @property
    def plugins(self) -> Path:
        return self.state.config_dir / "plugins" / "installed_plugins.json"

    def run(self, *args: str | os.PathLike[str], given: str = "") -> Completed:
        """Run ccmove, `given` on its standard input; it ends as the contract says, or
        we fail.

        The command line runs in the child of a process that has imported ccmove
        already, which takes a tenth of the time.
        """
        ended = Job(self.state, [os.fspath(arg) for arg in args], given).run()
        return checked(Completed(ended.exit, ended.out, ended.err))

    def run_alone(self, *args: str | os.PathLike[str], **more: Any) -> Completed:
        """The same as a program of its own, started as `run_ccmove` says."""
        return checked(run_ccmove(*args, state=self.state, alone=True, **more))

    def move(self, *options: str) -> Completed:
        return self.run(*options, self.old, self.new)

    def remember(self) -> None:
        """What must be unchanged from here on."""
        self._seen = {
            "state": tree.snapshot(self.state.home),
            "outside": self._outside(),
        }

    def _outside(self) -> Tree:
        return tree.snapshot(self.outside) if self.outside.exists() else {}

    def outside_is_untouched(self) -> None:
        assert (
            tree.diff(
                self._seen["outside"], self._outside(), mtimes="all", inodes="all"
            )
            == []
        )

    def nothing_changed(self, ignore: Iterable[str] = (".claude/ccmove",)) -> None:
        """Neither the state nor what is outside; but our own lock may have been made."""
        self.outside_is_untouched()
        now = tree.snapshot(self.state.home)
        ignored = [*ignore, ".claude", "."]
        found = tree.diff(self._seen["state"], now, mtimes="all", inodes="all")
        # Making and removing a name of ours inside a directory does not change that
        # directory.
        found = [line for line in found if not re.fullmatch(r"'[^']*': mtime .*", line)]
        assert [line for line in found if not _is_ignored(line, ignored)] == []

    def nothing_left_over(self) -> None:
        """No temporary name of ours, no lock of the client's, no run under way."""
        names = [path.name for path in self.state.home.rglob("*")]
        ours = [n for n in names if ".ccmove-" in n or n.endswith(".lock")]
        assert ours == []
        assert not (self.own / "run").exists()


def _is_ignored(line: str, names: Iterable[str]) -> bool:
    return any(line.startswith((f"'{name}'", f"'{name}/")) for name in names)


def checked(done: Completed) -> Completed:
    """An exit code of the contract, no bug report, and nothing that a terminal would
    act on.
    """
    assert done.exit in EXIT_CODES, done
    said = done.out + done.err
    assert "bug in ccmove" not in said, said
    assert "Traceback" not in said, said
    assert not HARMFUL.search(said), repr(said)
    if done.exit:
        assert said.strip(), "an end other than well says why"
    return done


def make_target(state: StateBuilder) -> Target:
    """`my-app` with index, aliases, memory, job, plugin and prompts, gone from the
    disk; `new`.
    """
    old, new = state.code / "my-app", state.code / "new"
    memory = {"MEMORY.md": "- a note\n"}
    handle = state.project(
        old, sessions=1, index=True, memory=memory, prompts=2, subagents=False
    )
    neighbour = state.project(
        "other", sessions=1, prompts=1, subagents=False, make_folder=True
    )
    new.mkdir(parents=True)
    (neighbour.directory / ".session-aliases").write_text(f"{handle.directory}\n")
    (handle.directory / ".session-aliases").write_text(f"{neighbour.directory}\n")
    outside = state.root / "outside"
    outside.mkdir()
    target = Target(state, handle, neighbour, old, new, outside)
    _write(target.job, {"cwd": str(old), "state": "done"})
    install = {"scope": "project", "projectPath": str(old)}
    _write(target.plugins, {"version": 2, "plugins": {"a@b": [install]}})
    return target


def _write(path: Path, record: object) -> None:
    path.parent.mkdir(parents=True, mode=0o700)
    path.write_text(json.dumps(record))
