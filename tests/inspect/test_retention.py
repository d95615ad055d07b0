"""`list` and `doctor` say which sessions Claude Code is about to delete; that is a note."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.inspect.conftest import nothing_changes, run_ccmove
from tests.support.state import StateBuilder

DAY = 24 * 60 * 60
NOTE = "Claude Code will delete"
LINE = '"cleanupPeriodDays": 3650'


def with_ages(state: StateBuilder, path: str, *days: float) -> None:
    """A project whose sessions were last used so many days ago."""
    handle = state.project(path, sessions=len(days), make_folder=True)
    for file, age in zip(handle.transcripts, days, strict=True):
        last = time.time() - age * DAY
        os.utime(file, (last, last))


def settings(state: StateBuilder) -> Path:
    return state.config_dir / "settings.json"


def retention(state: StateBuilder, *words: str) -> dict[str, Any]:
    done = run_ccmove(*words, "--json", state=state)
    assert done.exit == 0
    said = done.json()["retention"]
    assert isinstance(said, dict)
    return said


def test_sessions_that_go_within_a_week_are_counted_with_the_line_that_keeps_them(
    state: StateBuilder,
) -> None:
    with_ages(state, "app", 1, 22.9, 23.1, 29, 31)
    with nothing_changes(state):
        done = run_ccmove("doctor", state=state)
        listing = run_ccmove("list", state=state)
    assert done.exit == 0
    note, where, line, _, verdict = done.out.splitlines()
    assert note == (
        f"Note: {NOTE} 3 sessions within a week; "
        "it keeps a session for 30 days after its last use."
    )
    assert where == f"To keep them, set this in {settings(state)}:"
    assert line == f"  {LINE}"
    assert verdict == "Nothing is wrong: 1 project checked."
    assert listing.err.splitlines() == [note, where, line]
    assert NOTE not in listing.out
    for command in ("doctor", "list"):
        assert retention(state, command) == {
            "days": 30,
            "deleted_soon": 3,
            "file": str(settings(state)),
            "line": LINE,
        }


def test_nothing_is_said_while_no_session_goes(state: StateBuilder) -> None:
    with_ages(state, "app", 0, 22.9)
    for command in ("doctor", "list"):
        assert retention(state, command)["deleted_soon"] == 0
        done = run_ccmove(command, state=state)
        assert NOTE not in done.out + done.err


def test_a_list_counts_the_sessions_of_the_projects_it_shows(
    state: StateBuilder,
) -> None:
    with_ages(state, "app", 40, 40)
    with_ages(state, "other", 40)
    app = str(state.code / "app")
    rows = run_ccmove("list", "--json", state=state).json()["projects"]
    assert [row["deleted_soon"] for row in rows] == [2, 1]
    assert retention(state, "list", app)["deleted_soon"] == 2
    assert retention(state, "list")["deleted_soon"] == 3
    assert retention(state, "list", "--missing")["deleted_soon"] == 0


def test_verify_and_quiet_commands_do_not_say_it(state: StateBuilder) -> None:
    with_ages(state, "app", 40)
    for words in (["verify"], ["doctor", "-q"], ["list", "-q"]):
        done = run_ccmove(*words, state=state)
        assert done.exit == 0
        assert NOTE not in done.out + done.err


@pytest.mark.parametrize(
    ("text", "days", "number"),
    [
        ("{}", 30, 2),
        ('{"model": "opus"}', 30, 2),
        ('{"cleanupPeriodDays": 50}', 50, 1),
        ('{"cleanupPeriodDays": 10, "cleanupPeriodDays": 100}', 100, 0),
        ('{"cleanupPeriodDays": 3650}', 3650, 0),
        ('{"cleanupPeriodDays": 7}', 7, 0),  # by then every session goes: it is meant
        # The client rejects these, and deletes nothing.
        ('{"cleanupPeriodDays": 0}', None, 0),
        ('{"cleanupPeriodDays": -1}', None, 0),
        ('{"cleanupPeriodDays": 1.5}', None, 0),
        ('{"cleanupPeriodDays": true}', None, 0),
        ('{"cleanupPeriodDays": null}', None, 0),
        ('{"cleanupPeriodDays": "60"}', None, 0),
        ("[]", None, 0),
        ("{", None, 0),
        ("", None, 0),
    ],
)
def test_the_days_are_those_of_the_settings_or_not_known(
    state: StateBuilder, text: str, days: int | None, number: int
) -> None:
    with_ages(state, "app", 1, 33, 45)
    settings(state).write_text(text)
    for command in ("doctor", "list"):
        said = retention(state, command)
        assert (said["days"], said["deleted_soon"]) == (days, number)
        done = run_ccmove(command, state=state)
        assert (NOTE in done.out + done.err) == bool(number)


def test_settings_may_be_a_link_and_what_is_no_file_is_not_known(
    state: StateBuilder,
) -> None:
    with_ages(state, "app", 45)
    dotfiles = state.root / "dotfiles.json"
    dotfiles.write_text(json.dumps({"cleanupPeriodDays": 50}))
    settings(state).symlink_to(dotfiles)
    assert retention(state, "list")["days"] == 50
    settings(state).unlink()
    settings(state).mkdir()
    assert retention(state, "list")["days"] is None
