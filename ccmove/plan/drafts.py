"""Documents on their way: what is planned for each, until it becomes one change of a file.

Several moves may have a say in one document: an index loses the entries of sessions that leave,
gains those of sessions that come, and has paths rewritten. All that is gathered first and made
into edits once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from ccmove.claude.state import INDEX, Document, read_document
from ccmove.errors import StaleLookError, again
from ccmove.plan.model import FileChange
from ccmove.rewrite import rewriter
from ccmove.rewrite import splice as make
from ccmove.rewrite.alike import Alike, alike
from ccmove.rewrite.jsonspan import Node, NotJsonError, parse, parse_at, quote
from ccmove.rewrite.pathmap import PathMap
from ccmove.rewrite.rewriter import NameMap
from ccmove.rewrite.splice import Edit

Entries = list[tuple[str, str]]  # of an index: (sessionId, JSON text)


class Draft:
    """A document that is on disk now, and everything that is planned for it."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.edits: list[Edit] = []  # of single values
        self.alike: Alike | None = None  # instead of these, where there are many of one kind
        self.gone: set[int] = set()  # entries of an index that leave
        self.added: Entries = []  # entries of an index that come
        self.lines: list[tuple[int, str, str]] = []
        self.appended = ""
        self.whole: bytes | None = None  # other content altogether, instead of all the above
        self.keep_times: int | None = None

    @property
    def text(self) -> str:
        return self.document.text

    def content(self) -> str:
        """The text as it is planned so far."""
        if self.whole is not None:
            return self.whole.decode("utf-8", "surrogateescape") + self.appended
        text = make.apply(self.text, self.all_edits())
        return rewriter.change_lines(text, self.lines) + self.appended

    def rewrite_index(self, paths: PathMap, names: NameMap) -> None:
        """Give the index its new paths; nothing else may be planned for it before."""
        if (values := self.document.values) is not None:
            exactly = partial(_index_edits, self.document, paths, names)
            self.alike = alike(self.document.data, values, paths, names, exactly)
        if self.alike is None:
            self.edits = rewriter.index_edits(self.text, paths, names)

    @property
    def _is_alike(self) -> bool:
        """Whether the alike edits are all there is; the common case, in which time counts."""
        more = self.gone or self.added or self.edits or self.lines or self.appended
        return self.alike is not None and self.whole is None and not more

    def all_edits(self) -> list[Edit]:
        edits = [*(self.alike or ()), *self.edits]
        if not (self.gone or self.added):
            return edits
        entries = _entries(rewriter.parse_index(self.text))
        leaving = [entries.items[i] for i in self.gone]
        staying = [e for e in edits if not any(n.start <= e.start < n.end for n in leaving)]
        return [*staying, *_list_edits(self.text, entries, self.gone, self.added)]

    def forget(self) -> None:
        """It is set aside: the backup gets it as it was."""
        self.edits, self.gone, self.added, self.lines = [], set(), [], []
        self.alike = None
        self.appended, self.whole, self.keep_times = "", None, None

    def change(self, ends: Path) -> FileChange | None:
        """The change that all this comes to; None when the bytes stay the same."""
        edits: Sequence[Edit]
        if self.alike is not None and self._is_alike:
            after, edits = self.alike.after, self.alike
        else:
            after = self.content().encode("utf-8", "surrogateescape")
            edits = () if self.whole is not None else tuple(self.all_edits())
        if after == self.document.data:
            return None
        return FileChange(
            self.document.path,
            ends,
            "index" if self.document.path.name == INDEX else "other",
            before=self.document.data,
            after=after,
            edits=edits,
            lines=tuple(self.lines),
            appended=self.appended,
            seen=self.document.seen,
            keep_times=self.keep_times if not self.appended else None,
        )


class Drafts:
    """The drafts of a run, by where each document is now."""

    def __init__(self) -> None:
        self._known: dict[Path, Draft] = {}

    def at(self, path: Path, known: Document | None = None) -> Draft | None:
        """The draft of the document at `path`, or None when there is no such file.

        A document that was read already is `known`.
        """
        if path not in self._known:
            document = known or read_document(path)
            if document is None:
                return None
            self._known[path] = Draft(document)
        return self._known[path]

    def needed(self, path: Path) -> Draft:
        """The draft of a document that was seen to be there a moment ago."""
        draft = self.at(path)
        if draft is None:
            raise StaleLookError(f"{path} is gone", again("run it again"))
        return draft

    def forget(self, path: Path) -> None:
        if path in self._known:
            self._known[path].forget()

    def all(self) -> list[tuple[Path, Draft]]:
        return list(self._known.items())


