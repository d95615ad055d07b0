"""What a shell offers at TAB: known projects, folders, backups; and the scripts that make it ask.

click does the asking and answering. Its scripts for bash and fish take values apart at commas
and blanks, expand stars and sort, so these two shells get scripts of our own.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import ClassVar

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
    add_completion_class,
)

from ccmove.claude.layout import Layout, find_layout, size_of
from ccmove.claude.ownership import folder_exists
from ccmove.claude.state import State
from ccmove.cli.boundary import Asked
from ccmove.cli.resolve import known_paths
from ccmove.report.console import show_text
from ccmove.run.backups import all_backups
from ccmove.run.manifest import Manifest
from ccmove.text import printable

COMPLETE_VARIABLE = "_CCMOVE_COMPLETE"  # a shell sets it to ask how a word goes on
SLOW_HISTORY = 8 << 20  # bytes; nobody waits for a larger one at TAB
Items = list[CompletionItem[str]]


def known_projects(context: click.Context, _: click.Parameter | None, incomplete: str) -> Items:
    """Known projects that begin so, or whose folder's name does; missing ones first.

    With no match the shell offers folders: all that lies below one may be moved at once.
    """
    wanted = os.path.expanduser(incomplete)
    with contextlib.suppress(Exception):  # a traceback in the middle of a prompt helps nobody
        layout = _layout(context)
        known = known_paths(State(layout), history=size_of(layout.history) < SLOW_HISTORY)
        # A name with control characters would be acted on by the terminal; it has to be typed.
        fitting = [path for path in known if _fits(path, wanted) and printable(path) == path]
        rows = sorted((folder_exists(path) is not False, path) for path in fitting)
        tilde, words = incomplete.startswith("~/"), ("folder gone", "folder exists")
        if rows:
            return [CompletionItem(p, help=words[exists], tilde=tilde) for exists, p in rows]
    return folders(context, _, incomplete)


def _layout(context: click.Context) -> Layout:
    chosen = context.params.get("config_dir")
    return find_layout(os.path.expanduser(chosen) if chosen else None, os.environ)


def _fits(path: str, wanted: str) -> bool:
    if wanted.startswith("/"):
        return path.startswith(wanted)
    return "/" not in wanted and os.path.basename(path).startswith(wanted)


def first_word(
    context: click.Context, incomplete: str, commands: Items, move: click.Command
) -> Items:
    """A command, an option or the OLD of a move; folders only when there is nothing else."""
    found = {item.value: item for item in [*commands, *move.shell_complete(context, incomplete)]}
    if not incomplete.startswith("-"):
        for item in known_projects(context, None, incomplete):
            if item.type == "plain" or not found:
                found[item.value] = item
    return list(found.values())


def folders(_: click.Context, __: click.Parameter | None, incomplete: str) -> Items:
    """Folders, which the shell itself knows best how to complete."""
    return [CompletionItem(incomplete, type="dir")]


def backups(context: click.Context, _: click.Parameter, incomplete: str) -> Items:
    """IDs of the backups, the newest first, what was undone already last."""
    with contextlib.suppress(Exception):
        found = sorted(all_backups(_layout(context)), key=lambda b: (b.stands, b.id), reverse=True)
        return [
            CompletionItem(backup.id, help=_described(backup.manifest))
            for backup in found
            if backup.manifest is not None and backup.id.startswith(incomplete)
        ]
    return []


def _described(manifest: Manifest) -> str:
    (old, new), *rest = manifest.moves
    return printable(f"{manifest.kind} {old} -> {new}{' and more' if rest else ''}")


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


def _own_shell() -> str:
    return os.path.basename(os.environ.get("SHELL", "bash"))


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), default=_own_shell)
@click.pass_context
def completion_command(context: click.Context, shell: str) -> Asked:
    """Print the script that completes ccmove's arguments in SHELL.

    \b
    bash  eval "$(ccmove completion bash)"      in ~/.bashrc
    zsh   eval "$(ccmove completion zsh)"       in ~/.zshrc, after compinit
    fish  ccmove completion fish | source       in ~/.config/fish/config.fish
    """
    scripts = {"bash": Bash, "zsh": ZshComplete, "fish": Fish}
    script = scripts[shell](context.find_root().command, {}, "ccmove", COMPLETE_VARIABLE).source()
    return Asked(lambda _: (script, show_text))
