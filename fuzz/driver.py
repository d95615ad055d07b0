"""Runs the targets one after another, each in a process of its own, and says what came
out.

Nothing is written to the checkout unless `--save` asks for it: what libFuzzer collects
goes to a temporary directory, and so does an input that fails, whose path is printed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
TARGETS = ("spans", "history", "manifests", "paths", "archives")
LONGEST_RUN = (
    120  # seconds by the clock for one input: a busy machine may pause for some
)
_STATUS = re.compile(r"^#(\d+)\s+\w+.*?cov: (\d+) ft: (\d+)", re.MULTILINE)


class Outcome(NamedTuple):
    """What one target's runs came to."""

    exit_code: int
    runs: int
    seconds: float
    edges: int
    features: int
    log: Path


def main(argv: Sequence[str] | None = None) -> int:
    options = _arguments(argv)
    if importlib.util.find_spec("atheris") is None:
        print(
            "atheris is not installed here; `make fuzz` does that automatically",
            file=sys.stderr,
        )
        return 2
    place = Path(tempfile.mkdtemp(prefix="ccmove-fuzz-"))
    failed = [name for name in options.targets if not _fuzz(name, options, place)]
    if failed:
        print(f"failed: {', '.join(failed)}; inputs and logs are in {place}")
        return 1
    shutil.rmtree(place)
    return 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz/run", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument(
        "--runs", type=int, default=1_000_000, help="inputs for each target"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="0 takes another one each time"
    )
    parser.add_argument(
        "--save", action="store_true", help="write what is new to fuzz/corpus"
    )
    parser.add_argument(
        "--planted", metavar="BUG", help="plant this bug; it must be found"
    )
    parser.add_argument(
        "--empty", action="store_true", help="begin without the kept corpus"
    )
    options = parser.parse_args(argv)
    options.targets = options.targets or list(TARGETS)
    unknown = set(options.targets) - set(TARGETS)
    if unknown:
        parser.error(f"unknown target: {', '.join(sorted(unknown))}")
    return options


def _fuzz(target: str, options: argparse.Namespace, place: Path) -> bool:
    """Fuzz one target and print one line about it; whether nothing was found."""
    fresh = place / target / "corpus"
    fresh.mkdir(parents=True)
    flags = [
        f"-runs={options.runs}",
        f"-seed={options.seed}",
        f"-max_len={importlib.import_module(f'fuzz.{target}').LONGEST_INPUT}",
        f"-timeout={LONGEST_RUN}",
        f"-artifact_prefix={place / target}/failing-",
        "-print_final_stats=1",
        str(fresh),
    ]
    if not options.empty and (CORPUS / target).is_dir():
        flags.append(str(CORPUS / target))
    outcome = _child(target, options.planted or "-", flags, place / target)
    print(_line(target, outcome, len(list(fresh.iterdir()))), flush=True)
    if outcome.exit_code:
        print(_last_lines(outcome.log), flush=True)
    elif options.save:
        _save(target, fresh, place / target)
    return outcome.exit_code == 0


def _child(target: str, bug: str, flags: list[str], place: Path) -> Outcome:
    log = place / "log"
    command = [sys.executable, "-m", "fuzz.child", target, bug, *flags]
    (place / "home").mkdir(exist_ok=True)
    environment = os.environ | {
        "HOME": str(place / "home"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    begin = time.monotonic()
    with log.open("wb") as out:
        done = subprocess.run(
            command,
            stdout=out,
            stderr=out,
            cwd=HERE.parent,
            env=environment,
            check=False,
        )
    seconds = time.monotonic() - begin
    found = _STATUS.findall(log.read_text(errors="replace")) or [("0", "0", "0")]
    runs, edges, features = map(int, found[-1])
    return Outcome(done.returncode, runs, seconds, edges, features, log)


def _line(target: str, outcome: Outcome, new: int) -> str:
    speed = outcome.runs / outcome.seconds
    return (
        f"{target:10} {outcome.runs:>9,} runs  {outcome.seconds:7.1f} s  {speed:7,.0f}/s  "
        f"{outcome.edges:5} edges  {outcome.features:6} features  {new:5} new inputs  "
        f"{'nothing found' if outcome.exit_code == 0 else 'FAILED'}"
    )


def _last_lines(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    trace = [n for n, line in enumerate(lines) if "Uncaught Python exception" in line]
    return "\n".join(lines[trace[-1] :] if trace else lines[-20:])


# -- the corpus that is kept -----------------------------------------------------------------------


def _save(target: str, fresh: Path, place: Path) -> None:
    """The fewest inputs that reach every edge, of the kept ones and the new; numbered
    by size.

    How often an edge is taken is left out of account, or hundreds would be worth
    keeping.
    """
    small = place / "small"
    small.mkdir()
    kept = CORPUS / target
    kept.mkdir(parents=True, exist_ok=True)
    flags = ["-set_cover_merge=1", "-use_counters=0", str(small), str(kept), str(fresh)]
    outcome = _child(target, "-", flags, place)
    if outcome.exit_code:
        raise SystemExit(f"merging failed: {outcome.log}")
    if not any(small.iterdir()):
        raise SystemExit(f"merging kept nothing: {outcome.log}")
    chosen = sorted(
        (path.read_bytes() for path in small.iterdir()), key=lambda d: (len(d), d)
    )
    for path in kept.iterdir():
        if (
            path.name.isdecimal()
        ):  # the others have names because they were chosen by hand
            path.unlink()
    for number, data in enumerate(chosen):
        (kept / f"{number:03}").write_bytes(data)
    size = sum(path.stat().st_size for path in kept.iterdir())
    print(f"{target:10} keeps {len(list(kept.iterdir()))} inputs, {size:,} bytes")
