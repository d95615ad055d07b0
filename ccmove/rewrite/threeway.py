"""Take what a run changed out of a document that was changed since.

Three texts: `before` and `after` are what the run found and left, `now` is the document
today. What the run changed goes back value by value where it is still what the run
wrote; all that came later stays, and where both is not possible, what came later wins
and is named. Every other byte of `now` stays.

As in any such merge the base is what both sides began with, here `after`; ours is
`before`, and theirs is `now`.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ccmove.rewrite import config, index
from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, NotJsonError, Pointer, parse, quote, walk
from ccmove.rewrite.lines import without_lines
from ccmove.rewrite.occurrences import is_no_text
from ccmove.rewrite.splice import Mapper, Texts
from ccmove.rewrite.windows import slashed

EVERYTHING = "it is no longer valid JSON: everything in it"
ORDERED = "args"  # a list in which the order counts
ENTRIES = ("entries",)  # where an index has them
SESSION = (*ENTRIES, 0, "sessionId")  # of any of them

# A value with where it is; an object or a list has no value of its own.
_Fact = tuple[Pointer, str | None]
_Members = dict[str, Node]
_Groups = dict[str, list[str]]


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

    def path_back(self, string: str) -> str | None:
        """Where a path that came since belongs.

        None when it did not come since, or stays.
        """
        return None if quote(string) in self.known else self.back.path(string)

    def value_back(self, string: str) -> str | None:
        """The same of a string that may hold paths."""
        return None if quote(string) in self.known else self.back.value(string)

    def with_values_back(self, text: str) -> str:
        """`text` in which strings that came since follow what has gone back."""
        return make.with_strings(text, self.value_back, is_no_text)

    # -- values

    def merged(self, versions: _Versions, at: Pointer) -> str:
        """The text of `theirs` without what the run did to this value."""
        base, ours, theirs = versions
        are_objects = versions.are_all("{")
        are_lists = versions.are_all("[")
        if are_objects and self._are_projects(at):
            projects = _Projects(self, base.members(), ours.members(), theirs)
            return projects.taken_out()
        if base.raw == ours.raw:
            return theirs.raw
        if are_objects:
            return self._object(versions, at)
        if are_lists and self._are_entries(at):
            return self._entries(versions)
        if ours.value in (base.value, theirs.value):  # untouched, or back already
            return theirs.raw
        if theirs.value == base.value:
            return ours.raw
        if are_lists and at[-1:] != (ORDERED,):
            return self._list(versions, at)
        # Changed by both it stays, and is named unless it follows what has gone back.
        if make.moved(theirs, self.value_back) is None:
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
            text = self._member(base, ours, theirs, below)
            if theirs is not None:
                texts[name] = text
            elif text is not None:
                added[name] = text
        at_the_end = added.items()
        return make.changed(versions.theirs, texts, at_the_end)

    def _member(
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
        """It goes, unless it was changed since; of a project's tools or servers, say,
        each by itself.
        """
        if theirs is None or theirs.value == base.value:
            return None
        since: str | None = theirs.raw
        is_loss = True
        if self._are_projects(at[:1]) and len(at) == 3:
            since = _what_came_since(base, theirs, 1)
            is_loss = _is_another(base, theirs)
        if is_loss:
            self.lose(*at)
        return since

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
            key = _key(entry)
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
        return self.with_values_back(text)

    def _config_followed(self, text: str) -> str:
        """Only the folders of repositories: the projects are done with by now."""
        repos = parse(text).members().get(config.REPOS)
        if repos is None:
            return text
        splices = config.repo_splices(repos, self.path_back)
        return make.apply(text, splices)

    def _index_followed(self, text: str) -> str:
        """All paths of an entry that came since, and new ones of the others."""
        root = parse(text)
        owners = dict.fromkeys(index.OWNERS, self.path_back)
        splices = make.pointer_splices(root, owners)
        entries = root.members().get("entries")
        if entries is None:
            return make.apply(text, splices)
        for entry in entries.items:
            mapper = self.back.path
            key = quote(_key(entry))
            if key in self.known:
                mapper = self.path_back
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
    return {_key(entry): entry for entry in entries.items}


def _key(entry: Node) -> str:
    """What an entry is known by: its session, or else its value however spelled."""
    session = entry.string("sessionId")
    return repr(entry.value) if session is None else session


def _is_another(base: Node, now: Node) -> bool:
    """Whether more happened to it than that items came, or went."""
    if now.kind != base.kind or now.kind not in "{[":
        return True
    members_then = base.members()
    for name, item in now.members().items():
        then = members_then.get(name, item)
        if then.value != item.value:
            return True
    return False


def _what_came_since(base: Node, now: Node, levels: int = 2) -> str | None:
    """What a value has that it did not have then; None when that is nothing.

    Of a project's entry two levels down: a server that is another one by now comes
    whole, since half of it serves nobody.
    """
    if now.value == base.value:
        return None
    is_whole = levels == 0 or now.kind not in "{["
    if is_whole or now.kind != base.kind:
        return now.raw
    texts: Texts = {}
    if now.kind == "{":
        members_then = base.members()
        for name, item in now.members().items():
            since: str | None = item.raw
            if name in members_then:
                then = members_then[name]
                since = _what_came_since(then, item, levels - 1)
            texts[name] = since
    else:
        items_then = base.known()
        for number, item in enumerate(now.items):
            is_new = repr(item.value) not in items_then
            texts[number] = item.raw if is_new else None
    if not any(texts.values()):
        return None
    return make.changed(now, texts)


class _Projects:
    """The projects of the config file without the run's change.

    Where one project moved, or several came together, each gets its own value again.
    What came since at NEW goes to OLD if `back` says so, else it stays at NEW.
    """

    def __init__(
        self, taking: _Taking, base: _Members, ours: _Members, theirs: Node
    ) -> None:
        self.taking = taking
        self.back = taking.back.path
        self.base = base
        self.ours = ours
        self.projects = theirs
        self.theirs = theirs.members()
        self.values: dict[str, str] = {}  # the JSON text by the key
        # By the place of which present key another one takes.
        self.key_at: dict[str, str] = {}

    def taken_out(self) -> str:
        """The text of all projects, each where it was and as it was.

        What stays where it is comes first: what comes back only adds what it lacks.
        """
        groups = self._groups()
        heirs: dict[str, str] = {}
        for key in self.theirs:
            heir = self._heir(key, groups)
            if heir is not None:
                heirs[key] = heir
        going: list[tuple[str, str, str]] = []
        for key, since in self._since_but_for(heirs):
            old = self.back(key)
            if groups.get(key) == []:  # the run made it: it goes, but for this
                self._lose(key)
                old = None
            if old is None:
                self._put(key, since)
            else:
                followed = self.taking.with_values_back(since)
                going.append((key, followed, old))
        for new, olds in groups.items():
            if new in self.base and new not in self.theirs:
                self._name_vanished(new, olds)
            else:
                heir = heirs.get(new)
                self._take_apart(new, olds, heir)
        for row in going:
            self._bring(*row)
        return self._text()

    def _groups(self) -> _Groups:
        """What each key of `after` was made from; one that the run did not move is
        made from itself.
        """
        renamed: dict[str, str] = {}
        for old in self.ours:
            renamed[old] = self.taking.renamed(old) or old
        targets = set(renamed.values())
        groups: _Groups = {key: [] for key in self.base}
        for old, new in renamed.items():
            stayed = old in self.base and old not in targets
            key = new
            if stayed or new not in self.base:
                key = old
            group = groups.setdefault(key, [])
            group.append(old)
        return groups

    def _heir(self, new: str, groups: _Groups) -> str | None:
        """The one whose value the present one becomes again, with what came since.

        None where OLD was used again since: what came there stays as it is.
        """
        old = self.back(new) or new
        if new not in self.base or old not in groups[new]:
            return None
        came_since = old in self.theirs and old not in self.base
        stays = self.back(old) is None
        return None if came_since and stays else old

    def _since_but_for(self, heirs: Collection[str]) -> Iterator[tuple[str, str]]:
        """What came since at each key, unless it has an heir, which gets it."""
        for key, now in self.theirs.items():
            since: str | None = now.raw
            if key in heirs:
                continue
            if key in self.base:
                then = self.base[key]
                since = _what_came_since(then, now)
            if since is not None:
                yield key, since

    def _name_vanished(self, new: str, olds: list[str]) -> None:
        """Each that moved, or was changed, and of which nothing is there any more."""
        base = self.base[new]
        for old in olds:
            ours = self.ours[old]
            if old != new or ours.value != base.value:
                self._lose(old)

    def _take_apart(self, new: str, olds: list[str], heir: str | None) -> None:
        """What was made of one or more projects: each gets its own value again."""
        for old in olds:
            text = self.ours[old].raw
            if old == heir:
                text = self._inherited(old, new)
                self.key_at[new] = old
            self._put(old, text)

    def _inherited(self, old: str, new: str) -> str:
        """What is at NEW now, made again of what was at OLD."""
        base = self.base[new]
        ours = self.ours[old]
        theirs = self.theirs[new]
        versions = _Versions(base, ours, theirs)
        text = self.taking.merged(versions, (config.PROJECTS, old))
        return text if old == new else self.taking.with_values_back(text)

    def _bring(self, new: str, since: str, old: str) -> None:
        """What came since goes with the folder.

        An OLD that is used again gets what it lacks; other values of the same name
        stay at NEW.
        """
        if old not in self.values:
            self.key_at[new] = old
        self._put(old, since)
        there = parse(self.values[old])
        coming = parse(since)
        lacking = _what_came_since(there, coming)
        if lacking is None:
            return
        own = self.values.get(new, "null")
        stays = config.merged(lacking, own)
        self.values[new] = stays

    def _put(self, key: str, value: str) -> None:
        """To what has the key already a value adds what that lacks."""
        if key in self.values:
            self._lose(key)
            value = config.merged(self.values[key], value)
        self.values[key] = value

    def _lose(self, key: str) -> None:
        self.taking.lose(config.PROJECTS, key)

    def _text(self) -> str:
        """All of them, each where it was; what nobody put is gone."""
        texts: Texts = {}
        for place in self.theirs:
            key = self.key_at.get(place, place)
            texts[place] = self.values.pop(key, None)
        at_the_end = self.values.items()
        return make.changed(self.projects, texts, at_the_end, self.key_at)


def settings_of_since(text: str, back: Following, had: Mapping[str, str]) -> str:
    """A config file that the run did not write: what was set at NEW since goes back.

    `had` is the JSON text of what NEW had before the run, by its path: that stays.
    """
    root = parse(text)
    projects = config.projects_in(root)
    if projects is None:
        return text
    own: _Members = {}
    for path, entry in had.items():
        key = slashed(path)
        own[key] = parse(entry)
    taking = _Taking("config", "", back, str)
    unchanged = _Projects(taking, own, own, projects)
    new = unchanged.taken_out()
    return make.replaced(projects, new)
