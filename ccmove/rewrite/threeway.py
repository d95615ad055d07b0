"""Take what a run changed out of a document in which life went on.

Three texts: `before` and `after` are what the run found and left, `now` is the document today.
What the run changed goes back value by value where it is still what the run wrote; all that came
later stays, and where both is not possible, what came later wins and the place is named.
Only splices of `now`: every other byte stays.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ccmove.rewrite import config, index
from ccmove.rewrite.jsonspan import (
    Node,
    NotJsonError,
    Pointer,
    canonical,
    parse,
    parse_at,
    quote,
    show,
)
from ccmove.rewrite.other import appended
from ccmove.rewrite.splice import (
    Mapper,
    Splice,
    add_items,
    apply,
    apply_inside,
    moved,
    remove_items,
    set_raw,
    set_string,
    string_splices,
)

EVERYTHING = "everything that the run changed in it"
_ORDERED = ("args",)  # lists of strings in which the order counts
_DEEPEST = 100  # what lies deeper is one value


def taken_out(
    form: str, before: str, after: str, now: str, back: Mapper, renamed: Mapper
) -> tuple[str, list[str]]:
    """`now` without the run's change, and the places where it could not be taken out.

    `form` is "config", "index", "json" or "lines". `back` says where a string that came since
    belongs again, `renamed` what the run made of a key.
    """
    if now == before:
        return now, []
    if now == after:
        return before, []
    if form == "lines":
        return _lines_out(before, after, now)
    try:
        roots = [_Value(text, parse(text, lambda _: False)) for text in (after, before, now)]
        return _Taking(form, before, after, now, back, renamed).result(*roots)
    except NotJsonError:
        return now, [EVERYTHING]


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of one of the three texts; it is opened when somebody looks into it."""

    text: str
    node: Node

    @property
    def raw(self) -> str:
        return self.text[self.node.start : self.node.end]

    @property
    def kind(self) -> str:
        return self.text[self.node.start]

    def is_same(self, other: _Value) -> bool:
        return self.raw == other.raw or canonical(self.raw) == canonical(other.raw)

    def opened(self) -> Node:
        if self.node.opened:
            return self.node
        return parse_at(self.text, self.node.start, lambda at: not at)

    def members(self) -> dict[str, _Value]:
        """The members that count, by name."""
        return {key.value: _Value(self.text, item) for key, item in self.opened().members()}

    def items(self) -> list[_Value]:
        return [_Value(self.text, item) for item in self.opened().items]


