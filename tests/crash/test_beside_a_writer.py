"""A client that writes during many moves to and fro loses nothing and gets nothing
twice.
"""

import contextlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest

from tests.crash.bench import must
from tests.crash.fork import Job
from tests.crash.sample import EXHAUSTIVE
from tests.crash.scenarios import SCENARIOS
from tests.support.forked import ROOT
from tests.support.run import clean_environment
from tests.support.state import StateBuilder

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(600)]

MOVES = 200 if EXHAUSTIVE else 30


@dataclass
class Writer:
    """The writing client, and what it has written when it is done."""

    asks: IO[str]
    written: dict[str, int] = field(default_factory=dict)

    def count_a_start(self) -> None:
        self.asks.write("\n")
        self.asks.flush()


@contextlib.contextmanager
def writer(state: StateBuilder, *projects: str) -> Iterator[Writer]:
    """A client that writes all the while; at the end, what it says to have written."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.client_writer", str(state.home), *projects],
        cwd=ROOT,
        env=clean_environment(state),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    writing = Writer(process.stdin)
    try:
        yield writing
    finally:
        out, _ = process.communicate(timeout=100)
    writing.written.update(json.loads(out))


def history_lines(state: StateBuilder) -> list[dict[str, Any]]:
    """Every line must be whole; only those that were odd from the start may not be
    JSON.
    """
    lines = []
    for line in state.history.read_bytes().split(b"\n"):
        try:
            lines.append(json.loads(line))
        except ValueError:
            lines.append({"display": repr(line)})
    return lines


def odd_counts(state: StateBuilder, writing: Writer) -> list[str]:
    """The written lines that are not there exactly once."""
    found = Counter(line["display"] for line in history_lines(state))
    wanted = [f"written {number}" for number in range(writing.written["prompts"])]
    return [f"{display}: {found[display]}" for display in wanted if found[display] != 1]


def test_no_line_is_lost_or_doubled_and_no_count_of_the_config_file_is_lost(
    in_memory: Path,
) -> None:
    state = StateBuilder(in_memory / "live")
    SCENARIOS["folder"].build(state)
    old, new = str(state.code / "app"), str(state.code / "neu")
    starts_before = state.config()["numStartups"]
    with writer(state, old, new, str(state.code / "elsewhere")) as writing:
        for number in range(MOVES):
            if number % 5 == 0:
                writing.count_a_start()
            pair = (old, new) if number % 2 == 0 else (new, old)
            must(Job(state, ["--skip-path-check", *pair]))
            if number % 20 == 0:  # every run reads what earlier ones left
                must(Job(state, ["prune", "--keep", "3"]))
    assert writing.written["prompts"] > MOVES / 2  # it did get its turns
    assert writing.written["starts"] > MOVES / 10
    assert odd_counts(state, writing) == []
    assert state.config()["numStartups"] == starts_before + writing.written["starts"]


@pytest.mark.exhaustive
def test_control_without_the_clients_locks_lines_are_lost(in_memory: Path) -> None:
    state = StateBuilder(in_memory / "live")
    SCENARIOS["folder"].build(state)
    old, new = str(state.code / "app"), str(state.code / "neu")
    with writer(state, old, new) as writing:
        for number in range(50):
            pair = (old, new) if number % 2 == 0 else (new, old)
            Job(
                state, ["--skip-path-check", *pair], sabotage=["without_client_locks"]
            ).run()
    assert odd_counts(state, writing) != []
