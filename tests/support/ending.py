"""The command line in this process, and how it ends there."""

import sys
import traceback

from tests.support import seams


def exit_code_of(args: list[str]) -> int:
    """Run ccmove as `python -m ccmove` would, up to its exit code."""
    try:
        seams.run_main(args)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0
