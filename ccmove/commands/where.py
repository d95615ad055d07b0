"""Where Claude Code keeps one project."""

from ccmove.claude.layout import Layout
from ccmove.commands.paths import resolve_path, unknown
from ccmove.errors import NothingKnownError
from ccmove.inspect.where import Whereabouts, find_whereabouts


def find_project(
    layout: Layout, typed: str
) -> tuple[Whereabouts, NothingKnownError | None]:
    """Where it is, or would be; the error says that nobody knows it."""
    spellings = resolve_path(typed)
    where = find_whereabouts(layout, *spellings)
    if where.is_known:
        return where, None
    return where, unknown(layout, typed, where.path, where.known_paths)
