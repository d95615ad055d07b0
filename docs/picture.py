"""Draws the README's pictures from a real run of the demo: `make picture`.

The only things replaced are the random names of the run (its directory, the IDs of its
backups), by others of the same length: so a picture changes only when the output does,
and a test can tell.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from ccmove.cli.demo import play, sample_home, type_command
from ccmove.report.console import Printer

WIDTH = 84
FIXED = ((r"ccmove-demo-[a-z0-9_-]{8}", "ccmove-demo-3k7x1q9z"),
         (r"\d{8}T\d{6}Z-[0-9a-f]{4}", "20261116T004112Z-3f9c"))  # fmt: skip


def short(printer: Printer) -> None:
    """What one sees on the day the folder was renamed."""
    old, new = "~/code/cafe-menu", "~/code/bistro-menu"
    with sample_home():
        type_command(f"mv {old} {new}", printer)
        for command in (f"ccmove {old} {new}", f"ccmove verify {new}"):
            printer.lines([[]])
            type_command(command, printer)


PICTURES: dict[str, Callable[[Printer], None]] = {"move.svg": short, "demo.svg": play}


def draw(name: str) -> str:
    """One picture as SVG."""
    console = Console(
        record=True,
        width=WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        highlight=False,
    )
    PICTURES[name](Printer(console=console))
    svg = console.export_svg(title="ccmove", unique_id="ccmove")
    # A picture in a page may not load a font from elsewhere: the reader's own will do.
    svg = re.sub(r"\s*@font-face \{.*?\}\n", "", svg, flags=re.DOTALL)
    svg = svg.replace(
        "Fira Code, monospace", "Menlo, Consolas, DejaVu Sans Mono, monospace"
    )
    svg = svg.replace(
        "<svg ", '<svg xml:space="preserve" ', 1
    )  # some programs drop indents else
    for pattern, fixed in FIXED:
        svg = re.sub(pattern, fixed, svg)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


if __name__ == "__main__":
    for picture in PICTURES:
        Path(sys.argv[1], picture).write_text(draw(picture), encoding="utf-8")
