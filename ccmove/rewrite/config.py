"""The config file (`~/.claude.json`): what a move changes in it, and what it leaves alone."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ccmove.rewrite import splice as make
from ccmove.rewrite.history import escapes_for, needles_of
from ccmove.rewrite.jsonspan import Node, Pointer, canonical, parse, parse_at, quote, show
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.rewriter import Mapper, moved, new_names, string_edits, walk
from ccmove.rewrite.splice import Edit

PROJECTS = "projects"
REPOS = "githubRepoPaths"


class ConfigChange(NamedTuple):
    """The edits, and the strings that name a path of the move and stay as they are."""

    edits: tuple[Edit, ...]
    mentions: tuple[tuple[str, str], ...]  # (pointer, string)


def is_opened(pointer: Pointer) -> bool:
    """Of the config file only the top and `projects` are opened: the rest may be large."""
    return pointer in ((), (PROJECTS,))


def config_change(text: str, paths: PathMap) -> ConfigChange:
    """Keys of `projects`, paths inside the moved projects' values, and `githubRepoPaths`."""
    root = parse(text, is_opened)
    projects, repos = root.get(PROJECTS), root.get(REPOS)
    arrivals = _Arrivals(text, projects, paths) if projects is not None else None
    edits = arrivals.edits() if arrivals is not None else []
    if repos is not None:
        edits += _repo_edits(text, parse_at(text, repos.start), paths.map)
    carried = arrivals.carried if arrivals is not None else []
    mentions = _mentions(text, [*map(_span, edits), *map(_span, carried)], paths)
    return ConfigChange(tuple(edits), tuple(mentions))


# -- a large file ----------------------------------------------------------------------------------


class Excerpt:
    """The config file without the members that a move has nothing to do with.

    It knows every project, and old clients kept prompts in it: it may be large, and what concerns
    a move is little. Members that follow each other and are left out become one, which is a mark,
    so that they can be put back.
    """

    def __init__(self, data: bytes, root: Node, paths: PathMap) -> None:
        self.data = data
        self.root = root
        self.paths = paths
        self.left_out: list[tuple[int, int]] = []
        self._signs = _signs(data, paths)
        self._places: list[int] = []  # which member of `projects` each one here was
        self._leave_out(root, {PROJECTS, REPOS})
        kept = b"".join(self._kept())
        keys = [key.value for node in (root, *root.items) for key in node.keys]
        self._mark = b"left out"
        while self._mark in kept or any(key.startswith(self._mark.decode()) for key in keys):
            self._mark += b"."
        marks = [b'"%b %d":0' % (self._mark, number) for number in range(len(self.left_out))]
        pieces = [piece for pair in zip(self._kept(), [*marks, b""], strict=True) for piece in pair]
        self.text = b"".join(pieces).decode("utf-8", "surrogateescape")

    def _leave_out(self, node: Node, concerned: set[str]) -> list[int]:
        """Leave out members that can neither change nor name a path; which are there then."""
        concerned = concerned | self._signed(node)
        places = []
        is_left_out = False
        for number, (key, item) in enumerate(node.members()):
            was_left_out = is_left_out
            is_left_out = key.value not in concerned and not self.paths.covers(key.value)
            if was_left_out and is_left_out:
                self.left_out[-1] = (self.left_out[-1][0], item.end)
                continue
            places.append(number)
            if is_left_out:
                self.left_out.append((key.start, item.end))
            elif key.value == PROJECTS and node is self.root:
                new_keys = {new for old in item.keys if (new := self.paths.map(old.value))}
                self._places = self._leave_out(item, new_keys)
        return places

    def _signed(self, node: Node) -> set[str]:
        """The keys of members with a sign of a path; of repeated ones all stay: the last counts."""
        starts = [key.start for key in node.keys]
        inside = [sign for sign in self._signs if starts and starts[0] < sign < node.end]
        numbers = {bisect_right(starts, sign) - 1 for sign in inside}
        return {node.keys[number].value for number in numbers}

    def _kept(self) -> Iterator[bytes]:
        position = 0
        for start, end in self.left_out:
            yield self.data[position:start]
            position = end
        yield self.data[position:]

    def placed(self, edits: Iterable[Edit]) -> tuple[Edit, ...]:
        """The edits as those of the whole file: with the places that members have there."""
        return tuple(
            edit._replace(place=self._places[edit.place])
            if edit.place >= 0 and edit.pointer[:-1] == (PROJECTS,)
            else edit
            for edit in edits
        )

    def completed(self, text: str) -> bytes:
        """The whole file, with what was made of the excerpt."""
        mark = rb'"%b ([0-9]+)":0' % re.escape(self._mark)
        pieces: list[bytes | memoryview] = []
        pieces += re.split(mark, text.encode("utf-8", "surrogateescape"))
        if [int(number) for number in pieces[1::2]] != list(range(len(self.left_out))):
            raise AssertionError("what was left out of the config file can't be put back")
        whole = memoryview(self.data)
        pieces[1::2] = [whole[start:end] for start, end in self.left_out]
        return b"".join(pieces)


