"""Any error as one of ours, or as a result: what is wrong, where, and what to type."""

import os
from dataclasses import replace

from ccmove.claude.layout import Layout
from ccmove.errors import (
    CcmoveError,
    InterruptedRunError,
    UnfinishedRunError,
    UsageError,
    system_error,
)
from ccmove.hints import Asked, again, in_words, to_type
from ccmove.report.result import Result
from ccmove.run.journal import was_interrupted

DEBUG = "CCMOVE_DEBUG"  # set to anything: the traceback of a bug is shown


def as_ours(error: BaseException, layout: Layout | None) -> CcmoveError:
    """What to tell of an error that ended a run on this state."""
    if isinstance(error, CcmoveError):
        return error
    if os.environ.get(DEBUG) and isinstance(error, Exception):
        raise error
    is_ended = isinstance(error, KeyboardInterrupt)
    what = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
    if _is_unfinished(layout):
        if is_ended:
            what = "interrupted"
        return UnfinishedRunError(f"{what}; the run was not rolled back")
    if is_ended:
        return InterruptedRunError("interrupted; everything is as it was")
    if isinstance(error, OSError):
        return system_error(error)
    return CcmoveError(
        f"this is a bug in ccmove: {what}; everything is as it was",
        f"please report it: {_where_to_report()}",
        again(f"with what this prints when {DEBUG}=1 is set"),
    )


def with_error(
    result: Result,
    error: CcmoveError,
    asked: Asked | None = None,
    config_dir: str | None = None,
) -> Result:
    """The result of a run that ended with this error, and what to do next."""
    usual = error.usual
    if isinstance(error, UsageError) and asked is not None:
        usual = to_type("ccmove", asked.command, "--help")
    return replace(
        result,
        status=error.status,
        exit_code=error.exit_code,
        error=error.message,
        hints=tuple(
            in_words(hint, asked, config_dir) for hint in error.hints or [usual]
        ),
        details=error.details,
    )


def _where_to_report() -> str:
    """The address that the package names for that; pyproject.toml has it."""
    from importlib.metadata import metadata  # takes a while, and is rarely needed

    for address in metadata("ccmove").get_all("Project-URL") or []:
        label, _, url = str(address).partition(", ")
        if label == "Issues":
            return url
    return "where you got ccmove"


def _is_unfinished(layout: Layout | None) -> bool:
    try:
        return layout is not None and was_interrupted(layout)
    except OSError as error:  # where we may not even look, no run of ours has begun
        return not isinstance(error, PermissionError)
