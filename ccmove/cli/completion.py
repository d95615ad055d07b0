"""`ccmove completion`: the scripts that make a shell ask, and what it is answered.

click does the asking and answering, and has the scripts. Its script for bash takes values apart at
blanks and expands stars, so that bash gets one of our own.
"""

from __future__ import annotations

import os
import re
from typing import ClassVar

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete

from ccmove.cli.options import HELP, Command

ASKING = "_CCMOVE_COMPLETE"  # a shell that asks how a word goes on sets it to SHELL_complete

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


class Bash(BashComplete):
    """Values go into the command line as they are, so they come quoted."""

    source_template: ClassVar[str] = _BASH

    @staticmethod
    def _check_version() -> None:
        """Older ones only sort; that is no reason to complain."""

    def format_completion(self, item: CompletionItem[str]) -> str:
        quoted = re.sub(r"([^\w@%+=:,./~-])", r"\\\1", item.value)
        return f"{item.type},{quoted}"


class Fish(FishComplete):
    """click's script, but a value may have commas in it, and what is gone stays first."""

    source_template: ClassVar[str] = FishComplete.source_template.replace(
        'string split ","', 'string split -m 1 ","'
    ).replace("--no-files", "--no-files --keep-order")


SHELLS = {"bash": Bash, "zsh": ZshComplete, "fish": Fish}


def _own_shell() -> str:
    return os.path.basename(os.environ.get("SHELL", "bash"))


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(list(SHELLS)), default=_own_shell)
@click.pass_context
def completion_command(context: click.Context, shell: str) -> str:
    """Print the script that completes ccmove's arguments in SHELL.

    \b
    bash  eval "$(ccmove completion bash)"      in ~/.bashrc
    zsh   eval "$(ccmove completion zsh)"       in ~/.zshrc, after compinit
    fish  ccmove completion fish | source       in ~/.config/fish/config.fish
    """
    app = context.find_root().command
    return SHELLS[shell](app, {}, "ccmove", ASKING).source()


completion_command.params.append(HELP)