def _signs(data: bytes, paths: PathMap) -> list[int]:
    """Where a path of the move may be named: it stands there, or something by its escape."""
    needles = needles_of(paths)
    found: list[int] = []
    for needle in needles:
        at = data.find(needle)
        while at >= 0:
            found.append(at)
            at = data.find(needle, at + 1)
    if b"\\" in data:
        found += [match.start() for match in escapes_for(needles).finditer(data)]
    return sorted(found)


# -- projects --------------------------------------------------------------------------------------


_Places = dict[str, list[int]]  # old key -> which members have it


class _Arrivals:
    """The members of `projects` on the way to their new keys."""

    def __init__(self, text: str, projects: Node, paths: PathMap) -> None:
        self.text = text
        self.projects = projects
        self.paths = paths
        self.carried: list[Edit] = []  # made to a value before it is united

    def edits(self) -> list[Edit]:
        """Rename the keys; where several members come to one key, unite their values."""
        coming: dict[str, _Places] = {}  # by new key
        for place, key in enumerate(self.projects.keys):
            new_key = moved(self.text, key, self.paths.map)
            if new_key is not None:
                coming.setdefault(new_key, {}).setdefault(key.value, []).append(place)
        edits: list[Edit] = []
        gone: set[int] = set()
        for new_key, places_of in coming.items():
            edits += self._arrive(new_key, places_of, gone)
        return edits + make.remove_items(self.text, self.projects, (PROJECTS,), gone)

    def _arrive(self, new_key: str, places_of: _Places, gone: set[int]) -> list[Edit]:
        """The edits for one new key; `gone` gets the members that become part of another."""
        if not self.paths.covers(new_key) and (settled := self.projects.get(new_key)) is not None:
            target = parse_at(self.text, settled.start)
            return self._take_up(target, (PROJECTS, new_key), places_of, _stays, gone)
        first = self._first(places_of)
        places = places_of.pop(first)
        pointer = (PROJECTS, first)
        edits = [
            make.rename_key(self.text, self.projects, place, pointer, new_key) for place in places
        ]
        target = self._opened(places)
        edits += string_edits(self.text, target, pointer, self.paths.map)
        return edits + self._take_up(target, pointer, places_of, self.paths.map, gone)

    def _take_up(
        self, target: Node, pointer: Pointer, others: _Places, mapper: Mapper, gone: set[int]
    ) -> list[Edit]:
        """The edits by which `target` gets what the others have; those are gone then."""
        united = ""
        for places in others.values():
            gone.update(places)
            value = self._carried(places)
            united = (
                make.apply(united, unite(united, parse(united), (), value)) if united else value
            )
        return unite(self.text, target, pointer, united, mapper) if united else []

    def _first(self, places_of: _Places) -> str:
        """The old key whose value takes up the others: an object, if there is one."""
        objects = [old for old, places in places_of.items() if self._opened(places).opened == "{"]
        return objects[0] if objects else next(iter(places_of))

    def _opened(self, places: list[int]) -> Node:
        """The value of a key: of a repeated one the last, as the client reads it."""
        return parse_at(self.text, self.projects.items[places[-1]].start)

    def _carried(self, places: list[int]) -> str:
        """The value of a key with its paths changed, to be united with another."""
        node = self._opened(places)
        inside = string_edits(self.text, node, (), self.paths.map)
        self.carried += inside
        return make.apply_inside(self.text, node, inside)


def _stays(_: str) -> None:
    return None


def unite(
    text: str, target: Node, pointer: Pointer, incoming: str, mapper: Mapper = _stays
) -> list[Edit]:
    """Edits that give `target` what only `incoming` has: lists without repeats, missing members.

    Scalars of the target win, except that trust and onboarding are true if either was. `mapper`
    is what other edits do to the strings of the target at the same time.
    """
    other = parse(incoming)
    if other.opened != "{":
        return []
    if target.opened != "{":
        return [make.set_raw(text, target, pointer, incoming)]
    mine = _members_after(text, target, mapper)
    edits: list[Edit] = []
    lacking: list[tuple[str, str]] = []
    for key, (_, item) in _members_after(incoming, other, _stays).items():
        if key not in mine:
            lacking.append((key, incoming[item.start : item.end]))
        else:
            name, node = mine[key]
            edits += _unite_values(text, node, (*pointer, name), incoming, item, mapper)
    return edits + make.add_items(text, target, pointer, lacking)


