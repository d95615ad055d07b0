"""Two ccmove at once: one does its work, the others are refused."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.crash.bench import Bench, bench_of
from tests.crash.interruptions import KINDS, interruptions
from tests.crash.sweep import REFUSED
from tests.support.run import ccmove_command, clean_environment, run_ccmove

pytestmark = pytest.mark.crash

NOTHING_KNOWN = 3
PATIENCE = 60


def start(bench: Bench, *strace: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*strace, *ccmove_command(*bench.job().args)],
        cwd=bench.state.code,
        env=clean_environment(bench.state),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start_and_hold(bench: Bench, kind: str, trace: Path) -> subprocess.Popen[str]:
    """A run that stands still at this point, until it gets SIGCONT."""
    point = interruptions(bench.points)[kind]
    stop = f"inject={point.name}:signal=STOP:when={point.number}"
    options = ["-f", "-o", str(trace), "-e", f"trace={point.name}", "-e", stop]
    first = start(bench, "strace", *options)
    wait_for(trace, "stopped by SIGSTOP")
    return first


def wait_for(file: Path, text: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not file.exists() or text not in file.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def let_go(trace: Path) -> None:
    """strace writes at the start of each line whose it is: threads may be gone by now."""
    os.kill(
        int(trace.read_text().splitlines()[-1].split(maxsplit=1)[0]), signal.SIGCONT
    )


@pytest.mark.parametrize(
    "kind", KINDS[:-1]
)  # a stopped process still ends the call: that is all
def test_a_second_one_is_refused_wherever_the_first_one_is(
    kind: str, tmp_path: Path
) -> None:
    bench = bench_of("merge", on_disk=True)
    _ = bench.points  # found out before the start is set up
    before = bench.reset()
    first = start_and_hold(bench, kind, tmp_path / "trace")
    seconds = [
        run_ccmove(*args, state=bench.state, cwd=bench.state.code)
        for args in (bench.job().args, ["recover"])
    ]
    let_go(tmp_path / "trace")
    _, err = first.communicate(timeout=PATIENCE)
    for refused in seconds:
        assert refused.exit == REFUSED
        assert str(bench.state.config_dir / "ccmove/lock") in refused.err
    assert first.returncode == 0, err
    assert bench.judge(before).outcome == "after"


def test_of_six_started_together_one_moves_and_the_others_change_nothing() -> None:
    bench = bench_of("move", on_disk=True)
    before = bench.reset()
    racers = [start(bench) for _ in range(6)]
    ended = [
        (racer.communicate(timeout=PATIENCE)[1], racer.returncode) for racer in racers
    ]
    codes = [code for _, code in ended]
    assert codes.count(0) == 1, ended
    assert set(codes) <= {0, NOTHING_KNOWN, REFUSED}, ended
    assert not any("Traceback" in err for err, _ in ended)
    assert bench.judge(before).outcome == "after"
