"""Where ccmove starts, and the one way out of it.

`ccmove OLD NEW`, the usual call, has nothing to parse: it does not wait for click, which takes
longer to load than all the rest.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import NoReturn

COMMANDS = {
    "move", "restore", "recover", "backups", "demo", "list", "doctor", "verify", "completion",
}  # fmt: skip
COMPLETE_VARIABLE = "_CCMOVE_COMPLETE"  # a shell sets it to ask how a word goes on


def program() -> NoReturn:
    """The program `ccmove`: it ends at once, because all is written and flushed by then.

    To take a whole interpreter apart first would take a fifth of the time of a small move.
    """
    try:
        main()
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 0)
    raise AssertionError("unreachable")


def main(args: list[str] | None = None) -> None:
    """Do what was typed; every way out of ccmove goes through here."""
    gc.disable()  # a short life: looking for cycles among 20 MB of JSON only takes time
    given = sys.argv[1:] if args is None else args
    code = None
    try:
        from ccmove import typed

        typed.words = given
        code = _run(given)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        from ccmove.cli.boundary import InterruptedRunError, fail

        if code is None:  # else all is done and said
            error = InterruptedRunError("interrupted; nothing was done")
            code = fail(error, as_json="--json" in given)
    except OSError as error:  # of click's own output, such as --help
        from ccmove.cli.boundary import give_up_on_stdout, unprinted

        give_up_on_stdout()
        code = 0
        if not isinstance(error, BrokenPipeError):  # who reads a pipe may stop at any time
            unprinted(error)
            code = 1
    except Exception as error:
        from ccmove.cli.boundary import DEBUG, bug, fail

        if os.environ.get(DEBUG):
            raise
        code = fail(bug(error), as_json="--json" in given)
    sys.exit(code)


def _run(given: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name may not exist in the terminal's encoding
            stream.reconfigure(errors="backslashreplace")
    if is_plain_move(given):
        return _plain_move(*given)
    from ccmove.cli import main as cli

    return cli.run(given)


def is_plain_move(given: list[str]) -> bool:
    """Whether these are OLD and NEW and nothing else."""
    is_asked = COMPLETE_VARIABLE in os.environ  # by a shell, which completes a word
    words = len(given) == 2 and not any(word.startswith("-") for word in given)
    return words and given[0] not in COMMANDS and not is_asked


def _plain_move(old: str, new: str) -> int:
    from ccmove.cli.boundary import Session

    def work(session: Session) -> object:
        from ccmove.cli.resolve import resolve_pair

        return session.move([resolve_pair(old, new)])

    return Session().run(work)