@dataclass
class _Taking:
    """The texts, and what was found to be done so far."""

    form: str
    before: str
    after: str
    now: str
    back: Mapper
    renamed: Mapper
    undo: list[Splice] = field(default_factory=list)  # of what the run did
    since: list[Splice] = field(default_factory=list)  # of strings that came since
    lost: list[str] = field(default_factory=list)
    was_back: int = 0  # changes that are gone already

    def result(self, base: _Value, ours: _Value, theirs: _Value) -> tuple[str, list[str]]:
        self.merge(base, ours, theirs, ())
        if self.form == "json":
            self._follow(theirs)
        elif self.form == "config" and theirs.kind == "{":
            repos = theirs.members().get(config.REPOS)
            if repos is not None:
                opened = parse_at(self.now, repos.node.start)
                self.since += config.repo_splices(self.now, opened, self.came_back)
        # In a swap what was taken out looks as if it had yet to be.
        is_done = self.was_back and not self.undo and not self.lost
        splices = self.undo if is_done else [*self.undo, *self.since]
        return apply(self.now, _outermost(splices)), list(dict.fromkeys(self.lost))

    def came_back(self, string: str) -> str | None:
        """Where a string that came since belongs; None when it is not one, or stays."""
        new = self.back(string)
        if new is None or quote(string) in self.before or quote(string) in self.after:
            return None
        return new

    def _follow(self, value: _Value) -> None:
        """Strings that came since to something that goes back follow it."""
        opened = parse_at(self.now, value.node.start)
        self.since += string_splices(self.now, opened, self.came_back)

    def _lose(self, at: Pointer) -> None:
        self.lost.append(show(at))

    # -- one value ---------------------------------------------------------------------------------

    def merge(self, base: _Value, ours: _Value, theirs: _Value, at: Pointer) -> None:
        """Take out what the run did to one value."""
        if base.raw == ours.raw:
            return
        kinds = base.kind + ours.kind + theirs.kind
        if kinds == "{{{" and len(at) < _DEEPEST:
            if self.form == "config" and at == (config.PROJECTS,):
                _Members(self, base, ours, theirs, at, is_projects=True).merge()
            else:
                _Members(self, base, ours, theirs, at).merge()
        elif self.form == "index" and at == ("entries",) and kinds == "[[[":
            self._entries(base, ours, theirs)
        elif base.is_same(ours):
            return
        elif theirs.is_same(base):
            self.undo.append(set_raw(theirs.node, ours.raw))
        elif theirs.is_same(ours):
            self.was_back += 1
        elif kinds == "[[[" and at[-1:] not in [(name,) for name in _ORDERED]:
            self._list(base, ours, theirs, at)
        else:
            self._replaced(theirs, at)

    def _replaced(self, theirs: _Value, at: Pointer) -> None:
        """What came in the place of the run's value stays; if it is a path, it may follow."""
        new = moved(self.now, theirs.node, self.came_back)
        if new is not None:
            self.undo.append(set_string(theirs.node, new))
        else:
            self._lose(at)

    # -- lists -------------------------------------------------------------------------------------

    def _list(self, base: _Value, ours: _Value, theirs: _Value, at: Pointer) -> None:
        """Items that the run replaced go back, those that it added go, those that it took come."""
        mine, found = base.items(), theirs.items()
        former = ours.items()
        free = {number: canonical(item.raw) for number, item in enumerate(found)}
        pairs = _pairs(former, mine)
        gone: list[int] = []
        missing: list[str] = []
        for old, new in pairs:
            number = _number(free, new) if new is not None else None
            if number is not None:
                del free[number]
            if new is None and old is not None:
                if _number(free, old) is None:
                    missing.append(old.raw)
            elif old is None and number is not None:
                gone.append(number)
            elif old is not None and number is not None and new is not None:
                if not old.is_same(new):  # noqa: SIM102
                    self.undo.append(set_raw(found[number].node, old.raw))
        self._changed_items(pairs, found, free, at)
        opened = theirs.opened()
        self.undo += remove_items(opened, gone)
        self.undo += add_items(self.now, opened, [("", raw) for raw in missing])

    def _changed_items(
        self,
        pairs: list[tuple[_Value | None, _Value | None]],
        found: list[_Value],
        free: dict[int, str],
        at: Pointer,
    ) -> None:
        """Items that are neither as the run left them nor as they were: by their place."""
        known = Counter(canonical(item.raw) for item in found)
        for number, (old, new) in enumerate(pairs):
            if old is None or new is None or old.is_same(new) or known[canonical(new.raw)]:
                continue
            if known[canonical(old.raw)]:
                self.was_back += 1
            elif number in free and found[number].kind == "{":
                self.merge(new, old, found[number], (*at, number))
            else:
                self._lose((*at, number))

    def _entries(self, base: _Value, ours: _Value, theirs: _Value) -> None:
        """Entries of an index by their sessions; what the client made of one is no loss."""
        left, had, have = _by_session(base), _by_session(ours), _by_session(theirs)
        opened = theirs.opened()
        numbers = {key: number for number, key in enumerate(_keys(theirs))}
        added = [key for key in left if key not in had]
        self.undo += remove_items(opened, [numbers[key] for key in added if key in have])
        missing = [(key, had[key].raw) for key in had if key not in left and key not in have]
        self.undo += add_items(self.now, opened, missing)
        lost = len(self.lost)
        for key, entry in have.items():
            if key in left and key in had:
                self.merge(left[key], had[key], entry, ("entries", key))
            elif key not in left and key not in had:
                wanted = dict.fromkeys(("projectPath", "fullPath"), self.back)
                self.since += index.entry_splices(self.now, entry.node, wanted)
        del self.lost[lost:]


