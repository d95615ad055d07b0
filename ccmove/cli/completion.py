"""What a shell offers at TAB."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TypeAlias

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
)

from ccmove.claude.layout import Layout, find_layout, size_of
from ccmove.claude.owners import folder_exists, gone_first
from ccmove.claude.state import State
from ccmove.run.backups import all_backups
from ccmove.text import printable

SLOW_HISTORY = 8 << 20  # bytes; nobody waits for a larger one at TAB
# A shell that asks how a word goes on sets this to SHELL_complete.
ASKING = "_CCMOVE_COMPLETE"
Items: TypeAlias = "list[CompletionItem[str]]"  # not generic before click 8.4.2


class Bash(BashComplete):
    """click's script reads away one backslash of two,
    and the line needs the other one.
    """

    def format_completion(self, item: CompletionItem[str]) -> str:
        quoted = re.sub(r"([^\w@%+=:,./~-])", r"\\\\\1", item.value)
        return f"{item.type},{quoted}"


class Fish(FishComplete):
    """click's script ends a word, or what is said of it, at a comma."""

    source_template = FishComplete.source_template.replace(
        'string split ","', 'string split --max 1 ","'
    )


SHELLS = {"bash": Bash, "zsh": ZshComplete, "fish": Fish}


def known_projects(
    context: click.Context, _: click.Parameter | None, incomplete: str
) -> Items:
    """Known projects that begin so, or whose folder's name does; missing ones first.

    With no match the shell offers folders: everything in one may be moved at once.
    """
    items = []
    # A traceback in the middle of a prompt helps nobody.
    with contextlib.suppress(Exception):
        layout = _layout(context)
        has_time = size_of(layout.history) < SLOW_HISTORY
        known = State(layout).known_paths(history=has_time)
        begin = os.path.expanduser(incomplete)
        offered = [path for path in sorted(known) if _is_offered(path, begin)]
        home = ""
        if incomplete.startswith("~/"):
            home = os.path.expanduser("~/")
        for path in gone_first(offered):
            about = "folder exists"
            if folder_exists(path) is False:
                about = "folder gone"
            shown = path
            if home:
                shown = path.replace(home, "~/", 1)
            item = CompletionItem(shown, help=about)
            items.append(item)
    return items or folders(context, _, incomplete)


def _is_offered(path: str, begin: str) -> bool:
    if printable(path) != path:  # the terminal would act on it; it has to be typed
        return False
    if os.path.isabs(begin):
        return path.startswith(begin)
    if os.sep in begin:
        return False
    return os.path.basename(path).startswith(begin)


def old_or_new(context: click.Context, _: click.Parameter, incomplete: str) -> Items:
    """OLD is a known project, NEW a folder."""
    if context.params.get("arguments"):
        return folders(context, _, incomplete)
    return known_projects(context, _, incomplete)


def _layout(context: click.Context) -> Layout:
    chosen = context.params.get("config_dir")
    config_dir = None
    if chosen:
        config_dir = os.path.expanduser(chosen)
    return find_layout(config_dir, os.environ)


def folders(_: click.Context, __: click.Parameter | None, incomplete: str) -> Items:
    return [CompletionItem(incomplete, type="dir")]


def backups(context: click.Context, _: click.Parameter, incomplete: str) -> Items:
    """IDs of the backups, the newest first, what was already undone last."""
    items = []
    with contextlib.suppress(Exception):
        newest_first = all_backups(_layout(context))[::-1]
        for backup in sorted(newest_first, key=lambda backup: not backup.stands):
            manifest = backup.manifest
            if manifest is None:
                continue
            if incomplete not in backup.id:
                continue
            (old, new), *rest = manifest.moves
            about = f"{manifest.kind} {old} -> {new}"
            if rest:
                about += " and more"
            item = CompletionItem(backup.id, help=printable(about))
            items.append(item)
    return items
