"""Runs the real command line as a child process, in an environment of its own."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.forked import ROOT, ask
from tests.support.published import check_json
from tests.support.state import StateBuilder

ALONE = "CCMOVE_REAL_PROCESSES"  # set to anything: every run is a process of its own


@dataclass(frozen=True)
class Completed:
    """How a child ended: exit code (negative: the signal) and what it printed."""

    exit: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output as the single JSON document that it must be."""
        return json.loads(self.out)


def ccmove_command(*args: str | os.PathLike[str]) -> list[str]:
    """The command line for `ccmove ARGS`, run by this interpreter."""
    return [sys.executable, "-m", "ccmove", *(os.fspath(arg) for arg in args)]


def clean_environment(
    state: StateBuilder, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """An environment that knows only `state`'s home: nothing of ours or of Claude Code
    leaks in.
    """
    temporary = state.root / "tmp"
    temporary.mkdir(exist_ok=True)
    user = os.getuid() if sys.platform != "win32" else 0
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(state.home),
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
        # Compiled once for all children of this machine's user, and never beside the
        # sources.
        "PYTHONPYCACHEPREFIX": os.path.join(
            tempfile.gettempdir(), f"ccmove-pyc-{user}"
        ),
        **(_of_windows(state) if sys.platform == "win32" else {}),
        **(extra or {}),
        **(_modules(extra or {}) if sys.platform == "win32" else {}),
    }


def _of_windows(state: StateBuilder) -> dict[str, str]:
    """The home under the names that Windows has for it, and what no program runs
    without.
    """
    needed = ("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "PYTHONUTF8")
    return {
        **{name: os.environ[name] for name in needed if name in os.environ},
        "USERPROFILE": str(state.home),
        "APPDATA": str(state.home / "AppData" / "Roaming"),
        "TEMP": str(state.root / "tmp"),
        "TMP": str(state.root / "tmp"),
    }


def _modules(extra: Mapping[str, str]) -> dict[str, str]:
    """Nothing is installed in the Python that Wine runs, so that a child is told where
    all is.
    """
    places = [extra.get("PYTHONPATH"), str(ROOT), os.environ.get("PYTHONPATH")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, places))}


def run_child(
    argv: Sequence[str],
    *,
    state: StateBuilder,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    input: str | bytes | None = None,  # noqa: A002 - subprocess's own word for it
    timeout: float = 120,
) -> Completed:
    """Run `argv` in `state`'s clean environment (plus `env`), without a shell."""
    given = (
        input.encode("utf-8", "surrogateescape") if isinstance(input, str) else input
    )
    child = subprocess.run(
        list(argv),
        cwd=cwd or state.home,
        env=clean_environment(state, env),
        input=given or b"",
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    out = _text(child.stdout)
    if "ccmove" in argv:  # which is the program then, or its module
        check_json(argv, child.returncode, out)
    return Completed(child.returncode, out, _text(child.stderr))


def run_ccmove(
    *args: str | os.PathLike[str],
    state: StateBuilder,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    input: str | bytes | None = None,  # noqa: A002 - subprocess's own word for it
    alone: bool = False,
) -> Completed:
    """Run `ccmove ARGS`; a traceback fails the test at once, since no user may ever see
    one.

    The command line runs in the child of a process that has imported ccmove already,
    which takes a fifth of the time; `alone`, or with an `env` that Python itself reads
    at its start, it is a process of its own, started as a user starts it.
    """
    started_again = any(
        name.startswith(("PYTHON", "LANG", "LC_")) for name in env or ()
    )
    if alone or started_again or os.environ.get(ALONE):
        done = run_child(
            ccmove_command(*args), state=state, cwd=cwd, env=env, input=input
        )
    else:
        given = (
            input.decode("utf-8", "surrogateescape")
            if isinstance(input, bytes)
            else input
        )
        request = {
            "args": [os.fspath(arg) for arg in args],
            "input": given or "",
            "cwd": str(cwd or state.home),
            "env": clean_environment(state, env),
        }
        answer = ask(request)
        done = Completed(answer["exit"], answer["out"], answer["err"])
    assert "Traceback (most recent call last)" not in done.err, done.err
    return done


def _text(output: bytes) -> str:
    text = output.decode("utf-8", "surrogateescape")
    return text if os.linesep == "\n" else text.replace("\r\n", "\n")


# A child begins with the peak of the process that started it, so a small one stands in
# between.
_MEASURING = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
print(used.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
sys.exit(os.waitstatus_to_exitcode(status) != 0)
"""


def peak_memory(argv: Sequence[str], *, state: StateBuilder) -> int:
    """The most memory that a program had, in bytes; it must end well."""
    measured = run_child(
        [sys.executable, "-I", "-S", "-c", _MEASURING, *argv], state=state, timeout=240
    )
    assert measured.exit == 0, measured
    return int(measured.out.splitlines()[-1])