def _members_after(text: str, node: Node, mapper: Mapper) -> dict[str, tuple[str, Node]]:
    """The members that count, by the names they get: (name now, value)."""
    names = new_names(text, node, mapper)
    return {
        names.get(place, key.value): (key.value, item)
        for place, (key, item) in enumerate(node.members())
    }


def _unite_values(
    text: str, mine: Node, at: Pointer, incoming: str, other: Node, mapper: Mapper
) -> list[Edit]:
    """The edits for one member that both have."""
    lacking: list[tuple[str, str]] = []
    if mine.opened == other.opened == "[":
        lacking = _lacking_items(text, mine, incoming, other, mapper)
    elif mine.opened == other.opened == "{":
        # Whole members only: mixing the arguments of two servers of one name would serve nobody.
        have = _members_after(text, mine, mapper)
        theirs = _members_after(incoming, other, _stays)
        lacking = [
            (key, incoming[item.start : item.end])
            for key, (_, item) in theirs.items()
            if key not in have
        ]
    elif _is_consent(at[-1]) and other.value is True and mine.value is not True:
        return [make.set_raw(text, mine, at, "true")]
    return make.add_items(text, mine, at, lacking)


def _is_consent(key: str | int) -> bool:
    return "Trust" in str(key) or "Onboarding" in str(key)


def _lacking_items(
    text: str, mine: Node, incoming: str, other: Node, mapper: Mapper
) -> list[tuple[str, str]]:
    """What is in the other list and not in mine, each once."""
    have = {canonical(_text_after(text, item, mapper)) for item in mine.items}
    lacking = []
    for item in other.items:
        raw = incoming[item.start : item.end]
        if canonical(raw) not in have:
            have.add(canonical(raw))
            lacking.append(("", raw))
    return lacking


def _text_after(text: str, node: Node, mapper: Mapper) -> str:
    return make.apply_inside(text, node, string_edits(text, node, (), mapper))


# -- githubRepoPaths -------------------------------------------------------------------------------


def _repo_edits(text: str, repos: Node, mapper: Mapper) -> list[Edit]:
    """Paths of repositories; one that its list has already is not listed twice."""
    edits = [
        edit
        for edit in string_edits(text, repos, (REPOS,), mapper)
        if not isinstance(edit.pointer[-1], int)
    ]
    for spot in walk(repos):
        if spot.node.opened == "[":
            edits += _list_edits(text, spot.node, (REPOS, *spot.pointer), mapper)
    return edits


def _list_edits(text: str, node: Node, pointer: Pointer, mapper: Mapper) -> list[Edit]:
    mapped = [(item, moved(text, item, mapper)) for item in node.items]
    listed = {item.value for item, new in mapped if new is None and isinstance(item.value, str)}
    edits: list[Edit] = []
    gone: set[int] = set()
    for i, (item, new) in enumerate(mapped):
        if new in listed:
            gone.add(i)
        elif new is not None:
            listed.add(new)
            edits.append(make.set_string(text, item, (*pointer, i), new))
    return edits + make.remove_items(text, node, pointer, gone)


# -- what is left alone ----------------------------------------------------------------------------


def _span(edit: Edit) -> tuple[int, int]:
    """The text whose strings do not stay; the value of a member that is carried over does."""
    is_carried = edit.kind == "remove" and edit.pointer[0] == PROJECTS
    return edit.start, edit.end - (len(edit.before or "") if is_carried else 0)


def _mentions(
    text: str, changed: list[tuple[int, int]], paths: PathMap
) -> Iterator[tuple[str, str]]:
    """Strings anywhere in the file that name a path of the move and do not change."""
    if not _may_mention(text, changed, paths):
        return
    for spot in walk(parse(text)):
        for node in (*spot.node.keys, spot.node):
            if not isinstance(node.value, str) or not paths.is_named_in(node.value):
                continue
            if not any(start <= node.start < end for start, end in changed):
                at = spot.pointer if node is spot.node else (*spot.pointer, node.value)
                yield show(at), node.value


def _may_mention(text: str, changed: list[tuple[int, int]], paths: PathMap) -> bool:
    """Whether it is worth while to open the whole file: OLD is there, or may be, in escapes."""
    rest = make.apply(text, [Edit("set", (), None, None, start, end) for start, end in changed])
    needles = [quote(needle)[1:-1] for needle in paths.needles()]
    return any(sign in rest for sign in (*needles, "\\u", "\\/"))
