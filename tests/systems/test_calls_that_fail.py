"""A call that fails is reported, and all is as it was; on every system, without strace."""

import pytest

from tests.crash.bench import Bench, bench_of
from tests.crash.sample import EVERY, offset
from tests.crash.sweep import HURRY, truthful

MOST = 400  # no run makes so many changes


def failing(bench: Bench, number: int) -> tuple[bool, str, list[str]]:
    """Let the `number`-th change fail: whether there was one, how it ended, what was
    wrong.
    """
    before = bench.reset()
    ended = bench.job([*HURRY, f"fail_at={number}:EIO"]).run()
    end, problems = truthful(bench, before, ended)
    return bool(ended.trace), end, problems


@pytest.mark.parametrize("command", ["move", "restore"])
@pytest.mark.parametrize("scenario", ["move", "merge", "folder"])
def test_every_twelfth_change_that_fails_is_reported_and_all_is_as_it_was(
    scenario: str, command: str
) -> None:
    bench = bench_of(scenario, command)
    ends = []
    for number in range(1 + offset(), MOST, EVERY):
        happened, end, problems = failing(bench, number)
        assert problems == [], number
        if not happened:
            assert end == "exit 0, after"
            break
        ends.append(end)
    assert ends.count("exit 1, before") > 3
