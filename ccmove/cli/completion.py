"""What a shell offers at TAB: known projects, folders, backups; and the scripts that make it ask.

click does the asking and answering. Its scripts for bash and fish take values apart at commas
and blanks, expand stars and sort, so these two shells get scripts of our own.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from typing import ClassVar

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    add_completion_class,
    get_completion_class,
)

from ccmove.claude.layout import Layout, find_layout, size_of
from ccmove.claude.lists import read_lists
from ccmove.claude.naming import possible_names
from ccmove.claude.ownership import folder_exists
from ccmove.claude.state import State
from ccmove.cli.start import COMPLETE_VARIABLE
from ccmove.errors import CcmoveError
from ccmove.run.backups import all_manifests, in_force
from ccmove.text import printable

SLOW_HISTORY = 8 << 20  # bytes; nobody waits for a larger one at TAB
Items = list[CompletionItem[str]]


def known_projects(context: click.Context, incomplete: str) -> Items:
    """Known projects that begin so, or whose folder's name does; missing ones first.

    With no match the shell offers folders: all that lies below one may be moved at once.
    """
    found = _quietly(lambda: list(_matching(_layout(context), incomplete)))
    return found or folders(context, incomplete)


def first_word(
    context: click.Context, incomplete: str, commands: Items, move: click.Command
) -> Items:
    """A command, an option or the OLD of a move; folders only when there is nothing else."""
    found = {item.value: item for item in [*commands, *move.shell_complete(context, incomplete)]}
    if not incomplete.startswith("-"):
        for item in known_projects(context, incomplete):
            if item.type == "plain" or not found:
                found[item.value] = item
    return list(found.values())


def folders(_: click.Context, incomplete: str) -> Items:
    """Folders, which the shell itself knows best how to complete."""
    return [CompletionItem(incomplete, type="dir")]


def backups(context: click.Context, incomplete: str) -> Items:
    """IDs of the backups, the newest first, what was undone already last."""

    def find() -> Items:
        manifests = all_manifests(_layout(context))
        standing = in_force(manifests)
        manifests.sort(key=lambda manifest: (standing[manifest.id], manifest.id), reverse=True)
        return [
            CompletionItem(manifest.id, help=_moves(manifest.kind, manifest.moves))
            for manifest in manifests
            if manifest.id.startswith(incomplete)
        ]

    return _quietly(find)


def _moves(kind: str, moves: tuple[tuple[str, str], ...]) -> str:
    shown = ", ".join(f"{old} -> {new}" for old, new in moves[:1])
    return printable(f"{kind} {shown}{' and more' if len(moves) > 1 else ''}")


def _quietly(find: Callable[[], Items]) -> Items:
    """Whatever goes wrong, a traceback in the middle of someone's prompt helps nobody."""
    try:
        return find()
    except Exception:
        return []


def _layout(context: click.Context) -> Layout:
    chosen = context.params.get("config_dir")
    return find_layout(os.path.expanduser(chosen) if chosen else None, os.environ)


def _matching(layout: Layout, incomplete: str) -> Iterator[CompletionItem[str]]:
    wanted = os.path.expanduser(incomplete)
    paths = {path for path in _known_paths(layout) if _is_plain(path) and _fits(path, wanted)}
    for path in sorted(paths, key=lambda path: (folder_exists(path) is not False, path)):
        missing = folder_exists(path) is False
        yield CompletionItem(
            path,
            help="folder gone" if missing else "folder exists",
            tilde=incomplete.startswith("~/"),
        )


def _is_plain(path: str) -> bool:
    """A name with control characters would be acted on by the terminal; it has to be typed."""
    return printable(path) == path


def _fits(path: str, wanted: str) -> bool:
    if wanted.startswith("/"):
        return path.startswith(wanted)
    return "/" not in wanted and os.path.basename(path).startswith(wanted)


def _known_paths(layout: Layout) -> Iterator[str]:
    """Paths of the config file, the history, and the transcripts of directories they lack."""
    state = State(layout)
    listed = set(state.config_paths)
    if size_of(layout.history) < SLOW_HISTORY:
        listed |= set(read_lists(state).named)
    yield from listed
    names = {name for path in listed for name in possible_names(path)}
    for name in state.directory_names:
        if name not in names:
            with contextlib.suppress(CcmoveError, OSError):  # one that is closed hides no other
                yield from state.directory(name).named_paths()


# -- scripts -------------------------------------------------------------------------------------

_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' line answer
    COMPREPLY=()
    answer=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    while IFS= read -r line; do
        case $line in
            dir,*) compopt -o dirnames 2>/dev/null ;;
            plain,*) COMPREPLY+=("${line#plain,}") ;;
        esac
    done <<< "$answer"
}
complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null ||
    complete -F %(complete_func)s %(prog_name)s
"""

_FISH = """\
function %(complete_func)s
    set -l answer (env COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -ct) \\
        %(complete_var)s=fish_complete %(prog_name)s 2>/dev/null)
    for line in $answer
        set -l parts (string split -m 1 "," -- $line)
        switch $parts[1]
            case dir
                __fish_complete_directories $parts[2]
            case plain
                echo -- $parts[2]
        end
    end
end
complete --no-files --keep-order --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


@add_completion_class
class Bash(BashComplete):
    """Values go into the command line as they are, so they come quoted."""

    source_template: ClassVar[str] = _BASH

    @staticmethod
    def _check_version() -> None:
        """Older ones only sort; that is no reason to complain."""

    def format_completion(self, item: CompletionItem[str]) -> str:
        value = re.sub(r"([^\w@%+=:,./-])", r"\\\1", item.value)
        return f"{item.type},{_with_tilde(value) if item.tilde else value}"


@add_completion_class
class Fish(FishComplete):
    """Values are quoted by the shell."""

    source_template: ClassVar[str] = _FISH

    def format_completion(self, item: CompletionItem[str]) -> str:
        value = _with_tilde(item.value) if item.tilde else item.value
        return f"{item.type},{value}" + (f"\t{item.help}" if item.help else "")


def _with_tilde(path: str) -> str:
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


def script(app: click.Command, shell: str) -> str:
    """The script that makes this shell ask ccmove."""
    found = get_completion_class(shell)
    assert found is not None  # the command line offers only those there are
    return found(app, {}, "ccmove", COMPLETE_VARIABLE).source()
