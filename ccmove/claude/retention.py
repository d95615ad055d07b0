"""How long Claude Code keeps a session before its sweep deletes the transcript.

The sweep goes by a transcript's date alone, in all projects: ten minutes into a session
at a terminal, at most once a day.
"""

import os
import time
from pathlib import Path

from ccmove.claude.layout import Layout
from ccmove.claude.reading import read_document
from ccmove.claude.state import get
from ccmove.errors import CcmoveError
from ccmove.rewrite.jsonspan import NotJsonError, parse

SETTING = "cleanupPeriodDays"
USUAL_DAYS = 30  # of a client without that setting
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
    try:
        document = read_document(Path(os.path.realpath(settings_file(layout))))
        settings = parse(document.text).value if document is not None else {}
    except (CcmoveError, NotJsonError, OSError):
        return None
    if not isinstance(settings, dict):
        return None
    days = get(settings, SETTING)
    if SETTING not in settings:
        days = USUAL_DAYS
    return days if type(days) is int and days > 0 else None


def deleted_before(days: int | None) -> int:
    """The moment (ns) of last use before which a session is deleted within a week.

    Where all sessions are kept for a week or less, that is what their owner wants, and
    the same every day.
    """
    if days is None or days <= DAYS_AHEAD:
        return 0
    return time.time_ns() - (days - DAYS_AHEAD) * DAY
