"""Take what a run changed out of a document that was changed since.

Three texts: `before` and `after` are what the run found and left, `now` is the document today.
What the run changed goes back value by value where it is still what the run wrote; all that came
later stays, and where both is not possible, what came later wins and the place is named.
Every other byte of `now` stays.

As in any such merge the base is what both sides began with, here `after`; ours is `before`, and
theirs is `now`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ccmove.rewrite import config, index
from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import DEEPEST, Node, NotJsonError, Pointer, parse, quote, show
from ccmove.rewrite.other import without_lines
from ccmove.rewrite.splice import Mapper, Splice

EVERYTHING = "it is no longer valid JSON: everything in it"
ORDERED = "args"  # a list in which the order counts
Members = dict[str, Node]


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
    taking = _Taking(form, before, after, back, renamed)
    try:
        base, ours, theirs = parse(after), parse(before), parse(now)
    except NotJsonError:
        return now, [EVERYTHING]
    text = make.apply(now, [make.set_raw(theirs, taking.merged(base, ours, theirs, ()))])
    # In a swap what was taken out already looks as if it had yet to be.
    if text != now or taking.lost or not taking.was_back:
        text = make.apply(text, taking.following(parse(text)))
    return text, list(dict.fromkeys(taking.lost))


@dataclass
class _Taking:
    """What is taken out of what, and what was noticed on the way through the three values."""

    form: str
    before: str
    after: str
    back: Mapper
    renamed: Mapper
    lost: list[str] = field(default_factory=list)
    was_back: bool = False  # some change is gone already
    undone: set[str] = field(default_factory=set)  # projects that get their old names again

    def lose(self, *at: str | int) -> None:
        """This stays, and is named."""
        self.lost.append(show(at))

    def merged(self, base: Node, ours: Node, theirs: Node, at: Pointer) -> str:
        """The text of `theirs` without what the run did to this value."""
        kinds = base.kind + ours.kind + theirs.kind
        if base.raw == ours.raw:
            return theirs.raw
        if kinds == "{{{" and len(at) < DEEPEST:
            return self._object(base, ours, theirs, at)
        if kinds == "[[[" and self.form == "index" and at == ("entries",):
            return self._entries(base, ours, theirs)
        if base.is_same(ours):
            return theirs.raw
        if theirs.is_same(base):
            return ours.raw
        if theirs.is_same(ours):
            self.was_back = True
        elif kinds == "[[[" and at[-1:] != (ORDERED,):
            return self._list(base, ours, theirs, at)
        elif make.moved(theirs, self.came_back) is None:  # else it will follow
            self.lose(*at)
        return theirs.raw

    def _list(self, base: Node, ours: Node, theirs: Node, at: Pointer) -> str:
        """As a set: what the run replaced goes back, what it added goes, what it took comes."""
        free = [item.canonical for item in theirs.items]  # empty once it is decided
        texts: dict[int, str | None] = {}  # by the number now; None: it goes
        missing: list[tuple[str, str]] = []
        rest: list[tuple[int, Node, Node | None]] = []
        for number, old, new in _changed_items(ours.items, base.items):
            if new is not None and new.canonical in free:
                place = free.index(new.canonical)
                free[place] = ""
                texts[place] = old.raw if old else None
            elif old is not None:
                rest.append((number, old, new))
        for number, old, new in rest:
            here = theirs.items[number] if number < len(free) and free[number] else None
            if old.canonical in free:
                self.was_back = True
            elif new is None:
                missing.append(("", old.raw))
            elif here is not None and here.kind == new.kind == "{":
                texts[number] = self.merged(new, old, here, (*at, number))
            else:
                self.lose(*at, number)
        return make.changed(theirs, texts, missing)

    def _entries(self, base: Node, ours: Node, theirs: Node) -> str:
        """Entries of an index by their sessions; what the client made of one is no loss."""
        left, had = ({index.key_of(item): item for item in node.items} for node in (base, ours))
        keys = [index.key_of(item) for item in theirs.items]
        texts: dict[int, str | None] = {}
        named = len(self.lost)
        for number, key in enumerate(keys):
            if key in left and key in had:
                at = ("entries", key)
                texts[number] = self.merged(left[key], had[key], theirs.items[number], at)
            elif key in left:
                texts[number] = None
        del self.lost[named:]
        missing = [(key, had[key].raw) for key in had if key not in left and key not in keys]
        return make.changed(theirs, texts, missing)

    def _object(self, base: Node, ours: Node, theirs: Node, at: Pointer) -> str:
        """Member by member, each by the name that it had before the run."""
        left, had, have = members = base.members(), ours.members(), theirs.members()
        links = self._links(had, left)
        names, texts = self._names_back(links, members, at)
        olds = {new: old for old, new in links.items()}
        left = {olds.get(name, name): node for name, node in left.items()}
        now = {names.get(name, name): name for name in have}
        added = []
        for name in dict.fromkeys([*had, *left]):
            if name in links and links[name] not in names:
                continue
            found = have[now[name]] if name in now else None
            text = self._member(left.get(name), had.get(name), found, (*at, name))
            if name in now:
                texts[now[name]] = text
            elif text is not None:
                added.append((name, text))
        splices = [make.set_raw(have[n], text) for n, text in texts.items() if text is not None]
        splices += make.remove_members(theirs, [n for n, text in texts.items() if text is None])
        splices += make.rename_members(theirs, names)
        return make.apply_inside(theirs, [*splices, *make.add_items(theirs, added)])

    def _member(
        self, base: Node | None, ours: Node | None, theirs: Node | None, at: Pointer
    ) -> str | None:
        """The text of a member that each of the three may lack; None: there is none."""
        if base and ours:
            if theirs:
                return self.merged(base, ours, theirs, at)
            if not base.is_same(ours):
                self.lose(*at)
            return None
        if ours and not theirs:  # the run took it out
            return ours.raw
        if ours and theirs and not theirs.is_same(ours):
            return self._united(theirs, ours.raw, at)
        if base and theirs and theirs.is_same(base):  # the run added it
            return None
        if base and theirs:
            self.lose(*at)
        else:
            self.was_back = True
        return theirs.raw if theirs else None

    def _united(self, theirs: Node, raw: str, at: Pointer) -> str:
        """What came later stays, what it lacks is added, and it is named."""
        self.lose(*at)
        return config.united(theirs.raw, raw) if theirs.kind == "{" else theirs.raw

    def _links(self, had: Members, left: Members) -> dict[str, str]:
        """Names that the run changed: old -> new; where several became one there is no way back."""
        targets = {name: self.renamed(name) for name in had}
        coming = Counter(targets.values())
        links: dict[str, str] = {}
        for old, new in targets.items():
            if new is None or new == old or new not in left or coming[new] > 1:
                continue
            stays = old in left and old not in targets.values()
            is_settled = new in had and targets[new] is None
            if not stays and not is_settled:
                links[old] = new
        return links

    def _names_back(
        self, links: dict[str, str], members: tuple[Members, Members, Members], at: Pointer
    ) -> tuple[dict[str, str], dict[str, str | None]]:
        """Which names of now go back to which, and texts of members that this decides."""
        left, had, have = members
        names: dict[str, str] = {}
        texts: dict[str, str | None] = {}
        for old, new in links.items():
            if _is_back(old, links, members):
                self.was_back = True
            elif new not in have:
                self.lose(*at, new)
            elif old in have and old not in left:  # used again since
                value = self.merged(left[new], had[old], have[new], (*at, old))
                followed = make.apply(value, make.string_splices(parse(value), self.came_back))
                texts[old] = self._united(have[old], followed, (*at, old))
                texts[new] = _rest(have[new], have[old], left[new])
            else:
                names[new] = old
        if at == (config.PROJECTS,):
            self.undone.update(names.values())
        return names, texts

    def came(self, string: str) -> bool:
        """Whether a string came since the run."""
        quoted = quote(string)
        return quoted not in self.before and quoted not in self.after

    def came_back(self, string: str) -> str | None:
        """Where a string that came since belongs; None when it is not one, or stays."""
        return self.back(string) if self.came(string) else None

    def following(self, root: Node) -> list[Splice]:
        """Strings that came since, to something that goes back, follow it."""
        if self.form == "json":
            return make.string_splices(root, self.came_back)
        members = root.members()
        splices: list[Splice] = []
        if self.form == "index" and "entries" in members:
            splices += make.place_splices(root, dict.fromkeys(index.OWNERS, self.came_back))
            for entry in members["entries"].items:
                mapper = self.back if self.came(index.key_of(entry)) else self.came_back
                splices += make.place_splices(entry, {"projectPath": mapper, "fullPath": mapper})
        if self.form == "config" and config.REPOS in members:
            splices += config.repo_splices(members[config.REPOS], self.came_back)
        if self.form == "config" and config.PROJECTS in members:
            splices += self._following_projects(members[config.PROJECTS])
        return splices

    def _following_projects(self, projects: Node) -> list[Splice]:
        """Projects that came since below one that goes back follow it, and all that is in both."""
        members = projects.members()
        texts = {name: value.raw for name, value in members.items()}
        names = {name: new for name in members if (new := self.came_back(name)) is not None}
        for name in members.keys() & (names.keys() | self.undone):
            splices = make.string_splices(members[name], self.came_back)
            texts[name] = make.apply_inside(members[name], splices)
        meeting = {name: new for name, new in names.items() if new in members and new not in names}
        for name, new in meeting.items():
            texts[new] = self._united(parse(texts[new]), texts.pop(name), (config.PROJECTS, new))
            del names[name]
        splices = [make.set_raw(members[name], text) for name, text in texts.items()]
        splices += make.rename_members(projects, names)
        return splices + make.remove_members(projects, meeting)


def _changed_items(
    had: list[Node], left: list[Node]
) -> Iterator[tuple[int, Node | None, Node | None]]:
    """(number, before, after) of what the run changed; by place unless their number changed."""
    if len(had) == len(left):
        pairs = zip(had, left, strict=True)
        yield from ((n, a, b) for n, (a, b) in enumerate(pairs) if not a.is_same(b))
        return
    old, new = ({item.canonical for item in items} for items in (had, left))
    yield from ((n, None, b) for n, b in enumerate(left) if b.canonical not in old)
    yield from ((n, a, None) for n, a in enumerate(had) if a.canonical not in new)


def _is_back(old: str, links: dict[str, str], members: tuple[Members, Members, Members]) -> bool:
    """Whether a name is already back: the last of a chain tells, in a swap the values.

    Where the values do not tell, their order does: names were exchanged in place.
    """
    left, had, have = members
    new = last = links[old]
    while last in links and last != old:
        last = links[last]
    if last != old or old not in have or new not in have:
        return old in have and (last == old or last not in have)
    now, was, became = (_parts(names[old]) for names in (have, had, left))
    order, order_now = ([*names].index for names in (had, have))
    same_order = (order(old) < order(new)) == (order_now(old) < order_now(new))
    return (len(now & was), same_order) > (len(now & became), False)


def _parts(value: Node) -> set[tuple[str, str]]:
    members = value.members() if value.kind == "{" else {"": value}
    return {(name, item.canonical) for name, item in members.items()}


def _rest(new: Node, old: Node, known: Node) -> str | None:
    """What a member got since that the one of the old name has with another value stays there."""
    mine, names = old.members(), new.members()
    rest = {
        name
        for name, item in names.items()
        if name in mine and name not in known.members() and not item.is_same(mine[name])
    }
    return make.apply_inside(new, make.remove_members(new, names.keys() - rest)) if rest else None
