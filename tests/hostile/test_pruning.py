"""How old is too old: no spelling of an age removes a backup that is not older."""

from __future__ import annotations

import pytest

from tests.hostile.attack import Target


@pytest.mark.parametrize(
    "age", ["²d", "٣d", "9" * 5000 + "d", "-1d", "1", "d", "", "1y", "1.5d", "1d\n"]
)
def test_what_is_not_a_duration_is_wrong_usage(target: Target, age: str) -> None:
    assert target.move().exit == 0
    assert target.run("backups", "--prune", f"--older-than={age}").exit == 2
    assert len(target.run("backups", "--json").json()["backups"]) == 1


@pytest.mark.parametrize("age", ["1d", "20000d", "400000d", "999999999d", "999999999w"])
def test_a_backup_of_today_is_never_older(target: Target, age: str) -> None:
    """Before the year 1000 a date has fewer digits, and would sort as if it were later."""
    assert target.move().exit == 0
    assert target.run("backups", "--prune", "--older-than", age).exit == 0
    assert len(target.run("backups", "--json").json()["backups"]) == 1
