"""Compares what ccmove prints with files that are read and approved by people.

`CCMOVE_UPDATE_GOLDEN=1 make test PYTEST_ARGS=tests/output` rewrites them: read the
difference before it is committed. Places, IDs and process numbers of a test run are
made the same first.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from tests.shapes.bench import in_rule
from tests.support.run import Completed
from tests.support.state import StateBuilder, encoded_name
from tests.systems import windows

GOLDEN = Path(__file__).parent / "golden"
UPDATE = "CCMOVE_UPDATE_GOLDEN"
# What Windows has in the place of some programs.
COMMANDS = [
    (r"\b(?:ls -ld?A?|df -h) (?=/)", "dir "),
    (r"\bmv (?=/)", "move "),
    (r"\bmkdir -p (?=/)", "mkdir "),
    (r"grep -rnF \S*?([\w.-]+) (?=/)", r"findstr /s /n /i /c:\1 "),
]


def check_golden(name: str, text: str) -> None:
    """Fails when `text` is not what the golden file of that name holds."""
    file = GOLDEN / f"{name}.txt"
    if os.environ.get(UPDATE):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert file.exists(), f"no golden file yet: run with {UPDATE}=1, then read {file}"
    approved = file.read_text(encoding="utf-8")
    if windows.HERE:
        for there, here in COMMANDS:
            approved = re.sub(there, here, approved)
    assert text == approved


def transcript(arguments: Sequence[str], done: Completed, state: StateBuilder) -> str:
    """A run as a person would have seen it, with everything that differs between runs
    replaced.
    """
    parts = [f"$ ccmove {' '.join(arguments)}", f"exit {done.exit}"]
    for name, text in (("out", done.out), ("err", done.err)):
        parts += [f"{name}| {line}".rstrip() for line in text.splitlines()]
    return normalised("\n".join(parts) + "\n", state)


def slashes(path: str) -> str:
    return re.sub(r"\\+", "/", path)


def normalised(text: str, state: StateBuilder) -> str:
    """The same text wherever and whenever the test ran."""
    for place, stands_for in (
        (str(state.home), "/HOME"),
        (str(state.root), "/ROOT"),
        (encoded_name(str(state.root)), "-ROOT"),
    ):
        escaped, slashed = place.replace("\\", "\\\\"), Path(place).as_posix()
        for spelled in (escaped, place, slashed, in_rule(place)[1:]):
            text = text.replace(spelled, stands_for)
    if windows.HERE:
        text = re.sub(r"\b[A-Z]:\\(?=\s)", "/", text)
        text = re.sub(
            r"[/-](?:HOME|ROOT)[\w.\\-]*", lambda found: slashes(found[0]), text
        )
    text = re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{4}", "ID", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "DATE", text)
    text = re.sub(r"\b(pid|uid) \d+", r"\1 N", text)
    text = re.sub(r"\b\d[\d,]{3,}\b", "N", text)
    return re.sub(
        r"\b[\d.]+ (B|kB|MB|GB)\b", "SIZE", text
    )  # paths are part of what is measured
