"""Runs ccmove where there is no fork, and where starting Python takes most of a second.

The command line runs inside this process, with the environment, the directory and the
streams that a child would have; what it cached, and what was sabotaged, is put back
afterwards. What can only happen to a process of its own (it is killed, or somebody acts
between two of its calls) happens to one: this module, run as a program.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash import sabotage
from tests.hostile import hooks
from tests.support.seams import exit_code_of

ROOT = Path(__file__).resolve().parents[2]
KILLED = 9  # what Windows calls the end of a process that was killed
_OWN_PROCESS = ("die_at", "interrupt_at", "umask")
_LONGEST_RUN = 120


def ask(request: dict[str, Any]) -> dict[str, Any]:
    """Run one command line as the request says; how it ended: exit, out, err, trace."""
    if request.get("strace"):
        pytest.skip("needs strace")
    with tempfile.TemporaryDirectory(prefix="ccmove-here-") as scratch:
        files = {name: Path(scratch, name) for name in ("out", "err", "trace")}
        for file in files.values():
            file.touch()
        ways = request.get("sabotage", ())
        apart = request.get("hook") or any(way.startswith(_OWN_PROCESS) for way in ways)
        code = _in_another(request, files) if apart else _in_this_one(request, files)
        return {"exit": code, **{name: _text(file) for name, file in files.items()}}


def _in_another(request: dict[str, Any], files: dict[str, Path]) -> int:
    asked = json.dumps([request, {name: str(file) for name, file in files.items()}])
    child = subprocess.run(
        [sys.executable, "-m", "tests.support.here"],
        cwd=ROOT,
        input=asked.encode(),
        stdout=subprocess.DEVNULL,
        timeout=_LONGEST_RUN,
    )
    return -KILLED if child.returncode == KILLED else child.returncode


def _in_this_one(request: dict[str, Any], files: dict[str, Path]) -> int:
    with _as_a_child(request), _streams(request, files):
        try:
            sabotage.record = str(files["trace"])
            for way in request.get("sabotage", ()):
                sabotage.commit(way)
            return exit_code_of(request["args"])
        finally:
            sabotage.end()
            _forget_what_was_cached()


@contextlib.contextmanager
def _as_a_child(request: dict[str, Any]) -> Iterator[None]:
    environment, directory, argv = dict(os.environ), os.getcwd(), sys.argv
    try:
        os.environ.clear()
        os.environ.update(request["env"])
        os.chdir(request["cwd"])
        sys.argv = ["ccmove", *request["args"]]
        yield
    finally:
        sys.argv = argv
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environment)


@contextlib.contextmanager
def _streams(request: dict[str, Any], files: dict[str, Path]) -> Iterator[None]:
    kept = sys.stdin, sys.stdout, sys.stderr
    given = io.BytesIO(request["input"].encode("utf-8", "surrogateescape"))
    sys.stdin = io.TextIOWrapper(given, encoding="utf-8", errors="surrogateescape")
    try:
        with _written(files["out"]) as sys.stdout, _written(files["err"]) as sys.stderr:
            yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept


def _written(file: Path) -> io.TextIOWrapper:
    return file.open("w", encoding="utf-8", errors="surrogateescape", newline="\n")


def _forget_what_was_cached() -> None:
    for name, module in list(sys.modules.items()):
        for value in vars(module).values() if name.startswith("ccmove.") else ():
            if callable(forget := getattr(value, "cache_clear", None)):
                forget()


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def main() -> None:
    """The process of its own."""
    request, names = json.loads(sys.stdin.buffer.read())
    if hook := request.get("hook"):
        name, *words = hook
        hooks.install(hooks.HOOKS[name](*words))
    code = _in_this_one(request, {name: Path(file) for name, file in names.items()})
    os._exit(code)


if __name__ == "__main__":
    main()
