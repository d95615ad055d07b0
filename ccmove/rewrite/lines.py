"""Texts made of lines: session aliases, and notes that are merged and taken apart."""

from ccmove.rewrite.compare import changed_lines
from ccmove.rewrite.pathmap import NameMap


def aliases(text: str, names: NameMap) -> str:
    """.session-aliases with the lines that name a moved project directory changed."""
    lines = [(line.rstrip("\r"), line) for line in text.split("\n")]
    return "\n".join(
        (names.map(path) or path) + line[len(path) :] for path, line in lines
    )


def appended(text: str, addition: str) -> str:
    """The text, then the lines of the addition that it lacks; blank lines do not count.

    A line that the addition has twice comes once, where it stood last.
    """
    lines = addition.split("\n")
    last_place = {line.rstrip(): number for number, line in enumerate(lines)}
    present = {line.rstrip() for line in text.split("\n")}
    lacking = ""
    for number, line in enumerate(lines):
        bare = line.rstrip()
        if bare and bare not in present and last_place[bare] == number:
            lacking += f"{line}\n"
    if lacking and text and not text.endswith("\n"):
        text += "\n"
    return text + lacking


def lines_lacking(text: str, other: str) -> str:
    """The lines of the text that `other` does not have."""
    have = set(other.split("\n"))
    lines = [line for line in text.split("\n") if line and line not in have]
    return "".join(f"{line}\n" for line in lines)


def without_lines(before: str, after: str, now: str) -> tuple[str, list[str]]:
    """`now` with the run taken out, and what could not be: see `threeway`.

    Lines that the run added go, those that it replaced or took out come back.
    """
    lines_now = now.split("\n")
    original: dict[str, str | None] = {}  # of each line that the run wrote
    removed: list[str] = []
    replaced: list[tuple[int, str, str]] = []
    for _, number, old, new in changed_lines(before.split("\n"), after.split("\n")):
        if new is None:
            if old is not None:
                removed.append(old)
            continue
        if (old or new).strip():
            original[new] = old
        if old and new:
            replaced.append((number, old, new))
    back = [original.get(line, line) for line in lines_now]
    lost = []
    for number, old, new in replaced:
        if old not in back and new not in lines_now:
            lost.append(f"line {number + 1}")
    staying = "\n".join(line for line in back if line is not None)
    return appended(staying, "\n".join(removed)), lost
