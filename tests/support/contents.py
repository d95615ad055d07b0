"""What was live before a run and is not live any more: an oracle for law 7.

Live is what is below the home and not in ccmove's own directory. A content is still
there if a live file holds it, or begins with it. Of a document that a run rewrites or
joins (the config file, the history, an index, aliases, MEMORY.md) each line must be
live, or, in JSON and after a rewrite, each session that it names.
"""

import re
from pathlib import Path

from tests.support import seams
from tests.support.state import StateBuilder

Contents = dict[Path, bytes]
JOINED = ("MEMORY.md", ".session-aliases")
REWRITTEN = ("sessions-index.json", "history.jsonl", ".claude.json")
SESSION = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def live_contents(state: StateBuilder) -> Contents:
    """The bytes of every file of the user's; links are not followed."""
    files = (path for path in state.home.rglob("*") if path.is_file())
    own = seams.own(state)
    return {
        path: path.read_bytes()
        for path in files
        if not path.is_symlink() and not path.is_relative_to(own)
    }


def lost(before: Contents, after: Contents) -> list[Path]:
    """The files whose content is nowhere any more."""
    held = list(after.values())
    return [path for path, data in before.items() if not _is_live(path, data, held)]


def _is_live(path: Path, data: bytes, held: list[bytes]) -> bool:
    if any(content.startswith(data) for content in held):
        return True
    if path.name in JOINED:
        lines = {line.strip() for content in held for line in content.split(b"\n")}
        return all(line.strip() in lines for line in data.split(b"\n"))
    if path.name in REWRITTEN:
        named = {found for content in held for found in SESSION.findall(content)}
        return named.issuperset(SESSION.findall(data))
    return False
