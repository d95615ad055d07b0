"""Every name inside ccmove and its own directory that black-box suites reach for, in
one place.

A suite that needs another one adds it here: when the layout changes, only this file
does. What is in ccmove is imported when it is asked for: some ask before they have
changed Python's modules.
"""

import hashlib
import importlib
import json
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.state import StateBuilder

OWN = ".claude/ccmove"  # below the home
CLIENT_LOCKS = (".claude/history.jsonl.lock", ".claude.json.lock")  # below the home
STAGED = ".ccmove-"  # how the name of a staged file begins, beside its target
ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")
# All that a finished run or recovery may leave in our directory.
_KEPT = re.compile(r"lock|backups|ledger.*")
_RECORDS = ("manifest", "report")  # of a complete backup


def own(state: StateBuilder) -> Path:
    return state.home / OWN


def under_way_in(state: StateBuilder) -> Path:
    """Is there while a run is under way, and after a crash."""
    return own(state) / "run"


def record(state: StateBuilder) -> Path:
    """How far the run under way came."""
    return under_way_in(state) / "progress"


def operations_under_way(state: StateBuilder) -> list[Any]:
    text = (own(state) / "run" / "manifest.json").read_text()
    return list(json.loads(text)["operations"])


def backups(state: StateBuilder) -> Path:
    return own(state) / "backups"


def backup_ids(state: StateBuilder) -> list[str]:
    """The finished runs, oldest first."""
    return sorted(
        path.name for path in backups(state).glob("*") if ID.fullmatch(path.name)
    )


def ledger(state: StateBuilder) -> Path:
    """What is kept of pruned backups."""
    return own(state) / "ledger.json"


def manifest(state: StateBuilder, run: str) -> Path:
    return backups(state) / run / "manifest.json"


def report(state: StateBuilder, run: str) -> Path:
    """What the run said."""
    return backups(state) / run / "report.json"


def under_way(state: StateBuilder) -> bool:
    """Whether a run has begun and not finished: it has a directory with something in
    it.
    """
    return any(under_way_in(state).glob("*"))


def left_over(state: StateBuilder) -> list[str]:
    """What of ours there is beside complete backups."""
    found = [path for path in own(state).glob("*") if not _KEPT.fullmatch(path.name)]
    found += [path for path in backups(state).glob("*") if not _is_complete(path)]
    found += state.home.rglob(f"{STAGED}*")
    return [str(path.relative_to(state.home)) for path in found]


def _is_complete(backup: Path) -> bool:
    try:
        texts = [(backup / f"{name}.json").read_bytes() for name in _RECORDS]
        return all(isinstance(json.loads(text), dict) for text in texts)
    except (OSError, ValueError):
        return False


def unfinished(state: StateBuilder) -> list[str]:
    """The runs that were set aside by `ccmove recover --set-aside`."""
    return sorted(path.name for path in (own(state) / "unfinished").glob("*"))


def checksum(record: dict[str, Any]) -> str:
    """It is no secret: whoever forges a manifest can sign it."""
    body = {key: value for key, value in record.items() if key != "checksum"}
    return sha256(json.dumps(body, sort_keys=True).encode())


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def reader_of_manifests(state: StateBuilder, backup: Path) -> Callable[[object], Any]:
    """What turns a record into a manifest, or refuses it with a ValueError."""
    config_file = state.home / ".claude.json"
    layout = module("layout").Layout(state.config_dir, config_file, state.home)
    return lambda record: module("codec").from_json(record, layout, backup)


def operations(record: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Those of one kind: Wrote, WroteHistory, Rename, Mkdir."""
    return [row for row in record["operations"] if row["kind_of"] == kind]


def saved(backup: Path, number: int, which: str) -> Path:
    """A document `before` or `after`, or, as `changes`, what changed in the history."""
    return backup / "files" / f"{number}.{which}"


MODULES = {
    "disk": "ccmove.run.disk",
    "journal": "ccmove.run.journal",
    "backups": "ccmove.run.backups",
    "saved": "ccmove.run.saved",
    "errors": "ccmove.errors",
    "layout": "ccmove.claude.layout",
    "locks": "ccmove.run.locks",
    "codec": "ccmove.run.codec",
    "transaction": "ccmove.run.transaction",
    "live": "ccmove.claude.live",
    "cli": "ccmove.cli.main",
}
# The steps of a run, in their order; each is a method of `transaction.Work`.
BEFORE_THE_LOCKS = ("begin", "stage", "snapshot")
STEPS = (
    *BEFORE_THE_LOCKS,
    "commit",
    "look_again",
    "replace_locked",
    "change_the_rest",
    "verify",
)
LAST_STEP = "finish"

# How a program begins that changes a run from the inside and then calls
# `main(ARGUMENTS)`.
PROLOGUE = """
import errno, os, sys
from ccmove.cli.main import main
from ccmove.run import disk
from ccmove.run.transaction import Work
"""


def module(name: str) -> Any:
    return importlib.import_module(MODULES[name])


def exit_code_of(args: list[str]) -> int:
    """Run the command line in this process, as `python -m ccmove` would, up to its exit
    code.
    """
    try:
        module("cli").main(args)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0
