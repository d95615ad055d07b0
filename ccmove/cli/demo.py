"""`ccmove demo`: the whole cycle on a home with sample data, by the real command line.

The home is a temporary directory that is gone at the end, however the demo ends. Neither $HOME nor
$CLAUDE_CONFIG_DIR is asked for anything.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ccmove.claude.naming import encode
from ccmove.cli import options as shared
from ccmove.cli.boundary import Answer, Call
from ccmove.errors import CcmoveError
from ccmove.report.console import Printer
from ccmove.report.result import SCHEMA
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
# Title, meaning and command of each.
SCENES = """\
The folder gets a new name
Claude Code finds a project by its path. In the renamed folder it has no session to resume, no \
prompts, no memory, and asks for trust again.
mv ~/code/cafe-menu ~/code/bistro-menu

Preview
A read-only look at what would change. Transcripts are never rewritten: their directory gets a \
new name, and that is all.
ccmove --dry-run ~/code/cafe-menu ~/code/bistro-menu

Move
All or nothing: what is rewritten is saved first, the change is written down in a journal before \
it is made, and checked afterwards.
ccmove ~/code/cafe-menu ~/code/bistro-menu

Verify
The move has checked itself already. This looks once more at all that is kept, and the demo looks \
at the files themselves.
ccmove verify ~/code/bistro-menu

Restore
Every move can be undone. What came later (new sessions, new prompts) would be kept.
ccmove restore"""
Traces = dict[str, tuple[int, int, bytes]]  # file -> inode, mtime, content


@dataclass(frozen=True)
class Scene:
    """One step: what it means, what was typed, what came of it, and what the disk says."""

    title: str
    meaning: str
    command: str
    answer: Answer | None
    facts: dict[str, bool]


@click.command(name="demo")
@click.pass_context
@shared.common
def demo_command(_: Call, context: click.Context) -> Answer:
    """Show the whole cycle on a made-up state in a temporary directory."""
    return play(context.find_root().command), show_demo


def play(app: click.Command) -> tuple[str, list[Scene]]:
    """The home and the whole cycle in it; CcmoveError when something is not as it should be."""
    scenes = []
    with termination_as_interrupt(), temporary_home() as home, as_home(str(home)):
        write_sample(home)
        before = traces(home)
        for title, meaning, command in (text.split("\n") for text in SCENES.split("\n\n")):
            answer = _typed(app, command.replace("~", str(home)))
            facts = _facts(title, home, before, traces(home))
            wrong = [text for text, holds in facts.items() if not holds]
            if wrong or (answer and answer[0].exit_code):
                first = (*wrong, command)[0]
                raise CcmoveError(f"the demo went wrong in “{title}”; not so: {first}")
            scenes.append(Scene(title, meaning, command, answer, facts))
    return str(home), scenes


def _typed(app: click.Command, command: str) -> Answer | None:
    program, *words = command.split()
    if program == "mv":
        Path(words[0]).rename(words[1])
        return None
    answer: Answer = app.main(words, program, standalone_mode=False).work(Call(words, Printer()))
    return answer


@contextlib.contextmanager
def temporary_home() -> Iterator[Path]:
    """A directory that is gone afterwards, also after Ctrl-C."""
    root = Path(os.path.realpath(tempfile.mkdtemp(prefix="ccmove-demo-")))
    try:
        yield root
    finally:
        with interrupts_ignored():
            shutil.rmtree(root)


@contextlib.contextmanager
def as_home(home: str) -> Iterator[None]:
    """Who looks for a home finds this one."""
    before = dict(os.environ)
    os.environ.pop("CLAUDE_CONFIG_DIR", None)
    os.environ["HOME"] = home
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def write_sample(home: Path) -> None:
    """What the client would have written by now."""
    old, projects = str(home / OLD), home / ".claude" / "projects"
    trusted = {"allowedTools": ["Bash(make:*)"], "hasTrustDialogAccepted": True}
    config: dict[str, Any] = {"projects": {}, "githubRepoPaths": {"cafe/menu": [old]}}
    files = {projects / encode(old) / "memory" / "MEMORY.md": "- prices are in euro\n"}
    history = ""
    for number, (name, prompt) in enumerate(PROMPTS):
        folder, session = str(home / name), f"00000000-0000-4000-8000-{number:012}"
        line = {"type": "user", "cwd": folder, "sessionId": session, "message": prompt}
        files[projects / encode(folder) / f"{session}.jsonl"] = json.dumps(line) + "\n"
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


# -- what is found on the disk, and not taken from what a command said ---------------------------


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
    if title == "Preview":
        return {"nothing on the disk has changed": now == before}
    if title == "Restore":  # what was rewritten is another file now
        then, today = ({n: trace[1:] for n, trace in found.items()} for found in (before, now))
        return {"every file has the bytes and the date of before": then == today}
    if title != "Verify":
        return {}
    untouched = {name for name, trace in before.items() if now.get(name) == trace}
    transcripts = {n for n in before if n.endswith(".jsonl") and "/projects/" in n}
    texts = [trace[2].decode() for name, trace in now.items() if name not in transcripts]
    old_is_named = any(is_named_in(text, str(home / OLD)) for text in texts)
    return {
        f"{len(transcripts) - 1} transcripts: same file, same bytes, same date": (
            transcripts <= untouched
        ),
        "the neighbour cafe-menu-docker: untouched": (
            {name for name in before if "cafe-menu-docker" in name} <= untouched
        ),
        "the old path is named nowhere but in transcripts": not old_is_named,
    }


# -- what is said --------------------------------------------------------------------------------


def show_demo(demo: tuple[str, list[Scene]], printer: Printer) -> None:
    """Each step with its meaning, the command, its real output, and the facts."""
    home, scenes = demo
    with as_home(home):
        if printer.as_json:
            head = {"schema": SCHEMA, "status": "restored", "home": home}
            printer.json({**head, "steps": [_record(scene) for scene in scenes], "error": None})
        elif not printer.quiet:
            whole = "The whole cycle on a made-up home in a temporary directory."
            own = "Your own home is not looked at."
            printer.lines([[("title", "ccmove demo")], [("", whole)], [("", own)]])
            for number, scene in enumerate(scenes, 1):
                title = ("reverse", f" {number} {scene.title} ")
                printer.lines([[], [title], [("", scene.meaning)], []])
                show_scene(scene, printer)
            gone = ("", " The temporary directory is gone again.")
            printer.lines([[], [("good", "That was all."), gone]])
            printer.lines([[("", "Your turn: "), ("command", "ccmove --dry-run OLD NEW")]])


def show_scene(scene: Scene, printer: Printer) -> None:
    """The command as it was typed, its own output, and the facts."""
    printer.lines([[("dim", "$ "), ("command", scene.command)]])
    if scene.answer is not None:
        result, show = scene.answer
        show(result, printer)
    if scene.facts:
        printer.lines([[], [("title", "Looked up on the disk")]])
        printer.lines([[("good", "  ok  "), ("", text)] for text in scene.facts])


def _record(scene: Scene) -> dict[str, Any]:
    out = io.StringIO("null")
    if scene.answer is not None:
        result, show = scene.answer
        show(result, Printer(as_json=True, out=out))
    facts = [{"text": text, "holds": holds} for text, holds in scene.facts.items()]
    about = {"title": scene.title, "command": scene.command}
    return {**about, "result": json.loads(out.getvalue()), "facts": facts}
