"""What is run: ccmove, plain commands on the same file, and other tools; and what each
achieved.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.states import Places, Truth, encoded

Argv = Callable[
    [Places, Path], list[str]
]  # (places, the state as it was made) -> command
Judge = Callable[[Places, Path, Truth], str]  # what it left undone, in words


@dataclass(frozen=True)
class Contender:
    """A command. One that works in a home gets a fresh copy of the state as its home
    each time.
    """

    name: str
    argv: Argv
    in_a_home: bool = False
    before: Argv | None = None  # what is to be run before the clock starts
    may_end: tuple[int, ...] = (0,)  # with these exit codes it did its work
    judge: Judge | None = None
    most_rounds: int | None = (
        None  # no goal depends on it, and it is slow: not in every round
    )


def environment(places: Places) -> dict[str, str]:
    """The same small environment for all; a proxy that refuses keeps everyone off the
    network.
    """
    nowhere = "http://127.0.0.1:9"
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(places.home),
        "TMPDIR": str(places.root),
        "LANG": "C.UTF-8",
        "http_proxy": nowhere,
        "https_proxy": nowhere,
    }


# -- plain commands --------------------------------------------------------------------------


def copy_of(places: Places) -> Path:
    """Where a plain command writes its result."""
    return places.root / "copy.jsonl"


def _shell(script: str, *more: str) -> Argv:
    """$1 is the history and $2 the result, which is flushed to disk as ccmove's is."""

    def argv(places: Places, made: Path) -> list[str]:
        history = str(made / ".claude" / "history.jsonl")
        filled = [word.format(old=places.old, new=places.new) for word in more]
        return ["sh", "-c", script, "sh", history, str(copy_of(places)), *filled]

    return argv


def judge_copy(places: Places, _: Path, truth: Truth) -> str:
    return judge_history(copy_of(places), places, truth)


COPY = Contender("cp && sync", _shell('cp "$1" "$2" && sync "$2"'))

# The least that a look at all projects and all prompts costs.
LOOK = Contender(
    "ls -lR && wc -l",
    lambda places, _: [
        "sh", "-c", 'ls -lR "$1/projects" && wc -l "$1/history.jsonl"', "sh",
        str(places.home / ".claude"),
    ],
    in_a_home=True,
)  # fmt: skip

SED = Contender(
    "sed",
    _shell(
        'sed "$3" "$1" > "$2" && sync "$2"',
        r's|"project":"{old}\(["/]\)|"project":"{new}\1|',
    ),
    judge=judge_copy,
)

JQ = Contender(
    "jq",
    _shell(
        'jq -c --arg old "$3" --arg new "$4" "$5" "$1" > "$2" && sync "$2"',
        "{old}",
        "{new}",
        'if .project == $old or (.project | startswith($old + "/")) '
        "then .project |= $new + .[($old | length):] else . end",
    ),
    judge=judge_copy,
    most_rounds=3,
)

# -- tools that move the whole state -----------------------------------------------------------


def tool(
    name: str,
    program: Path,
    *before: str,
    after: tuple[str, ...] = (),
    most: int | None = None,
) -> Contender:
    """A program that is given OLD and NEW."""

    def argv(places: Places, _: Path) -> list[str]:
        return [str(program), *before, str(places.old), str(places.new), *after]

    return Contender(name, argv, in_a_home=True, judge=judge_state, most_rounds=most)


def command(program: Path, name: str) -> Contender:
    """One of ccmove's commands, by the name that the tables have for it."""

    def words(*words: str) -> Argv:
        return lambda places, _: [
            str(program),
            *(word.format(old=places.old, new=places.new) for word in words),
        ]

    move = words("{old}", "{new}")
    if name == "preview":
        return Contender(name, words("-n", "{old}", "{new}"), in_a_home=True)
    if name == "undo":
        return Contender(name, words("undo"), in_a_home=True, before=move)
    if name == "doctor":  # which finds that every project is lost
        return Contender(name, words("doctor"), in_a_home=True, may_end=(1,))
    if name == "list":
        return Contender(name, words("list"), in_a_home=True)
    return Contender(name, move, in_a_home=True, judge=judge_state)


# -- the start of a session --------------------------------------------------------------------

