"""`ccmove demo`: the real commands on sample data, in a temporary home that is always removed."""

import contextlib
import json
import os
import shutil
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
from ccmove.report.console import Line, Printer
from ccmove.report.result import Result
from ccmove.rewrite.pathmap import is_named_in
from ccmove.run.signals import interrupts_ignored, termination_as_interrupt

OLD = "code/cafe-menu"
PROMPTS = (
    (OLD, "add a dessert section to the menu"),
    (OLD, "prices should show the euro sign"),
    (OLD, "why does the print view cut off the last dish?"),
    (f"{OLD}/packages/core", "add a dessert section to the menu"),
    (f"{OLD}-docker", "prices should show the euro sign"),
)
TURNS = 100  # of each session
# Title, meaning and command of each, with a blank line between them.
STEPS = """\
Rename the folder
Claude Code finds a project by its path. In the renamed folder it has no session to resume, no \
prompts, no memory, and asks for trust again.
mv ~/code/cafe-menu ~/code/bistro-menu

Preview
Shows what would change. Transcripts are never rewritten: only their directory is renamed.
ccmove --dry-run ~/code/cafe-menu ~/code/bistro-menu

Move
All or nothing: files are backed up, the change is journaled, applied, then verified.
ccmove ~/code/cafe-menu ~/code/bistro-menu

Verify
The move has already verified itself. This checks all data again, and the demo checks the files \
on disk.
ccmove verify ~/code/bistro-menu

Restore
Every move can be undone. If you kept working in between, restoring keeps the new sessions.
ccmove restore"""
Traces = dict[str, tuple[int, int, bytes]]  # file -> inode, mtime, content


@options.command("demo")
def demo_command(call: Call) -> Result | str:
    """Show the whole cycle on sample data in a temporary directory."""
    app: Any = click.get_current_context().find_root().command
    # Also of the commands: no state but ours, and for a script only the last result.
    is_silent = call.printer.quiet or call.printer.as_json
    printer = replace(call.printer, config_dir=None, as_json=False, quiet=is_silent)
    try:
        restored = play(app, printer)
    except BrokenPipeError:  # who reads a pipe may stop at any time
        return ""
    return restored if call.printer.as_json else ""


def play(app: click.Group, printer: Printer) -> Any:
    """The whole cycle, and the result of its last command."""
    whole = "The whole cycle on sample data in a temporary directory."
    own = "Your own home is not looked at."
    printer.say([("title", "ccmove demo")], [("", whole)], [("", own)])
    with sample_home() as home:
        before = traces(home)
        for number, step in enumerate(STEPS.split("\n\n"), 1):
            title, meaning, command = step.split("\n")
            printer.say([], [("reverse", f" {number} {title} ")], [("", meaning)], [])
            result = type_command(app, command, printer)
            facts = _facts(title, home, before, traces(home))
            if wrong := [fact for fact, holds in facts.items() if not holds]:
                raise CcmoveError(f"the demo failed in “{title}”, this is not so: {wrong[0]}")
            if facts:
                found: list[Line] = [[("good", "  ok  "), ("", fact)] for fact in facts]
                printer.say([], [("title", "Checked on disk")], *found)
    gone = ("", " The temporary directory has been removed.")
    turn = [("", "Your turn: "), ("command", "ccmove --dry-run OLD NEW")]
    printer.say([], [("good", "That's all."), gone], turn)
    return result


def type_command(app: click.Group, command: str, printer: Printer) -> Any:
    """Do it, and show what it says."""
    printer.say([("dim", "$ "), ("command", command)])
    program, *words = (os.path.expanduser(word) for word in command.split())
    if program == "mv":
        Path(words[0]).rename(words[1])
        return None
    result = answer(app, Call(words, printer))
    if result.exit_code:
        raise CcmoveError(f"the demo failed at: {command}")
    show(result, printer)
    return result


@contextlib.contextmanager
def sample_home() -> Iterator[Path]:
    """A home with sample data, which every command finds in the place of the user's own."""
    environment = dict(os.environ)
    with termination_as_interrupt():
        home = Path(os.path.realpath(tempfile.mkdtemp(prefix="ccmove-demo-")))
        try:
            os.environ.pop("CLAUDE_CONFIG_DIR", None)
            os.environ["HOME"] = str(home)
            _write_sample(home)
            yield home
        finally:
            with interrupts_ignored():
                os.environ.clear()
                os.environ.update(environment)
                shutil.rmtree(home)


def _write_sample(home: Path) -> None:
    """What the client would have written by now."""
    old, projects = str(home / OLD), home / ".claude" / "projects"
    trusted = {"allowedTools": ["Bash(make:*)"], "hasTrustDialogAccepted": True}
    config: dict[str, Any] = {"projects": {}, "githubRepoPaths": {"cafe/menu": [old]}}
    files = {projects / encode(old) / "memory" / "MEMORY.md": "- prices are in euro\n"}
    history = ""
    for number, (name, prompt) in enumerate(PROMPTS):
        folder, session = str(home / name), f"00000000-0000-4000-8000-{number:012}"
        line = {"type": "user", "cwd": folder, "sessionId": session, "message": prompt}
        files[projects / encode(folder) / f"{session}.jsonl"] = (json.dumps(line) + "\n") * TURNS
        files[home / name / "menu.txt"] = "soup\nfish\ncake\n"
        record = {"display": prompt, "timestamp": 1_780_000_000_000 + number, "project": folder}
        history += json.dumps(record) + "\n"
        config["projects"][folder] = {**trusted}
    server = {"command": "menu-server", "args": ["--root", old]}
    config["projects"][old]["mcpServers"] = {"menu": server}
    files[home / ".claude" / "history.jsonl"] = history
    files[home / ".claude.json"] = json.dumps(config, indent=2)
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def traces(home: Path) -> Traces:
    """Every file of the home but ccmove's own; the project under its old name."""
    found: Traces = {}
    for path in home.rglob("*"):
        name = str(path.relative_to(home)).replace("bistro-menu", "cafe-menu")
        if path.is_file() and not name.startswith(".claude/ccmove/"):
            status = path.stat()
            found[name] = (status.st_ino, status.st_mtime_ns, path.read_bytes())
    return found


def _facts(title: str, home: Path, before: Traces, now: Traces) -> dict[str, bool]:
    """What is so on disk after a step, and not taken from what its command said."""
    if title == "Preview":
        return {"nothing on disk has changed": now == before}
    if title == "Restore":  # what was rewritten is another file now
        then, today = ({n: trace[1:] for n, trace in found.items()} for found in (before, now))
        return {"every file has its original bytes and date": then == today}
    if title != "Verify":
        return {}
    untouched = {name for name, trace in before.items() if now.get(name) == trace}
    transcripts = {n for n in before if n.endswith(".jsonl") and "/projects/" in n}
    texts = [trace[2].decode() for name, trace in now.items() if name not in transcripts]
    neighbours = {name for name in before if "cafe-menu-docker" in name}
    return {
        f"{len(transcripts) - 1} transcripts: same file, same bytes, same date": (
            transcripts <= untouched
        ),
        "the neighbour cafe-menu-docker: untouched": neighbours <= untouched,
        "only transcripts still mention the old path": (
            not any(is_named_in(text, str(home / OLD)) for text in texts)
        ),
    }
