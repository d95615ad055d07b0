"""`ccmove hook`: what Claude Code runs, and how it is told to."""

from collections.abc import Iterator
from functools import partial

from ccmove.cli import options
from ccmove.cli.boundary import Answer, Call, text_answer
from ccmove.cli.options import flag
from ccmove.commands.options import HookOptions
from ccmove.errors import UsageError
from ccmove.inside import hook
from ccmove.inside.install import HookSetting, install, remove
from ccmove.report.console import Line, Printer
from ccmove.report.json import SCHEMA, Record


@options.command("hook", HookOptions, *options.USUAL)
@flag("--install", help="Add it to Claude Code's settings.json.")
@flag("--remove", help="Take it out again.")
def hook_command(call: Call, asked: HookOptions) -> Answer:
    """Let Claude Code say where a renamed folder's sessions are.

    Claude Code runs this when a session starts. It changes nothing, and says nothing
    unless one project is certain to be meant.
    """
    if asked.install and asked.remove:
        raise UsageError("--install and --remove exclude each other")
    if not (asked.install or asked.remove):
        hook.answer(call.printer.config_dir)
        return text_answer("")
    change = install
    if asked.remove:
        change = remove
    setting = change(call.recover())
    return Answer(partial(_show, setting))


def _show(setting: HookSetting, printer: Printer) -> None:
    record: Record = {
        "schema": SCHEMA,
        "status": "ok",
        "file": setting.file,
        "installed": setting.is_installed,
        "changed": setting.has_changed,
        "plugins": setting.plugins,
    }
    printer.answer(_lines(setting, printer), record)


def _lines(setting: HookSetting, printer: Printer) -> Iterator[Line]:
    """What was done, and whether the plugin says the same."""
    remove = printer.command("hook", "--remove")
    if setting.is_installed:
        how = "Already installed"
        if setting.has_changed:
            how = "Installed"
        yield [("good", how), f" in {setting.file}"]
    elif setting.has_changed:
        yield [("good", "Removed"), f" from {setting.file}"]
    else:
        yield [f"Not installed in {setting.file}: nothing to remove"]
    if setting.is_installed and setting.plugins:
        plugin = ", ".join(setting.plugins)
        yield [("note", f"The plugin {plugin} is enabled and says the same.")]
        yield ["To be told only once: ", remove]
    elif setting.is_installed:
        yield ["Claude Code runs it when a session starts. To remove it: ", remove]
    elif setting.plugins:
        plugin = ", ".join(setting.plugins)
        yield [("note", f"The plugin {plugin} is enabled and goes on saying it.")]
