"""The results as Markdown tables: a short one for the front page, and the whole."""

from __future__ import annotations

import datetime
import os
import platform
import re
import statistics
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.goals import MIB, Goal, goals
from bench.rounds import Results, Tally
from bench.scenarios import COMMANDS, Scale, history_label

NOT_RUN = "–"
OURS = ("ccmove", *COMMANDS)


def machine(root: Path) -> str:
    """The kind of machine, not which one."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return (
        f"{platform.system()} on {platform.machine()} ({_processor()}, {os.cpu_count()} cores, "
        f"{memory:.0f} GiB), {_file_system(root)}, Python {platform.python_version()}"
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [
                line.partition(":")[2] for line in file if line.startswith("model name")
            ]
    except OSError:
        names = []
    return " ".join(names[0].split()) if names else "processor unknown"


def _file_system(root: Path) -> str:
    command = ["df", "--output=fstype", str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.split()[-1] if done.stdout.split() else "file system unknown"


def heading(root: Path, *, quick: bool = False) -> str:
    today = datetime.datetime.now(datetime.UTC).date()
    warning = (
        " **Only a sanity check (`--quick`): the figures mean nothing.**"
        if quick
        else ""
    )
    return f"Measured on {today}: {machine(root)}.{warning}"


def goal_table(
    results: Results, scale: Scale, *, detailed: bool = True, whole: bool = True
) -> str:
    """Measured, limit, met: one row a goal; of a part of the run only what it measured."""
    shown = [
        goal for goal in goals(results, scale) if whole or goal.detail != "not run"
    ]
    rows = [_goal_row(goal, detailed) for goal in shown]
    return _table(("goal", "measured", "at most", "met"), rows)


def _goal_row(goal: Goal, detailed: bool) -> tuple[str, ...]:
    limit = f"{goal.limit:g} {goal.unit}"
    if goal.measured is None:
        return goal.what, f"not measured: {goal.detail}", limit, NOT_RUN
    digits = 2 if goal.unit == "×" else 0
    measured = f"{goal.measured:.{digits}f} {goal.unit}"
    if detailed and goal.detail:
        measured += f" ({goal.detail})"
    return goal.what, measured, limit, "yes" if goal.met else "**no**"


def history_table(results: Results, scale: Scale, names: Iterable[str]) -> str:
    """Medians, and how many times the copy's each is."""
    names = list(names)
    header = ("history", "matching", *names, "peak of ccmove", "lock held")
    rows = []
    for megabytes, _ in scale.history:
        for share in scale.shares:
            label = history_label(megabytes, share)
            tallies = {
                name: results.get((f"history {label}", label, name)) for name in names
            }
            rows.append((f"{megabytes} MB", f"{share:g} %", *_history_cells(tallies)))
    return _table(header, rows)


def _history_cells(tallies: dict[str, Tally | None]) -> Iterator[str]:
    copy, move = tallies["cp && sync"], tallies["ccmove"]
    for tally in tallies.values():
        yield _cell(tally, copy)
    if move is None or not move.runs:
        yield from (NOT_RUN, NOT_RUN)
        return
    yield f"{move.peak / MIB:.0f} MiB"
    if not move.locks:
        yield NOT_RUN
        return
    yield f"{statistics.median(move.locks) * 1000:.0f} ms"


def _cell(tally: Tally | None, base: Tally | None) -> str:
    if tally is None:
        return NOT_RUN
    if not tally.runs:
        return tally.note.partition(":")[0] or NOT_RUN
    time = _time(tally.seconds)
    if base is None or base is tally or not base.runs:
        return time
    return f"{time} ({tally.seconds / base.seconds:.1f} ×)"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.2f} s"


def scaling_table(results: Results, group: str) -> str:
    """The cases of one group against the first of them."""
    tallies = {
        (label, name): t for (g, label, name), t in results.items() if g == group
    }
    first = next(iter(tallies.values()), None)
    rows = [
        (f"{label} {name}".strip(), _cell(tally, first), _peak(name, tally))
        for (label, name), tally in tallies.items()
    ]
    return _table((group, "median", "peak"), rows)


def _peak(name: str, tally: Tally) -> str:
    """Of what needs more than the benchmark itself, which is the least that can be
    seen.
    """
    return f"{tally.peak / MIB:.0f} MiB" if tally.runs and name in OURS else NOT_RUN


def outcome_table(results: Results, versions: dict[str, str]) -> str:
    """Whether each did the whole work; of notes that differ only in figures the last
    one.
    """
    rows = []
    for name, version in versions.items():
        notes: dict[str, str] = {}
        for (group, label, contender), tally in results.items():
            if contender == name and tally.note:
                state = group if label in group else f"{group} {label}"
                notes[re.sub(r"[\d,]+", "", tally.note)] = f"{state}: {tally.note}"
        ran = any(contender == name for _, _, contender in results)
        rows.append(
            (
                name,
                version,
                "<br>".join(notes.values()) or ("nothing" if ran else "not run"),
            )
        )
    return _table(("tool", "version", "left undone, or done wrongly"), rows)


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
