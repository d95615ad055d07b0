"""Which states are measured, and against whom."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bench.contenders import (
    BARE,
    COPY,
    JQ,
    LOOK,
    RENAMED,
    SED,
    WITH_SESSIONS,
    Contender,
    at_start,
    command,
    is_available,
    tool,
)
from bench.rounds import Case, Group
from bench.states import MB, Shape
from bench.transfer import PACKING, UNPACKING, packers, unpackers

TYPICAL = "typical"
MANY = "projects in one move"
COMMANDS = ("preview", "move", "undo", "list", "doctor")
GROWTH = tuple(f"growth of projects: {name}" for name in COMMANDS)
LARGE = "preview of a large state"
HOOK = "hook at the start of a session"
GROWING = ("transcripts", "other projects", "megabytes of history")
KB = 1_000
PACKED_SESSIONS = 40


@dataclass(frozen=True)
class Scale:
    """How large and how often; `quick` only shows that everything runs."""

    history: tuple[tuple[int, int], ...]  # megabytes, rounds
    shares: tuple[float, ...]  # per cent of its lines that move; the goals speak of 5
    large: int  # megabytes: of these the goals speak
    huge: int
    transcripts: tuple[int, ...]
    others: tuple[int, ...]
    megabytes: tuple[int, ...]  # of history
    nested: int  # projects in one move
    projects: tuple[int, ...]  # in one move, for each command
    beside: int  # projects in all where one is moved,
    each: int  # each of them with so many transcripts,
    beside_megabytes: int  # and so much history
    packed: int  # megabytes of transcripts that are packed and unpacked
    rounds: int

    @property
    def shares_of_one(self) -> tuple[float, float]:
        """Per cent of all prompts that one project has: a favourite, and the average."""
        return 5.0, round(100 / self.beside, 2)


FULL = Scale(
    history=((10, 5), (150, 5), (600, 2)),
    shares=(5.0, 60.0),
    large=150,
    huge=600,
    transcripts=(1, 1000, 5000),
    others=(0, 500, 2000),
    megabytes=(10, 100, 200),
    nested=3000,
    projects=(250, 1000, 3000),
    beside=3000,
    each=7,
    beside_megabytes=300,
    packed=512,
    rounds=7,
)
QUICK = Scale(
    history=((1, 1), (2, 1)),
    shares=(5.0,),
    large=1,
    huge=2,
    transcripts=(1, 50, 100),
    others=(0, 50, 100),
    megabytes=(1, 2, 3),
    nested=30,
    projects=(5, 10, 20),
    beside=30,
    each=2,
    beside_megabytes=1,
    packed=2,
    rounds=1,
)


@dataclass(frozen=True)
class Programs:
    """Where ccmove and the other tools were installed."""

    ccmove: Path  # directory of programs
    others: tuple[Contender, ...] = ()
    portage: Path | None = None  # a tool that packs, if it could be had

    @property
    def move(self) -> Contender:
        return tool("ccmove", self.ccmove / "ccmove")

    def movers(self) -> tuple[Contender, ...]:
        """Everyone who is to change the history, the copy that all are held against
        first.
        """
        commands = [c for c in (SED, JQ) if is_available(c.name)]
        return (COPY, self.move, *commands, *self.others)


def history_label(megabytes: int, share: float) -> str:
    return f"{megabytes} MB, {share:g} %"


def groups(scale: Scale, programs: Programs) -> list[Group]:
    return [
        typical(scale, programs),
        *histories(scale, programs),
        growing("transcripts", scale.transcripts, scale, programs),
        growing("other projects", scale.others, scale, programs),
        growing("megabytes of history", scale.megabytes, scale, programs),
        many(scale, programs),
        *growth(scale, programs),
        large_state(scale, programs),
        hook(scale, programs),
        *transfer(scale, programs),
    ]


def typical(scale: Scale, programs: Programs) -> Group:
    """What many people have: against the tools that move a whole state."""
    shape = Shape(history=10 * MB, transcripts=300, others=40, config_size=300 * KB)
    others = (replace(other, most_rounds=None) for other in programs.others)
    contenders = (programs.move, *others)
    return Group(
        TYPICAL, tuple(Case(TYPICAL, shape, c) for c in contenders), scale.rounds
    )


def histories(scale: Scale, programs: Programs) -> list[Group]:
    """One group a state: everyone runs on the same file in the same minute."""
    found = []
    for megabytes, rounds in scale.history:
        for share in scale.shares:
            label = history_label(megabytes, share)
            shape = Shape(history=megabytes * MB, share=share)
            # Others take minutes for the largest one, of which no goal compares the
            # time.
            movers = (
                programs.movers() if megabytes < scale.huge else (COPY, programs.move)
            )
            cases = tuple(Case(label, shape, contender) for contender in movers)
            found.append(Group(f"history {label}", cases, rounds))
    return found


def many(scale: Scale, programs: Programs) -> Group:
    """A folder with very many projects in it: what matters is how long the client waits."""
    case = Case(f"{scale.nested:,}", Shape(nested=scale.nested), programs.move)
    return Group(MANY, (case,), min(2, scale.rounds))


def growing(
    what: str, sizes: tuple[int, ...], scale: Scale, programs: Programs
) -> Group:
    """The same move with more and more of one thing."""
    shapes = {
        "transcripts": lambda size: Shape(transcripts=size),
        "other projects": lambda size: Shape(others=size),
        "megabytes of history": lambda size: Shape(history=size * MB),
    }
    cases = tuple(
        Case(f"{size:,}", shapes[what](size), programs.move) for size in sizes
    )
    return Group(what, cases, scale.rounds)


def growth(scale: Scale, programs: Programs) -> list[Group]:
    """Each command with more and more projects in the folder that moved."""
    made = []
    for group, name in zip(GROWTH, COMMANDS, strict=True):
        contender = command(programs.ccmove / "ccmove", name)
        cases = [
            Case(f"{size:,}", Shape(nested=size, others=0), contender)
            for size in scale.projects
        ]
        made.append(Group(group, tuple(cases), min(3, scale.rounds)))
    return made


def large_state(scale: Scale, programs: Programs) -> Group:
    """What a look at everything costs at least, and the preview of one project's move."""
    contenders = (LOOK, command(programs.ccmove / "ccmove", "preview"))
    cases = []
    for share in scale.shares_of_one:
        shape = Shape(
            history=scale.beside_megabytes * MB,
            share=share,
            transcripts=scale.each,
            others=scale.beside - 1,
            each=scale.each,
        )
        label = f"{share:g} % of the prompts:"
        cases += [Case(label, shape, contender) for contender in contenders]
    return Group(LARGE, tuple(cases), min(5, scale.rounds))


def hook(scale: Scale, programs: Programs) -> Group:
    """What Claude Code's start is held up by, against Python that does nothing."""
    shape = Shape(others=scale.beside - 1)
    cases = []
    for name in (BARE, WITH_SESSIONS, RENAMED):
        contender = at_start(name, programs.ccmove)
        cases.append(Case(f"{scale.beside:,} projects:", shape, contender))
    return Group(HOOK, tuple(cases), scale.rounds)


def transfer(scale: Scale, programs: Programs) -> list[Group]:
    """Packing a project, and unpacking it on a machine without any state."""
    size = scale.packed * MB // PACKED_SESSIONS
    shape = Shape(transcripts=PACKED_SESSIONS, large=size, others=0)
    program = programs.ccmove / "ccmove"
    teams = {
        PACKING: packers(program, programs.portage),
        UNPACKING: unpackers(program, programs.portage),
    }
    made = []
    for group, contenders in teams.items():
        cases = [Case(f"{scale.packed} MB", shape, who) for who in contenders]
        made.append(Group(group, tuple(cases), min(3, scale.rounds)))
    return made
