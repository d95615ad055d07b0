"""Take what a run changed out of a document in which life went on.

Three texts: `before` and `after` are what the run found and left, `now` is the document today.
What the run changed goes back value by value where it is still what the run wrote; all that came
later stays, and where both is not possible, what came later wins and the place is named.
Only splices of `now`: every other byte stays.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ccmove.rewrite import config, index, jsonspan
from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import DEEPEST, Node, NotJsonError, Part, Pointer, canonical
from ccmove.rewrite.other import without_lines
from ccmove.rewrite.splice import Mapper, Splice

EVERYTHING = "it is no longer valid JSON: everything in it"
ORDERED = "args"  # a list in which the order counts


def taken_out(
    form: str, before: str, after: str, now: str, back: Mapper, renamed: Mapper
) -> tuple[str, list[str]]:
    """`now` without the run's change, and the places where it could not be taken out.

    `form` is "config", "index", "json" or "lines". `back` says where a string that came since
    belongs again, `renamed` what the run made of a key.
    """
    if now in (before, after):
        return before, []
    if form == "lines":
        return without_lines(before, after, now)
    try:
        base, ours, theirs = (Part.whole(text) for text in (after, before, now))
        return _Taking(form, before, after, now, back, renamed).result(base, ours, theirs)
    except NotJsonError:
        return now, [EVERYTHING]


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
    was_back: bool = False  # some change is gone already

    def result(self, base: Part, ours: Part, theirs: Part) -> tuple[str, list[str]]:
        self.merge(base, ours, theirs, ())
        repos = theirs.members().get(config.REPOS)
        if self.form == "json":
            self.follow(theirs)
        elif self.form == "config" and repos is not None:
            opened = jsonspan.parse_at(self.now, repos.node.start)
            self.since += config.repo_splices(self.now, opened, self.came_back)
        # In a swap what was taken out already looks as if it had yet to be.
        is_done = self.was_back and not self.undo and not self.lost
        return self.applied([] if is_done else self.since), list(dict.fromkeys(self.lost))

    def applied(self, since: list[Splice], node: Node | None = None) -> str:
        """The text, or one node of it, with all that was found; not what lies in what goes."""
        kept: list[Splice] = []
        order = lambda s: (s.start, s.end > s.start, -s.end)  # noqa: E731
        for splice in sorted([*self.undo, *since], key=order):
            if not kept or splice.start >= kept[-1].end:
                kept.append(splice)
        return make.apply_inside(self.now, node, kept) if node else make.apply(self.now, kept)

    def came_back(self, string: str) -> str | None:
        """Where a string that came since belongs; None when it is not one, or stays."""
        new, quoted = self.back(string), jsonspan.quote(string)
        return None if new is None or quoted in self.before or quoted in self.after else new

    def follow(self, value: Part) -> None:
        """Strings that came since to something that goes back follow it."""
        opened = jsonspan.parse_at(self.now, value.node.start)
        self.since += make.string_splices(self.now, opened, self.came_back)

    def lose(self, *at: str | int) -> None:
        """This stays, and is named."""
        self.lost.append(jsonspan.show(at))

    # -- values ------------------------------------------------------------------------------------

    def merge(self, base: Part, ours: Part, theirs: Part, at: Pointer) -> None:
        """Take out what the run did to one value."""
        if base.raw == ours.raw:
            return
        kinds = base.kind + ours.kind + theirs.kind
        if kinds == "{{{" and len(at) < DEEPEST:
            _Members(self, base, ours, theirs, at).merge()
        elif kinds == "[[[" and self.form == "index" and at == ("entries",):
            self._merge_entries(base, ours, theirs)
        elif base.is_same(ours):
            return
        elif theirs.is_same(base):
            self.undo.append(make.set_raw(theirs.node, ours.raw))
        elif theirs.is_same(ours):
            self.was_back = True
        elif kinds == "[[[" and at[-1:] != (ORDERED,):
            self._merge_list(base, ours, theirs, at)
        elif (new := make.moved(self.now, theirs.node, self.came_back)) is not None:
            self.undo.append(make.set_string(theirs.node, new))
        else:
            self.lose(*at)

    def _merge_list(self, base: Part, ours: Part, theirs: Part, at: Pointer) -> None:
        """Items that the run replaced go back, those that it added go, those that it took come."""
        found, gone, missing = theirs.items(), [], []
        places: dict[str, list[int]] = defaultdict(list)
        for number, item in enumerate(found):
            places[canonical(item.raw)].append(number)
        for number, old, new in _changed_items(ours.items(), base.items()):
            place = places[canonical(new.raw)] if new is not None else []
            if old is None:
                gone += [place.pop()] if place else []
            elif place:
                self.undo.append(make.set_raw(found[place.pop(0)].node, old.raw))
            elif places[canonical(old.raw)]:
                self.was_back = True
            elif new is None:
                missing.append(("", old.raw))
            elif number < len(found) and found[number].kind == new.kind == "{":
                self.merge(new, old, found[number], (*at, number))
            else:
                self.lose(*at, number)
        self.undo += make.remove_items(theirs.opened(), gone)
        self.undo += make.add_items(self.now, theirs.opened(), missing)

    def _merge_entries(self, base: Part, ours: Part, theirs: Part) -> None:
        """Entries of an index by their sessions; what the client made of one is no loss."""
        left, had, have = _entries(base), _entries(ours), _entries(theirs)
        keys = [index.key_of(item) for item in theirs.items()]
        gone = [n for n, key in enumerate(keys) if key in left and key not in had]
        missing = [(key, had[key].raw) for key in had if key not in left and key not in have]
        self.undo += make.remove_items(theirs.opened(), gone)
        self.undo += make.add_items(self.now, theirs.opened(), missing)
        named = len(self.lost)
        for key, entry in have.items():
            if key in left and key in had:
                self.merge(left[key], had[key], entry, ("entries", key))
            elif key not in left and key not in had:
                self.since += index.entry_splices(entry, self.back, self.back)
        del self.lost[named:]


def _entries(listed: Part) -> dict[str, Part]:
    return {index.key_of(item): item for item in listed.items()}


def _changed_items(
    had: list[Part], left: list[Part]
) -> Iterator[tuple[int, Part | None, Part | None]]:
    """(number, before, after) of what the run changed; by place unless their number changed."""
    if len(had) == len(left):
        pairs = zip(had, left, strict=True)
        yield from ((n, a, b) for n, (a, b) in enumerate(pairs) if not a.is_same(b))
        return
    old, new = ({canonical(item.raw) for item in items} for items in (had, left))
    yield from ((n, None, b) for n, b in enumerate(left) if canonical(b.raw) not in old)
    yield from ((n, a, None) for n, a in enumerate(had) if canonical(a.raw) not in new)


@dataclass
class _Members:
    """The members of one object in the three texts."""

    taking: _Taking
    base: Part
    ours: Part
    theirs: Part
    at: Pointer

    def merge(self) -> None:
        self.left, self.had = self.base.members(), self.ours.members()
        self.have, self.opened = self.theirs.members(), self.theirs.opened()
        self.is_projects = self.taking.form == "config" and self.at == (config.PROJECTS,)
        self.gone: set[str] = set()  # names of members of now that go
        self.links = self._links()
        arrived = set(self.links.values())
        for old, new in self.links.items():
            self._undo_rename(old, new)
        for name in self.had:
            if name in self.links:
                continue
            if name not in self.left or name in arrived:
                self._bring(name, self.had[name])
            elif name in self.have:
                base, ours, theirs = self.left[name], self.had[name], self.have[name]
                self.taking.merge(base, ours, theirs, (*self.at, name))
            elif not self.left[name].is_same(self.had[name]):
                self.taking.lose(*self.at, name)
        for name in self.left:
            if name not in self.had and name not in arrived:
                self._take_added(name)
        if self.is_projects:
            self._follow_names()
        numbers = [i for i, key in enumerate(self.opened.keys) if key.value in self.gone]
        self.taking.undo += make.remove_items(self.opened, numbers)

    def _links(self) -> dict[str, str]:
        """Names that the run changed: old -> new; where several became one there is no way back."""
        targets = {name: self.taking.renamed(name) for name in self.had}
        coming = Counter(targets.values())
        links: dict[str, str] = {}
        for old, new in targets.items():
            if new is None or new == old or new not in self.left or coming[new] > 1:
                continue
            stays = old in self.left and old not in targets.values()
            is_settled = new in self.had and targets[new] is None
            if not stays and not is_settled:
                links[old] = new
        return links

    def _undo_rename(self, old: str, new: str) -> None:
        if self._is_back(old, new):
            self.taking.was_back = True
        elif new not in self.have:
            self.taking.lose(*self.at, new)
        elif old in self.have and old not in self.left:
            value = self._taken_from(new, old)
            self._unite(old, value)
            self._keep_rest(old, new, value)
        else:
            base, ours, theirs = self.left[new], self.had[old], self.have[new]
            self.taking.merge(base, ours, theirs, (*self.at, old))
            if self.is_projects:
                self.taking.follow(theirs)
            self.taking.undo += self._renamed(new, old)

    def _renamed(self, name: str, new: str) -> list[Splice]:
        return [make.set_string(key, new) for key in self.opened.keys if key.value == name]

    def _is_back(self, old: str, new: str) -> bool:
        """Whether the name was taken back already; in a chain or a swap others tell."""
        seen = {old}
        while old in self.have and new in self.have:
            if new not in self.links:
                return False
            if new in seen:
                return self._is_rather_before(old, self.links[old])
            seen.add(new)
            new = self.links[new]
        return old in self.have

    def _is_rather_before(self, old: str, new: str) -> bool:
        """In a swap: whether the member now is rather what it was than what it became.

        Where the values do not tell, their order does: names were exchanged in place.
        """
        now, was, became = (_parts(names[old]) for names in (self.have, self.had, self.left))
        order, order_now = ([*names].index for names in (self.had, self.have))
        same_order = (order(old) < order(new)) == (order_now(old) < order_now(new))
        return (len(now & was), same_order) > (len(now & became), False)

    def _taken_from(self, new: str, old: str) -> str:
        """What the member `new` is worth as `old`, with the run's change out; it goes itself."""
        inner = replace(self.taking, undo=[], since=[], lost=[])
        value = self.have[new]
        if old in self.had and new in self.left:
            inner.merge(self.left[new], self.had[old], value, (*self.at, old))
        inner.follow(value)
        self.gone.add(new)
        return inner.applied(inner.since, value.node)

    def _unite(self, name: str, raw: str) -> None:
        """What came later stays, what it lacks is added, and it is named."""
        mine = self.have[name]
        both = config.united(mine.raw, raw) if mine.kind == "{" else mine.raw
        self.taking.undo.append(make.set_raw(mine.node, both))
        self.taking.lose(*self.at, name)

    def _keep_rest(self, old: str, new: str, value: str) -> None:
        """What `new` got since and `old` has with another value stays where it is."""
        mine, made = self.have[old], self.left[new]
        if not mine.kind == made.kind == value[:1] == "{":
            return
        taken, known = mine.members(), made.members()
        rest = [
            f"{jsonspan.quote(name)}: {part.raw}"
            for name, part in Part.whole(value).members().items()
            if name in taken and name not in known and not part.is_same(taken[name])
        ]
        if rest:
            self.gone.discard(new)
            self.taking.undo.append(make.set_raw(self.have[new].node, f"{{{', '.join(rest)}}}"))

    def _bring(self, name: str, value: Part) -> None:
        """A member that the run took out, or made part of another, comes back."""
        if name not in self.have or name in self.links.values():
            self.taking.undo += make.add_items(self.taking.now, self.opened, [(name, value.raw)])
        elif self.have[name].is_same(value):
            self.taking.was_back = True
        else:
            self._unite(name, value.raw)

    def _take_added(self, name: str) -> None:
        """A member that the run added goes, if it is still the same."""
        if name not in self.have:
            self.taking.was_back = True
        elif self.have[name].is_same(self.left[name]):
            self.gone.add(name)
        else:
            self.taking.lose(*self.at, name)

    def _follow_names(self) -> None:
        """Projects that came since below one that goes back follow it."""
        for name, value in self.have.items():
            new = self.taking.came_back(name)
            if new is None or new == name:
                continue
            if new in self.have and new not in self.links.values():
                self._unite(new, self._taken_from(name, new))
            else:
                self.taking.follow(value)
                self.taking.since += self._renamed(name, new)


def _parts(value: Part) -> set[tuple[str, str]]:
    members = value.members() if value.kind == "{" else {"": value}
    return {(name, canonical(item.raw)) for name, item in members.items()}
