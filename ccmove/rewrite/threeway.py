"""Take what a run changed out of a document that was changed since.

Three texts: `before` and `after` are what the run found and left, `now` is the document
today. What the run changed goes back value by value where it is still what the run
wrote; all that came later stays, and where both is not possible, what came later wins
and the place is named. Every other byte of `now` stays.

As in any such merge the base is what both sides began with, here `after`; ours is
`before`, and theirs is `now`.
"""

import re
from collections import Counter
from collections.abc import Iterator
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
    that came since belongs again, `renamed` what the run made of a key.
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
    """Whether that was done already, and a recovery killed: a swap would be swapped
    again.

    Nothing that only the run wrote is there, but what it took away is, every object at
    least.
    """
    had, left, have = (set(_facts(root)) for root in (before, after, now))
    gone = had - left
    objects = {fact for fact in gone if fact[1] is None}
    return not (left - had) & have and objects <= have and bool(gone & have)


def _facts(root: Node) -> Iterator[tuple[Pointer, str | None]]:
    """Every value, with where it is; the place in a list does not count."""
    for at, node in walk(root):
        place = tuple(token if isinstance(token, str) else 0 for token in at)
        yield place, None if node.kind in "{[" else repr(node.value)


@dataclass
class _Taking:
    """What is taken out of what, and the places where that is not possible."""

    form: str
    known: str  # before and after
    back: Mapper
    renamed: Mapper
    lost: list[str] = field(default_factory=list)

    def lose(self, *at: str | int) -> None:
        """This stays, and is named;
        what the client made of an entry of an index is not a loss.
        """
        if not self._are_entries(at[:1]):
            self.lost.append(" > ".join(map(str, at)))

    def merged(self, base: Node, ours: Node, theirs: Node, at: Pointer) -> str:
        """The text of `theirs` without what the run did to this value."""
        if base.raw == ours.raw and at not in ((), (config.PROJECTS,)):
            return theirs.raw
        kinds = base.kind + ours.kind + theirs.kind
        if kinds == "{{{" or (kinds == "[[[" and self._are_entries(at)):
            return self._inside(base, ours, theirs, at)
        if base.value == ours.value or theirs.value == ours.value:
            return theirs.raw
        if theirs.value == base.value:
            return ours.raw
        if kinds == "[[[" and at[-1:] != (ORDERED,):
            return self._inside(base, ours, theirs, at)
        if make.moved(theirs, self.came_back) is None:  # else it will follow
            self.lose(*at)
        return theirs.raw

    def _are_entries(self, at: Pointer) -> bool:
        return self.form == "index" and at == ("entries",)

    def _inside(self, base: Node, ours: Node, theirs: Node, at: Pointer) -> str:
        """Item by item, each by what it was known by before the run."""
        nodes = (base, ours, theirs)
        lists = self._known(nodes, at)
        left, had, have = members = tuple(
            dict(zip(known, node.items, strict=True))
            for known, node in zip(lists, nodes, strict=True)
        )
        became: dict[str, str | None] = {}
        if base.kind == "{":
            became = {old: self.renamed(old) for old in had}
        elif len(lists[0]) == len(lists[1]) and not self._are_entries(at):
            became = dict(zip(lists[1], lists[0], strict=True))
        names = self._names_back(became, members, at)
        left = {names.get(name, name): node for name, node in left.items()}
        now = {names.get(name, name): name for name in have}
        texts: dict[str, str | None] = {name: node.raw for name, node in have.items()}
        added = []
        lacking = [name for name in had if name in left and name not in now]
        is_torn = at == (config.PROJECTS,) and any(
            left[n].value != had[n].value for n in lacking
        )
        # What would go into one that has gone on since stays where it is.
        for name in dict.fromkeys([*had, *(() if is_torn else left)]):
            found = have[now[name]] if name in now else None
            place = (*at, name) if base.kind == "{" else at
            text = self._member(left.get(name), had.get(name), found, place)
            if name in now:
                texts[now[name]] = text
            elif text is not None:
                added.append((name, text))
            elif name in names.values():  # it vanished
                self.lose(*place)
        for name in names if at == (config.PROJECTS,) else ():
            if text := texts.get(name):
                texts[name] = make.with_strings(text, self.came_back)
        if base.kind == "{":
            return make.changed(theirs, texts, added, names)
        return make.changed(
            theirs, {n: texts[name] for n, name in enumerate(lists[2])}, added
        )

    def _known(self, nodes: tuple[Node, Node, Node], at: Pointer) -> list[list[str]]:
        """What each item is known by: name, session,
        place among as many objects, or value.
        """
        if nodes[0].kind == "[" and self._are_entries(at):
            return [[index.key_of(item) for item in node.items] for node in nodes]
        kinds = {
            node.kind + "".join(item.kind for item in node.items) for node in nodes
        }
        if len(kinds) == 1 and re.fullmatch(r"\[{*", kinds.pop()):
            return [
                [str(number) for number, _ in enumerate(node.items)] for node in nodes
            ]
        return [node.known() for node in nodes]

    def _member(
        self, base: Node | None, ours: Node | None, theirs: Node | None, at: Pointer
    ) -> str | None:
        """The text of a member that each of the three may lack; None: there is none."""
        if base and ours and theirs:
            return self.merged(base, ours, theirs, at)
        if (
            ours and theirs and theirs.value != ours.value
        ):  # the run took it out; used again since
            self.lose(*at)
            return (
                config.merged(theirs.raw, ours.raw)
                if theirs.kind == "{"
                else theirs.raw
            )
        if ours and not base:
            return ours.raw
        if (
            base and theirs and theirs.value != base.value
        ):  # the run added it; changed since
            self.lose(*at)
            return None if self._are_entries(at) else theirs.raw
        if base and ours and ours.value != base.value:  # it vanished
            self.lose(*at)
        return None

    def _names_back(
        self,
        became: dict[str, str | None],
        members: tuple[dict[str, Node], ...],
        at: Pointer,
    ) -> dict[str, str]:
        """The names that go back, with what they become.

        Where several became one there is no way back, nor to a name that is used again.
        """
        left, had, have = members
        times = Counter(became.values())
        names: dict[str, str] = {}
        for old, new in became.items():
            if new is not None and new != old and new in left and times[new] == 1:
                stayed = old in left and old not in times
                was_there = new in had and became.get(new) in (None, new)
                if not stayed and not was_there:
                    names[new] = old
        since: dict[str, str] = {}
        if at == (config.PROJECTS,):  # projects that came below one that goes back
            since = {
                n: name for n in have if (name := self.came_back(n)) and name not in had
            }
        names |= since
        while blocked := [
            n for n, old in names.items() if old in have and old not in names
        ]:
            for name in blocked:
                del names[name]
                if name in since:
                    self.lose(*at, name)
        return names

    def came_back(self, string: str) -> str | None:
        """Where a string that came since belongs; None when it is not one, or stays."""
        return self.back(string) if quote(string) not in self.known else None

    def followed(self, text: str) -> str:
        """`text` in which strings that came since follow what has gone back."""
        members = parse(text).members()
        if self.form == "config":
            repos = members.get(config.REPOS)
            return make.apply(
                text, config.repo_splices(repos, self.came_back) if repos else ()
            )
        if self.form != "index":
            return make.with_strings(text, self.came_back)
        splices = make.place_splices(
            parse(text), dict.fromkeys(index.OWNERS, self.came_back)
        )
        for entry in members["entries"].items if "entries" in members else ():
            mapper = (
                self.came_back
                if quote(index.key_of(entry)) in self.known
                else self.back
            )
            splices += make.place_splices(
                entry, {"projectPath": mapper, "fullPath": mapper}
            )
        return make.apply(text, splices)
