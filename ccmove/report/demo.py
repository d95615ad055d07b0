"""What is said in the demo: each step with its meaning, the command, its real output, the facts."""

from __future__ import annotations

from ccmove.cli.demo import Demo, Fact, Scene
from ccmove.cli.verify import Verification
from ccmove.report.console import Line, Printer
from ccmove.report.inspect import show_verification
from ccmove.report.move import show_result


def show_demo(demo: Demo, printer: Printer) -> None:
    """Print the demo; paths of the made-up home are written with ~ on a terminal."""
    if printer.as_json:
        printer.json(demo.to_json())
    elif not printer.quiet:
        at_home = printer.at_home(demo.home)
        at_home.lines(_opening())
        for number, scene in enumerate(demo.scenes, 1):
            at_home.lines(_title(number, scene))
            show_scene(scene, at_home)
        at_home.lines(_ending())


def show_scene(scene: Scene, printer: Printer) -> None:
    """The command as it was typed, its own output, and the facts."""
    printer.lines([[("dim", "$ "), ("command", scene.command)]])
    if isinstance(scene.result, Verification):
        show_verification(scene.result, printer)
    elif scene.result is not None:
        show_result(scene.result, printer)
    if scene.facts:
        printer.lines([[], [("title", "Looked up on the disk")], *map(_fact, scene.facts)])


def _opening() -> list[Line]:
    return [
        [("title", "ccmove demo")],
        [("", "The whole cycle on a made-up home in a temporary directory.")],
        [("", "Your own home is not looked at.")],
    ]


def _title(number: int, scene: Scene) -> list[Line]:
    return [[], [("reverse", f" {number} {scene.title} ")], [("", scene.meaning)], []]


def _fact(fact: Fact) -> Line:
    sign = ("good", "  ok  ") if fact.holds else ("bad", "  no  ")
    return [sign, ("", fact.text)]


def _ending() -> list[Line]:
    return [
        [],
        [("good", "That was all."), ("", " The temporary directory is gone again.")],
        [("", "Your turn: "), ("command", "ccmove --dry-run OLD NEW")],
    ]
