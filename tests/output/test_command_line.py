"""Which command a line asks for: `ccmove OLD NEW` is a move, options may stand anywhere."""

from __future__ import annotations

import pytest

from ccmove.cli.main import app, parsed
from ccmove.errors import UsageError


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ([], ["--help"]),
        (["-h"], ["-h"]),
        (["/old", "/new"], ["move", "/old", "/new"]),
        (["/old", "list"], ["move", "/old", "list"]),
        (["-n", "/old", "/new"], ["move", "-n", "/old", "/new"]),
        (["move", "/old", "/new"], ["move", "/old", "/new"]),
        (["./restore", "/new"], ["move", "./restore", "/new"]),
        (["--", "restore", "/new"], ["move", "--", "restore", "/new"]),
        (["--json", "restore"], ["restore", "--json"]),
        (["--config-dir", "list", "restore"], ["restore", "--config-dir", "list"]),
        (["--config-dir=x", "list"], ["list", "--config-dir=x"]),
        (["--keep", "3", "backups", "--prune"], ["backups", "--keep", "3", "--prune"]),
    ],
)
def test_the_command_is_found(typed: list[str], understood: list[str]) -> None:
    assert app.with_command(typed) == understood


def test_nothing_is_done_before_the_whole_line_is_understood() -> None:
    assert parsed(["-q", "--config-dir", "/c", "/old", "/new"]).options == {
        "verbose": False, "quiet": True, "as_json": False, "config_dir": "/c",
    }  # fmt: skip
    with pytest.raises(UsageError) as wrong:
        parsed(["restore", "--no-such-option"])
    assert wrong.value.hints[0].command == ("ccmove", "restore", "--help")
