"""Makes the system itself unkind: no privileges, limits, file systems full or
read-only.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.support.forked import forget_server

_NEW_NAMESPACE = 0x00020000

AS_ROOT = sys.platform != "win32" and os.geteuid() == 0
needs_root = pytest.mark.skipif(not AS_ROOT, reason="needs root to give files away")


@contextmanager
def mounted(where: Path, *how: str | Path) -> Iterator[Path]:
    """`mount HOW WHERE`, seen by this process and its children alone."""
    _enter_private_namespace()
    done = subprocess.run(["mount", *how, where], capture_output=True)
    if done.returncode:
        pytest.skip(f"can't mount a file system here: {done.stderr.decode().strip()}")
    try:
        yield where
    finally:
        subprocess.run(["umount", "-l", where], check=True)


@contextmanager
def tmpfs(where: Path, options: str, content: Path | None = None) -> Iterator[Path]:
    """A real file system in memory, with a copy of `content`."""
    where.mkdir(parents=True, exist_ok=True)
    with mounted(where, "-t", "tmpfs", "-o", options, "tmpfs"):
        if content is not None:
            shutil.copytree(content, where, symlinks=True, dirs_exist_ok=True)
        yield where


def remount(where: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(where)], check=True)


@cache
def _enter_private_namespace() -> None:
    """Mounts made from here on are this process's and its children's, and nobody
    else's.
    """
    if not sys.platform.startswith("linux"):
        pytest.skip("needs Linux's mount namespaces")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_NAMESPACE):
        pytest.skip(f"needs a mount namespace: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    forget_server()  # it was started outside
