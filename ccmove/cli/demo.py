"""`ccmove demo`: preview, move, verification and restore on a made-up home, by the real commands.

The home lies in a temporary directory that is gone at the end, however the demo ends. Neither
$HOME nor $CLAUDE_CONFIG_DIR is asked for anything.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ccmove.cli.demo_state import DemoHome
from ccmove.cli.move import MoveOptions, move
from ccmove.cli.resolve import resolve_pair
from ccmove.cli.restore import restore
from ccmove.cli.verify import Verification, verify
from ccmove.errors import CcmoveError
from ccmove.inspect.findings import CommandLine
from ccmove.report.result import SCHEMA, Result
from ccmove.rewrite.pathmap import is_named_in
from ccmove.run import disk as files
from ccmove.run.signals import interrupts_ignored, termination_as_interrupt

Traces = dict[str, tuple[int, int, str]]  # file -> inode, mtime, hash


@dataclass(frozen=True)
class Fact:
    """Something that was looked up on the disk, not taken from what a command said."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Scene:
    """One step of the demo: what it means, what was typed, and what came of it."""

    title: str
    meaning: str
    command: str
    result: Result | Verification | None = None
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Demo:
    """The whole demo, as data: the report prints it."""

    home: str
    scenes: tuple[Scene, ...]

    def to_json(self) -> dict[str, Any]:
        """One object: the results of the real commands, and what was found on the disk."""
        return {
            "schema": SCHEMA,
            "status": "restored",
            "home": self.home,
            "steps": [
                {
                    "title": scene.title,
                    "command": scene.command,
                    "result": _record(scene.result),
                    "facts": [{"text": fact.text, "holds": fact.holds} for fact in scene.facts],
                }
                for scene in self.scenes
            ],
            "error": None,
        }


def _record(result: Result | Verification | None) -> dict[str, Any] | None:
    if isinstance(result, Verification):
        return {"status": "verified", "paths": list(result.paths)}
    return result.to_json() if result is not None else None


def demo() -> Demo:
    """Play the whole cycle; CcmoveError when something is not as it should be."""
    with termination_as_interrupt(), temporary_directory() as root:
        made = DemoHome(root)
        made.write()
        scenes = tuple(_scenes(made))
    for scene in scenes:
        _check(scene)
    return Demo(str(made.home), scenes)


def _check(scene: Scene) -> None:
    """A demo that shows something wrong must not end as if all were well."""
    wrong = [fact.text for fact in scene.facts if not fact.holds]
    if isinstance(scene.result, Verification):
        wrong += [finding.kind for finding in scene.result.failures]
    if wrong:
        raise CcmoveError(f"the demo went wrong in “{scene.title}”; not so: {wrong[0]}")


@contextlib.contextmanager
def temporary_directory() -> Iterator[Path]:
    """A directory that is gone afterwards, also after Ctrl-C."""
    root = Path(os.path.realpath(tempfile.mkdtemp(prefix="ccmove-demo-")))
    try:
        yield root
    finally:
        with interrupts_ignored():
            files.remove_tree(root)


def _scenes(made: DemoHome) -> Iterator[Scene]:
    before = _traces(made.home)
    paths = "~/code/cafe-menu ~/code/bistro-menu"
    files.rename_new(made.old, made.new)
    yield Scene(
        "The folder gets a new name",
        "Claude Code finds a project by its path. In the renamed folder it has no session to "
        "resume, no prompts, no memory, and asks for trust again.",
        f"mv {paths}",
    )
    yield Scene(
        "Preview",
        "A read-only look at what would change. Transcripts are never rewritten: their directory "
        "gets a new name, and that is all.",
        f"ccmove --dry-run {paths}",
        _move(made, MoveOptions(dry_run=True)),
        (_unchanged("nothing on the disk has changed", before, _traces(made.home), made),),
    )
    yield Scene(
        "Move",
        "All or nothing: what is rewritten is saved first, the change is written down in a journal "
        "before it is made, and checked afterwards.",
        f"ccmove {paths}",
        _move(made, MoveOptions()),
    )
    yield Scene(
        "Verify",
        "The move has checked itself already. This looks once more at all that is kept, and the "
        "demo looks at the files themselves.",
        "ccmove verify ~/code/bistro-menu",
        verify(made.layout, str(made.new), CommandLine(None)),
        tuple(_moved(made, before)),
    )
    yield Scene(
        "Restore",
        "Every move can be undone. What came later (new sessions, new prompts) would be kept.",
        "ccmove restore",
        restore(made.layout, None),
        (_unchanged("every file has the bytes and the date of before", before,
                    _traces(made.home), made),),
    )  # fmt: skip


def _move(made: DemoHome, options: MoveOptions) -> Result:
    return move(made.layout, [resolve_pair(str(made.old), str(made.new))], options)


# -- what is found on the disk -------------------------------------------------------------------


def _traces(home: Path) -> Traces:
    """Every file of the made-up home but ccmove's own."""
    found: Traces = {}
    for base, directories, names in os.walk(home):
        if base.endswith("/.claude"):
            directories[:] = [name for name in directories if name != "ccmove"]
        for name in names:
            path = os.path.join(base, name)
            status = os.lstat(path)
            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            found[path] = (status.st_ino, status.st_mtime_ns, digest)
    return found


def _unchanged(text: str, before: Traces, now: Traces, made: DemoHome) -> Fact:
    """Dates and bytes; the folder itself keeps its new name, and a file put back its new inode."""

    def plain(traces: Traces) -> dict[str, tuple[int, str]]:
        return {
            path.replace(str(made.new) + "/", str(made.old) + "/"): trace[1:]
            for path, trace in traces.items()
        }

    return Fact(text, plain(before) == plain(now))


def _moved(made: DemoHome, before: Traces) -> Iterator[Fact]:
    now = _traces(made.home)
    then = sorted(trace for path, trace in before.items() if _is_moved_transcript(path))
    after = sorted(trace for path, trace in now.items() if _is_moved_transcript(path))
    yield Fact(f"{len(then)} transcripts: same file, same bytes, same date", then == after)
    theirs = {path: trace for path, trace in before.items() if "cafe-menu-docker" in path}
    kept = all(now.get(path) == trace for path, trace in theirs.items())
    yield Fact("the neighbour cafe-menu-docker: untouched", bool(theirs) and kept)
    naming = [path for path in now if not _is_transcript(path) and _names(path, str(made.old))]
    yield Fact("the old path is named nowhere but in transcripts", not naming)


def _is_transcript(path: str) -> bool:
    return path.endswith(".jsonl") and "/projects/" in path


def _is_moved_transcript(path: str) -> bool:
    return _is_transcript(path) and "cafe-menu-docker" not in path


def _names(path: str, folder: str) -> bool:
    with open(path, encoding="utf-8") as file:
        return is_named_in(file.read(), folder)