def _pairs(former: list[_Value], mine: list[_Value]) -> list[tuple[_Value | None, _Value | None]]:
    """(before, after) of each item: by place where the run changed items only."""
    if len(former) == len(mine):
        return list(zip(former, mine, strict=True))
    old, new = [canonical(v.raw) for v in former], [canonical(v.raw) for v in mine]
    pairs: list[tuple[_Value | None, _Value | None]] = []
    for _, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        both = min(j - i, m - k)
        pairs += zip(former[i : i + both], mine[k : k + both], strict=True)
        pairs += [(value, None) for value in former[i + both : j]]
        pairs += [(None, value) for value in mine[k + both : m]]
    return pairs


def _number(free: dict[int, str], value: _Value) -> int | None:
    wanted = canonical(value.raw)
    return next((number for number, known in free.items() if known == wanted), None)


def _by_session(entries: _Value) -> dict[str, _Value]:
    return dict(zip(_keys(entries), entries.items(), strict=True))


def _keys(entries: _Value) -> list[str]:
    return [index.key_of(entries.text, item.node) for item in entries.items()]


# -- objects ---------------------------------------------------------------------------------------


@dataclass
class _Members:
    """The members of one object in the three texts."""

    taking: _Taking
    base: _Value
    ours: _Value
    theirs: _Value
    at: Pointer
    is_projects: bool = False

    def merge(self) -> None:
        self.left, self.had = self.base.members(), self.ours.members()
        self.have, self.opened = self.theirs.members(), self.theirs.opened()
        self.gone: set[str] = set()  # names of members of now that go
        self.links = self._links()
        others = self.had.keys() - self.links.keys()
        arrived = set(self.links.values())
        for old, new in self.links.items():
            self._undo_rename(old, new)
        for name in [name for name in self.had if name in others]:
            if name in self.left and name not in arrived:
                self._undo_value(name)
            else:
                self._bring(name, self.had[name].raw)
        for name in self.left:
            if name not in self.had and name not in arrived:
                self._take_added(name)
        if self.is_projects:
            self._follow_new_keys()
        numbers = [i for i, key in enumerate(self.opened.keys) if key.value in self.gone]
        self.taking.undo += remove_items(self.opened, numbers)

    def _links(self) -> dict[str, str]:
        """Names that the run changed: old -> new; of several that became one, the first object."""
        targets = {name: self.taking.renamed(name) for name in self.had}
        links: dict[str, str] = {}
        for old in sorted(self.had, key=lambda name: self.had[name].kind != "{"):
            new = targets[old]
            if new is None or new == old or new not in self.left or new in links.values():
                continue
            stays = old in self.left and old not in targets.values()
            is_settled = new in self.had and targets[new] is None
            if not stays and not is_settled:
                links[old] = new
        return links

    def _undo_rename(self, old: str, new: str) -> None:
        taking = self.taking
        if self._is_back(old, new):
            taking.was_back += 1
        elif new not in self.have:
            taking._lose((*self.at, new))
        elif old in self.have and old not in self.left:
            value = self._without(new, old)
            self._unite(old, value)
        else:
            taking.merge(self.left[new], self.had[old], self.have[new], (*self.at, old))
            if self.is_projects:
                taking._follow(self.have[new])
            self._rename(new, old)

    def _rename(self, name: str, back: str) -> None:
        keys = [key for key in self.opened.keys if key.value == name]
        self.taking.undo += [set_string(key, back) for key in keys]

    def _is_back(self, old: str, new: str) -> bool:
        """Whether the name was taken back already; in a chain or a swap others tell."""
        if old not in self.have:
            return False
        seen = {old}
        while new in self.have:
            if new not in self.links:
                return False
            if new in seen:
                return self._is_nearer_before(old, self.links[old])
            seen.add(new)
            new = self.links[new]
        return True

    def _is_nearer_before(self, old: str, new: str) -> bool:
        """In a swap: whether the member now is rather what it was than what it became.

        Where the values do not tell, their order does: names were exchanged in place.
        """
        now = self._parts(self.have[old])
        was, became = (now & self._parts(values[old]) for values in (self.had, self.left))
        order, order_now = ([*values].index for values in (self.had, self.have))
        same_order = (order(old) < order(new)) == (order_now(old) < order_now(new))
        return len(was) > len(became) or (len(was) == len(became) and same_order)

    def _parts(self, value: _Value) -> set[tuple[str, str]]:
        if value.kind != "{":
            return {("", canonical(value.raw))}
        return {(name, canonical(item.raw)) for name, item in value.members().items()}

    def _without(self, new: str, old: str) -> str:
        """The text of a renamed member with the change taken out; the member itself goes."""
        taking = self.taking
        inner = _Taking(
            taking.form, taking.before, taking.after, taking.now, taking.back, taking.renamed
        )
        value = self.have[new]
        if old in self.had and new in self.left:
            inner.merge(self.left[new], self.had[old], value, (*self.at, old))
        inner._follow(value)
        self.gone.add(new)
        return apply_inside(taking.now, value.node, _outermost([*inner.undo, *inner.since]))

    def _unite(self, name: str, raw: str) -> None:
        """What came later stays, what it lacks is added, and it is named."""
        mine = self.have[name]
        both = config.united(mine.raw, raw) if mine.kind == "{" else mine.raw
        self.taking.undo.append(set_raw(mine.node, both))
        self.taking._lose((*self.at, name))

    def _undo_value(self, name: str) -> None:
        base, ours = self.left[name], self.had[name]
        if name in self.have:
            self.taking.merge(base, ours, self.have[name], (*self.at, name))
        elif not base.is_same(ours):
            self.taking._lose((*self.at, name))

    def _bring(self, name: str, raw: str) -> None:
        """A member that the run took out, or made part of another, comes back."""
        if name not in self.have or name in self.links.values():
            self.taking.undo += add_items(self.taking.now, self.opened, [(name, raw)])
        elif self.have[name].is_same(self.had[name]):
            self.taking.was_back += 1
        else:
            self._unite(name, raw)

    def _take_added(self, name: str) -> None:
        """A member that the run added goes, if it is still the same."""
        if name not in self.have:
            self.taking.was_back += 1
        elif self.have[name].is_same(self.left[name]):
            self.gone.add(name)
        else:
            self.taking._lose((*self.at, name))

    def _follow_new_keys(self) -> None:
        """Projects that came since below one that goes back follow it."""
        taking = self.taking
        for name, value in self.have.items():
            new = taking.came_back(name)
            if new is None or new == name:
                continue
            if new in self.have and new not in self.links.values():
                self._unite(new, self._without(name, new))
            else:
                taking._follow(value)
                keys = [key for key in self.opened.keys if key.value == name]
                taking.since += [set_string(key, new) for key in keys]