# -- sessions-index.json ---------------------------------------------------------------------------


def _index_edits(document: Document, paths: PathMap, names: NameMap) -> list[Edit]:
    return rewriter.index_edits(document.text, paths, names)


def _entries(root: Node) -> Node:
    entries = root.get("entries") if root.opened == "{" else None
    if entries is None or entries.opened != "[":
        raise NotJsonError("an index without entries")
    return entries


def _list_edits(text: str, entries: Node, gone: set[int], added: Entries) -> list[Edit]:
    removals = make.remove_items(text, entries, ("entries",), gone)
    additions = make.add_items(text, entries, ("entries",), added)
    if additions and entries.items and len(gone) == len(entries.items):
        additions[0] = additions[0]._replace(text=added[0][1])  # the first of all needs no comma
    return [*removals, *additions]


def key_of(entry: Node, text: str) -> str:
    """What an entry is known by: its session, or else its very text."""
    session = entry.value.get("sessionId") if isinstance(entry.value, dict) else None
    return session if type(session) is str else text[entry.start : entry.end]


def entries_of(draft: Draft) -> Entries:
    """The entries of an index as they are planned."""
    text = draft.content()
    entries = _entries(rewriter.parse_index(text))
    return [(key_of(e, text), text[e.start : e.end]) for e in entries.items]


def add_entries(draft: Draft, entries: Entries, instead: set[str] | None = None) -> None:
    """Give the index the entries of sessions that it lacks, and those in `instead` anyway."""
    listed = _entries(rewriter.parse_index(draft.text))
    where = {key_of(entry, draft.text): i for i, entry in enumerate(listed.items)}
    coming = {key for key, _ in draft.added}
    for key, raw in entries:
        there = key in where and where[key] not in draft.gone
        if there and instead and key in instead:
            draft.gone.add(where[key])
            there = False
        if not there and key not in coming:
            draft.added.append((key, raw))


def take_entries(draft: Draft, wanted: set[str], paths: PathMap, names: NameMap) -> Entries:
    """Take the entries of these sessions out of the index; they come with their new paths."""
    text = draft.text
    taken = []
    for i, entry in enumerate(_entries(rewriter.parse_index(text)).items):
        key = key_of(entry, text)
        if key in wanted and i not in draft.gone:
            draft.gone.add(i)
            taken.append((key, _moved_entry(text, entry.start, paths, names)))
    return taken


def _moved_entry(text: str, start: int, paths: PathMap, names: NameMap) -> str:
    entry = parse_at(text, start, lambda _: False)
    found = rewriter.entry_edits(text, entry, (), paths.map, names.map)
    return make.apply_inside(text, entry, found)


def new_index(entries: Entries, path: str) -> str:
    """An index in the client's form."""
    listed = ",\n    ".join(raw for _, raw in entries)
    return (
        f'{{\n  "version": 1,\n  "entries": [\n    {listed}\n  ],\n'
        f'  "originalPath": {quote(path)}\n}}'
    )


def sessions_of(text: str, paths: set[str]) -> set[str]:
    """The sessions that the index says are of one of these paths."""
    found = set()
    for entry in _entries(rewriter.parse_index(text)).items:
        path = entry.value.get("projectPath") if isinstance(entry.value, dict) else None
        if isinstance(path, str) and path in paths:
            found.add(key_of(entry, text))
    return found


def owner_edits(text: str, gone: set[str], heir: str) -> list[Edit]:
    """Edits that make the index the heir's where it says that it is of a path that left."""
    root = rewriter.parse_index(text)
    return [
        make.set_string(text, item, (key.value,), heir)
        for key, item in root.members()
        if key.value in ("originalPath", "projectPath") and item.value in gone
    ]


def without_entries(text: str, raws: Iterable[str | None]) -> str:
    """The index without the sessions of these entries."""
    gone = {key_of(parse(raw, lambda _: False), raw) for raw in raws if raw is not None}
    listed = _entries(rewriter.parse_index(text)) if gone else Node(0)
    numbers = {i for i, entry in enumerate(listed.items) if key_of(entry, text) in gone}
    return make.apply(text, make.remove_items(text, listed, ("entries",), numbers))


def listed_again(text: str, raws: Iterable[str]) -> str:
    """The index with these entries, as far as it does not list their sessions already."""
    for raw in raws:
        listed = _entries(rewriter.parse_index(text))
        have = {key_of(entry, text) for entry in listed.items}
        key = key_of(parse(raw, lambda _: False), raw)
        if key not in have:
            text = make.apply(text, make.add_items(text, listed, ("entries",), [(key, raw)]))
    return text