BARE, WITH_SESSIONS, RENAMED = (
    "python -c pass",
    "hook, a folder with sessions",
    "hook, a renamed folder",
)
CONFIG = '[remote "origin"]\n\turl = git@github.com:someone/cafe-menu.git'


def at_start(name: str, programs: Path) -> Contender:
    """What a shell runs with the event of a session's start on standard input."""
    words = [str(programs / "python"), "-c", "pass"]
    if name != BARE:
        words = [str(programs / "ccmove"), "hook"]

    def argv(places: Places, _: Path) -> list[str]:
        folder = places.new if name == RENAMED else places.old
        directory = places.home / ".claude" / "projects" / encoded(str(folder))
        session = "11111111-2222-4333-8444-555555555555"
        event = {
            "session_id": session,
            "transcript_path": str(directory / f"{session}.jsonl"),
            "cwd": str(folder),
            "hook_event_name": "SessionStart",
            "source": "startup",
        }
        script = 'event=$1; shift; printf %s "$event" | "$@"'
        return ["sh", "-c", script, "sh", json.dumps(event), *words]

    def make_checkout(places: Places, _: Path) -> list[str]:
        script = 'mkdir "$1/.git" && printf %s "$2" > "$1/.git/config"'
        return ["sh", "-c", script, "sh", str(places.new), CONFIG]

    return Contender(name, argv, in_a_home=True, before=make_checkout)


def is_available(program: str) -> bool:
    return shutil.which(program) is not None


# -- what was achieved -------------------------------------------------------------------------


def judge_state(places: Places, made: Path, truth: Truth) -> str:
    """What a right move would have done otherwise; empty when nothing is left to say."""
    config_dir = places.home / ".claude"
    found = [
        judge_history(config_dir / "history.jsonl", places, truth),
        _judge_transcripts(config_dir, places, made, truth),
        _judge_config(places),
        _judge_index(config_dir, places),
    ]
    return "; ".join(text for text in found if text)


def judge_history(path: Path, places: Places, truth: Truth) -> str:
    """How many lines still name OLD; or else, whether every other byte is what it
    should be.
    """
    digest = hashlib.sha256()
    stale = tuple(f'"project":"{places.old}{end}'.encode() for end in ('"', "/"))
    spaced = tuple(text.replace(b'":"', b'": "') for text in stale)
    lines = missed = 0
    with open(path, "rb") as file:
        for line in file:
            digest.update(line)
            lines += 1
            missed += any(text in line for text in (*stale, *spaced))
    if digest.hexdigest() == truth.history_sha256:
        return ""
    if missed:
        return f"{missed:,} of {truth.moving:,} history lines missed"
    if lines != truth.lines:
        return f"the history has {lines:,} lines instead of {truth.lines:,}"
    return "history: other bytes changed too"


def _judge_transcripts(
    config_dir: Path, places: Places, made: Path, truth: Truth
) -> str:
    before = made / ".claude" / "projects" / encoded(str(places.old))
    after = config_dir / "projects" / encoded(str(places.new))
    missing = [name for name in truth.transcripts if not (after / name).is_file()]
    if missing:
        return f"{len(missing):,} of {len(truth.transcripts):,} transcripts not moved"
    touched = sum(_touched(before / name, after / name) for name in truth.transcripts)
    return f"{touched:,} transcripts rewritten" if touched else ""


def _touched(before: Path, after: Path) -> bool:
    one, other = before.stat(), after.stat()
    return (one.st_size, one.st_mtime_ns) != (other.st_size, other.st_mtime_ns)


def _judge_config(places: Places) -> str:
    with open(places.home / ".claude.json", encoding="utf-8") as file:
        config = json.load(file)
    known = str(places.old) in config["projects"]
    return (
        "config file not moved"
        if known or str(places.new) not in config["projects"]
        else ""
    )


def _judge_index(config_dir: Path, places: Places) -> str:
    path = config_dir / "projects" / encoded(str(places.new)) / "sessions-index.json"
    if not path.is_file():
        return ""
    with open(path, encoding="utf-8") as file:
        entries = json.load(file)["entries"]
    stale = sum(
        entry["projectPath"] != str(places.new)
        or encoded(str(places.old)) in entry["fullPath"]
        for entry in entries
    )
    return f"{stale:,} of {len(entries):,} index entries stale" if stale else ""
