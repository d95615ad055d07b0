"""Runs ccmove thousands of times without starting Python as often.

This program imports ccmove once. For each request, a line of JSON on standard input, it
forks a child that runs the command line as `python -m ccmove` would, lets strace attach
to the child before its first step, and answers with one line: how the child ended, what
it printed, the trace. A test compares the calls of such a child with those of a real
process.
"""

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import ccmove
from tests.crash import sabotage
from tests.hostile import hooks
from tests.support.seams import exit_code_of

_PR_SET_PTRACER = 0x59616D61
_PR_SET_PTRACER_ANY = ctypes.c_ulong(-1)
_LONGEST_RUN = 120  # seconds; a child that hangs is ended, and its verdict is bad


def preload() -> None:
    for module in pkgutil.walk_packages(ccmove.__path__, "ccmove."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in ("deepdiff", "filelock", "rich.console", "rich.table", "rich.text"):
        importlib.import_module(name)
    time.strptime(
        "2026", "%Y"
    )  # this imports, too, and only two runs in one second call it


def stay_on_one_core(number: int) -> None:
    """strace and the child that it holds take turns thousands of times, and on one core
    each of these takes a fifth of the time that it takes to wake another one.
    """
    if sys.platform == "linux":
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[number % len(cores)]})


def serve(request: dict[str, Any], scratch: Path) -> dict[str, Any]:
    """Run one child; its exit code (negative: the signal), its output and the trace."""
    files = {name: scratch / name for name in ("in", "out", "err", "trace")}
    files["in"].write_bytes(request["input"].encode("utf-8", "surrogateescape"))
    files["trace"].write_bytes(b"")
    gate_read, gate_write = os.pipe()
    ready_read, ready_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(gate_write)
        run_child(request, files, ready_write, gate_read)
    os.close(gate_read)
    os.close(ready_write)
    os.read(ready_read, 1)
    os.close(ready_read)
    strace = request.get("strace")
    tracer = attach(pid, strace, files["trace"]) if strace else None
    os.write(gate_write, b"!")
    os.close(gate_write)
    _, status = os.waitpid(pid, 0)
    if tracer is not None:
        tracer.communicate(timeout=_LONGEST_RUN)
    return {
        "exit": os.waitstatus_to_exitcode(status),
        **{name: _text(files[name]) for name in ("out", "err", "trace")},
    }


def attach(pid: int, options: list[str], trace: Path) -> subprocess.Popen[bytes]:
    """Start strace on a child that waits; back when strace holds it."""
    tracer = subprocess.Popen(
        ["strace", "-f", "-p", str(pid), "-o", str(trace), *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert tracer.stderr is not None
    first = tracer.stderr.readline()
    if b"attached" not in first:
        os.kill(pid, signal.SIGKILL)
        rest, _ = tracer.communicate(timeout=_LONGEST_RUN)
        raise RuntimeError(f"strace: {(first + (rest or b'')).decode()}")
    return tracer


def run_child(
    request: dict[str, Any], files: dict[str, Path], ready: int, gate: int
) -> None:
    """In the child: become a process of its own, wait for strace, run ccmove. Never
    returns.
    """
    code = 120  # as Python itself ends when the last output can't be written
    try:
        _become(request, files)
        os.close(ready)
        select.select([gate], [], [])  # not `read`, whose calls are counted
        os.close(gate)
        if hook := request.get("hook"):
            name, *words = hook
            hooks.install(hooks.HOOKS[name](*words))
        code = exit_code_of(request["args"])
    finally:
        os._exit(code)


def _become(request: dict[str, Any], files: dict[str, Path]) -> None:
    for number, name in enumerate(("in", "out", "err")):
        flags = os.O_RDONLY if name == "in" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        fd = os.open(files[name], flags, 0o600)
        os.dup2(fd, number)
        os.close(fd)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv = ["ccmove", *request["args"]]
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _PR_SET_PTRACER_ANY, 0, 0, 0)
    signal.alarm(_LONGEST_RUN)
    # A shell starts what runs in the background with Ctrl-C ignored; that is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sabotage.record = os.fspath(files["trace"])
    for name in request.get("sabotage", ()):
        sabotage.commit(name)


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "surrogateescape")


def main() -> None:
    stay_on_one_core(int(sys.argv[1]))
    preload()
    # a collection in a child would touch, and so copy, every page of its parent
    gc.freeze()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing but answers may reach the asking side
    with tempfile.TemporaryDirectory(prefix="ccmove-crash-") as scratch:
        for line in sys.stdin:
            try:
                answer = serve(json.loads(line), Path(scratch))
            except Exception:
                answer = {"error": traceback.format_exc()}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
