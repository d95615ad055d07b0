"""Swaps a directory of the state for a link around every single use that a run makes of it.

    python -m tests.hostile.sweep TEMPLATE LIVE SWAPPED -- CCMOVE-ARGUMENTS

TEMPLATE is a state's root that is copied to LIVE for each run; SWAPPED names, below LIVE, what is
moved away and replaced by a link to a copy of it in LIVE/outside. The first line that comes out is
JSON with the state before and after an undisturbed run; then comes a line for each run. Between two
uses of the directory a swap makes no difference, so it is done before and after every call that
names it. The runs are children of this process, which has imported ccmove already. With
FOLLOW_LINKS in the environment ccmove is made to follow links: a control.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.hostile.hooks import Event, at, install
from tests.support import seams, tree

LONGEST_RUN = 60


class Sweep:
    def __init__(self, template: Path, live: Path, swapped: str, args: list[str]) -> None:
        self.template = template
        self.live = live
        self.path = live / swapped
        self.outside = live / "outside"
        self.args = args
        self.before: dict[str, str] = {}
        self.after: dict[str, str] = {}

    def reset(self) -> None:
        shutil.rmtree(self.live, ignore_errors=True)
        subprocess.run(["cp", "-a", self.template, self.live], check=True)
        subprocess.run(["cp", "-a", self.path, self.outside / "copy"], check=True)

    def calls(self) -> list[int]:
        """The calls of an undisturbed run around which to swap."""
        self.reset()
        record = self.live.parent / "calls"

        def prepare() -> Event:
            numbers: set[int] = set()
            number = 0

            def note(_: str, args: tuple[object, ...]) -> None:
                nonlocal number
                number += 1
                if any(self.path.name in str(arg).split("/") for arg in args):
                    numbers.update((number, number + 1))
                    record.write_text(json.dumps(sorted(numbers)))

            return note

        self.before = self.left()
        code, said = self.child(prepare, self.args)
        if code:
            raise RuntimeError(said)
        self.after = self.left()
        numbers: list[int] = json.loads(record.read_text())
        return numbers

    def run(self, number: int) -> dict[str, object]:
        """One run with the swap before call `number`, and the recovery after it is healed."""
        self.reset()
        before = tree.snapshot(self.outside)
        code, said = self.child(lambda: at(str(number), "", self.swap), self.args)
        touched = tree.diff(before, tree.snapshot(self.outside), mtimes="all", inodes="all")
        self.heal()
        recovered, more = self.child(None, ["recover"])
        return {
            "number": number,
            "exit": code,
            "said": said,
            "touched": touched,
            "recovered": recovered,
            "said then": more,
            "left": self.left(),
        }

    def swap(self) -> None:
        self.path.rename(f"{self.path}.away")
        self.path.symlink_to(self.outside / "copy")

    def heal(self) -> None:
        """The link goes, wherever it is now, and the directory comes back."""
        for base, directories, files in os.walk(self.live / "home"):
            for name in (*directories, *files):
                path = Path(base, name)
                if path.is_symlink() and os.readlink(path) == str(self.outside / "copy"):
                    path.unlink()
        away = Path(f"{self.path}.away")
        if away.exists() and not self.path.exists():
            away.rename(self.path)

    def left(self) -> dict[str, str]:
        """What the state holds at the end: every file by its name, but ours."""
        found = tree.snapshot(self.live / "home")
        return {
            name: entry.sha256 or entry.kind
            for name, entry in found.items()
            if not name.startswith(".claude/ccmove")
        }

    def child(self, prepare: Callable[[], Event] | None, args: list[str]) -> tuple[int, str]:
        """The exit code of `ccmove ARGS`, and what it said."""
        said = self.live.parent / "said"
        pid = os.fork()
        if pid == 0:
            self._become(said)
            if prepare is not None:
                install(prepare())
            os._exit(_main(args))
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), said.read_text(errors="surrogateescape")

    def _become(self, said: Path) -> None:
        fd = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(fd, 1)
        os.dup2(fd, 2)
        os.environ.clear()
        os.environ.update(HOME=str(self.live / "home"), PATH=os.defpath, LANG="C.UTF-8")
        signal.alarm(LONGEST_RUN)


def _main(args: list[str]) -> int:
    try:
        seams.run_main(args)
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        return end.code if isinstance(end.code, int) else 0
    except BaseException as error:
        os.write(2, f"Traceback: {error!r}".encode())
    return 99


def main() -> None:
    if os.environ.get("FOLLOW_LINKS"):
        os.O_NOFOLLOW = 0  # type: ignore[misc]  # before ccmove is imported
    from tests.crash import sabotage
    from tests.support.forkserver import preload

    preload()
    sabotage.commit("without_process_table")
    words = sys.argv[1:]
    split = words.index("--")
    template, live, swapped = words[:split]
    sweep = Sweep(Path(template), Path(live), swapped, words[split + 1 :])
    calls = sweep.calls()
    answers = [{"before": sweep.before, "after": sweep.after}, *map(sweep.run, calls)]
    sys.stdout.write("".join(json.dumps(answer) + "\n" for answer in answers))


if __name__ == "__main__":
    main()
