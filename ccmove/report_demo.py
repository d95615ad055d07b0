"""What is said in the demo: each step with its meaning, the command, its real output, the facts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ccmove.commands.demo import Demo, Scene
from ccmove.report import Line, Printer
from ccmove.report_move import result_lines


def show_demo(demo: Demo, printer: Printer) -> None:
    """Print the demo; paths of the made-up home are written with ~ on a terminal."""
    if printer.as_json:
        printer.json(demo.to_json())
    elif not printer.quiet:
        at_home = replace(printer, home=demo.home)
        at_home.lines(demo_lines(demo, at_home))


def demo_lines(demo: Demo, printer: Printer) -> Iterator[Line]:
    yield [("title", "ccmove demo")]
    yield [("", "The whole cycle on a made-up home in a temporary directory.")]
    yield [("", "Your own home is not looked at.")]
    for number, scene in enumerate(demo.scenes, 1):
        yield from _scene(number, scene, printer)
    yield []
    yield [("good", "That was all."), ("", " The temporary directory is gone again.")]
    yield [("", "Your turn: "), ("command", "ccmove --dry-run OLD NEW")]


def _scene(number: int, scene: Scene, printer: Printer) -> Iterator[Line]:
    yield []
    yield [("reverse", f" {number} {scene.title} ")]
    yield [("", scene.meaning)]
    yield []
    yield [("dim", "$ "), ("command", scene.command)]
    if scene.result is not None:
        yield from result_lines(scene.result, printer)
    if scene.facts:
        yield []
        yield [("title", "Looked up on the disk")]
    for fact in scene.facts:
        yield [
            ("good" if fact.holds else "bad", "  ok  " if fact.holds else "  no  "),
            ("", fact.text),
        ]
