"""Throw-away environments: ccmove as its users have it, and the other tools."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


class InstallError(Exception):
    """An environment could not be made; says why."""


def install(environment: Path, *packages: str) -> Path:
    """Make an environment with these packages, compiled; its directory of programs."""
    _run(sys.executable, "-m", "venv", "--without-pip", str(environment))
    _run(
        *(sys.executable, "-m", "pip", "--python", str(environment), "install"),
        *("--quiet", "--no-cache-dir", "--disable-pip-version-check", *packages),
    )
    programs = environment / "bin"
    # Already done by most pips; a run must never pay for what users pay for only once.
    _run(str(programs / "python"), "-m", "compileall", "-q", str(environment / "lib"))
    return programs


def install_ccmove(environment: Path, checkout: Path) -> Path:
    """ccmove as built from a checkout: a wheel, not a link to the sources."""
    source = environment.parent / "source"
    names = ("pyproject.toml", "README.md", "LICENSE", "ccmove")
    source.mkdir()
    for (
        name
    ) in names:  # only what the wheel needs, so that nothing is left in the checkout
        original = checkout / name
        copy = shutil.copytree if original.is_dir() else shutil.copy2
        copy(original, source / name)
    return install(environment, str(source))


def version_of(programs: Path, package: str) -> str:
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return _run(str(programs / "python"), "-c", code).strip()


def _run(*argv: str) -> str:
    environment = {
        k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"
    }
    done = subprocess.run(
        argv, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise InstallError(f"{' '.join(argv[:4])} …: {' '.join(last)}")
    return done.stdout
