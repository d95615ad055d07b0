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
from ccmove.cli.boundary import Answer, Asked, Call, Show
from ccmove.errors import CcmoveError
from ccmove.report.console import Line, Printer
from ccmove.report.result import SCHEMA
from ccmove.rewrite.pathmap import is_named_in
from ccmove.run.signals import interrupts_ignored, termination_as_interrupt

OLD, NEW, NEIGHBOUR = "code/cafe-menu", "code/bistro-menu", "code/cafe-menu-docker"
CONVERSATIONS = (
    (OLD, "add a dessert section to the menu", "The menu has a dessert section now."),
    (OLD, "prices should show the euro sign", "All prices show the euro sign."),
    (OLD, "why does the print view cut off the last dish?", "A fixed height did it; it is gone."),
    (f"{OLD}/packages/core", "add a dessert section to the menu", "It has one now."),
    (NEIGHBOUR, "prices should show the euro sign", "All prices show the euro sign."),
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
Fact = tuple[str, bool]  # looked up on the disk, not taken from what a command said
Traces = dict[str, tuple[int, int, bytes]]  # file -> inode, mtime, content


@dataclass(frozen=True)
class Scene:
    """One step: what it means, what was typed, and what came of it."""

    title: str
    meaning: str
    command: str
    answer: Answer | None = None
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Demo:
    """The whole demo, as data."""

    home: str
    scenes: tuple[Scene, ...]


@click.command(name="demo")
@click.pass_context
@shared.common
def demo_command(_: Call, context: click.Context) -> Answer:
    """Show the whole cycle on a made-up state in a temporary directory."""
    return play(context.find_root().command), show_demo


def play(app: click.Command) -> Demo:
    """Play the whole cycle; CcmoveError when something is not as it should be."""
    with termination_as_interrupt(), temporary_home() as home, as_home(str(home)):
        write_sample(home)
        before = traces(home)
        scenes = []
        for title, meaning, command in (text.split("\n") for text in SCENES.split("\n\n")):
            answer = _typed(app, home, command)
            facts = tuple(_facts(title, home, before))
            wrong = [text for text, holds in facts if not holds]
            if wrong or (answer and answer[0].exit_code):
                raise CcmoveError(
                    f"the demo went wrong in “{title}”; not so: {(*wrong, command)[0]}"
                )
            scenes.append(Scene(title, meaning, command, answer, facts))
    return Demo(str(home), tuple(scenes))


def _typed(app: click.Command, home: Path, command: str) -> Answer | None:
    program, *words = command.replace("~", str(home)).split()
    if program == "mv":
        Path(words[0]).rename(words[1])
        return None
    asked = app.main(words, prog_name=program, standalone_mode=False)
    assert isinstance(asked, Asked)
    return asked.work(Call(words, Printer()))


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
    """What looks for a home finds this one."""
    before = {name: os.environ.pop(name, None) for name in ("HOME", "CLAUDE_CONFIG_DIR")}
    os.environ["HOME"] = home
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def write_sample(home: Path) -> None:
    """What the client would have written by now."""
    history = ""
    for number, (name, prompt, answer) in enumerate(CONVERSATIONS):
        folder, session = str(home / name), f"00000000-0000-4000-8000-{number:012}"
        about: dict[str, object] = {"cwd": folder, "sessionId": session, "version": "2.1.325"}
        lines = [
            {"type": role, **about, "message": {"role": role, "content": text}}
            for role, text in (("user", prompt), ("assistant", answer))
        ]
        transcript = home / ".claude" / "projects" / encode(folder) / f"{session}.jsonl"
        _write(transcript, "".join(json.dumps(line) + "\n" for line in lines))
        record = {"display": prompt, "timestamp": 1_780_000_000_000 + number, "project": folder}
        history += json.dumps(record) + "\n"
        Path(folder).mkdir(parents=True, exist_ok=True)
    old = str(home / OLD)
    trusted = {"allowedTools": ["Bash(make:*)"], "hasTrustDialogAccepted": True}
    projects: dict[str, Any] = {str(home / name): {**trusted} for name, _, _ in CONVERSATIONS}
    projects[old]["mcpServers"] = {"menu": {"command": "menu-server", "args": ["--root", old]}}
    config = {"projects": projects, "githubRepoPaths": {"cafe/menu": [old]}}
    _write(home / ".claude.json", json.dumps(config, indent=2))
    _write(home / ".claude" / "history.jsonl", history)
    memory = home / ".claude" / "projects" / encode(old) / "memory" / "MEMORY.md"
    _write(memory, "- prices are in euro\n")
    _write(home / OLD / "menu.txt", "soup\nfish\ncake\n")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# -- what is found on the disk -------------------------------------------------------------------


def traces(home: Path) -> Traces:
    """Every file of the home but ccmove's own; the project's folder under its old name."""
    found: Traces = {}
    for path in sorted(home.rglob("*")):
        name = str(path.relative_to(home))
        if path.is_file() and not name.startswith(".claude/ccmove/"):
            status = path.stat()
            name = name.replace(f"{NEW}/", f"{OLD}/")
            found[name] = (status.st_ino, status.st_mtime_ns, path.read_bytes())
    return found


def _facts(title: str, home: Path, before: Traces) -> Iterator[Fact]:
    now = traces(home)
    same = {name: trace[1:] for name, trace in before.items()} == {
        name: trace[1:] for name, trace in now.items()
    }
    if title == "Preview":
        yield "nothing on the disk has changed", same
    elif title == "Restore":
        yield "every file has the bytes and the date of before", same
    elif title == "Verify":
        then, after = sorted(_transcripts(before)), sorted(_transcripts(now))
        yield f"{len(then)} transcripts: same file, same bytes, same date", then == after
        theirs = [name for name in before if "cafe-menu-docker" in name]
        kept = all(now.get(name) == before[name] for name in theirs)
        yield "the neighbour cafe-menu-docker: untouched", bool(theirs) and kept
        texts = (trace[2] for name, trace in now.items() if not _is_transcript(name))
        named = any(is_named_in(text.decode(), str(home / OLD)) for text in texts)
        yield "the old path is named nowhere but in transcripts", not named


def _is_transcript(name: str) -> bool:
    return name.endswith(".jsonl") and "/projects/" in name


def _transcripts(found: Traces) -> Iterator[tuple[int, int, bytes]]:
    for name, trace in found.items():
        if _is_transcript(name) and "cafe-menu-docker" not in name:
            yield trace


# -- what is said --------------------------------------------------------------------------------


def show_demo(demo: Demo, printer: Printer) -> None:
    """Each step with its meaning, the command, its real output, and the facts."""
    with as_home(demo.home):
        if printer.as_json:
            printer.json(_record(demo))
            return
        if printer.quiet:
            return
        printer.lines(
            [
                [("title", "ccmove demo")],
                [("", "The whole cycle on a made-up home in a temporary directory.")],
                [("", "Your own home is not looked at.")],
            ]
        )
        for number, scene in enumerate(demo.scenes, 1):
            title: Line = [("reverse", f" {number} {scene.title} ")]
            printer.lines([[], title, [("", scene.meaning)], []])
            show_scene(scene, printer)
        gone = ("", " The temporary directory is gone again.")
        yours: Line = [("", "Your turn: "), ("command", "ccmove --dry-run OLD NEW")]
        printer.lines([[], [("good", "That was all."), gone], yours])


def show_scene(scene: Scene, printer: Printer) -> None:
    """The command as it was typed, its own output, and the facts."""
    printer.lines([[("dim", "$ "), ("command", scene.command)]])
    if scene.answer is not None:
        result, show = scene.answer
        show(result, printer)
    if scene.facts:
        signs = {True: ("good", "  ok  "), False: ("bad", "  no  ")}
        facts = [[signs[holds], ("", text)] for text, holds in scene.facts]
        printer.lines([[], [("title", "Looked up on the disk")], *facts])


def _record(demo: Demo) -> dict[str, Any]:
    steps = [
        {
            "title": scene.title,
            "command": scene.command,
            "result": _as_json(*scene.answer) if scene.answer else None,
            "facts": [{"text": text, "holds": holds} for text, holds in scene.facts],
        }
        for scene in demo.scenes
    ]
    return {
        "schema": SCHEMA,
        "status": "restored",
        "home": demo.home,
        "steps": steps,
        "error": None,
    }


def _as_json(result: Any, show: Show) -> Any:
    out = io.StringIO()
    show(result, Printer(as_json=True, out=out))
    return json.loads(out.getvalue())
