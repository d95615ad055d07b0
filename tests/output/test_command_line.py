"""Which command a line asks for: `ccmove OLD NEW` is a move, options may stand anywhere."""

from __future__ import annotations

import pytest

from ccmove.cli.boundary import Call, answer
from ccmove.cli.main import app
from ccmove.errors import UsageError
from ccmove.report.console import Printer
from tests.support.state import StateBuilder


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


def test_wrong_usage_names_the_help_of_the_command() -> None:
    with pytest.raises(UsageError) as wrong:
        answer(app, Call(["restore", "--no-such-option"], Printer()))
    assert wrong.value.hints[0].command == ("ccmove", "restore", "--help")


def test_common_options_may_stand_before_the_command(state: StateBuilder) -> None:
    call = Call(["-q", "--config-dir", str(state.config_dir), "list"], Printer())
    answer(app, call)
    assert (call.printer.quiet, call.printer.config_dir) == (True, str(state.config_dir))
