"""A client that writes prompts all the while, by its own lock protocol.

    python -m tests.crash.client_writer HOME PATH PATH...

Until standard input is closed it appends numbered prompts for the PATHs in turn. For
each line that it reads it also adds one to `numStartups` in the config file. At the end
it prints how many of each it wrote.
"""

import json
import os
import select
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

_STALE_AFTER = 10
_WAITS = (0.05, 0.1, 0.2)


def locked(lock: Path, work: Callable[[], None]) -> bool:
    """Do the work under the lock; False when it can't be had after three more tries."""
    for wait in (*_WAITS, None):
        try:
            lock.mkdir()
        except FileExistsError:
            if _is_stale(lock):
                lock.rmdir()
            elif wait is None:
                return False
            else:
                time.sleep(wait)
            continue
        try:
            work()
        finally:
            lock.rmdir()
        return True
    return False


def _is_stale(lock: Path) -> bool:
    try:
        return time.time() - lock.stat().st_mtime > _STALE_AFTER
    except FileNotFoundError:
        return False


def append_prompt(history: Path, number: int, project: str) -> None:
    entry = {"display": f"written {number}", "pastedContents": {}, "project": project}
    fd = os.open(history, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, json.dumps(entry).encode() + b"\n")
    os.close(fd)


def count_a_start(config: Path) -> None:
    """Read, change, write beside it, rename: as the client does."""
    data = json.loads(config.read_text())
    data["numStartups"] += 1
    beside = config.with_name(f"{config.name}.tmp.{os.getpid()}.0")
    beside.write_text(json.dumps(data, indent=2))
    beside.chmod(0o600)
    beside.rename(config)


def main(home: Path, projects: list[str]) -> None:
    history, config = home / ".claude/history.jsonl", home / ".claude.json"
    prompts = starts = waiting = 0
    for turn in count():
        if select.select([sys.stdin], [], [], 0.002)[0]:
            if not sys.stdin.readline():
                break
            waiting += 1
        work = partial(append_prompt, history, prompts, projects[turn % len(projects)])
        prompts += locked(history.with_name("history.jsonl.lock"), work)
        if waiting and locked(
            config.with_name(".claude.json.lock"), partial(count_a_start, config)
        ):
            starts += 1
            waiting -= 1
    sys.stdout.write(json.dumps({"prompts": prompts, "starts": starts}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
