"""The benchmark runs and judges rightly; how fast anything is, no test asks."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.run import ccmove_command

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
GOALS = (
    "against `cp && sync`", "peak memory", "the client's lock on it", "projects in one move",
    "transcripts: the last step",
    "other projects: the last step", "megabytes of history: the last step",
    "growth of projects: preview", "growth of projects: move", "growth of projects: undo",
    "growth of projects: list", "growth of projects: doctor", "against `ls -lR` and `wc -l`",
    "hook, a folder with sessions", "hook, a renamed folder",
    "| packing 2 MB of transcripts: against", "unpacking 2 MB of transcripts: against",
    "| packing 2 MB of transcripts: peak", "unpacking 2 MB of transcripts: peak",
)  # fmt: skip


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in [
        name for name in sys.modules if name == "bench" or name.startswith("bench.")
    ]:
        del sys.modules[name]


@pytest.mark.exhaustive
def test_a_quick_run_has_a_row_for_every_goal_and_finds_nothing_wrong(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "run"), "--quick", "--dir", str(tmp_path)],
        capture_output=True, text=True, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    for goal in GOALS:
        assert any(goal in row and "not measured" not in row for row in rows), goal
    assert any(
        row.startswith("| ccmove |") and row.endswith("| nothing |") for row in rows
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.exhaustive
def test_rows_can_be_run_alone(tmp_path: Path) -> None:
    only = ["--quick", "--only", "growth of projects: list", "--dir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "run"), *only],
        capture_output=True, text=True, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    goals, table = [part for part in done.stdout.split("\n\n") if part[0] == "|"]
    assert [row.split(":")[0] for row in goals.splitlines()[2:]] == [
        "| growth of projects"
    ]
    labels = [row.split(" | ")[0] for row in table.splitlines()[2:]]
    assert labels == ["| 5 list", "| 10 list", "| 20 list"]


@pytest.mark.usefixtures("bench")
def test_growth_is_what_one_more_costs_against_what_it_cost_before() -> None:
    from bench.goals import Findings
    from bench.measure import Run
    from bench.rounds import Tally

    def seconds(*times: float) -> Tally:
        return Tally([Run(time, 0, 0, b"") for time in times])

    results = {
        ("group", "250", "list"): seconds(9.0, 1.0, 1.0),  # medians count
        ("group", "1,000", "list"): seconds(1.75),
        ("group", "3,000", "list"): seconds(5.75),
    }
    growth, _ = Findings(results).growth("group")
    assert growth == pytest.approx(2.0)


@pytest.mark.usefixtures("bench")
def test_a_move_not_made_is_noticed_and_one_by_ccmove_is_found_right(
    tmp_path: Path,
) -> None:
    from bench.contenders import judge_state
    from bench.states import Places, Shape, make

    places = Places(tmp_path)
    places.new.mkdir(parents=True)
    made = tmp_path / "made"
    truth = make(made, Shape(history=50_000, index=5), places)
    shutil.copytree(made, places.home)
    undone = judge_state(places, made, truth)
    assert f"{truth.moving:,} of {truth.moving:,} history lines missed" in undone
    assert "3 of 3 transcripts not moved" in undone
    assert "config file not moved" in undone

    command = ccmove_command(
        "--config-dir", places.home / ".claude", places.old, places.new
    )
    subprocess.run(
        command, env={"HOME": str(places.home)}, check=True, capture_output=True
    )
    assert judge_state(places, made, truth) == ""

    history = places.home / ".claude" / "history.jsonl"
    history.write_bytes(history.read_bytes().replace(b"timestamp", b"timeStamp", 1))
    assert judge_state(places, made, truth) == "history: other bytes changed too"
