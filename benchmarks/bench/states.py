"""Makes a state of Claude Code of a given size, in the client's own forms.

Everything comes from a seeded generator: the same shape gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MB = 1_000_000
KB = 1_000
PRIVATE = 0o600
FIRST_MOMENT = 1_780_000_000_000  # milliseconds, as in the client's files

TEXT = """
the build fails again please fix tests in parser module and add a check for empty input rename
function move code explain why cache is stale after restart write docs update café menu naïve größe
überprüfen 値段 メニュー refactor remove unused import run linter show diff commit
"""
WORDS = TEXT.split()


@dataclass(frozen=True)
class Shape:
    """How large each part of a state is."""

    history: int = 1 * MB  # bytes
    share: float = 5.0  # per cent of the history's lines that are the moved project's
    transcripts: int = 3
    others: int = (
        20  # other projects, each with a directory, an entry in the config and prompts
    )
    config_size: int = (
        0  # old clients kept prompts in the config file: filled up to this
    )
    each: int = 1  # transcripts of each other project
    nested: int = 0  # projects below the moved one, each with an index: they move, too
    large: int = 10 * KB  # bytes of each transcript of the moved project
    index: int = 0  # entries of sessions-index.json; 0: no such file


@dataclass(frozen=True)
class Places:
    """Where things are. The state is always at `home` when a tool runs, so paths in it
    hold.
    """

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def old(self) -> Path:
        return self.root / "code" / "cafe-menu"

    @property
    def new(self) -> Path:
        return self.root / "code" / "bistro-menu"


@dataclass(frozen=True)
class Truth:
    """What a right move makes of a state; every tool is held against it."""

    lines: int  # of the history
    moving: int  # lines of the moved project
    history_sha256: str  # of the history after the move
    transcripts: tuple[str, ...]  # names


def encoded(path: str) -> str:
    """The client's name for the directory of a project (these paths are short and
    plain).
    """
    return re.sub("[^A-Za-z0-9]", "-", path)


def parts(shape: Shape) -> list[str]:
    """The folders of the nested projects, in OLD or in NEW."""
    return [f"part-{number:04}" for number in range(shape.nested)]


def make(home: Path, shape: Shape, places: Places) -> Truth:
    """Write a whole state below `home`, as it would be found at `places.home`."""
    dice = random.Random(20261116)
    config_dir = home / ".claude"
    config_dir.mkdir(parents=True, mode=0o700)
    others = [
        str(places.root / "code" / f"project-{number:04}")
        for number in range(shape.others)
    ]
    for path in others:
        _make_project(config_dir, path, shape.each, 2 * KB, dice)
    names = _make_project(
        config_dir, str(places.old), shape.transcripts, shape.large, dice
    )
    nested = [f"{places.old}/{name}" for name in parts(shape)]
    for path in nested:
        _make_project(config_dir, path, 1, 2 * KB, dice)
        _write_index(config_dir, path, 1, places, dice)
    if shape.index:
        _write_index(config_dir, str(places.old), shape.index, places, dice)
    _write_config(home / ".claude.json", shape, [*others, *nested], places, dice)
    lines, moving, digest = _write_history(
        config_dir / "history.jsonl", shape, others, places, dice
    )
    return Truth(lines, moving, digest, names)


def _dumps(value: Any) -> str:
    """JSON as the client's JSON.stringify spells it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _write(path: Path, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
    os.chmod(path, PRIVATE)


def _uuid(dice: random.Random) -> str:
    return str(uuid.UUID(int=dice.getrandbits(128), version=4))


# -- projects ------------------------------------------------------------------------------


def _make_project(
    config_dir: Path, path: str, transcripts: int, size: int, dice: random.Random
) -> tuple[str, ...]:
    directory = config_dir / "projects" / encoded(path)
    directory.mkdir(parents=True, mode=0o700)
    names = []
    for _ in range(transcripts):
        session = _uuid(dice)
        names.append(f"{session}.jsonl")
        _write_transcript(directory / names[-1], session, path, size, dice)
    return tuple(sorted(names))


def _write_transcript(
    path: Path, session: str, cwd: str, size: int, dice: random.Random
) -> None:
    """Records of a conversation until the file has its size."""
    block = "".join(
        _record(session, cwd, dice) for _ in range(min(100, 1 + size // 1000))
    )
    data = block.encode()
    first = (
        _dumps({"type": "mode", "mode": "normal", "sessionId": session}).encode()
        + b"\n"
    )
    with open(path, "xb") as file:
        written = file.write(first)
        while written < size:
            written += file.write(data)
    os.chmod(path, PRIVATE)


def _record(session: str, cwd: str, dice: random.Random) -> str:
    record = {
        "parentUuid": _uuid(dice),
        "isSidechain": False,
        "type": "user",
        "message": {"role": "user", "content": _sentence(dice, 90)},
        "uuid": _uuid(dice),
        "timestamp": "2026-11-16T00:40:30.549Z",
        "userType": "external",
        "cwd": cwd,
        "sessionId": session,
        "version": "2.1.325",
        "gitBranch": "main",
    }
    return _dumps(record) + "\n"


def _sentence(dice: random.Random, longest: int) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(2, longest)))


