"""How a command is declared, and the options that several commands have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from ccmove.cli.boundary import Call, TextWanted
from ccmove.cli.values import folders


def text_option(*names: str, text: Callable[[click.Context], str], about: str) -> click.Option:
    """An option that is answered with a text, whatever else was typed."""

    def answer(context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
        if is_wanted and not context.resilient_parsing:
            raise TextWanted(text(context))

    return click.Option(
        names, is_flag=True, is_eager=True, expose_value=False, callback=answer, help=about
    )


HELP = text_option("-h", "--help", text=click.Context.get_help, about="Show this message and exit.")
OF_THE_PRINTER: list[click.Parameter] = [
    click.Option(
        ["--config-dir"], metavar="DIR", help="Instead of ~/.claude.", shell_complete=folders
    ),
    click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
    click.Option(["-q", "--quiet"], is_flag=True, help="Say nothing but errors."),
    click.Option(["-v", "--verbose"], is_flag=True, help="Say more, and why."),
]
COMMON = [*OF_THE_PRINTER, HELP]

dry_run = click.option("-n", "--dry-run", is_flag=True, help="Show the plan; change nothing.")
full = click.option(
    "--verify",
    type=click.Choice(["quick", "full"]),
    default="quick",
    help="full: hash every moved file.",
)
allow_live = click.option(
    "--allow-live", is_flag=True, help="Go on although a session is running there."
)


def command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Makes a command of a function that returns a result: it has the common options too."""

    def declare(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        @click.pass_obj
        def work(call: Call, /, **values: Any) -> Any:
            wanted = {option.name: values.pop(option.name) for option in OF_THE_PRINTER}
            given = {str(name): value for name, value in wanted.items() if value}
            call.printer = replace(call.printer, **given)
            return function(call, **values)

        declared = click.command(name)(work)
        declared.params += COMMON
        return declared

    return declare
