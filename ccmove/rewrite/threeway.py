"""Take what a run changed out of a document that was changed since.

Three texts: `before` and `after` are what the run found and left, `now` is the document
today. What the run changed goes back value by value where it is still what the run
wrote; all that came later stays, and where both is not possible, what came later wins
and is named. Every other byte of `now` stays.

As in any such merge the base is what both sides began with, here `after`; ours is
`before`, and theirs is `now`.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ccmove.rewrite import config, index
from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, NotJsonError, Pointer, parse, quote, walk
from ccmove.rewrite.lines import without_lines
from ccmove.rewrite.occurrences import is_no_text
from ccmove.rewrite.splice import Mapper, Texts

EVERYTHING = "it is no longer valid JSON: everything in it"
ORDERED = "args"  # a list in which the order counts
ENTRIES = ("entries",)  # where an index has them
SESSION = (*ENTRIES, 0, "sessionId")  # of any of them

# A value with where it is; an object or a list has no value of its own.
_Fact = tuple[Pointer, str | None]


class _Versions(NamedTuple):
    """One value: as the run left it, as it was before, and as it is today."""

    base: Node
    ours: Node
    theirs: Node

    def are_all(self, kind: str) -> bool:
        """Whether all three are of this kind, "{" for an object or "[" for a list."""
        return all(node.kind == kind for node in self)


@dataclass(frozen=True)
class Following:
    """Where what came since belongs again; None: it stays."""

    path: Mapper  # of a string that is a path
    value: Mapper  # of one that may hold paths


def taken_out(
    form: str, before: str, after: str, now: str, back: Following, renamed: Mapper
) -> tuple[str, list[str]]:
    """`now` without the run's change, and where it could not be taken out.

    `form` is "config", "index", "lines" or any other JSON. `back` says where a string
    that came since belongs again (None: it stays), `renamed` what the run made of a
    key.
    """
    if now in (before, after):
        return before, []
    if form == "lines":
        return without_lines(before, after, now)
    try:
        base = parse(after)
        ours = parse(before)
        theirs = parse(now)
    except NotJsonError:
        return now, [EVERYTHING]
    versions = _Versions(base, ours, theirs)
    if _is_out(versions):
        return now, []
    taking = _Taking(form, before + after, back, renamed)
    merged = taking.merged(versions, ())
    text = make.replaced(theirs, merged)
    text = taking.followed(text)
    lost = dict.fromkeys(taking.lost)  # each once
    return text, list(lost)


def _is_out(versions: _Versions) -> bool:
    """Whether that was done already, and a recovery killed.

    Nothing that only the run wrote is there, but what it took away is, every object at
    least, and every session of an index. Else a swap would be swapped again.
    """
    base_facts = _facts(versions.base)
    our_facts = _facts(versions.ours)
    their_facts = _facts(versions.theirs)
    written = base_facts - our_facts
    if written & their_facts:
        return False
    gone = our_facts - base_facts
    objects = {fact for fact in gone if fact[1] is None or fact[0] == SESSION}
    return objects <= their_facts and bool(gone & their_facts)


def _facts(root: Node) -> set[_Fact]:
    """Every value, with where it is; the number in a list does not count."""
    facts: set[_Fact] = set()
    for at, node in walk(root):
        pointer = tuple(token if isinstance(token, str) else 0 for token in at)
        value = None
        if node.kind not in "{[":
            value = repr(node.value)
        fact = (pointer, value)
        facts.add(fact)
    return facts


@dataclass
class _Taking:
    """What is taken out of what, and the pointers at which that is not possible."""

    form: str
    known: str  # the texts before and after
    back: Following
    renamed: Mapper
    lost: list[str] = field(default_factory=list)

    def lose(self, *at: str | int) -> None:
        """This stays, and is named.

        What the client made of an entry of an index is not a loss.
        """
        if not self._are_entries(at[:1]):
            words = map(str, at)
            self.lost.append(" > ".join(words))

    def _are_entries(self, at: Pointer) -> bool:
        return self.form == "index" and at == ENTRIES

    def _are_projects(self, at: Pointer) -> bool:
        return self.form == "config" and at == (config.PROJECTS,)

    def came_back(self, string: str) -> str | None:
        """Where a string that came since belongs.

        None when it did not come since, or stays.
        """
        if not self._is_new(string):
            return None
        return self.back.path(string)

    def value_came_back(self, string: str) -> str | None:
        """The same of a string that may hold paths."""
        if not self._is_new(string):
            return None
        return self.back.value(string)

    def _is_new(self, string: str) -> bool:
        return quote(string) not in self.known

    # -- values

    def merged(self, versions: _Versions, at: Pointer) -> str:
        """The text of `theirs` without what the run did to this value."""
        base, ours, theirs = versions
        are_objects = versions.are_all("{")
        are_lists = versions.are_all("[")
        if are_objects and self._are_projects(at):
            return _Projects(self, versions).taken_out()
        if base.raw == ours.raw and at != ():
            return theirs.raw
        if are_objects:
            return self._object(versions, at)
        if are_lists and self._are_entries(at):
            return self._entries(versions)
        is_untouched = base.value == ours.value
        is_back = theirs.value == ours.value
        if is_untouched or is_back:
            return theirs.raw
        if theirs.value == base.value:
            return ours.raw
        if are_lists and at[-1:] != (ORDERED,):
            return self._list(versions, at)
        return self._changed_by_both(theirs, at)

    def _changed_by_both(self, theirs: Node, at: Pointer) -> str:
        """It stays, and is named unless it will follow what has gone back."""
        if make.moved(theirs, self.value_came_back) is None:
            self.lose(*at)
        return theirs.raw

    def _object(self, versions: _Versions, at: Pointer) -> str:
        """Member by member; those that only `theirs` has stay."""
        base_members = versions.base.members()
        our_members = versions.ours.members()
        their_members = versions.theirs.members()
        texts: Texts = {}
        added: dict[str, str] = {}
        for name in our_members | base_members:
            base = base_members.get(name)
            ours = our_members.get(name)
            theirs = their_members.get(name)
            below = (*at, name)
            text = self.member(base, ours, theirs, below)
            if theirs is not None:
                texts[name] = text
            elif text is not None:
                added[name] = text
        at_the_end = added.items()
        return make.changed(versions.theirs, texts, at_the_end)

    def member(
        self, base: Node | None, ours: Node | None, theirs: Node | None, at: Pointer
    ) -> str | None:
        """The text of a member that each of the three may lack; None: there is none."""
        if base is None:
            assert ours is not None  # else it came since, and nobody asks
            return self._taken_by_the_run(ours, theirs, at)
        if ours is None:
            return self._added_by_the_run(base, theirs, at)
        if theirs is None:  # it vanished since
            if ours.value != base.value:
                self.lose(*at)
            return None
        return self.merged(_Versions(base, ours, theirs), at)

    def _taken_by_the_run(self, ours: Node, theirs: Node | None, at: Pointer) -> str:
        """It comes back; where it was made again since, it adds what that lacks."""
        if theirs is None or theirs.value == ours.value:
            return ours.raw
        self.lose(*at)
        if theirs.kind != "{":
            return theirs.raw
        return config.merged(theirs.raw, ours.raw)

    def _added_by_the_run(
        self, base: Node, theirs: Node | None, at: Pointer
    ) -> str | None:
        """It goes, unless it was changed since."""
        if theirs is None or theirs.value == base.value:
            return None
        self.lose(*at)
        return theirs.raw

    def _list(self, versions: _Versions, at: Pointer) -> str:
        """A list without order: each item that the run changed, added or took."""
        if _hold_as_many_objects(versions):
            return self._objects_by_number(versions, at)
        base, ours, _ = versions
        if len(base.items) == len(ours.items):
            return self._items_changed(versions, at)
        return self._items_added_or_taken(versions)

    def _objects_by_number(self, versions: _Versions, at: Pointer) -> str:
        base, ours, theirs = versions
        rows = zip(base.items, ours.items, theirs.items, strict=True)
        texts: Texts = {}
        for number, row in enumerate(rows):
            texts[number] = self.merged(_Versions(*row), at)
        return make.changed(theirs, texts)

    def _items_changed(self, versions: _Versions, at: Pointer) -> str:
        """Each item that is still what the run wrote becomes what it was made from."""
        base, ours, theirs = versions
        base_items = base.known()
        our_items = ours.known()
        their_items = theirs.known()
        originals = dict(zip(base_items, ours.items, strict=True))
        texts: Texts = {}
        for number, item in enumerate(their_items):
            if item in originals:
                original = originals[item]
                texts[number] = original.raw
        for item, item_before in zip(base_items, our_items, strict=True):
            is_changed = item != item_before
            if is_changed and item not in their_items:
                self.lose(*at)  # it vanished
        return make.changed(theirs, texts)

    @staticmethod
    def _items_added_or_taken(versions: _Versions) -> str:
        """What the run added goes, and what it took comes back."""
        base, ours, theirs = versions
        base_items = base.known()
        our_items = ours.known()
        their_items = theirs.known()
        texts: Texts = {}
        for number, item in enumerate(their_items):
            is_of_the_run = item in base_items and item not in our_items
            if is_of_the_run:
                texts[number] = None
        added: list[tuple[str, str]] = []
        for item, node in zip(our_items, ours.items, strict=True):
            is_there = item in base_items or item in their_items
            if not is_there:
                added.append((item, node.raw))
        return make.changed(theirs, texts, added)

    def _entries(self, versions: _Versions) -> str:
        """Entries of an index, each known by its session.

        One that the run added leaves, also when the client has rewritten it.
        """
        base, ours, theirs = versions
        base_entries = _by_session(base)
        our_entries = _by_session(ours)
        their_entries = _by_session(theirs)
        texts: Texts = {}
        for number, entry in enumerate(theirs.items):
            key = index.key_of(entry)
            if key not in base_entries:
                continue
            if key not in our_entries:
                texts[number] = None
                continue
            of_session = _Versions(base_entries[key], our_entries[key], entry)
            texts[number] = self.merged(of_session, ENTRIES)
        added: dict[str, str] = {}
        for key, entry in our_entries.items():
            is_there = key in base_entries or key in their_entries
            if not is_there:
                added[key] = entry.raw
        return make.changed(theirs, texts, added.items())

    # -- strings that came since

    def followed(self, text: str) -> str:
        """`text` in which strings that came since follow what has gone back."""
        if self.form == "config":
            return self._config_followed(text)
        if self.form == "index":
            return self._index_followed(text)
        return make.with_strings(text, self.value_came_back, is_no_text)

    def _config_followed(self, text: str) -> str:
        """Only the folders of repositories: the projects are done with by now."""
        repos = parse(text).members().get(config.REPOS)
        if repos is None:
            return text
        splices = config.repo_splices(repos, self.came_back)
        return make.apply(text, splices)

    def _index_followed(self, text: str) -> str:
        """All paths of an entry that came since, and new ones of the others."""
        root = parse(text)
        owners = dict.fromkeys(index.OWNERS, self.came_back)
        splices = make.pointer_splices(root, owners)
        entries = root.members().get("entries")
        if entries is None:
            return make.apply(text, splices)
        for entry in entries.items:
            mapper = self.back.path
            key = quote(index.key_of(entry))
            if key in self.known:
                mapper = self.came_back
            mappers = {"projectPath": mapper, "fullPath": mapper}
            splices += make.pointer_splices(entry, mappers)
        return make.apply(text, splices)


def _hold_as_many_objects(lists: _Versions) -> bool:
    """Whether there are only objects in the lists, and as many in each."""
    lengths = set()
    for node in lists:
        lengths.add(len(node.items))
        if not all(item.kind == "{" for item in node.items):
            return False
    return len(lengths) == 1


def _by_session(entries: Node) -> dict[str, Node]:
    return {index.key_of(entry): entry for entry in entries.items}


def _what_came_since(base: Node, now: Node) -> str | None:
    """What an object has that it did not have then; None when that is nothing."""
    if now.value == base.value:
        return None
    if now.kind != "{" or base.kind != "{":
        return now.raw
    members_then = base.members()
    members_now = now.members()
    texts: Texts = {}
    for name, item in members_now.items():
        since: str | None = item.raw
        if name in members_then:
            since = _item_of_since(members_then[name], item)
        texts[name] = since
    return _unless_empty(now, texts)


def _item_of_since(base: Node, now: Node) -> str | None:
    """The same of a member: of a list, the items that were not in it then."""
    if now.value == base.value:
        return None
    are_lists = base.kind == "[" and now.kind == "["
    if not are_lists:
        return _what_came_since(base, now)
    items_then = set(base.known())
    items_now = now.known()
    texts: Texts = {}
    for number, item in enumerate(items_now):
        node = now.items[number]
        texts[number] = None if item in items_then else node.raw
    return _unless_empty(now, texts)


def _unless_empty(node: Node, texts: Texts) -> str | None:
    """An object or list of these texts; None when all of them are None."""
    if not any(texts.values()):
        return None
    return make.changed(node, texts)


class _Entries:
    """The projects of the config file, each by the key that it gets."""

    def __init__(self, projects: Node) -> None:
        self.projects = projects
        self.values: dict[str, str] = {}  # the JSON text by the key
        # The present key instead of which it comes; None: it comes at the end.
        self.instead_of: dict[str, str | None] = {}
        self.met: list[str] = []  # keys that two values wanted
        self.since: dict[str, str] = {}  # what came since, by its key

    def put(self, key: str, value: str, instead_of: str | None = None) -> None:
        """What stays where it is wins; what comes back only adds what it lacks."""
        there = self.values.get(key)
        if there is None:
            self.instead_of[key] = instead_of
        elif instead_of == key:
            self.instead_of[key] = instead_of
            self.met.append(key)
            value = config.merged(value, there)
        else:
            self.met.append(key)
            value = config.merged(there, value)
        self.values[key] = value

    def part(self, key: str, now: Node, own: str | None) -> None:
        """What came since is all that is there `now` and was not when it had `own`."""
        since: str | None = now.raw
        if own is not None:
            self.put(key, own, key)
            since = _what_came_since(parse(own), now)
        if since is not None:
            self.since[key] = since

    def place_since(self, back: Following) -> None:
        """What came since goes with the folder; first of all comes what stays."""
        going = []
        for key, since in self.since.items():
            old = back.path(key)
            if old is None:
                self.put(key, since, key)
                continue
            followed = make.with_strings(since, back.value, is_no_text)
            going.append((key, followed, old))
        for row in going:
            self._bring(*row)

    def _bring(self, key: str, since: str, old: str) -> None:
        """An OLD that is used again gets what it lacks; other values of the same name
        stay at NEW.
        """
        if old not in self.values:
            instead_of = None if key in self.values else key
            self.put(old, since, instead_of)
            return
        self.put(old, since)
        both = parse(self.values[old])
        coming = parse(since)
        lacking = _what_came_since(both, coming)
        if lacking is not None:
            self.put(key, lacking, key)

    def text(self) -> str:
        """All of them, each where it was; what nobody put is gone."""
        texts: Texts = dict.fromkeys(self.projects.members())
        names: dict[str, str] = {}
        added: dict[str, str] = {}
        for key, replaced in self.instead_of.items():
            value = self.values[key]
            if replaced is None:
                added[key] = value
                continue
            texts[replaced] = value
            if replaced != key:
                names[replaced] = key
        at_the_end = added.items()
        return make.changed(self.projects, texts, at_the_end, names)


class _Projects(_Entries):
    """The projects of the config file without the run's change.

    Where one project moved, or several came together, each gets its own value again.
    What came since at NEW goes to OLD if `back` says so, else it stays at NEW.
    """

    def __init__(self, taking: _Taking, versions: _Versions) -> None:
        base, ours, theirs = versions
        super().__init__(theirs)
        self.taking = taking
        self.base_entries = base.members()
        self.our_entries = ours.members()
        self.their_entries = theirs.members()
        self.came_since: list[str] = []
        for key in self.their_entries:
            if key not in self.base_entries:
                self.came_since.append(key)

    def taken_out(self) -> str:
        """The text of all projects, each where it was and as it was."""
        groups = self._groups()
        for new, olds in groups.items():
            self._take_apart(new, olds)
        for key in self.base_entries:
            if key in self.their_entries and key not in groups:
                self._take_out_made(key)
        for key in self.came_since:
            self.since[key] = self.their_entries[key].raw
        taking = self.taking
        back = Following(taking.back.path, taking.value_came_back)
        self.place_since(back)
        for key in self.met:
            taking.lose(config.PROJECTS, key)
        return self.text()

    def _groups(self) -> dict[str, list[str]]:
        """What each key of `after` was made from; one that the run did not move is
        made from itself."""
        renamed = self._renamed()
        targets = set(renamed.values())
        groups: dict[str, list[str]] = defaultdict(list)
        for old, new in renamed.items():
            is_left = old in self.base_entries
            stayed = is_left and old not in targets
            if stayed or new not in self.base_entries:
                groups[old].append(old)
            else:
                groups[new].append(old)
        return groups

    def _renamed(self) -> dict[str, str]:
        """What the run made of each key of `before`."""
        return {old: self.taking.renamed(old) or old for old in self.our_entries}

    def _take_apart(self, new: str, olds: list[str]) -> None:
        """What was made of one or more projects: each gets its own key again."""
        now = self.their_entries.get(new)
        movers = [old for old in olds if old != new]
        if not movers:
            self._keep(new)
            return
        if now is None:  # it vanished since, and is named
            for old in movers:
                self.taking.lose(config.PROJECTS, old)
            return
        heir = self._heir(new, movers)
        if heir is not None:
            text = self._without_the_run(new, now, heir)
            mapper = self.taking.value_came_back
            followed = make.with_strings(text, mapper, is_no_text)
            self.put(heir, followed, new)
        elif new in olds and self.taking.back.path(new) is None:
            heir = new
            text = self._without_the_run(new, now, new)
            self.put(new, text, new)
        else:
            since = _what_came_since(self.base_entries[new], now)
            if since is not None:
                self.since[new] = since
        for old in olds:
            if old != heir:
                self.put(old, self.our_entries[old].raw)

    def _keep(self, key: str) -> None:
        """A project that the run did not move; values in it may have changed."""
        base = self.base_entries.get(key)
        ours = self.our_entries[key]
        theirs = self.their_entries.get(key)
        at = (config.PROJECTS, key)
        text = self.taking.member(base, ours, theirs, at)
        if text is None:
            return
        instead_of = None
        if theirs is not None:
            instead_of = key
        self.put(key, text, instead_of)

    def _take_out_made(self, key: str) -> None:
        """An entry that the run made of no other goes. What came since to it stays,
        and is named: where it could follow there may be another value of the same name.
        """
        since = _what_came_since(self.base_entries[key], self.their_entries[key])
        if since is not None:
            self.put(key, since, key)
            self.taking.lose(config.PROJECTS, key)

    def _without_the_run(self, new: str, now: Node, old: str) -> str:
        """What is at NEW now, made again of what was at OLD."""
        base = self.base_entries[new]
        ours = self.our_entries[old]
        versions = _Versions(base, ours, now)
        return self.taking.merged(versions, (config.PROJECTS, old))

    def _heir(self, new: str, olds: list[str]) -> str | None:
        """The one whose value the present one becomes again, with what came since.

        None where OLD was used again since: what came there stays as it is.
        """
        old = self.taking.back.path(new)
        if old is None or old not in olds or self._is_used_again(old):
            return None
        return old

    def _is_used_again(self, key: str) -> bool:
        """Whether something came since at a key that the run emptied, and stays."""
        stays = self.taking.back.path(key) is None
        return stays and key in self.came_since


def settings_of_since(text: str, back: Following, had: Mapping[str, str]) -> str:
    """A config file that the run did not write: what was set at NEW since goes back.

    `had` is the JSON text of what NEW had before the run, by its path: that stays.
    """
    root = parse(text)
    projects = root.members().get(config.PROJECTS)
    if projects is None or projects.kind != "{":
        return text
    entries = _Entries(projects)
    members = projects.members()
    for key, node in members.items():
        own = None
        if back.path(key) is not None:
            own = had.get(key)
        entries.part(key, node, own)
    entries.place_since(back)
    new = entries.text()
    return make.replaced(projects, new)