def _outermost(splices: Iterable[Splice]) -> list[Splice]:
    """Without those that lie inside a larger one: they go with it."""
    kept: list[Splice] = []
    for splice in sorted(splices, key=lambda s: (s.start, s.end > s.start, -s.end)):
        if not kept or splice.start >= kept[-1].end:
            kept.append(splice)
    return kept


# -- plain lines -----------------------------------------------------------------------------------


def _lines_out(before: str, after: str, now: str) -> tuple[str, list[str]]:
    """Lines that the run added go, those that it replaced or took out come back."""
    had, left, lines = before.split("\n"), after.split("\n"), now.split("\n")
    lost: list[str] = []
    missing: list[str] = []
    for number, old, new in _line_pairs(had, left):
        place = _place(lines, new, number) if new is not None else None
        if new is None and old is not None:
            missing.append(old)
        elif old is None and place is not None:
            del lines[place]
        elif old is not None and place is not None:
            lines[place] = old
        elif old is not None and old not in lines:
            lost.append(f"line {number + 1}")
    return appended("\n".join(lines), "\n".join(missing)), lost


def _line_pairs(had: list[str], left: list[str]) -> Iterator[tuple[int, str | None, str | None]]:
    """(number, before, after) of the lines that the run changed; the last ones first."""
    matcher = difflib.SequenceMatcher(None, had, left, autojunk=False)
    for tag, i, j, k, m in reversed(matcher.get_opcodes()):
        if tag == "equal":
            continue
        for number in reversed(range(max(j - i, m - k))):
            old = had[i + number] if i + number < j else None
            new = left[k + number] if k + number < m else None
            if (old or new or "").strip():
                yield k + number, old, new


def _place(lines: list[str], wanted: str, number: int) -> int | None:
    """Where the line is now: in its place, or the last one that is the same."""
    if number < len(lines) and lines[number] == wanted:
        return number
    return len(lines) - 1 - lines[::-1].index(wanted) if wanted in lines else None
