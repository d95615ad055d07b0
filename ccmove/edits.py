"""Changes of a JSON text: what they are, where they stand, how to make and how to undo them.

An edit is both an exact splice of one particular text and a description by pointer that still
means something when the text has changed since. Everything between the splices stays byte for
byte. The four kinds are enough to say anything and each has an opposite:

    set     the value at the pointer        before -> after
    key     the name of the member there    before -> after
    add     the item at the pointer         (absent) -> after
    remove  the item at the pointer         before -> (absent)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ccmove.jsonspan import Node, NotJsonError, Pointer, find, loads, parse, quote


@dataclass(frozen=True, slots=True)
class Edit:
    """text[start:end] becomes `text`; `before` and `after` are the JSON texts it is about."""

    kind: str
    pointer: Pointer
    before: str | None
    after: str | None
    start: int = -1
    end: int = -1
    text: str = ""
    anchor: str | None = None  # sessionId of the array element, which may move to another index

    def describe(self) -> tuple[Any, Any]:
        """Before and after as plain values, for people and for `--json`."""
        return _plain(self.before), _plain(self.after)


def _plain(raw: str | None) -> Any:
    if raw is None:
        return None
    try:
        value = loads(raw)
    except NotJsonError:
        return raw
    return value if isinstance(value, str) else raw


def apply(text: str, edits: Iterable[Edit]) -> str:
    """`text` with every splice made; all else is untouched."""
    pieces: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < position:
            raise AssertionError(f"edits overlap at character {edit.start}")
        pieces += (text[position : edit.start], edit.text)
        position = edit.end
    pieces.append(text[position:])
    return "".join(pieces)


def apply_inside(text: str, node: Node, edits: Iterable[Edit]) -> str:
    """The text of one node with the edits that lie in it made."""
    inside = [e for e in edits if node.start <= e.start and e.end <= node.end]
    whole = apply(text[: node.end], inside)
    return whole[node.start :]


# -- making edits ---------------------------------------------------------------------------


def set_raw(text: str, node: Node, pointer: Pointer, raw: str, anchor: str | None = None) -> Edit:
    before = text[node.start : node.end]
    return Edit("set", pointer, before, raw, node.start, node.end, raw, anchor)


def set_string(
    text: str, node: Node, pointer: Pointer, value: str, anchor: str | None = None
) -> Edit:
    return set_raw(text, node, pointer, quote(value), anchor)


def rename_key(text: str, key: Node, pointer: Pointer, name: str) -> Edit:
    raw = quote(name)
    return Edit("key", pointer, text[key.start : key.end], raw, key.start, key.end, raw)


def add_items(
    text: str, parent: Node, pointer: Pointer, items: list[tuple[str, str]]
) -> list[Edit]:
    """Edits that append (token, raw) to `parent`, spaced as its other items are."""
    edits: list[Edit] = []
    count = len(parent.items)
    for token, raw in items:
        member = f"{quote(token)}:{_colon_gap(text, parent)}{raw}" if parent.opened == "{" else raw
        place: str | int = token if parent.opened == "{" else count
        if parent.items:
            at, spliced = parent.items[-1].end, f",{_item_gap(text, parent)}{member}"
        else:
            at, spliced = parent.start + 1, member if not edits else f",{member}"
        edits.append(Edit("add", (*pointer, place), None, raw, at, at, spliced))
        count += 1
    return edits


def _item_gap(text: str, parent: Node) -> str:
    """The white space between two items; of a single item, that before it."""
    starts = parent.keys or parent.items
    if len(starts) > 1:
        between = text[parent.items[0].end : starts[1].start]
        return between.partition(",")[2]
    return text[parent.start + 1 : starts[0].start]


def _colon_gap(text: str, parent: Node) -> str:
    if not parent.keys:
        return " "
    return text[parent.keys[0].end : parent.items[0].start].partition(":")[2]


def remove_items(text: str, parent: Node, pointer: Pointer, gone: set[int]) -> list[Edit]:
    """Edits that take the items with these indexes out, each with one of its commas."""
    starts = parent.keys or parent.items
    kept = [i for i in range(len(parent.items)) if i not in gone]
    last_kept = kept[-1] if kept else -1
    edits = []
    for i in sorted(gone):
        node = parent.items[i]
        if i < last_kept:
            start, end = starts[i].start, starts[i + 1].start
        elif i == 0:
            start, end = starts[0].start, node.end
        else:
            start, end = parent.items[i - 1].end, node.end
        token: str | int = parent.keys[i].value if parent.keys else i
        raw = text[node.start : node.end]
        edits.append(Edit("remove", (*pointer, token), raw, None, start, end, ""))
    return edits


# -- undoing them where life went on -----------------------------------------------------------


def undo(text: str, edits: Iterable[Edit]) -> tuple[list[Edit], list[Edit]]:
    """Edits of `text` that take back `edits`, and those of `edits` that can't be taken back.

    Each is undone only where the value is still what the edit made of it. Pointers of `edits`
    are those of the text before, so renamed keys are followed.
    """
    root = parse(text)
    made = list(edits)
    renamed = {e.pointer: str(_plain(e.after)) for e in made if e.kind == "key"}
    back: list[Edit] = []
    lost: list[Edit] = []
    removals: dict[Pointer, set[int]] = {}
    additions: dict[Pointer, list[tuple[str, str]]] = {}
    for edit in made:
        pointer = _follow(edit.pointer, renamed)
        parent = find(root, _anchored(root, pointer[:-1], edit.anchor))
        if parent is None or not parent.opened or edit.before == edit.after:
            lost.append(edit)
        elif edit.kind == "remove":
            token = pointer[-1]
            if isinstance(token, str) and parent.get(token) is not None:
                lost.append(edit)
            else:
                additions.setdefault(pointer[:-1], []).append((str(token), edit.before or ""))
        elif (index := _index_of(text, parent, pointer[-1], edit)) is None:
            lost.append(edit)
        elif edit.kind == "add":
            removals.setdefault(pointer[:-1], set()).add(index)
        elif edit.kind == "key":
            back.append(rename_key(text, parent.keys[index], pointer, str(_plain(edit.before))))
        else:
            back.append(set_raw(text, parent.items[index], pointer, edit.before or ""))
    for pointer, gone in removals.items():
        parent = find(root, pointer)
        assert parent is not None  # it was found above
        back += remove_items(text, parent, pointer, gone)
    for pointer, items in additions.items():
        parent = find(root, pointer)
        assert parent is not None  # it was found above
        back += add_items(text, parent, pointer, items)
    return _without_overlaps(back, lost)


def _follow(pointer: Pointer, renamed: dict[Pointer, str]) -> Pointer:
    followed: list[str | int] = []
    for depth, token in enumerate(pointer):
        followed.append(renamed.get(pointer[: depth + 1], token))
    return tuple(followed)


def _anchored(root: Node, pointer: Pointer, anchor: str | None) -> Pointer:
    """`pointer` with its array index set to where the element with that sessionId is now."""
    if anchor is None or not pointer:
        return pointer
    parent = find(root, pointer[:-1])
    for index, item in enumerate(parent.items if parent is not None else ()):
        name = item.get("sessionId") if item.opened == "{" else None
        if name is not None and name.value == anchor:
            return (*pointer[:-1], index)
    return (*pointer[:-1], -1)


def _index_of(text: str, parent: Node, token: str | int, edit: Edit) -> int | None:
    """Which item of `parent` is still what `edit` made of it."""
    if parent.opened == "{":
        return _member_index(text, parent, token, edit)
    same = [i for i, item in enumerate(parent.items) if text[item.start : item.end] == edit.after]
    if token in same and isinstance(token, int):
        return token
    return same[0] if len(same) == 1 else None


def _member_index(text: str, parent: Node, token: str | int, edit: Edit) -> int | None:
    old_name = _plain(edit.before)
    for index in reversed(range(len(parent.keys))):
        if parent.keys[index].value != token:
            continue
        if edit.kind == "key":
            return index if parent.get(str(old_name)) is None else None
        item = parent.items[index]
        return index if text[item.start : item.end] == edit.after else None
    return None


def _without_overlaps(back: list[Edit], lost: list[Edit]) -> tuple[list[Edit], list[Edit]]:
    """Drop what lies inside a larger removal: it goes with it."""
    kept: list[Edit] = []
    for edit in sorted(back, key=lambda e: (e.start, -e.end)):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
    return kept, lost
