"""Which states are measured, and against whom."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.contenders import COPY, JQ, SED, Contender, is_available, json_load, plain, tool
from bench.rounds import Case, Group
from bench.states import MB, Shape


@dataclass(frozen=True)
class Scale:
    """How large and how often; `quick` only shows that everything runs."""

    history: tuple[tuple[int, int], ...]  # megabytes, rounds
    shares: tuple[float, ...]  # per cent of its lines that move; the goals speak of 5
    small: int  # megabytes: of these the goals speak
    large: int
    huge: int
    transcripts: tuple[int, ...]
    large_transcript: int  # megabytes
    others: tuple[int, ...]
    config: int  # megabytes
    config_projects: int
    index: int
    rounds: int
    startup_rounds: int


FULL = Scale(
    history=((1, 9), (10, 21), (150, 11), (600, 3)),
    shares=(0.1, 5.0, 60.0),
    small=10,
    large=150,
    huge=600,
    transcripts=(1, 100, 1000, 5000),
    large_transcript=300,
    others=(0, 100, 2000),
    config=20,
    config_projects=500,
    index=5000,
    rounds=15,
    startup_rounds=25,
)
QUICK = Scale(
    history=((1, 1), (2, 1), (3, 1)),
    shares=(5.0,),
    small=1,
    large=2,
    huge=3,
    transcripts=(1, 100),
    large_transcript=20,
    others=(0, 100),
    config=2,
    config_projects=50,
    index=500,
    rounds=1,
    startup_rounds=3,
)


@dataclass(frozen=True)
class Programs:
    """Where ccmove and the other tools were installed."""

    ccmove: Path  # directory of programs
    others: tuple[Contender, ...] = ()

    @property
    def move(self) -> Contender:
        return tool("ccmove", self.ccmove / "ccmove")

    @property
    def version(self) -> Contender:
        return plain("ccmove --version", str(self.ccmove / "ccmove"), "--version")

    @property
    def help(self) -> Contender:
        return plain("ccmove --help", str(self.ccmove / "ccmove"), "--help")

    @property
    def import_click(self) -> Contender:
        return plain("import click", str(self.ccmove / "python"), "-c", "import click")

    def movers(self) -> tuple[Contender, ...]:
        """Everyone who is to change the history, the copy that all are held against first."""
        commands = [c for c in (SED, JQ) if is_available(c.name)]
        return (COPY, self.move, *commands, *self.others)


def history_label(megabytes: int, share: float) -> str:
    return f"{megabytes} MB, {share:g} %"


def groups(scale: Scale, programs: Programs) -> list[Group]:
    return [
        startup(scale, programs),
        *histories(scale, programs),
        transcripts(scale, programs),
        other_projects(scale, programs),
        config(scale, programs),
        index(scale, programs),
    ]


def startup(scale: Scale, programs: Programs) -> Group:
    commands = (programs.import_click, programs.help, programs.version)
    cases = tuple(Case("", Shape(), command) for command in commands)
    return Group("start", cases, scale.startup_rounds)


def histories(scale: Scale, programs: Programs) -> list[Group]:
    """One group a state: everyone runs on the same file in the same minute."""
    found = []
    for megabytes, rounds in scale.history:
        for share in scale.shares:
            label = history_label(megabytes, share)
            shape = Shape(history=megabytes * MB, share=share)
            contenders = (*programs.movers(), programs.version)
            cases = tuple(Case(label, shape, contender) for contender in contenders)
            found.append(Group(f"history {label}", cases, rounds))
    return found


def transcripts(scale: Scale, programs: Programs) -> Group:
    """Many of them, and a large one: only their directory is renamed."""
    cases = [
        Case(f"{number:,}", Shape(transcripts=number), programs.move)
        for number in scale.transcripts
    ]
    large = Shape(transcripts=1, transcript_size=scale.large_transcript * MB)
    cases.append(Case(f"1 of {scale.large_transcript} MB", large, programs.move))
    return Group("transcripts", tuple(cases), scale.rounds)


def other_projects(scale: Scale, programs: Programs) -> Group:
    cases = tuple(
        Case(f"{number:,}", Shape(others=number), programs.move) for number in scale.others
    )
    return Group("other projects", cases, scale.rounds)


def config(scale: Scale, programs: Programs) -> Group:
    large = Shape(config_projects=scale.config_projects, config_size=scale.config * MB)
    load = json_load(programs.ccmove, ".claude.json")
    return _added("config file", f"{scale.config} MB", large, load, scale, programs)


def index(scale: Scale, programs: Programs) -> Group:
    large = Shape(index=scale.index)
    load = json_load(programs.ccmove, ".claude/projects/{name}/sessions-index.json")
    return _added("index", f"{scale.index:,} entries", large, load, scale, programs)


def _added(
    name: str, label: str, large: Shape, load: Contender, scale: Scale, programs: Programs
) -> Group:
    """With and without one large file, and what reading that file as JSON takes."""
    cases = (
        Case("without", Shape(), programs.move),
        Case(label, large, programs.move),
        Case(label, large, load),
    )
    return Group(name, cases, scale.rounds)
