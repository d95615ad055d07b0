"""A client that writes during 200 moves to and fro loses nothing and gets nothing twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.crash.fork import ROOT, Job
from tests.crash.scenarios import SCENARIOS
from tests.support.run import clean_environment
from tests.support.state import StateBuilder

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(600)]

MOVES = 200


def start_writer(state: StateBuilder, *projects: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.client_writer", str(state.home), *projects],
        cwd=ROOT,
        env=clean_environment(state),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def history_lines(state: StateBuilder) -> list[dict[str, Any]]:
    """Every line must be whole; only those that were odd from the start may not be JSON."""
    lines = []
    for line in state.history.read_bytes().split(b"\n"):
        try:
            lines.append(json.loads(line))
        except ValueError:
            lines.append({"display": repr(line)})
    return lines


def test_no_line_is_lost_or_doubled_and_no_count_of_the_config_file_is_lost(
    in_memory: Path,
) -> None:
    state = StateBuilder(in_memory / "live")
    SCENARIOS["folder"].build(state)
    old, new = str(state.code / "app"), str(state.code / "neu")
    starts_before = state.config()["numStartups"]
    writer = start_writer(state, old, new, str(state.code / "elsewhere"))
    ends: Counter[int] = Counter()
    for number in range(MOVES):
        pair = (old, new) if number % 2 == 0 else (new, old)
        ended = Job(state, ["--skip-path-check", *pair]).run()
        ends[ended.exit] += 1
        assert ended.exit == 0, ended
    out, _ = writer.communicate(timeout=30)
    written = json.loads(out)
    assert ends == {0: MOVES}
    assert written["prompts"] > MOVES  # it did get its turns
    assert written["starts"] > 10

    found = Counter(line["display"] for line in history_lines(state))
    wanted = [f"written {number}" for number in range(written["prompts"])]
    assert [display for display in wanted if found[display] != 1] == []
    assert sum(found[display] for display in wanted) == written["prompts"]
    assert state.config()["numStartups"] == starts_before + written["starts"]
