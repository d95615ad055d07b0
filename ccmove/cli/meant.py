"""What was probably meant by words that are neither a command nor OLD and NEW."""

import difflib
import os
import re

import click

from ccmove.claude.layout import find_layout
from ccmove.claude.naming import may_be_name_of
from ccmove.claude.state import State
from ccmove.cli.resolve import USUAL, WHAT_IS_KNOWN
from ccmove.errors import Hint, UsageError, run

# What people type who come from other tools.
OTHER_WORDS = {"mv": "move", "rename": "move", "ls": "list", "revert": "restore"}
ENCODED = re.compile("-[A-Za-z0-9]+(-[A-Za-z0-9]*)+")  # no options: those are letters only


def refuse_other_words(words: list[str], commands: list[str]) -> None:
    """UsageError with the right command for words of a move that are not one or two paths."""
    first, *rest = words or [""]
    near = difflib.get_close_matches(first, [*commands, *OTHER_WORDS], n=1, cutoff=0.7)
    is_old_gone = len(rest) == 1 and os.path.isdir(rest[0])  # and may be called like a command
    if near and not (os.path.sep in first or os.path.lexists(first) or is_old_gone):
        name = OTHER_WORDS.get(near[0], near[0])
        right = run("ccmove", name, *rest, text="did you mean")
        if name == "move":
            right = _move(*rest) if len(rest) == 2 else USUAL
        raise UsageError(
            f"no such command: {first} (a folder of that name is written ./{first})", right
        )
    if len(rest) > 1:
        *sources, target = words
        names = [os.path.basename(os.path.abspath(source)) for source in sources]
        into = [(old, os.path.join(target, name)) for old, name in zip(sources, names, strict=True)]
        moves = [_move(*pair) for pair in into if any(map(os.path.isdir, pair))]
        what = f"expected OLD and NEW, got {len(words)} paths"
        raise UsageError(what, *(moves if os.path.isdir(target) and moves else [USUAL]))
    parent, name = os.path.split(first)
    if rest and name == "*" and not os.path.lexists(first):  # no match, so the shell left it
        skip = ["--skip-path-check"] if os.path.lexists(parent) else []
        every = run("ccmove", *skip, parent, *rest, text="for every project that was in it")
        raise UsageError(f"{first} matches no folder", every)


def _move(old: str, new: str) -> Hint:
    is_to_rename = os.path.isdir(old) and not os.path.lexists(new)
    return run("ccmove", *(["-m"] if is_to_rename else []), old, new, text="did you mean")


def refuse_encoded_names(args: list[str], move: click.Command) -> None:
    """UsageError with the paths for the name that Claude Code gives to a project's directory."""
    for word in args[: args.index("--")] if "--" in args else args:
        folder, name = os.path.split(word.rstrip("/"))
        if ENCODED.fullmatch(name):
            others = [other for other in args if other != word]
            given = move.make_context("move", others, resilient_parsing=True).params
            layout = find_layout(given["config_dir"], os.environ)
            if folder and os.path.realpath(folder) != os.path.realpath(layout.projects):
                continue
            paths = sorted(p for p in State(layout).known_paths() if may_be_name_of(name, p))
            right = [run("ccmove", *(path if w == word else w for w in args)) for path in paths]
            message = f"{name} is the name of a directory in {layout.projects}, not a path"
            raise UsageError(message, *(right or [WHAT_IS_KNOWN]))
