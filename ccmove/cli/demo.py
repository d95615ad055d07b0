"""`ccmove demo`: the real commands on sample data,
in a temporary home that is always removed.
"""

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ccmove.claude.naming import encode
from ccmove.cli import options
from ccmove.cli.boundary import Call, answer, show
from ccmove.errors import CcmoveError
from ccmove.report.console import Printer
from ccmove.report.result import Result
from ccmove.run.signals import termination_as_interrupt

OLD = "code/cafe-menu"
PROMPTS = (
    (OLD, "add a dessert section to the menu"),
    (OLD, "prices should show the euro sign"),
    (f"{OLD}/packages/core", "why does the print view cut off the last dish?"),
    (f"{OLD}-docker", "prices should show the euro sign"),
)
TURNS = 100  # of each session
# What each step shows, and its command.
STEPS = (
    (
        (
            "Rename the folder: now Claude Code has no session to resume there, no "
            "prompts, no memory, no trust."
        ),
        "mv ~/code/cafe-menu ~/code/bistro-menu",
    ),
    (
        (
            "Preview: what would change. Transcripts are never rewritten, only their "
            "directory is renamed."
        ),
        "ccmove --dry-run ~/code/cafe-menu ~/code/bistro-menu",
    ),
    (
        (
            "Move, all or nothing: files are backed up, the change is journaled, "
            "applied, "
            "then verified."
        ),
        "ccmove ~/code/cafe-menu ~/code/bistro-menu",
    ),
    (
        "Verify: the move has verified itself; this checks all data again.",
        "ccmove verify ~/code/bistro-menu",
    ),
    (
        (
            "Undo: every move can be undone. If you kept working in between, it "
            "keeps "
            "the new sessions."
        ),
        "ccmove undo",
    ),
)


@options.command("demo")
def demo_command(call: Call) -> Result | str:
    """Show the whole cycle on sample data in a temporary directory."""
    # For a script only the last result; and never the config directory that was given.
    is_silent = call.printer.quiet or call.printer.as_json
    printer = replace(call.printer, config_dir=None, as_json=False, quiet=is_silent)
    result = None
    try:
        result = play(click.get_current_context().find_root().command, printer)
    except OSError as error:  # as where a result is printed: who reads a pipe may stop
        if error.errno not in (errno.EPIPE, errno.EINVAL):
            raise
    return result if result and call.printer.as_json else ""


def play(app: Any, printer: Printer) -> Any:
    """The whole cycle, and the result of its last command."""
    where = "On sample data in a temporary directory; your own home is not looked at."
    printer.say([("title", "ccmove demo")], [("", where)])
    with sample_home() as home:
        before = transcripts(home)
        documents = [home / ".claude.json", home / ".claude" / "history.jsonl"]
        texts = [path.read_bytes() for path in documents]
        for number, (meaning, command) in enumerate(STEPS, 1):
            printer.say([], [("reverse", f" {number} "), ("", f" {meaning}")], [])
            result = type_command(app, command, printer)
            if transcripts(home) != before:
                raise CcmoveError(
                    f"the demo failed at: {command}; a transcript has changed"
                )
            fact = f"{len(before)} transcripts: same file, same bytes, same date"
            printer.say([("good", "checked: "), ("", fact)])
        if [path.read_bytes() for path in documents] != texts:
            raise CcmoveError("the demo failed: the original bytes are not back")
        printer.say(
            [("good", "checked: "), ("", "config file and history: the original bytes")]
        )
    turn = [("", "Your turn: "), ("command", "ccmove --dry-run OLD NEW")]
    printer.say([], [("good", "The temporary directory has been removed.")], turn)
    return result


def type_command(app: Any, command: str, printer: Printer) -> Any:
    """Do it, and show what it says."""
    printer.say([("dim", "$ "), ("command", command)])
    program, *words = (os.path.expanduser(word) for word in command.split())
    if program == "mv":
        return Path(words[0]).rename(words[1])
    result = answer(app, Call(words, printer))
    show(result, printer)
    if result.exit_code:
        raise CcmoveError(f"the demo failed at: {command}")
    return result


@contextlib.contextmanager
def sample_home() -> Iterator[Path]:
    """A home with sample data,
    which every command finds in the place of the user's own.
    """
    environment = dict(os.environ)
    with (
        termination_as_interrupt(),
        tempfile.TemporaryDirectory(prefix="ccmove-demo-") as place,
    ):
        home = Path(os.path.realpath(place))
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
    projects, config, history = home / ".claude" / "projects", {}, ""
    files = {
        projects
        / encode(str(home / OLD))
        / "memory"
        / "MEMORY.md": "- prices are in euro\n"
    }
    for number, (name, prompt) in enumerate(PROMPTS):
        folder, session = str(home / name), f"00000000-0000-4000-8000-{number:012}"
        line = {"type": "user", "cwd": folder, "sessionId": session, "message": prompt}
        files[projects / encode(folder) / f"{session}.jsonl"] = (
            json.dumps(line) + "\n"
        ) * TURNS
        files[home / name / "menu.txt"] = "soup\nfish\ncake\n"
        record = {
            "display": prompt,
            "timestamp": 1_780_000_000_000 + number,
            "project": folder,
        }
        history += json.dumps(record) + "\n"
        config[folder] = {"allowedTools": [], "hasTrustDialogAccepted": True}
    files[home / ".claude" / "history.jsonl"] = history
    files[home / ".claude.json"] = json.dumps({"projects": config}, indent=2)
    return files


def transcripts(home: Path) -> set[tuple[str, int, int, bytes]]:
    """What makes each of them the file it is."""
    found = home.glob(".claude/projects/*/*.jsonl")
    return {
        (p.name, p.stat().st_ino, p.stat().st_mtime_ns, p.read_bytes()) for p in found
    }
