"""What a shell offers at TAB: known projects, folders, backups. click has the scripts that ask."""

import contextlib
import os
import re

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete

from ccmove.claude.layout import Layout, find_layout, size_of
from ccmove.claude.ownership import folder_exists
from ccmove.claude.state import State
from ccmove.run.backups import all_backups
from ccmove.text import printable

SLOW_HISTORY = 8 << 20  # bytes; nobody waits for a larger one at TAB
ASKING = "_CCMOVE_COMPLETE"  # a shell that asks how a word goes on sets it to SHELL_complete
Items = list[CompletionItem[str]]


def known_projects(context: click.Context, _: click.Parameter | None, incomplete: str) -> Items:
    """Known projects that begin so, or whose folder's name does; missing ones first.

    With no match the shell offers folders: everything in one may be moved at once.
    """
    home = os.path.expanduser("~/")
    wanted = os.path.expanduser(incomplete)
    with contextlib.suppress(Exception):  # a traceback in the middle of a prompt helps nobody
        layout = _layout(context)
        known = State(layout).known_paths(history=size_of(layout.history) < SLOW_HISTORY)
        # A name with control characters would be acted on by the terminal; it has to be typed.
        fitting = [path for path in known if _fits(path, wanted) and printable(path) == path]
        items = []
        for exists, path in sorted((folder_exists(p) is not False, p) for p in fitting):
            value = path.replace(home, "~/", 1) if incomplete.startswith("~/") else path
            items.append(CompletionItem(value, help="folder exists" if exists else "folder gone"))
        if items:
            return items
    return folders(context, _, incomplete)


def _fits(path: str, wanted: str) -> bool:
    if os.path.isabs(wanted):
        return path.startswith(wanted)
    return os.sep not in wanted and os.path.basename(path).startswith(wanted)


def _layout(context: click.Context) -> Layout:
    chosen = context.params.get("config_dir")
    return find_layout(os.path.expanduser(chosen) if chosen else None, os.environ)


def folders(_: click.Context, __: click.Parameter | None, incomplete: str) -> Items:
    """Folders, which the shell itself knows best how to complete."""
    return [CompletionItem(incomplete, type="dir")]


def backups(context: click.Context, _: click.Parameter, incomplete: str) -> Items:
    """IDs of the backups, the newest first, what was already undone last."""
    items = []
    with contextlib.suppress(Exception):
        found = sorted(all_backups(_layout(context)), key=lambda b: (b.stands, b.id), reverse=True)
        for backup in found:
            if backup.manifest is not None and backup.id.startswith(incomplete):
                (old, new), *rest = backup.manifest.moves
                what = f"{backup.manifest.kind} {old} -> {new}{' and more' if rest else ''}"
                items.append(CompletionItem(backup.id, help=printable(what)))
    return items


class Bash(BashComplete):
    """click's script reads away one backslash of two, and the line needs the other one."""

    def format_completion(self, item: CompletionItem[str]) -> str:
        quoted = re.sub(r"([^\w@%+=:,./~-])", r"\\\\\1", item.value)
        return f"{item.type},{quoted}"


SHELLS = {"bash": Bash, "zsh": ZshComplete, "fish": FishComplete}
