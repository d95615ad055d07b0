"""Each refusal and failure says what, where, why, and what to type; also as one JSON
object.
"""

import json
import os
import re
import shlex
import subprocess

import pytest

from tests.output.golden import check_golden, normalised, transcript
from tests.output.inprocess import Run
from tests.output.situations import SITUATIONS, Stage
from tests.support.run import Completed
from tests.support.tree import Entry, Tree, snapshot

ABOUT_NO_PATH = ("usage_", "paths_root", "failed_bug", "failed_interrupted", "nothing_to_undo",
                 "nothing_is_not_an_id")  # fmt: skip
STATUS = {
    1: "failed",
    2: "failed",
    3: "nothing",
    4: "refused",
    5: "failed",
    130: "failed",
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_failure_is_told_as_the_golden_file_has_it_and_changes_nothing(
    name: str, stage: Stage, run: Run
) -> None:
    arguments = SITUATIONS[name](stage)
    before = snapshot(stage.state.root)
    told = run(*arguments)
    assert told.exit in STATUS
    check_golden(f"failure/{name}", transcript(arguments, told, stage.state))
    assert changed(before, snapshot(stage.state.root)) == []
    ends_with_something_to_do(name, told.err.splitlines())
    says_the_same_as_json(told, run("--json", *arguments), stage)


COMMAND = re.compile(
    r"(?:  -> |: )((?:ccmove|ls|df|dir|mkdir|mv(?= .?/)|move(?= .?[A-Z]:)|cd|git|grep|env)\b.*)$"
)


@pytest.mark.parametrize("name", [name for name in SITUATIONS if name != "failed_bug"])
def test_every_command_that_a_failure_prints_can_be_typed_as_it_stands(
    name: str, stage: Stage, run: Run
) -> None:
    """It may be refused again, as long as nothing was done about the reason."""
    told = run(*SITUATIONS[name](stage))
    for command in (
        found[1] for line in told.err.splitlines() if (found := COMMAND.search(line))
    ):
        program, *words = shlex.split(command, posix=os.name != "nt")
        if program == "ccmove":
            done = run(*(word.strip('"') for word in words))
            assert done.exit != 2, done
            assert "bug" not in done.err
        else:
            shell = {} if os.name == "nt" else {"executable": "bash"}
            typed = subprocess.run(
                command, shell=True, capture_output=True, text=True, **shell
            )
            assert typed.returncode in (0, 1), typed


def ends_with_something_to_do(name: str, lines: list[str]) -> None:
    """And names what it is about."""
    assert lines[0].startswith("ccmove: ")
    assert lines[-1].startswith("  -> ")
    if not name.startswith(ABOUT_NO_PATH):
        assert os.sep in lines[0] or "Z-" in lines[0] or "files exist" in lines[0], (
            lines[0]
        )


def says_the_same_as_json(told: Completed, done: Completed, stage: Stage) -> None:
    assert (done.exit, done.err) == (told.exit, "")
    record = json.loads(done.out)
    assert (record["schema"], record["status"]) == (1, STATUS[done.exit])
    first = normalised(told.err, stage.state).splitlines()[0]
    assert normalised(f"ccmove: {record['error']}", stage.state) == first
    has_plan = "Would " in told.out
    assert bool(record["changes"]) == has_plan


def changed(before: Tree, after: Tree) -> list[str]:
    """Names that differ; our own empty directories and lock file may be there since."""
    own = {
        "home/.claude/ccmove",
        "home/.claude/ccmove/lock",
        "home/.claude/ccmove/backups",
    }
    names = sorted({*before, *after} - own)
    return [
        name for name in names if _plain(before.get(name)) != _plain(after.get(name))
    ]


def _plain(entry: Entry | None) -> object:
    """A directory has another date when a lock was made in it and removed again."""
    return (
        (entry.kind, entry.mode)
        if entry is not None and entry.kind == "directory"
        else entry
    )


def test_the_comparison_sees_a_changed_file_and_a_new_directory(stage: Stage) -> None:
    before = snapshot(stage.state.root)
    stage.state.history.write_bytes(b"{}")
    (stage.state.home / "new").mkdir()
    assert changed(before, snapshot(stage.state.root)) == [
        "home/.claude/history.jsonl",
        "home/new",
    ]
