"""Texts made of lines: session aliases, and notes that are merged and taken apart."""

from pathlib import PurePath

from ccmove.rewrite.compare import changed_lines
from ccmove.rewrite.pathmap import NameMap, PathMap


def aliases(text: str, _: PathMap, names: NameMap) -> str:
    """.session-aliases with the lines that name a moved project directory changed.

    The sessions of one that is split are in two directories then: both are named.
    """
    lines = []
    parts = []
    for line in text.split("\n"):
        path = line.rstrip("\r")
        new = names.map(path) or path
        tail = line.removeprefix(path)
        lines.append(new + tail)
        directory = PurePath(path)
        for key, target in names.sessions.items():
            if key[0] == directory.name:
                part = directory.with_name(target)
                parts.append(str(part))
    moved = "\n".join(lines)
    added = "\n".join(parts)
    return appended(moved, added)


def appended(text: str, addition: str) -> str:
    """The text, then the lines of the addition that it lacks; blank lines do not count.

    A line that the addition has twice comes once.
    """
    present = {line.rstrip() for line in text.split("\n")}
    present.add("")
    lacking = ""
    for line in addition.split("\n"):
        bare = line.rstrip()
        if bare not in present:
            present.add(bare)
            lacking += f"{line}\n"
    if lacking and text and not text.endswith("\n"):
        text += "\n"
    return text + lacking


def lines_lacking(text: str, other: str) -> str:
    """The lines of the text that `other` does not have."""
    other_lines = set(other.split("\n"))
    lacking = ""
    for line in text.split("\n"):
        if line and line not in other_lines:
            lacking += f"{line}\n"
    return lacking


def without_lines(before: str, after: str, now: str) -> tuple[str, list[str]]:
    """`now` with the run taken out, and what could not be: see `threeway`.

    Lines that the run added go, those that it replaced or took out come back; one that
    it replaced, and of which neither version is there, is named.
    """
    lines_now = now.split("\n")
    there = set(lines_now)
    originals: dict[str, str | None] = {}  # of each line that the run wrote
    removed = ""
    lost = []
    for number, old, new in changed_lines(before, after):
        if new is None:
            removed += f"{old}\n"
            continue
        if (old or new).strip():
            originals[new] = old
        is_there = new in there or old in there
        if old and new and not is_there:
            lost.append(f"line {number + 1}")
    staying = []
    for line in lines_now:
        original = originals.get(line, line)
        if original is not None:
            staying.append(original)
    text = "\n".join(staying)
    text = appended(text, removed)
    return text, lost
