"""What may be in an archive: the role of each file, and the names that go with it.

A member is placed by its role and by what its name says of it (which project, which
session), never by the name as a path. What fits no row of this table is not packed, and
an archive that has it is refused.
"""

import re
import unicodedata
from dataclasses import dataclass

from ccmove.claude.state import SESSION_ID

LONGEST_PART = 200  # bytes of one name between two strokes
LONGEST_NAME = 1000

ROLES = {
    "transcript": "projects/{project}/sessions/{id}.jsonl",
    "session-folder": "projects/{project}/sessions/{id}/{below}",
    "session-note": "projects/{project}/sessions/{id}.{word}.json",
    "agent": "projects/{project}/agents/agent-{id}.jsonl",  # of older clients
    "memory": "projects/{project}/memory/{below}",
    "index": "projects/{project}/index.json",
    "history": "projects/{project}/history.jsonl",
    "config": "projects/{project}/config.json",
    "file-history": "file-history/{id}/{below}",
    "tasks": "tasks/{id}/{below}",
    "plan": "plans/{id}.md",
    "paste": "paste-cache/{id}.txt",
}
# What an `id` is, where it is not a session's.
IDS = {
    "agent": "[0-9A-Za-z_-]+",
    "plan": "[0-9A-Za-z][0-9A-Za-z_-]*",
    "paste": "[0-9a-f]{8,128}",
}
# Of conversations; an agent of an older client has its own.
TRANSCRIPTS = ("transcript", "agent")
# Of a session, but outside of its project.
BESIDE_PROJECTS = ("file-history", "tasks")

_NOT_ON_WINDOWS = frozenset('<>:"|?*\\/')
_DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$"}
_DEVICES |= {f"{port}{n}" for port in ("com", "lpt") for n in "123456789\xb9\xb2\xb3"}


@dataclass(frozen=True, slots=True)
class Part:
    """What a member is. All but `role` as far as the role has it."""

    role: str
    project: int = 0  # its number in the header, from 1
    id: str = ""  # of the session, the agent, the plan or the pasted text
    word: str = ""
    below: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The member's name in the archive."""
        return ROLES[self.role].format(
            project=self.project,
            id=self.id,
            word=self.word,
            below="/".join(self.below),
        )


def _pattern(role: str) -> re.Pattern[str]:
    names = {
        "project": "(?P<project>[1-9][0-9]{0,5})",
        "id": f"(?P<id>{IDS.get(role, SESSION_ID.pattern)})",
        "word": "(?P<word>[a-z]+(?:-[a-z]+)*)",
        "below": "(?P<below>.+)",
    }
    literal = re.escape(ROLES[role]).replace(r"\{", "{").replace(r"\}", "}")
    return re.compile(literal.format(**names), re.DOTALL)


_PATTERNS = {role: _pattern(role) for role in ROLES}


def part_of(role: str, name: str) -> Part | None:
    """What a member of this role and name is; None where they do not fit."""
    pattern = _PATTERNS.get(role)
    if pattern is None or not is_portable(name):
        return None
    fits = pattern.fullmatch(name)
    if fits is None:
        return None
    says = fits.groupdict()
    below = says.get("below")
    return Part(
        role,
        int(says.get("project") or 0),
        says.get("id") or "",
        says.get("word") or "",
        tuple(below.split("/")) if below else (),
    )


def fits_id(role: str, text: str) -> bool:
    """Whether it can be the id of something that has no session's."""
    return re.fullmatch(IDS[role], text) is not None


def is_portable(name: str) -> bool:
    """Whether every system can have files of this name, and nothing reads it
    otherwise.
    """
    try:
        is_short = len(name.encode()) <= LONGEST_NAME
    except UnicodeEncodeError:  # bytes that are not UTF-8, half a surrogate pair
        return False
    return is_short and all(map(_is_portable_part, name.split("/")))


def _is_portable_part(name: str) -> bool:
    """Whether it is a name for a file, also on Windows; `.` and `..` are none."""
    if not name or name[-1] in ". ":
        return False
    if len(name.encode()) > LONGEST_PART:
        return False
    if not _NOT_ON_WINDOWS.isdisjoint(name):
        return False
    stem, _, _ = name.partition(".")
    if stem.rstrip(" ").lower() in _DEVICES:
        return False
    return all(unicodedata.category(char) != "Cc" for char in name)


class Names:
    """The names of one archive, no two of which may be one file anywhere.

    Some systems take names that differ in case or Unicode form for the same, and where
    one name is a file, no other can be below it.
    """

    def __init__(self) -> None:
        self._files: set[str] = set()  # folded
        self._folders: dict[str, str] = {}  # folded -> as it is spelled

    def add(self, name: str) -> bool:
        """Whether there is room for it; then it is noted."""
        file = _folded(name)
        folders = {}
        parts = name.split("/")
        for end in range(1, len(parts)):
            folder = "/".join(parts[:end])
            folders[_folded(folder)] = folder
        if file in self._files or file in self._folders:
            return False
        for folded, folder in folders.items():
            spelled = self._folders.get(folded, folder)
            if folded in self._files or spelled != folder:
                return False
        self._files.add(file)
        self._folders.update(folders)
        return True


def _folded(name: str) -> str:
    if name.isascii():
        return name.lower()
    folded = unicodedata.normalize("NFD", name).casefold()
    return unicodedata.normalize("NFD", folded)
