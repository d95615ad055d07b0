"""`ccmove demo`: the real commands on sample data,
in a temporary home that is always removed.
"""

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ccmove.claude.naming import encode
from ccmove.cli import options
from ccmove.cli.boundary import Answer, Call, find_answer, text_answer
from ccmove.cli.main import app
from ccmove.errors import CcmoveError
from ccmove.hints import Asked
from ccmove.report.console import Printer
from ccmove.run.signals import termination_as_interrupt

OLD = "code/cafe-menu"
PROMPTS = (
    (OLD, "add a dessert section to the menu"),
    (OLD, "prices should show the euro sign"),
    (f"{OLD}/packages/core", "why does the print view cut off the last dish?"),
    (f"{OLD}-docker", "prices should show the euro sign"),
)
TURNS = 100  # of each session
CHECKED = ("good", "checked: ")
YOURS = "ccmove --dry-run OLD NEW"
STEPS = {  # each command, and what it shows
    "mv ~/code/cafe-menu ~/code/bistro-menu": (
        "Rename the folder: now Claude Code has no session to resume there, no "
        "prompts, no memory, no trust."
    ),
    "ccmove --dry-run ~/code/cafe-menu ~/code/bistro-menu": (
        "Preview: what would change. Transcripts are never rewritten, only their "
        "directory is renamed."
    ),
    "ccmove ~/code/cafe-menu ~/code/bistro-menu": (
        "Move, all or nothing: files are backed up, the change is journaled, "
        "applied, then verified."
    ),
    "ccmove verify ~/code/bistro-menu": (
        "Verify: the move has verified itself; this checks all data again."
    ),
    "ccmove undo": (
        "Undo: every move can be undone. If you kept working in between, it keeps "
        "the new sessions."
    ),
}


@options.command("demo", Asked)
def demo_command(call: Call, _: Asked) -> Answer:
    """Show the whole cycle on sample data in a temporary directory."""
    try:
        play(call.printer)
    except OSError as error:  # as where a result is printed: who reads a pipe may stop
        if error.errno not in (errno.EPIPE, errno.EINVAL):
            raise
    return text_answer("")


def play(printer: Printer) -> None:
    """The whole cycle, each step checked on disk."""
    where = "On sample data in a temporary directory; your own home is not looked at."
    printer.say([("title", "ccmove demo")], [where])
    with sample_home() as home:
        originals = transcripts(home)
        texts = documents(home)
        for number, (command, meaning) in enumerate(STEPS.items(), 1):
            label = ("reverse", f" {number} ")
            printer.say([], [label, f" {meaning}"], [])
            type_command(command, printer)
            if transcripts(home) != originals:
                what = f"the demo failed at: {command}; a transcript has changed"
                raise CcmoveError(what)
            same = f"{len(originals)} transcripts: same file, same bytes, same date"
            printer.say([CHECKED, same])
        if documents(home) != texts:
            raise CcmoveError("the demo failed: the original bytes are not back")
        printer.say([CHECKED, "config file and history: the original bytes"])
    removed = ("good", "The temporary directory has been removed.")
    printer.say([], [removed], ["Your turn: ", ("command", YOURS)])


def type_command(command: str, printer: Printer) -> None:
    """Do it, and show what it says."""
    printer.say([("dim", "$ "), ("command", command)])
    program, *typed = command.split()
    words = [os.path.expanduser(word) for word in typed]
    if program == "mv":
        os.rename(*words)
        return
    call = Call(words, printer)
    answer = find_answer(app, call)
    answer.show(printer)
    if answer.exit_code != 0:
        raise CcmoveError(f"the demo failed at: {command}")


@contextlib.contextmanager
def sample_home() -> Iterator[Path]:
    """A home with sample data,
    which every command finds in the place of the user's own.
    """
    environment = dict(os.environ)
    with (
        termination_as_interrupt(),
        tempfile.TemporaryDirectory(prefix="ccmove-demo-") as directory,
    ):
        home = Path(os.path.realpath(directory))
        os.environ.pop("CLAUDE_CONFIG_DIR", None)
        os.environ.update(HOME=str(home), USERPROFILE=str(home))
        try:
            for path, text in _sample(home).items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text.encode())
            yield home
        finally:
            os.environ.clear()
            os.environ.update(environment)


def _sample(home: Path) -> dict[Path, str]:
    """What the client would have written by now."""
    state = home / ".claude"
    config: dict[str, object] = {}
    history = ""
    files = {}
    for number, (name, prompt) in enumerate(PROMPTS):
        folder = str(home / name)
        project = state / "projects" / encode(folder)
        session = f"00000000-0000-4000-8000-{number:012}"
        turn = {
            "type": "user",
            "cwd": folder,
            "sessionId": session,
            "message": prompt,
        }
        record = {"display": prompt, "timestamp": 1_780_000_000_000, "project": folder}
        files[project / f"{session}.jsonl"] = f"{json.dumps(turn)}\n" * TURNS
        files[home / name / "menu.txt"] = "soup\nfish\ncake\n"
        history += f"{json.dumps(record)}\n"
        config[folder] = {"allowedTools": [], "hasTrustDialogAccepted": True}
    notes = state / "projects" / encode(str(home / OLD)) / "memory"
    files[notes / "MEMORY.md"] = "- prices are in euro\n"
    files[state / "history.jsonl"] = history
    files[home / ".claude.json"] = json.dumps({"projects": config}, indent=2)
    return files


def transcripts(home: Path) -> set[tuple[str, int, int, bytes]]:
    """What makes each of them the file it is."""
    facts = set()
    for path in home.glob(".claude/projects/*/*.jsonl"):
        status = path.stat()
        facts.add((path.name, status.st_ino, status.st_mtime_ns, path.read_bytes()))
    return facts


def documents(home: Path) -> list[bytes]:
    names = (".claude.json", ".claude/history.jsonl")
    return [(home / name).read_bytes() for name in names]
