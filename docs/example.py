"""The example of docs/for-programs.md: brings a project along after a rename."""

import sys

from ccmove.api import apply, plan_move, where
from ccmove.errors import CcmoveError


def follow(old: str, new: str) -> str:
    """Move what Claude Code keeps from OLD to NEW; the directory it is in now."""
    if where(old).is_known:
        move = plan_move(old, new)  # looks, and changes nothing
        done = apply(move)  # all or nothing
        print(f"to undo: ccmove undo {done.backup}")
    return str(where(new).directory)


if __name__ == "__main__":
    try:
        print(follow(*sys.argv[1:3]))
    except CcmoveError as error:
        sys.exit(error.message)
