"""python -m tests.lives SEED: live one life again and print its steps.

python -m tests.lives --count 5000 [SEED]: live many, from this seed on; print for each
kind of broken promise its seeds, with the shortest life of each.
"""

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from tests.lives.model import BrokenError
from tests.lives.tale import Tale


def lived(seed: int, without: list[str]) -> tuple[Tale, BrokenError | None]:
    root = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="ccmove-life-", dir=root) as directory:
        tale = Tale(Path(directory) / "root", seed, without)
        try:
            tale.live()
        except BrokenError as broken:
            return tale, broken
        return tale, None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lives")
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--without", action="append", default=[], metavar="STEP")
    asked = parser.parse_args()
    print(f"seeds {asked.seed} to {asked.seed + asked.count - 1}")
    steps: Counter[str] = Counter()
    broken: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for seed in range(asked.seed, asked.seed + asked.count):
        tale, error = lived(seed, asked.without)
        steps.update(tale.steps)
        if asked.count == 1:
            print("\n".join(tale.lines))
        if error is not None:
            broken[f"{error.kind}, after {tale.last}"].append(
                (len(tale.lines), seed, error.seen)
            )
    if asked.count > 1:
        print("\n".join(f"{n:6} {step}" for step, n in sorted(steps.items())))
    for kind, lives in broken.items():
        _, _, seen = min(lives)
        seeds = " ".join(str(life[1]) for life in sorted(lives)[:6])
        print(f"\nBROKEN {kind}: {len(lives)} lives, the shortest: {seeds}")
        print(seen)
    print(f"\n{sum(map(len, broken.values()))} of {asked.count} lives broke a promise")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
