"""The example of docs/for-programs.md: brings a project along after a rename."""

import sys

from ccmove.api import Result, Whereabouts, apply, plan_move, where
from ccmove.errors import CcmoveError


def follow(old: str, new: str) -> Whereabouts:
    """Move what Claude Code keeps from OLD to NEW; where it is now."""
    if where(old).is_known:
        move = plan_move(old, new)  # looks, and changes nothing
        done: Result = apply(move)  # all or nothing
        print(f"to undo: ccmove undo {done.backup}")
    return where(new)


if __name__ == "__main__":
    try:
        print(follow(*sys.argv[1:3]).directory)
    except CcmoveError as error:
        sys.exit(error.message)
