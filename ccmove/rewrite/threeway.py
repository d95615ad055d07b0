"""Take what a run changed out of a document that was changed since.

Three texts: `before` and `after` are what the run found and left, `now` is the document
today. As in any three-way merge the base is what both sides began with, here `after`;
ours is `before`, and theirs is `now`. One rule holds for every member of an object and
every item of a list:

- What the run did not change is as it is now.
- What is still as the run left it is as it was before: it comes back, or goes.
- What was changed since stays, and where the run had changed it, too, it is named.
- What vanished since stays away; it is named where the run had changed it.

A member is known by its name, an entry of an index by its session, any other item by
its value: the order of a list does not count, but for arguments, which are one value.
What came since stays, or follows the folder. Every other byte of `now` stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from ccmove.rewrite import config
from ccmove.rewrite import splice as make
from ccmove.rewrite.jsonspan import Node, NotJsonError, Pointer, parse, quote, walk
from ccmove.rewrite.lines import without_lines
from ccmove.rewrite.splice import Mapper, Texts
from ccmove.rewrite.windows import slashed

EVERYTHING = "it is no longer valid JSON: everything in it"
ORDERED = "args"  # a list in which the order counts
SESSION = ("entries", 0, "sessionId")  # of any entry of an index
# How deep parts of a value come and go by themselves: the servers of a project, say.
# Half a server serves nobody.
DEEPEST_PARTS = 3

# A value with where it is; an object or a list has no value of its own.
_Fact = tuple[Pointer, str | None]
_Members = dict[str, Node]
_Olds = dict[str, list[str]]


class _Versions(NamedTuple):
    """One value: as the run left it, as it was before, and as it is today."""

    base: Node
    ours: Node
    theirs: Node


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
        versions = _Versions(parse(after), parse(before), parse(now))
    except NotJsonError:
        return now, [EVERYTHING]
    if _is_out(versions):
        return now, []
    taking = _Taking(form, before + after, back, renamed)
    merged = taking.merged((), versions)
    text = make.replaced(versions.theirs, merged)
    text = taking.followed(text)
    lost = dict.fromkeys(taking.lost)  # each once
    return text, list(lost)


def _is_out(versions: _Versions) -> bool:
    """Whether that was done already, and a recovery killed.

    Nothing that only the run wrote is there, but what it took away is, every object at
    least, and every session of an index. Else a swap would be swapped again.
    """
    base, ours, theirs = map(_facts, versions)
    if (base - ours) & theirs:
        return False
    gone = ours - base
    objects = {fact for fact in gone if fact[1] is None or fact[0] == SESSION}
    if not gone & theirs:
        return False
    return objects <= theirs


def _facts(root: Node) -> set[_Fact]:
    """Every value, with where it is; the number in a list does not count."""
    facts: set[_Fact] = set()
    for at, node in walk(root):
        pointer = tuple(token if isinstance(token, str) else 0 for token in at)
        value = None
        if node.kind not in "{[":
            value = repr(node.value)
        fact = pointer, value
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

    def lose(self, at: Pointer) -> None:
        """This stays, and is named.

        What the client made of an entry of an index is not a loss.
        """
        if not self._are_entries(at[:1]):
            self.lost.append(" > ".join(map(str, at)))

    def _are_entries(self, at: Pointer) -> bool:
        return self.form == "index" and at == SESSION[:1]

    # -- values

    def merged(self, at: Pointer, versions: _Versions) -> str:
        """The text of `theirs` without what the run did to this value."""
        base, ours, theirs = versions
        kinds = {node.kind for node in versions}
        if kinds == {"{"}:
            return self._object(at, versions)
        if ours.value == base.value:  # untouched
            return theirs.raw
        if theirs.value == base.value:
            return ours.raw
        if theirs.value == ours.value:  # back already
            return theirs.raw
        if kinds == {"["} and at[-1:] != (ORDERED,):
            return self._list(at, versions)
        # Changed by both it stays, and is named unless it follows what has gone back.
        if make.moved(theirs, self.value_back) is None:
            self.lose(at)
        return theirs.raw

    def _object(self, at: Pointer, versions: _Versions) -> str:
        base, ours, theirs = versions
        if self.form == "config" and at == (config.PROJECTS,):
            return _Projects(self, base.members(), ours.members(), theirs).taken_out()
        if base.raw == ours.raw:
            return theirs.raw
        return self._by_parts(at, versions)

    def _list(self, at: Pointer, versions: _Versions) -> str:
        """Objects side by side where each version has as many; else item by item."""
        rows = _rows_of_objects(versions)
        if not rows or self._are_entries(at):
            return self._by_parts(at, versions)
        texts: Texts = {n: self.merged(at, row) for n, row in enumerate(rows)}
        return make.changed(versions.theirs, texts)

    def _by_parts(self, at: Pointer, versions: _Versions) -> str:
        """Member by member, or item by item; those that only `theirs` has stay."""
        theirs = versions.theirs
        base_parts = versions.base.by_key()
        our_parts = self._originals(at, versions)
        their_parts = theirs.by_key()

        def below(key: str) -> Pointer:
            if theirs.kind == "{":
                return (*at, key)
            return at

        texts: Texts = {}
        for part in theirs.parts():
            key = part.key
            base = base_parts.get(key)
            ours = our_parts.get(key)
            text = self._part(below(key), base, ours, part.node)
            texts[part.token] = text
        added: dict[str, str] = {}
        for key, ours in our_parts.items():
            if key in their_parts:
                continue
            base = base_parts.get(key)
            if base is None:  # the run took it
                added[key] = ours.raw
            elif ours.value != base.value:  # it vanished since
                self.lose(below(key))
        at_the_end = added.items()
        return make.changed(theirs, texts, at_the_end)

    def _originals(self, at: Pointer, versions: _Versions) -> _Members:
        """Our parts by what the run made of them.

        Where it left as many items of a list as there were, each was made from the one
        in its place.
        """
        base, ours, _ = versions
        is_list = base.kind == "[" and not self._are_entries(at)
        if not is_list or len(base.items) != len(ours.items):
            return ours.by_key()
        keys = [part.key for part in base.parts()]
        return dict(zip(keys, ours.items, strict=True))

    def _part(
        self, at: Pointer, base: Node | None, ours: Node | None, theirs: Node
    ) -> str | None:
        """What becomes of a part that may be new; None: it goes.

        What the run took, and somebody made again since, gets what it lacks.
        """
        if base is not None and ours is not None:
            versions = _Versions(base, ours, theirs)
            return self.merged(at, versions)
        if base is not None:
            return self._added_by_the_run(at, base, theirs)
        if ours is None or ours.value == theirs.value:
            return theirs.raw
        self.lose(at)
        if theirs.kind != "{":
            return theirs.raw
        return config.merged(theirs.raw, ours.raw)

    def _added_by_the_run(self, at: Pointer, base: Node, theirs: Node) -> str | None:
        """It goes, but for what came since; an entry of an index goes in any case."""
        if theirs.value == base.value or self._are_entries(at):
            return None
        if len(at) > DEEPEST_PARTS or _is_another(base, theirs):
            self.lose(at)
        return _what_came_since(base, theirs, len(at))

    # -- strings that came since

    def path_back(self, string: str) -> str | None:
        """Where a path that came since belongs.

        None when it did not come since, or stays.
        """
        if quote(string) in self.known:
            return None
        return self.back.path(string)

    def value_back(self, string: str) -> str | None:
        """The same of a string that may hold paths."""
        if quote(string) in self.known:
            return None
        return self.back.value(string)

    def with_values_back(self, text: str) -> str:
        """`text` in which strings that came since follow what has gone back."""
        return make.with_mapped(text, lambda _: self.value_back)

    def followed(self, text: str) -> str:
        """The same of a whole document, by its form.

        Of a config file only the folders of repositories: the projects are done with
        by now.
        """
        if self.form == "index":
            return self._index_followed(text)
        if self.form != "config":
            return self.with_values_back(text)
        splices = config.repo_splices(parse(text), self.path_back)
        return make.apply(text, splices)

    def _index_followed(self, text: str) -> str:
        """All paths of an entry that came since, and new ones of the others."""
        root = parse(text)
        entries = root.members().get("entries", root).items

        def mapper_at(at: Pointer) -> Mapper | None:
            match at:
                case ("originalPath" | "projectPath",):
                    return self.path_back
                case ("entries", int(number), "projectPath" | "fullPath"):
                    key = entries[number].key
                    is_known = quote(key) in self.known
                    if is_known:
                        return self.path_back
                    return self.back.path
            return None

        return make.with_mapped(text, mapper_at)


def _rows_of_objects(versions: _Versions) -> list[_Versions]:
    """The items side by side, if they all are objects, and as many in each list."""
    lists = [node.items for node in versions]
    are_objects = all(item.kind == "{" for item in chain(*lists))
    are_as_many = len(set(map(len, lists))) == 1
    if are_objects and are_as_many:
        return list(map(_Versions, *lists))
    return []


def _is_another(base: Node, now: Node) -> bool:
    """Whether more happened to it than that parts came, or went."""
    if now.kind != base.kind:
        return True
    if now.kind not in "{[":
        return True
    then = base.members()
    since = now.members()
    both = then.keys() & since
    return any(then[name].value != since[name].value for name in both)


def _what_came_since(base: Node | None, now: Node, depth: int = 2) -> str | None:
    """What a value has that it did not have then; None when that is nothing.

    A part that is another one by now comes whole if it is deep enough.
    """
    if base is None:
        return now.raw
    if now.value == base.value:
        return None
    if now.kind != base.kind or now.kind not in "{[":
        return now.raw
    if depth > DEEPEST_PARTS:
        return now.raw
    then = base.by_key()
    texts: Texts = {}
    for part in now.parts():
        part_then = then.get(part.key)
        since = _what_came_since(part_then, part.node, depth + 1)
        texts[part.token] = since
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
        self.made_from = self._made_from()
        self.values: dict[str, str] = {}  # the JSON text by the key
        # By the place of which present key another one takes.
        self.key_at: dict[str, str] = {}

    def _made_from(self) -> _Olds:
        """What each key of `after` was made from; one that the run did not move is
        made from itself.
        """
        made_from: _Olds = {key: [] for key in self.base}
        renamed: dict[str, str] = {}
        for old in self.ours:
            new = self.taking.renamed(old)
            renamed[old] = new or old
        targets = set(renamed.values())
        for old, new in renamed.items():
            key = new
            if old in self.base and old not in targets:
                key = old
            olds = made_from.setdefault(key, [])
            olds.append(old)
        return made_from

    def taken_out(self) -> str:
        """The text of all projects, each where it was and as it was.

        What stays where it is comes first: what comes back only adds what it lacks.
        """
        going: list[tuple[str, str, str]] = []
        for key, now in self.theirs.items():
            then = self.base.get(key)
            since = _what_came_since(then, now)
            if since is None or self._heir(key) is not None:
                continue
            is_of_run = self.made_from.get(key) == []
            old = self.back(key)
            if is_of_run:  # it goes, but for this
                self.taking.lose((config.PROJECTS, key))
            if old is None or is_of_run:
                self._put(key, since)
            else:
                row = key, since, old
                going.append(row)
        for new, olds in self.made_from.items():
            for old in olds:
                self._give_back(old, new)
        for row in going:
            self._bring(*row)
        texts: Texts = {}
        for place in self.theirs:  # what nobody put is gone
            key = self.key_at.get(place, place)
            texts[place] = self.values.pop(key, None)
        added = self.values.items()
        return make.changed(self.projects, texts, added, self.key_at)

    def _heir(self, new: str) -> str | None:
        """The one whose value the present one becomes again, with what came since.

        None where OLD was used again since: what came there stays as it is.
        """
        old = self.back(new) or new
        if new not in self.base or old not in self.made_from[new]:
            return None
        came_since = old in self.theirs and old not in self.base
        stays = self.back(old) is None
        if came_since and stays:
            return None
        return old

    def _give_back(self, old: str, new: str) -> None:
        """A project gets its own value again, or is named where nothing is there any
        more.
        """
        at = (config.PROJECTS, old)
        ours = self.ours[old]
        text = ours.raw
        base = self.base.get(new)
        theirs = self.theirs.get(new)
        if base is None:
            self._put(old, text)
        elif theirs is None:
            if old != new or ours.value != base.value:
                self.taking.lose(at)
        elif old != self._heir(new):
            self._put(old, text)
        else:
            self.key_at[new] = old
            versions = _Versions(base, ours, theirs)
            text = self.taking.merged(at, versions)
            if old != new:
                text = self.taking.with_values_back(text)
            self._put(old, text)

    def _bring(self, new: str, since: str, old: str) -> None:
        """What came since goes with the folder.

        An OLD that is used again gets what it lacks; other values of the same name
        stay at NEW.
        """
        if old not in self.values:
            self.key_at[new] = old
        coming = self.taking.with_values_back(since)
        self._put(old, coming)
        there = parse(self.values[old])
        brought = parse(coming)
        lacking = _what_came_since(there, brought)
        if lacking is None:
            return
        own = self.values.get(new, "null")
        stays = config.merged(lacking, own)
        self.values[new] = stays

    def _put(self, key: str, value: str) -> None:
        """To what has the key already a value adds what that lacks."""
        if key in self.values:
            self.taking.lose((config.PROJECTS, key))
            value = config.merged(self.values[key], value)
        self.values[key] = value


def settings_of_since(text: str, back: Following, had: Mapping[str, str]) -> str:
    """A config file that the run did not write: what was set at NEW since goes back.

    `had` is the JSON text of what NEW had before the run, by its path: that stays.
    """
    root = parse(text)
    projects = root.members().get(config.PROJECTS)
    if projects is None:
        return text
    own: _Members = {}
    for path, entry in had.items():
        key = slashed(path)
        node = parse(entry)
        own[key] = node
    taking = _Taking("config", "", back, str)
    untouched = _Projects(taking, own, own, projects)
    since = untouched.taken_out()
    return make.replaced(projects, since)
