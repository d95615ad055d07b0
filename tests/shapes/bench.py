"""Runs a whole cycle through the command line and compares each tree with the one
expected.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support import tree
from tests.support.oddlines import stringify
from tests.support.run import Completed, run_ccmove
from tests.support.state import ProjectHandle, StateBuilder, encoded_name

Paths = str | Path


class Bench:
    """A state on which commands are run; trees leave out what is ccmove's own."""

    def __init__(self, state: StateBuilder) -> None:
        self.state = state
        self.env: dict[str, str] = {}
        (state.root / "tmp").mkdir(exist_ok=True)

    def tree(self) -> tree.Tree:
        """All but our own directory, which is looked at separately."""
        own = f"{self.state.config_dir.relative_to(self.state.root).as_posix()}/ccmove"
        return {
            name: entry
            for name, entry in tree.snapshot(self.state.root).items()
            if name != own and not name.startswith((f"{own}/", "tmp"))
        }

    def folder(self, name: str) -> Path:
        """A folder that is there, as that of a project which was renamed to this."""
        (self.state.code / name).mkdir(parents=True)
        return self.state.code / name

    def run(self, *args: Paths, **options: Any) -> Completed:
        return run_ccmove(*args, state=self.state, env=self.env, **options)

    def on_path(self) -> dict[str, str]:
        """An environment in which `ccmove` can be typed."""
        programs = Path(sys.executable).parent
        return {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    def ok(self, *args: Paths, **options: Any) -> dict[str, Any]:
        """Run a command that must succeed; what it says as JSON."""
        done = self.run("--json", *args, **options)
        assert done.exit == 0, (args, done.out, done.err)
        report = done.json()
        assert isinstance(report, dict)
        return report

    def refused(self, *args: Paths, code: int = 4, **options: Any) -> dict[str, Any]:
        """Run a command that must be refused and leave no trace; what it says as JSON."""
        before = tree.snapshot(self.state.root)
        done = self.run("--json", *args, **options)
        assert done.exit == code, (args, done.out, done.err)
        assert (
            tree.diff(
                before, tree.snapshot(self.state.root), mtimes="all", inodes="all"
            )
            == []
        )
        report = done.json()
        assert isinstance(report, dict)
        return report

    def expect(self, expected: Mapping[str, tree.Entry]) -> None:
        assert tree.diff(expected, self.tree()) == []
        own = self.state.config_dir / "ccmove"
        if own.exists():
            assert {*os.listdir(own)} - {"ledger.json"} == {"backups", "lock"}

    def cycle(
        self, expected: Mapping[str, tree.Entry], *args: Paths, **options: Any
    ) -> Any:
        """Preview, move, undo, move again, undo that: every tree is exact."""
        before = self.tree()
        whole = tree.snapshot(self.state.root)
        planned = self.ok("--dry-run", *args, **options)
        now = tree.snapshot(self.state.root)
        assert tree.diff(whole, now, mtimes="all", inodes="all") == []
        moved = self.ok(*args, **options)
        self.expect(expected)
        for key in ("projects", "counts", "changes", "left_alone", "warnings"):
            assert moved[key] == planned[key], key
        self.restore()
        self.expect(before)
        self.ok(*args, **options)
        self.expect(expected)
        self.restore()
        self.expect(before)
        return moved

    @contextmanager
    def moved(self, *args: Paths, **options: Any) -> Iterator[dict[str, Any]]:
        """Done, looked at, and undone: then everything is as before."""
        before = self.tree()
        yield self.ok(*args, **options)
        self.restore()
        self.expect(before)

    def plain_cycle(self, old: Paths, new: Paths) -> Any:
        """The cycle of a move that does what every move does, and nothing else."""
        expected = Expected(self)
        expected.move(self.state, old, new)
        return self.cycle(expected, old, new)

    def restore(self, *args: str, warned: bool = False) -> dict[str, Any]:
        """Undo a run; it warns of nothing but the folder, which is not ours to rename."""
        report = self.ok("restore", *args)
        warnings = [
            w for w in report["warnings"] if not w.startswith("the folder is still ")
        ]
        assert bool(warnings) == warned, warnings
        return report


class Expected(dict[str, tree.Entry]):
    """A tree that is changed as the test says a move must change it."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.tree())
        self.root = bench.state.root

    def _name(self, path: Paths) -> str:
        return Path(path).relative_to(self.root).as_posix()

    def rename(self, path: Paths, target: Paths) -> None:
        """The same thing, with all below it, under another name; that must be free."""
        old, new = self._name(path), self._name(target)
        assert old in self, old
        moved = [name for name in self if name == old or name.startswith(old + "/")]
        entries = {new + name[len(old) :]: self.pop(name) for name in moved}
        assert not entries.keys() & self.keys()
        self.update(entries)

    def remove(self, *paths: Paths) -> None:
        """Gone, with all below it."""
        for path in paths:
            name = self._name(path)
            assert name in self, name
            for below in [n for n in self if n == name or n.startswith(name + "/")]:
                del self[below]

    def write(self, path: Paths, content: bytes) -> None:
        """Other bytes in a file that is there."""
        name = self._name(path)
        assert self[name].content != content, f"{name} holds that already"
        self.update(tree.with_content(self, name, content))

    def replace(self, path: Paths, *pairs: tuple[str, str]) -> None:
        """Every `before` becomes `after` in a file that is there; each must occur."""
        content = self[self._name(path)].content
        assert content is not None
        if Path(path).suffix in (
            ".json",
            ".jsonl",
        ):  # where a backslash is written twice
            pairs = tuple((in_json(before), in_json(after)) for before, after in pairs)
        # The keys of the config file have slashes on every system.
        slashes = {
            pair: tuple(text.replace("\\\\", "/") for text in pair) for pair in pairs
        }
        for pair in pairs:
            before, after = pair if pair[0].encode() in content else slashes[pair]
            assert before.encode() in content, before
            content = content.replace(before.encode(), after.encode())
        self.write(path, content)

    def make(self, path: Paths, content: bytes, mode: int = 0o600) -> None:
        """A file that was not there."""
        digest = hashlib.sha256(content).hexdigest()
        name = self._name(path)
        assert name not in self
        self[name] = tree.Entry("file", mode, len(content), digest, content, None, 0, 0)

    def make_directory(self, path: Paths, mode: int = 0o700) -> None:
        name = self._name(path)
        assert name not in self
        self[name] = tree.Entry("directory", mode, 0, None, None, None, 0, 0)

    # -- what every move does ----------------------------------------------------------------

    def rewrite_lists(self, state: StateBuilder, *moves: tuple[Paths, Paths]) -> None:
        """History and config name these paths by their new names."""
        keys = [tuple(Path(path).as_posix() for path in move) for move in moves]
        for file, form in (
            (state.history, '"project":"{}"'),
            (state.config_file, '"{}"'),
        ):
            pairs = [
                (form.format(old), form.format(new)) for old, new in (*moves, *keys)
            ]
            content = self[self._name(file)].content or b""
            known = [
                pair
                for pair in dict.fromkeys(pairs)
                if in_json(pair[0]).encode() in content
            ]
            if known:
                self.replace(file, *known)

    def move_directory(self, state: StateBuilder, old: Paths, new: Paths) -> None:
        """A project directory is renamed, and its index (if any) rewritten."""
        source = state.projects / encoded_name(str(old))
        target = state.projects / encoded_name(str(new))
        self.rename(source, target)
        index = target / "sessions-index.json"
        if self._name(index) in self:
            self.rewrite_index(index, (old, new), (source.name, target.name))

    def rewrite_index(
        self, index: Path, paths: tuple[Paths, Paths], names: tuple[str, str]
    ) -> None:
        """The project's path, and the directory's name in the middle of each full path."""
        old, new = names
        self.replace(
            index, (f'"{paths[0]}"', f'"{paths[1]}"'), (inside(old), inside(new))
        )

    def join_lists(self, state: StateBuilder, *moves: tuple[str, str]) -> None:
        """The same where NEW is listed already, and its config entry has all that OLD's
        has.
        """
        config = state.config()
        for old, new in moves:
            self.replace(state.history, (f'"project":"{old}"', f'"project":"{new}"'))
            del config["projects"][old]
        self.write(state.config_file, state.config_bytes(config))

    def bring_sessions(self, old: ProjectHandle, new: ProjectHandle) -> None:
        """OLD's sessions with their folders, and its entries of the index, come to
        NEW's.
        """
        for session in old.sessions:
            for name in (f"{session}.jsonl", session):
                self.rename(old.directory / name, new.directory / name)
        if old.index.exists():
            names = (self._name(handle.index) for handle in (old, new))
            ours, theirs = (json.loads(self[name].content or b"") for name in names)
            for entry in ours["entries"]:
                if entry["sessionId"] in old.sessions:
                    place = entry["fullPath"].replace(
                        inside(old.name), inside(new.name)
                    )
                    theirs["entries"].append(
                        entry | {"projectPath": new.path, "fullPath": place}
                    )
            self.write(new.index, stringify(theirs, 2))

    def move(self, state: StateBuilder, old: Paths, new: Paths) -> None:
        """All that a plain move of one project does."""
        self.move_directory(state, old, new)
        self.rewrite_lists(state, (old, new))


def in_json(text: str) -> str:
    """This system's paths as JSON has them."""
    return text if os.sep == "/" else text.replace("\\", "\\\\")


def in_rule(path: Paths) -> str:
    """An absolute path as a permission rule has it: `//c/x` for `C:\\x`."""
    drive, path = os.path.splitdrive(path)
    return f"/{'/' if drive else ''}{drive[:1].lower()}{Path(path).as_posix()}"


def inside(name: str) -> str:
    """A directory's name as it stands in the middle of a path."""
    return f"{os.sep}{name}{os.sep}"


def files_of(directory: Path) -> Iterable[Path]:
    """Transcripts and session folders: what of a project directory are sessions."""
    return [p for p in directory.iterdir() if p.suffix == ".jsonl" or len(p.name) == 36]


def directory_of(state: StateBuilder, path: Paths) -> Path:
    return state.projects / encoded_name(str(path))
