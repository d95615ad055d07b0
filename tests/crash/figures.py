"""The figures of the proof: how many points were tried and how many were bad."""

from collections import Counter

import pytest

from tests.crash.sweep import Tally

KEY = "crash points"
_PRINTED = pytest.StashKey[bool]()


def note(node: pytest.Item, what: str, tally: Tally) -> None:
    """Note a tally with the test's report, which also travels from xdist's workers."""
    node.user_properties.append((KEY, [what, tally.tried, len(tally.bad)]))


def table(noted: list[tuple[str, int, int]]) -> list[str]:
    """One line for each kind, and the sum."""
    tried: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    for what, points, wrong in noted:
        tried[what] += points
        bad[what] += wrong
    width = max(map(len, tried), default=0)
    rows = [
        f"{what:<{width}}  {tried[what]:>6}  {bad[what]:>4}" for what in sorted(tried)
    ]
    total = f"crash points tried {tried.total()}, bad {bad.total()}"
    return [f"{'':<{width}}  {'points':>6}  {'bad':>4}", *rows, total]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table at the end of a run, once, and only when there was a proof."""
    noted = [
        tuple(value)
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        for key, value in getattr(report, "user_properties", ())
        if key == KEY and report.when == "call"
    ]
    if noted and not terminalreporter.config.stash.get(_PRINTED, False):
        terminalreporter.config.stash[_PRINTED] = True
        terminalreporter.section("crash points")
        for line in table(noted):
            terminalreporter.write_line(line)
