"""Limits that the system sets: the size of a file, the number of open files."""

import pytest

from tests.crash.bench import Bench, bench_of
from tests.crash.conftest import Record
from tests.crash.sweep import Tally, truthful
from tests.hostile.attack import Target, checked
from tests.hostile.gaps import plain
from tests.support.run import ccmove_command, run_child

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def limited(bench: Bench, kind: str, limits: list[int], *sabotage: str) -> Tally:
    """Run it with each of the limits; what the exit code promises holds."""
    tally = Tally()
    for limit in limits:
        before = bench.reset()
        ended = bench.job([f"{kind}={limit}", *sabotage]).run()
        end, problems = truthful(bench, before, ended)
        tally.add(f"{kind} {limit}: {ended}", end, [*plain(ended), *problems])
    return tally


# From less than a message takes to more than the largest file that is written.
SIZES = [*range(100, 1_000, 300), *range(1_000, 9_000, 1_000), 20_000]
LIMITS = {
    ("file_size_limit", "move"): SIZES,
    ("file_size_limit", "restore"): SIZES,
    ("open_files_limit", "move"): [*range(4, 24, 2), 40],
    ("open_files_limit", "restore"): [*range(5, 24, 2), 40],
}


@pytest.mark.parametrize(("kind", "command"), LIMITS)
def test_a_limit_on_files_never_ends_a_run_half_way(
    kind: str, command: str, proven: Record
) -> None:
    tally = limited(bench_of("merge", command), kind, LIMITS[kind, command])
    proven(f"{kind.replace('_', ' ')}: {command} (merge)", tally)
    assert tally.ends["exit 1, before"] > (3 if kind == "file_size_limit" else 0)
    assert tally.ends["exit 0, after"] > 0


def test_the_sweep_sees_what_a_limit_can_do() -> None:
    """The control: without a journal nothing rolls back what was done."""
    assert limited(
        bench_of("merge"), "file_size_limit", [3_000, 4_000], "without_journal"
    ).bad


@pytest.mark.parametrize(
    ("setting", "reason"),
    [("ulimit -f 0", "File too large"), ("ulimit -n 6", "Too many open files")],
)
def test_a_real_process_says_which_limit_it_met(
    target: Target, setting: str, reason: str
) -> None:
    target.remember()
    command = ccmove_command(target.old, target.new)
    limited_by_a_shell = ["sh", "-c", f'{setting}; exec "$@"', "sh", *command]
    done = checked(run_child(limited_by_a_shell, state=target.state))
    assert done.exit == 1, done
    assert reason in done.err
    target.nothing_changed()
    target.nothing_left_over()
    assert target.move().exit == 0
