"""The entry of `settings.json` that makes Claude Code run `ccmove hook`: added to a
text, and taken out again.

Only the entry is written, everything else stays byte for byte. That taking it out gives
back the text of before needs no record: an object or list that we make has a blank
after its bracket, and into an empty one that was there before the entry goes right
after the bracket.
"""

import json
import re
from typing import Any

from ccmove.claude.state import get, members
from ccmove.rewrite.jsonspan import Node, parse, value_of
from ccmove.rewrite.splice import Texts, changed, replaced

# Silent where ccmove is not on PATH: a missing program is an error at every start.
COMMAND = "command -v ccmove >/dev/null 2>&1 && ccmove hook || true"
SECONDS = 10  # until Claude Code gives up on it; it takes a tenth of one
EVENT = "SessionStart"
HOOKS = "hooks"
GROUP = {
    "matcher": "startup",
    HOOKS: [{"type": "command", "command": COMMAND, "timeout": SECONDS}],
}
NEW_FILE = json.dumps({HOOKS: {EVENT: [GROUP]}}, indent=2)
PLUGIN = "ccmove@"  # begins its name in `enabledPlugins`
_RUNS_IT = re.compile(r"""\bccmove(?:\.exe)?["']?\s+hook\b""")
_BLANK = " \t\r\n\ufeff"
_UNIT = "  "  # of indentation, where there is nothing to go by


class OddShapeError(ValueError):
    """Settings in which hooks can't be found where Claude Code looks for them."""


def with_entry(text: str) -> str:
    """The text with the entry, which it does not have yet. Blanks alone are kept."""
    if not text.strip(_BLANK):
        return text + NEW_FILE
    root = parse(text)
    _check(root)
    hooks = root.members().get(HOOKS)
    if hooks is None:
        return _with_member(root, root, HOOKS, {EVENT: [GROUP]})
    groups = hooks.members().get(EVENT)
    if groups is None:
        return _with_member(root, hooks, EVENT, [GROUP])
    return _with_member(root, groups, "", GROUP)


def without_entry(text: str) -> str:
    """The text without the entry, which it has; what we made around it goes as well."""
    if text.strip(_BLANK) == NEW_FILE:
        return text.replace(NEW_FILE, "")
    root = parse(text)
    hooks = root.members()[HOOKS]
    groups = hooks.members()[EVENT]
    going: Texts = {}
    for number, group in enumerate(groups.items):
        if _is_ours(group):
            going[number] = None
    parent = groups
    if _is_made_by_us(groups, len(going)):
        parent = hooks
        going = {EVENT: None}
        if _is_made_by_us(hooks, 1):
            parent = root
            going = {HOOKS: None}
    rest = changed(parent, going)
    return replaced(parent, rest)


def has_entry(text: str) -> bool:
    """Whether our entry is in it, as we wrote it but for spacing."""
    return any(map(_is_ours, _groups(text)))


def has_hook(text: str) -> bool:
    """Whether anything in it runs `ccmove hook`, however that is written."""
    for group in _groups(text):
        for hook in group.members()[HOOKS].items:
            if _RUNS_IT.search(_line(hook)):
                return True
    return False


def _line(hook: Node) -> str:
    """What a hook runs; its arguments may stand apart."""
    words = [hook.string("command")]
    arguments = get(hook.value, "args")
    if isinstance(arguments, list):
        words += arguments
    return " ".join(map(str, words))


def refuse_others(text: str) -> None:
    """OddShapeError where another entry than ours runs the hook: it is not ours to take
    out.
    """
    if has_hook(text):
        raise OddShapeError("it runs `ccmove hook` in an entry of another form")


def enabled_plugins(text: str) -> list[str]:
    """Our plugin, under the name of each marketplace that it was installed from."""
    if not text.strip(_BLANK):
        return []
    plugins = members(value_of(text), "enabledPlugins")
    names = filter(_is_plugin, plugins)
    return [name for name in names if plugins[name] is True]


def _is_plugin(name: str) -> bool:
    return name.startswith(PLUGIN)


def _groups(text: str) -> list[Node]:
    """What is to be run at the start of a session, each with its matcher."""
    if not text.strip(_BLANK):
        return []
    root = parse(text)
    _check(root)
    hooks = root.members().get(HOOKS)
    if hooks is None:
        return []
    groups = hooks.members().get(EVENT)
    return [] if groups is None else groups.items


def _check(root: Node) -> None:
    """OddShapeError unless everything on the way to a hook is what it should be."""
    _check_object(root, "it", HOOKS)
    hooks = root.members().get(HOOKS)
    if hooks is None:
        return
    _check_object(hooks, HOOKS, EVENT)
    groups = hooks.members().get(EVENT)
    if groups is None:
        return
    if groups.kind != "[":
        raise OddShapeError(f"{HOOKS}.{EVENT} is not a list")
    for group in groups.items:
        where = f"an item of {HOOKS}.{EVENT}"
        _check_object(group, where, HOOKS)
        hooks = group.members().get(HOOKS)
        if hooks is None or hooks.kind != "[":
            raise OddShapeError(f"{where} has no list of {HOOKS}")


def _check_object(node: Node, what: str, name: str) -> None:
    """That it is an object, and has that name only once: which one counts would be a
    guess.
    """
    if node.kind != "{":
        raise OddShapeError(f"{what} is not an object")
    if node.names.count(name) > 1:
        raise OddShapeError(f"{what} has {name} more than once")


def _is_ours(group: Node) -> bool:
    """Whether a group holds our hook and no other."""
    hooks = group.members()[HOOKS].items
    return len(hooks) == 1 and hooks[0].string("command") == COMMAND


def _is_made_by_us(node: Node, going: int) -> bool:
    """Whether an object or list is ours, and nothing is in it but what goes."""
    return node.raw[1:2].isspace() and len(node.items) == going


def _with_member(root: Node, parent: Node, name: str, value: Any) -> str:
    """The whole text with one more item at the end of an object or list in it."""
    raw = _spelled(value, _gap(parent), _unit(root))
    longer = changed(parent, {}, [(name, raw)])
    return replaced(parent, longer)


def _gap(parent: Node) -> str:
    """What stands before the first item; nothing where there is none."""
    starts = parent.keys or parent.items
    return parent.text[parent.start + 1 : starts[0].start] if starts else ""


def _unit(root: Node) -> str:
    """What one level is indented by."""
    _, _, indent = _gap(root).rpartition("\n")
    return indent or _UNIT


def _spelled(value: Any, gap: str, unit: str) -> str:
    """As the items beside it: each on lines of its own, or all in one line."""
    lines, newline, indent = gap.rpartition("\n")
    if not newline:
        return json.dumps(value, indent=0).replace("\n", " ")
    ending = "\r\n" if lines.endswith("\r") else "\n"
    return json.dumps(value, indent=unit).replace("\n", f"{ending}{indent}")
