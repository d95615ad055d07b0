"""What an error says is to be done next, as it would be printed."""

import os
from pathlib import Path

from ccmove.errors import CcmoveError
from ccmove.hints import Asked, in_words


def hint_of(error: CcmoveError, asked: Asked | None = None) -> str:
    """All hints of an error, one a line."""
    return "\n".join(
        ": ".join(filter(None, in_words(hint, asked))) for hint in error.hints
    )


def look_for(text: str, where: Path, *, in_directory: bool = False) -> str:
    """The command that shows where something still names the old path."""
    if os.name != "nt":
        return f"grep -rnF {text} {where}"
    files = f'"{where}\\*"' if in_directory else where
    name = Path(text.strip("'")).name
    return f"findstr /s /n /i /c:{name} {files}"


def commands(hint: str) -> list[str]:
    """The commands of what a report has as its hint, each as it would be typed."""
    return [line.rpartition(": ")[2] for line in hint.splitlines()]
