"""How long Claude Code keeps a session before its sweep deletes the transcript.

The sweep goes by a transcript's date alone, in all projects: ten minutes into a session
at a terminal, at most once a day.
"""

import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import read_document
from ccmove.errors import CcmoveError
from ccmove.rewrite.jsonspan import NotJsonError, Number, value_of

SETTING = "cleanupPeriodDays"
USUAL_DAYS = 30  # where nothing is set
DAYS = re.compile(r"[1-9]\d{0,8}")
DAYS_AHEAD = 7
DAY = 24 * 60 * 60 * 10**9  # ns
LINE_THAT_KEEPS = f'"{SETTING}": 3650'  # what the client itself proposes


def settings_file(layout: Layout) -> Path:
    return layout.config_dir / "settings.json"


def days_kept(layout: Layout) -> int | None:
    """For how many days a session is kept, by the user's settings; None if not known.

    A value that the client rejects, and settings that it can't read, stop its sweep.
    The file may be a link: people keep their settings elsewhere.
    """
    file = os.path.realpath(settings_file(layout))
    try:
        document = read_document(Path(file))
        settings = value_of(document.text) if document is not None else {}
    except (CcmoveError, NotJsonError, OSError):
        return None
    if not isinstance(settings, dict):
        return None
    if SETTING not in settings:
        return USUAL_DAYS
    days = settings[SETTING]
    if isinstance(days, Number) and DAYS.fullmatch(days.text):
        return int(days.text)
    return None


def number_deleted_soon(times: Iterable[int], days: int | None) -> int:
    """How many sessions, last used at these times (ns), will be deleted within a week.

    Where all are kept for a week or less, that is what their owner wants, and the same
    every day: none is counted.
    """
    if days is None or days <= DAYS_AHEAD:
        return 0
    end = time.time_ns() - (days - DAYS_AHEAD) * DAY
    return sum(last < end for last in times)
