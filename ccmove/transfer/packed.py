"""What was packed, or would be, as frozen data."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from ccmove.claude.layout import Layout
from ccmove.transfer.collect import LeftOut
from ccmove.transfer.gather import Packing
from ccmove.transfer.roles import TRANSCRIPTS


@dataclass(frozen=True, slots=True)
class PackedAmount:
    """What of one project is in an archive."""

    path: str
    sessions: int
    size: int  # of its transcripts
    prompts: int
    notes: int
    has_config: bool
    files: int  # in all


@dataclass(frozen=True, slots=True)
class Packed:
    """The outcome of packing."""

    status: str  # packed or planned
    config_dir: str
    path: str | None  # that was asked for; None: all
    projects: tuple[PackedAmount, ...]
    files: int
    total: int  # bytes of all files
    left_out: tuple[LeftOut, ...]
    secrets: tuple[str, ...]
    warnings: tuple[str, ...]
    file: str | None = None  # None: standard output
    size: int | None = None  # of the archive
    apply: str | None = None


def summary_of(packing: Packing, layout: Layout, path: str | None) -> Packed:
    """What this archive has."""
    sizes: Counter[int] = Counter()
    numbers: dict[int, Counter[str]] = defaultdict(Counter)
    for member in packing.header.members:
        part = member.part
        numbers[part.project][part.role] += 1
        if part.role in TRANSCRIPTS:
            sizes[part.project] += member.size
    projects = []
    for number, project in enumerate(packing.header.projects, 1):
        roles = numbers[number]
        amount = PackedAmount(
            project.path,
            sessions=roles["transcript"],
            size=sizes[number],
            prompts=_prompts_of(packing, project.path),
            notes=roles["memory"],
            has_config=roles["config"] > 0,
            files=roles.total(),
        )
        projects.append(amount)
    return Packed(
        "packed",
        str(layout.config_dir),
        path,
        tuple(projects),
        len(packing.header.members),
        packing.header.size,
        packing.left_out,
        packing.secrets,
        packing.warnings,
    )


def _prompts_of(packing: Packing, path: str) -> int:
    prompts = packing.prompts.found.get(path)
    if prompts is not None:
        return prompts.number
    return 0
