"""Take what a run changed out of a document that was changed since.

Three texts: `before` and `after` are what the run found and left, `now` is the document
today. What the run changed goes back value by value where it is still what the run
wrote; all that came later stays, and where both is not possible, what came later wins
and is named. Every other byte of `now` stays.

As in any such merge the base is what both sides began with, here `after`; ours is
`before`, and theirs is `now`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ccmove.rewrite import config, index
from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, NotJsonError, Pointer, parse, quote, walk
from ccmove.rewrite.other import without_lines
from ccmove.rewrite.splice import Mapper

EVERYTHING = "it is no longer valid JSON: everything in it"
ORDERED = "args"  # a list in which the order counts


def taken_out(
    form: str, before: str, after: str, now: str, back: Mapper, renamed: Mapper
) -> tuple[str, list[str]]:
    """`now` without the run's change, and the places where it could not be taken out.

    `form` is "config", "index", "lines" or any other JSON. `back` says where a string
    that came since belongs again (None: it stays), `renamed` what the run made of a key.
    """
    if now in (before, after):
        return before, []
    if form == "lines":
        return without_lines(before, after, now)
    try:
        base, ours, theirs = parse(after), parse(before), parse(now)
    except NotJsonError:
        return now, [EVERYTHING]
    if _is_out(ours, base, theirs):
        return now, []
    taking = _Taking(form, before + after, back, renamed)
    text = make.apply(now, [(theirs, taking.merged(base, ours, theirs, ()))])
    return taking.followed(text), list(dict.fromkeys(taking.lost))


def _is_out(before: Node, after: Node, now: Node) -> bool:
    """Whether that was done already, and a recovery killed.

    Nothing that only the run wrote is there, but what it took away is, every object at
    least. Else a swap would be swapped again.
    """
    had, left, have = set(_facts(before)), set(_facts(after)), set(_facts(now))
    gone = had - left
    objects = {fact for fact in gone if fact[1] is None}
    is_written = bool((left - had) & have)
    is_back = objects <= have and bool(gone & have)
    return is_back and not is_written


def _facts(root: Node) -> Iterator[tuple[Pointer, str | None]]:
    """Every value, with where it is; the place in a list does not count."""
    for at, node in walk(root):
        place = tuple(token if isinstance(token, str) else 0 for token in at)
        yield place, None if node.kind in "{[" else repr(node.value)


@dataclass
class _Taking:
    """What is taken out of what, and the places where that is not possible."""

    form: str
    known: str  # the texts before and after
    back: Mapper
    renamed: Mapper
    lost: list[str] = field(default_factory=list)

    def lose(self, *at: str | int) -> None:
        """This stays, and is named.

        What the client made of an entry of an index is not a loss.
        """
        if not self._are_entries(at[:1]):
            self.lost.append(" > ".join(map(str, at)))

    def _are_entries(self, at: Pointer) -> bool:
        return self.form == "index" and at == ("entries",)

    def came_back(self, string: str) -> str | None:
        """Where a string that came since belongs.

        None when it did not come since, or stays.
        """
        return self.back(string) if quote(string) not in self.known else None

    # -- values

    def merged(self, base: Node, ours: Node, theirs: Node, at: Pointer) -> str:
        """The text of `theirs` without what the run did to this value."""
        kinds = base.kind + ours.kind + theirs.kind
        if kinds == "{{{" and self.form == "config" and at == (config.PROJECTS,):
            return _Projects(self, base, ours, theirs).text()
        if base.raw == ours.raw and at != ():
            return theirs.raw
        if kinds == "{{{":
            return self._object(base, ours, theirs, at)
        if kinds == "[[[" and self._are_entries(at):
            return self._entries(base, ours, theirs)
        if base.value == ours.value or theirs.value == ours.value:
            return theirs.raw
        if theirs.value == base.value:
            return ours.raw
        if kinds == "[[[" and at[-1:] != (ORDERED,):
            return self._list(base, ours, theirs, at)
        if make.moved(theirs, self.came_back) is None:  # else it will follow
            self.lose(*at)
        return theirs.raw

    def _object(self, base: Node, ours: Node, theirs: Node, at: Pointer) -> str:
        """Member by member; those that only `theirs` has stay."""
        left, had, have = base.members(), ours.members(), theirs.members()
        texts: dict[str, str | None] = {}
        added: list[tuple[str, str]] = []
        for name in dict.fromkeys([*had, *left]):
            text = self.member(
                left.get(name), had.get(name), have.get(name), (*at, name)
            )
            if name in have:
                texts[name] = text
            elif text is not None:
                added.append((name, text))
        return make.changed(theirs, texts, added)

    def member(
        self, base: Node | None, ours: Node | None, theirs: Node | None, at: Pointer
    ) -> str | None:
        """The text of a member that each of the three may lack; None: there is none."""
        if base is None:
            return self._taken_by_the_run(ours, theirs, at)
        if ours is None:
            return self._added_by_the_run(base, theirs, at)
        if theirs is None:  # it vanished since
            if ours.value != base.value:
                self.lose(*at)
            return None
        return self.merged(base, ours, theirs, at)

    def _taken_by_the_run(
        self, ours: Node | None, theirs: Node | None, at: Pointer
    ) -> str | None:
        """It comes back; where it was made again since, it adds what that lacks."""
        if ours is None:
            return theirs.raw if theirs is not None else None
        if theirs is None or theirs.value == ours.value:
            return ours.raw
        self.lose(*at)
        return config.merged(theirs.raw, ours.raw) if theirs.kind == "{" else theirs.raw

    def _added_by_the_run(
        self, base: Node, theirs: Node | None, at: Pointer
    ) -> str | None:
        """It goes, unless it was changed since."""
        if theirs is None or theirs.value == base.value:
            return None
        self.lose(*at)
        return theirs.raw

    def _list(self, base: Node, ours: Node, theirs: Node, at: Pointer) -> str:
        """A list without order: each item that the run changed, added or took."""
        lists = (base, ours, theirs)
        if len({len(node.items) for node in lists}) == 1 and _hold_objects(lists):
            return self._objects_by_number(base, ours, theirs, at)
        left, had, have = base.known(), ours.known(), theirs.known()
        became = dict(zip(left, ours.items, strict=False))
        if len(left) != len(had):
            became = {}
        texts: dict[int, str | None] = {}
        for number, item in enumerate(have):
            if item in became:
                texts[number] = became[item].raw
            elif item in left and item not in had:
                texts[number] = None
        for item, original in zip(left, had, strict=False):
            if became and item != original and item not in have:
                self.lose(*at)  # it vanished
        lacking = self._lacking(base, ours, theirs) if not became else []
        return make.changed(theirs, texts, lacking)

    @staticmethod
    def _lacking(base: Node, ours: Node, theirs: Node) -> list[tuple[str, str]]:
        """Items that the run took out of a list, and that are not in it again."""
        there = {*base.known(), *theirs.known()}
        pairs = zip(ours.known(), ours.items, strict=True)
        return [(name, item.raw) for name, item in pairs if name not in there]

    def _objects_by_number(
        self, base: Node, ours: Node, theirs: Node, at: Pointer
    ) -> str:
        rows = zip(base.items, ours.items, theirs.items, strict=True)
        texts: dict[int, str | None] = {}
        for number, (left, had, have) in enumerate(rows):
            texts[number] = self.merged(left, had, have, at)
        return make.changed(theirs, texts)

    def _entries(self, base: Node, ours: Node, theirs: Node) -> str:
        """Entries of an index, each known by its session.

        One that the run added leaves, also when the client has rewritten it.
        """
        left = {index.key_of(entry): entry for entry in base.items}
        had = {index.key_of(entry): entry for entry in ours.items}
        texts: dict[int, str | None] = {}
        for number, entry in enumerate(theirs.items):
            key = index.key_of(entry)
            if key in left and key in had:
                texts[number] = self.merged(left[key], had[key], entry, ("entries",))
            elif key in left:
                texts[number] = None
        have = {index.key_of(entry) for entry in theirs.items}
        added = []
        for key, entry in had.items():
            if key not in left and key not in have:
                added.append((key, entry.raw))
        return make.changed(theirs, texts, added)

    # -- strings that came since

    def followed(self, text: str) -> str:
        """`text` in which strings that came since follow what has gone back."""
        members = parse(text).members()
        if self.form == "config":
            repos = members.get(config.REPOS)
            splices = config.repo_splices(repos, self.came_back) if repos else []
            return make.apply(text, splices)
        if self.form != "index":
            return make.with_strings(text, self.came_back)
        owners = dict.fromkeys(index.OWNERS, self.came_back)
        splices = make.place_splices(parse(text), owners)
        for entry in members["entries"].items if "entries" in members else ():
            is_known = quote(index.key_of(entry)) in self.known
            mapper = self.came_back if is_known else self.back
            places = {"projectPath": mapper, "fullPath": mapper}
            splices += make.place_splices(entry, places)
        return make.apply(text, splices)


def _hold_objects(lists: tuple[Node, ...]) -> bool:
    return all(item.kind == "{" for node in lists for item in node.items)


def _what_came_since(base: Node, now: Node) -> str | None:
    """What an object has that it did not have then; None when that is nothing."""
    if now.value == base.value:
        return None
    if now.kind != "{" or base.kind != "{":
        return now.raw
    had = base.members()
    texts: dict[str, str | None] = {}
    for name, item in now.members().items():
        if name in had:
            texts[name] = _item_of_since(had[name], item)
    return make.changed(now, texts)


def _item_of_since(base: Node, now: Node) -> str | None:
    if base.kind != "[" or now.kind != "[" or now.value == base.value:
        return _what_came_since(base, now)
    had = set(base.known())
    texts = {n: None for n, item in enumerate(now.known()) if item in had}
    return make.changed(now, texts)


class _Projects:
    """The projects of the config file without the run's change.

    Where one project moved, or several came together, each gets its own value again.
    What came since at NEW goes to OLD if `back` says so, else it stays at NEW.
    """

    def __init__(self, taking: _Taking, base: Node, ours: Node, theirs: Node) -> None:
        self.taking = taking
        self.theirs = theirs
        self.left = base.members()
        self.had = ours.members()
        self.have = theirs.members()
        self.texts: dict[str, str | None] = {}  # by the present key; None: it goes
        self.names: dict[str, str] = {}  # present key -> the key it gets again
        self.added: dict[str, str] = {}

    def text(self) -> str:
        for new, olds in self._groups().items():
            movers = [old for old in olds if old != new]
            if movers:
                self._take_apart(new, movers, has_own=new in olds)
            else:
                self._keep(new)
        for key in self.have:
            if key not in self.left:
                self._follow(key)
        self._settle_names()
        return make.changed(self.theirs, self.texts, self.added.items(), self.names)

    def _groups(self) -> dict[str, list[str]]:
        """What each key of `after` was made from; one that the run did not move is
        made from itself."""
        renamed = {old: self.taking.renamed(old) or old for old in self.had}
        targets = set(renamed.values())
        groups: dict[str, list[str]] = defaultdict(list)
        for old, new in renamed.items():
            stayed = old in self.left and old not in targets
            is_moved = new in self.left and not stayed
            groups[new if is_moved else old].append(old)
        return groups

    def _keep(self, key: str) -> None:
        """A project that the run did not move; values in it may have changed."""
        taking, have = self.taking, self.have.get(key)
        at = (config.PROJECTS, key)
        text = taking.member(self.left.get(key), self.had[key], have, at)
        if have is not None:
            self.texts[key] = text
        elif text is not None:
            self.added[key] = text

    def _take_apart(self, new: str, olds: list[str], *, has_own: bool) -> None:
        """What came to `new` goes back, each to its own key."""
        now, base = self.have.get(new), self.left[new]
        if now is None:  # it vanished since, and is named
            for old in olds:
                self.taking.lose(config.PROJECTS, old)
            return
        if self._goes_to_one(new, olds):
            self._take_all_back(new, olds[0], base, now)
            if has_own:
                self.added[new] = self.had[new].raw
            return
        for old in olds:
            self._put(old, self.had[old].raw)
        at = (config.PROJECTS, new)
        if has_own:  # what NEW had stays, with what came since
            self.texts[new] = self.taking.merged(base, self.had[new], now, at)
        else:
            self.texts[new] = _what_came_since(base, now)

    def _goes_to_one(self, new: str, olds: list[str]) -> bool:
        """Whether what came since goes back as well.

        Not where OLD was used again since: two values of one setting would meet.
        """
        (old, *others) = olds
        is_used_again = old in self.have and old not in self.left
        return not others and not is_used_again and self.taking.back(new) == old

    def _take_all_back(self, new: str, old: str, base: Node, now: Node) -> None:
        """What came since goes with what was brought."""
        at = (config.PROJECTS, old)
        text = self.taking.merged(base, self.had[old], now, at)
        self.texts[new] = make.with_strings(text, self.taking.came_back)
        self.names[new] = old

    def _put(self, key: str, raw: str) -> None:
        """A value that comes back; where its key is used again, it adds what lacks."""
        if key in self.have and key not in self.left:
            self.taking.lose(config.PROJECTS, key)
            self.texts[key] = config.merged(self.have[key].raw, raw)
        else:
            self.added[key] = raw

    def _follow(self, key: str) -> None:
        """A project that came since goes with the folder, if its old name is free."""
        target = self.taking.came_back(key)
        if target is None or key in self.texts:
            return
        if target in self.had or target in self.have:
            self.taking.lose(config.PROJECTS, key)
            return
        self.names[key] = target
        mapper = self.taking.came_back
        self.texts[key] = make.with_strings(self.have[key].raw, mapper)

    def _settle_names(self) -> None:
        """A key goes back to a name only if that is free by then.

        Else the value there stays, and gets what it lacks.
        """
        for key, name in list(self.names.items()):
            is_used = name in self.have and name not in self.names
            if is_used and self.texts.get(name, "") is not None:
                later = self.texts.get(name) or self.have[name].raw
                value = self.texts[key]
                self.taking.lose(config.PROJECTS, name)
                self.texts[name] = config.merged(later, value or "{}")
                self.texts[key] = None
                del self.names[key]
                if key in self.added:  # NEW had a value of its own
                    self.texts[key] = self.added.pop(key)


def settings_of_since(text: str, back: Mapper, had: Mapping[str, str]) -> str:
    """A config file that the run did not write: what was set at NEW since goes back.

    `had` is the JSON text of what NEW had before the run, by its path: that stays.
    """
    projects = parse(text).members().get(config.PROJECTS)
    if projects is None or projects.kind != "{":
        return text
    texts: dict[str, str | None] = {}
    coming: dict[str, str] = {}
    members = projects.members()
    for key, node in members.items():
        old = back(key)
        if old is None:
            continue
        came: str | None = node.raw
        texts[key] = None
        if key in had:
            came = _what_came_since(parse(had[key]), node)
            texts[key] = had[key]
        if came is not None:
            coming[old] = make.with_strings(came, back)
    added = []
    for old, value in coming.items():
        if old in members:
            texts[old] = config.merged(texts.get(old) or members[old].raw, value)
        else:
            added.append((old, value))
    return make.apply(text, [(projects, make.changed(projects, texts, added))])
