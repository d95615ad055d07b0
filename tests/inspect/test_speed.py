"""2,000 projects with 5,000 transcripts are looked through in a few seconds."""

from __future__ import annotations

import json
import os
import resource
import uuid
from pathlib import Path

import pytest

from tests.support.run import run_ccmove
from tests.support.state import StateBuilder, encoded_name

PROJECTS = 2_000
TRANSCRIPTS = 5_000
SECONDS = 8.0  # of the processor: other tests may be at work at the same time


@pytest.fixture
def large(state: StateBuilder) -> StateBuilder:
    """Every other folder exists; two or three sessions each, twenty thousand prompts."""
    config = state.config()
    prompts = []
    for number in range(PROJECTS):
        path = state.code / f"team-{number % 40}" / f"project-{number}"
        if number % 2:
            path.mkdir(parents=True)
        config["projects"][str(path)] = {"hasTrustDialogAccepted": True, "allowedTools": []}
        directory = state.projects / encoded_name(str(path))
        directory.mkdir()
        for session in range(2 + number % 2):
            identifier = str(uuid.UUID(int=number * 10 + session, version=4))
            write_transcript(directory / f"{identifier}.jsonl", str(path), identifier)
            prompts += [prompt(str(path), identifier)] * 4
    state.write_config(config)
    state.history.write_text("".join(prompts))
    return state


def write_transcript(file: Path, cwd: str, session: str) -> None:
    tool = {"type": "tool_use", "input": {"file_path": f"{cwd}/src/main.py"}}
    record = {"type": "assistant", "cwd": cwd, "sessionId": session, "message": {"content": [tool]}}
    line = json.dumps(record, separators=(",", ":")) + "\n"
    file.write_text(line * 20)
    os.utime(file, (1_780_000_000, 1_780_000_000))


def prompt(path: str, session: str) -> str:
    entry = {"display": "go on", "timestamp": 1780000000000, "project": path, "sessionId": session}
    return json.dumps(entry) + "\n"


@pytest.mark.slow
def test_two_thousand_projects_take_seconds(large: StateBuilder) -> None:
    assert len(list(large.projects.glob("*/*.jsonl"))) == TRANSCRIPTS
    for command, expected in ((("list",), 0), (("doctor",), 1), (("verify",), 1)):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run_ccmove(*command, "--json", state=large, timeout=100)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        assert done.exit == expected
        assert took < SECONDS, f"ccmove {command[0]} took {took:.1f} s"
    assert len(run_ccmove("doctor", "--json", state=large).json()["findings"]) == PROJECTS // 2
