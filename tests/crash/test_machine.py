"""Whatever comes in whatever order, every prompt and every transcript is there exactly
once.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.crash import places
from tests.crash.bench import age_locks
from tests.crash.fork import Ended, Job
from tests.crash.sample import EXHAUSTIVE
from tests.crash.sweep import KILLED, REFUSED
from tests.support import seams
from tests.support.state import StateBuilder, encoded_name
from tests.support.tree import Tree, diff, snapshot

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]

DONE, NOTHING_KNOWN = 0, 3
OWN = "home/.claude/ccmove"
# Two that share a directory, one below another, and one whose name only looks as if it
# were.
PATHS = ("app", "app/pkg", "my-app", "my_app", "neu", "app-docker")
PLACES = st.sampled_from(PATHS)
# A run makes about a hundred calls; one that is to die later than that runs to its end.
DEATHS = st.integers(1, 120)


@dataclass(frozen=True)
class Transcript:
    """What may never change about a transcript."""

    data: bytes
    inode: int
    mtime_ns: int

    @classmethod
    def of(cls, file: Path) -> Transcript:
        found = file.stat()
        return cls(file.read_bytes(), found.st_ino, found.st_mtime_ns)


class Life(RuleBasedStateMachine):
    """Prompts and sessions come while projects are moved, restored, and runs die half
    way.
    """

    def __init__(self) -> None:
        super().__init__()
        self.directory = places.in_memory()
        self.state = StateBuilder(Path(self.directory.name).resolve() / "live")
        (self.state.root / "tmp").mkdir()
        self.prompts = 0
        self.transcripts: dict[str, Transcript] = {}
        self.interrupted = False
        self.before_move: Tree | None = None  # for a restore that follows at once
        self._add_project("app")

    def teardown(self) -> None:
        self.directory.cleanup()

    # -- the client's life ------------------------------------------------------------------

    def _add_project(self, path: str) -> None:
        handle = self.state.project(
            path, sessions=1, index=True, prompts=0, memory={"a.md": path}
        )
        for file in handle.directory.rglob("*.jsonl"):  # those of subagents, too
            self.transcripts[file.stem] = Transcript.of(file)

    @rule(path=PLACES)
    def a_prompt(self, path: str) -> None:
        self.state.add_prompt(path, f"prompt {self.prompts}")
        self.prompts += 1
        self.before_move = None

    @rule(path=PLACES)
    def a_new_session(self, path: str) -> None:
        session = self.state.add_session(path)
        directory = self.state.projects / encoded_name(str(self.state.code / path))
        self.transcripts[session] = Transcript.of(directory / f"{session}.jsonl")
        self.before_move = None

    # -- runs that end ----------------------------------------------------------------------

    @rule(old=PLACES, new=PLACES)
    def a_move(self, old: str, new: str) -> None:
        before, lines = snapshot(self.state.root), self._history()
        was_interrupted = self.interrupted
        backups = set(seams.backup_ids(self.state))
        ended = self._move(old, new)
        assert ended.exit in (DONE, NOTHING_KNOWN, REFUSED), ended
        if ended.exit == DONE:
            self.interrupted = False
            assert self._history() == [
                self._moved(line, old, new) for line in lines
            ] or (was_interrupted)
        elif not was_interrupted:
            assert self._differences(before) == []
        # Of two paths with one encoded name nothing may have to change: no run then.
        made = set(seams.backup_ids(self.state)) - backups
        clean = bool(made) and not was_interrupted
        self.before_move = before if clean else None

    @rule()
    def a_restore(self) -> None:
        ended = Job(self.state, ["restore"]).run()
        assert ended.exit in (DONE, NOTHING_KNOWN, REFUSED), ended
        if ended.exit == DONE:
            self.interrupted = False
        if self.before_move is not None:
            assert ended.exit == DONE
            assert self._differences(self.before_move) == []
        self.before_move = None

    @rule()
    def a_recovery(self) -> None:
        ended = Job(self.state, ["recover"]).run()
        assert ended.exit == DONE, ended
        self.interrupted = False

    # -- runs that die ----------------------------------------------------------------------

    @rule(old=PLACES, new=PLACES, death=DEATHS)
    def a_move_that_dies(self, old: str, new: str, death: int) -> None:
        self._died(self._move(old, new, f"die_at={death}"))

    @rule(death=DEATHS)
    def a_restore_that_dies(self, death: int) -> None:
        self._died(Job(self.state, ["restore"], sabotage=[f"die_at={death}"]).run())

    @rule(death=DEATHS)
    def a_recovery_that_dies(self, death: int) -> None:
        self._died(Job(self.state, ["recover"], sabotage=[f"die_at={death}"]).run())

    def _died(self, ended: Ended) -> None:
        assert ended.exit in (KILLED, DONE, NOTHING_KNOWN, REFUSED), ended
        if ended.exit == KILLED:
            self.interrupted = True
            age_locks(self.state)
        elif ended.exit == DONE:
            self.interrupted = False
        self.before_move = None

    # -- what always holds ------------------------------------------------------------------

    @invariant()
    def every_prompt_is_in_the_history_exactly_once(self) -> None:
        found = Counter(line["display"] for line in self._history())
        assert found == {f"prompt {number}": 1 for number in range(self.prompts)}

    @invariant()
    def every_transcript_is_somewhere_exactly_once_and_untouched(self) -> None:
        files = self._transcripts()
        assert Counter(file.stem for file in files) == dict.fromkeys(
            self.transcripts, 1
        )
        for file in files:
            assert Transcript.of(file) == self.transcripts[file.stem], file

    @invariant()
    def once_recovered_nothing_of_ours_is_left_but_lock_and_backups(self) -> None:
        if self.interrupted:
            return
        names = [str(path) for path in self.state.home.rglob("*")]
        assert [
            name for name in names if ".ccmove-" in name or name.endswith(".lock")
        ] == []
        own = self.state.config_dir / "ccmove"
        assert {path.name for path in own.glob("*")} <= {"lock", "backups"}
        assert all(
            file.is_relative_to(self.state.projects) for file in self._transcripts()
        )

    # -- helpers ----------------------------------------------------------------------------

    def _move(self, old: str, new: str, *sabotage: str) -> Ended:
        return Job(self.state, ["--skip-path-check", old, new], sabotage=sabotage).run()

    def _transcripts(self) -> list[Path]:
        return list(self.state.config_dir.rglob("*-*.jsonl"))

    def _history(self) -> list[dict[str, Any]]:
        return [
            json.loads(line) for line in self.state.history.read_bytes().splitlines()
        ]

    def _moved(self, line: dict[str, Any], old: str, new: str) -> dict[str, Any]:
        """The line as it must be after a move: its project mapped, all else as it was.

        What is in a NEW below OLD is in place already.
        """
        before, after = self.state.code / old, self.state.code / new
        project = Path(line["project"])
        in_place = after.is_relative_to(before) and project.is_relative_to(after)
        if in_place or not project.is_relative_to(before):
            return line
        return {**line, "project": str(after / project.relative_to(before))}

    def _differences(self, before: Tree) -> list[str]:
        return diff(before, snapshot(self.state.root), ignore=[OWN])


def test_nothing_is_ever_lost_or_doubled() -> None:
    settings = hypothesis.settings(
        max_examples=40 if EXHAUSTIVE else 8,
        stateful_step_count=15,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    run_state_machine_as_test(Life, settings=settings)


class CarelessLife(Life):
    """The same life with a ccmove that writes no journal."""

    def _move(self, old: str, new: str, *sabotage: str) -> Ended:
        return super()._move(old, new, "without_journal", *sabotage)


def deaths_of_one_move(machine: type[Life]) -> None:
    """One move that dies at each of its calls in turn, and is recovered from."""
    for death in range(1, 121, 1 if EXHAUSTIVE else 7):
        life = machine()
        try:
            life.a_prompt("app")
            life.a_move_that_dies("app", "neu", death)
            life.a_recovery()
            life.every_prompt_is_in_the_history_exactly_once()
            life.every_transcript_is_somewhere_exactly_once_and_untouched()
            life.once_recovered_nothing_of_ours_is_left_but_lock_and_backups()
        finally:
            life.teardown()


def test_the_short_lives_of_the_control_go_well_with_the_journal() -> None:
    deaths_of_one_move(Life)


def test_control_without_the_journal_such_a_life_goes_wrong() -> None:
    with pytest.raises(AssertionError):
        deaths_of_one_move(CarelessLife)
