"""The asking side of the fork server: one server a test process, started when first
needed.
"""

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.published import check_json

IN_PROCESS = "CCMOVE_IN_PROCESS"  # set to anything: as where there is no fork
ROOT = Path(__file__).resolve().parents[2]


def ask(request: dict[str, Any]) -> dict[str, Any]:
    """Run one child as the request says; how it ended: exit, out, err, trace."""
    answer = _answer(request)
    check_json(request["args"], answer["exit"], answer["out"])
    return answer


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    if not hasattr(os, "fork") or os.environ.get(IN_PROCESS):
        from tests.support import here

        return here.ask(request)
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    line = server.stdout.readline()
    if not line:
        raise RuntimeError(f"the fork server ended with {server.wait()}")
    answer: dict[str, Any] = json.loads(line)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer


@cache
def _server() -> subprocess.Popen[str]:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw") or "0"
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.forkserver", worker],
        cwd=ROOT,
        env={"PATH": os.environ.get("PATH", os.defpath), "HOME": os.devnull,
             "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    atexit.register(server.communicate, timeout=60)  # closes its input, which ends it
    return server


def forget_server() -> None:
    """The next request starts a new server: one that sees what this process sees by
    now.
    """
    _server.cache_clear()