def _write_index(
    config_dir: Path, path: str, entries: int, places: Places, dice: random.Random
) -> None:
    """An index as 2.1.23 writes it."""
    directory = encoded(path)
    listed = []
    for _ in range(entries):
        session = _uuid(dice)
        listed.append(
            {
                "sessionId": session,
                "fullPath": f"{places.home}/.claude/projects/{directory}/{session}.jsonl",
                "fileMtime": FIRST_MOMENT + dice.randrange(10**9),
                "firstPrompt": _sentence(dice, 30),
                "summary": _sentence(dice, 8),
                "messageCount": dice.randrange(2, 200),
                "created": "2026-11-16T00:40:30.549Z",
                "modified": "2026-11-16T00:40:37.353Z",
                "gitBranch": "main",
                "projectPath": path,
                "isSidechain": False,
            }
        )
    document = {"version": 1, "entries": listed, "originalPath": path}
    text = json.dumps(document, ensure_ascii=False, indent=2)
    _write(config_dir / "projects" / directory / "sessions-index.json", text.encode())


# -- the config file -----------------------------------------------------------------------


def _write_config(
    path: Path, shape: Shape, others: list[str], places: Places, dice: random.Random
) -> None:
    known = [*others, str(places.old)]
    room = shape.config_size // len(known)
    document = {
        "numStartups": 412,
        "theme": "dark",
        "hasCompletedOnboarding": True,
        "projects": {project: _config_entry(room, dice) for project in known},
        "githubRepoPaths": {"someone/cafe-menu": [str(places.old)]},
    }
    _write(path, json.dumps(document, ensure_ascii=False, indent=2).encode())


def _config_entry(room: int, dice: random.Random) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "allowedTools": ["Bash(make test)"],
        "mcpContextUris": [],
        "mcpServers": {},
        "enabledMcpjsonServers": [],
        "disabledMcpjsonServers": [],
        "hasTrustDialogAccepted": True,
        "projectOnboardingSeenCount": 4,
        "lastCost": round(dice.random(), 17),
        "lastDuration": dice.randrange(10**6),
        "lastModelUsage": {"synthetic-model": {"inputTokens": 10, "outputTokens": 5}},
    }
    prompts: list[dict[str, Any]] = []
    filled = 0
    while filled < room:
        prompts.append({"display": _sentence(dice, 60), "pastedContents": {}})
        filled += len(prompts[-1]["display"].encode()) + 90  # with its indented frame
    if prompts:
        entry["history"] = prompts
    return entry


# -- the history ---------------------------------------------------------------------------


def _write_history(
    path: Path, shape: Shape, others: list[str], places: Places, dice: random.Random
) -> tuple[int, int, str]:
    digest = hashlib.sha256()
    size = lines = moving = 0
    with open(path, "xb", buffering=1 << 20) as file:
        for before, after in _history_lines(shape, others, places, dice):
            file.write(before)
            digest.update(after)
            size += len(before)
            lines += 1
            moving += before != after
            if size >= shape.history:
                break
    os.chmod(path, PRIVATE)
    return lines, moving, digest.hexdigest()


def _history_lines(
    shape: Shape, others: list[str], places: Places, dice: random.Random
) -> Iterator[tuple[bytes, bytes]]:
    """Lines without end, each before and after the move; the first one is the moved
    project's.

    A tenth of what moves is in a nested folder. A neighbour whose name only begins like
    OLD's must stay; it has one line in a hundred.
    """
    old, new = str(places.old), str(places.new)
    ours = [(old, new)] * 9 + [(f"{old}/packages/api", f"{new}/packages/api")]
    theirs = others or ["/elsewhere/project"]
    heads = [head.encode() for head in _prompts(old, dice)]
    session = _uuid(dice)
    moment = FIRST_MOMENT
    moves = True
    while True:
        head = dice.choice(heads)
        moment += 61_003
        tail = f',"sessionId":"{session}"}}\n'
        if moves:
            before, after = dice.choice(ours)
        else:
            before = after = (
                dice.choice(theirs) if dice.random() < 0.99 else f"{old}-docker"
            )
        start = head + f',"timestamp":{moment},"project":'.encode()
        yield start + f'"{before}"{tail}'.encode(), start + f'"{after}"{tail}'.encode()
        moves = dice.random() * 100 < shape.share
        if not moment % 20:
            session = _uuid(dice)


def _prompts(old: str, dice: random.Random) -> list[str]:
    """Openings of lines: short prompts, some of several lines, some with quotes, a few
    pastes.
    """
    found = []
    for number in range(2000):
        text = _sentence(dice, 24)
        if number % 5 == 0:
            text += f'\n{_sentence(dice, 20)}\n"{_sentence(dice, 5)}"'
        if number % 400 == 1:
            text += "\u001b[0m"  # a pasted escape: the client writes \u001b
        if number % 500 == 2:
            text += f" see {old}/README.md"
        pasted: dict[str, Any] = {}
        if number % 100 == 3:
            content = "\n".join(_sentence(dice, 20) for _ in range(40))
            pasted = {"1": {"id": 1, "type": "text", "content": content}}
        found.append(_dumps({"display": text, "pastedContents": pasted})[:-1])
    return found
