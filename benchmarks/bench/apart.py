"""Runs a function in a process of its own, so that its memory is not ours afterwards.

The peak that the system reports for a child is never below the memory of the process that
started it: the one that measures must stay small.
"""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def apart(function: Callable[..., T], *args: object) -> T:
    """What the function returns; RuntimeError when it fails."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        _answer(writing, function, *args)
    os.close(writing)
    with open(reading, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError(f"{function.__name__} failed")
    result: T = pickle.loads(answer)
    return result


def _answer(writing: int, function: Callable[..., object], *args: object) -> None:
    """In the child: never comes back."""
    code = 1
    try:
        with open(writing, "wb") as pipe:
            pipe.write(pickle.dumps(function(*args)))
        code = 0
    except BaseException:  # whatever it was, the child must not run on as a second parent
        traceback.print_exc()
    finally:
        os._exit(code)
