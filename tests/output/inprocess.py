"""Runs the command line inside the test's own process, so that a failure can be
planted.
"""

import os
from collections.abc import Callable

import pytest

from tests.support import seams
from tests.support.published import check_json
from tests.support.run import Completed
from tests.support.state import StateBuilder

Run = Callable[..., Completed]


@pytest.fixture
def run(
    state: StateBuilder,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Run:
    """`run("--dry-run", old, new)`: exit code and output, with `state`'s home as the
    home.
    """
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(state.home))
    monkeypatch.delenv("CCMOVE_DEBUG", raising=False)

    def run_main(*arguments: str | os.PathLike[str]) -> Completed:
        words = [os.fspath(argument) for argument in arguments]
        code = seams.exit_code_of(words)
        out, err = capfd.readouterr()
        check_json(words, code, out)
        assert "Traceback" not in err, err
        return Completed(code, out, err)

    return run_main
