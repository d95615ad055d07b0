"""The journal of a run under way: what was written is read, anything else is not believed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ccmove.claude.layout import Layout
from ccmove.errors import RefusedError, UnsettledError
from ccmove.run.journal import (
    Journal,
    read_journal,
    remove_unfinished,
    was_interrupted,
    write_journal,
)
from ccmove.run.manifest import Content, Manifest, SavedFile
from tests.support.hints import hint_of

ID = "20261116T004112Z-3f9c"
OTHER_ID = "20261116T004112Z-3f9d"
MANIFEST = Manifest(ID, "move", "now", (("/code/app", "/code/new"),))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    home = Path(os.path.realpath(tmp_path))
    (home / ".claude" / "ccmove").mkdir(parents=True)
    return Layout(home / ".claude", home / ".claude.json", home)


def staged(folder: Path, number: int) -> Path:
    return folder / f".ccmove-{ID}-{number}"


@pytest.mark.parametrize("manifest", [None, MANIFEST])
def test_what_was_written_is_read(layout: Layout, manifest: Manifest | None) -> None:
    files = (staged(layout.config_dir, 0), staged(layout.home, 1), staged(Path("/code/app"), 23))
    journal = Journal(ID, 999_999_999, layout.client_locks, files, manifest)
    write_journal(journal, layout)
    assert read_journal(layout) == journal


def test_at_its_beginning_a_run_has_no_lock_and_nothing_staged(layout: Layout) -> None:
    write_journal(Journal(ID, 0), layout)
    assert read_journal(layout) == Journal(ID, 0, (), (), None)


def test_without_a_journal_there_is_none(layout: Layout) -> None:
    assert read_journal(layout) is None


def test_a_journal_takes_the_place_of_the_one_before(layout: Layout) -> None:
    write_journal(Journal(ID, 1), layout)
    before = layout.journal.stat().st_ino
    (layout.own / "journal.json.new").write_text("left over by a run that was killed")
    write_journal(Journal(ID, 2, manifest=MANIFEST), layout)
    assert read_journal(layout) == Journal(ID, 2, manifest=MANIFEST)
    assert layout.journal.stat().st_ino != before
    assert os.listdir(layout.own) == ["journal.json"]


@pytest.mark.parametrize("name", ["journal.json", "journal.json.new"])
def test_a_journal_or_the_beginning_of_one_tells_of_an_interruption(
    layout: Layout, name: str
) -> None:
    assert not was_interrupted(layout)
    (layout.own / name).symlink_to("nowhere")
    assert was_interrupted(layout)


def test_what_was_never_in_force_is_removed_and_nothing_else(layout: Layout) -> None:
    write_journal(Journal(ID, 1), layout)
    (layout.own / "journal.json.new").write_text("{")
    for _ in range(2):
        remove_unfinished(layout)
        assert os.listdir(layout.own) == ["journal.json"]


def test_places_of_the_state_are_written_without_where_the_state_is(layout: Layout) -> None:
    write_journal(Journal(ID, 1, layout.client_locks, (staged(layout.config_dir, 0),)), layout)
    assert json.loads(layout.journal.read_bytes()) == {
        "schema": 1,
        "id": ID,
        "mark": 1,
        "locks": ["$C/history.jsonl.lock", f"{layout.home}/.claude.json.lock"],
        "staged": [f"$C/.ccmove-{ID}-0"],
        "manifest": None,
    }


PLAIN: dict[str, Any] = {
    "schema": 1, "id": ID, "mark": 1, "locks": [], "staged": [], "manifest": None
}  # fmt: skip
NO_STAGED_FILES = [
    f"/x/.ccmove-{OTHER_ID}-1",
    f"/x/.ccmove-{ID}-",
    f"/x/y.ccmove-{ID}-1",
    f"/x/.ccmove-{ID}-1.json",
    f"/x/-ccmove-{ID}-1",
    f"x/.ccmove-{ID}-1",
    f"/x/../.ccmove-{ID}-1",
    f"/x\0/.ccmove-{ID}-1",
]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"schema": 2}, "unknown version 2"),
        ({"id": "../x"}, "'../x' is not an ID"),
        ({"mark": -1}, "-1 marks no lock of ours"),
        ({"mark": 1_000_000_000}, "1000000000 marks no lock of ours"),
        ({"mark": True}, "True marks no lock of ours"),
        ({"locks": ["/etc"]}, "'/etc' is no lock of the client"),
        ({"staged": [7]}, "7 is no staged file"),
        *(({"staged": [text]}, f"{text!r} is no staged file") for text in NO_STAGED_FILES),
        ({"manifest": {"id": OTHER_ID}}, f"its manifest belongs to '{OTHER_ID}'"),
        ({"manifest": {"id": ID}}, "unknown version None"),
    ],
)
def test_why_a_journal_is_not_believed_is_said(
    layout: Layout, change: dict[str, object], why: str
) -> None:
    layout.journal.write_text(json.dumps(PLAIN))
    assert read_journal(layout) == Journal(ID, 1)  # the control: the rest is fine
    layout.journal.write_text(json.dumps(PLAIN | change))
    with pytest.raises(UnsettledError) as caught:
        read_journal(layout)
    assert str(caught.value) == f"{layout.journal} can't be trusted: {why}"
    assert hint_of(caught.value) == (
        f"look at it and at {layout.backups}; to set it aside: "
        f"mv {layout.journal} {layout.journal}.bad"
    )


class TestWhatIsStaged:
    """The way back puts a file together beside the one that it replaces."""

    CONTENT = Content("0" * 64, 1)

    def journal(self, layout: Layout, before: Content | None, *folders: Path) -> Journal:
        """Of a run that replaces the history and an index, or makes the index."""
        saved = "files/1" if before else None
        index = layout.projects / "-x" / "sessions-index.json"
        history = (layout.history, layout.history, "history", "files/0", self.CONTENT, self.CONTENT)
        made = SavedFile(index, index, "index", saved, before, self.CONTENT)
        manifest = MANIFEST._replace(files=(SavedFile(*history), made))
        names = tuple(staged(folder, number) for number, folder in enumerate(folders))
        return Journal(ID, 1, staged=names, manifest=manifest)

    def test_beside_each_file_it_is_believed(self, layout: Layout) -> None:
        journal = self.journal(layout, self.CONTENT, layout.config_dir, layout.projects / "-x")
        write_journal(journal, layout)
        assert read_journal(layout) == journal

    def test_beside_a_file_that_is_made_nothing_is_needed(self, layout: Layout) -> None:
        journal = self.journal(layout, None, layout.config_dir)
        write_journal(journal, layout)
        assert read_journal(layout) == journal

    @pytest.mark.parametrize("folders", [[""], ["", "projects"], ["projects/-x", ""]])
    def test_elsewhere_missing_or_in_another_order_it_is_not_believed(
        self, layout: Layout, folders: list[str]
    ) -> None:
        beside = [layout.config_dir / folder for folder in folders]
        write_journal(self.journal(layout, self.CONTENT, *beside), layout)
        index = layout.projects / "-x" / "sessions-index.json"
        with pytest.raises(UnsettledError) as caught:
            read_journal(layout)
        why = f"nothing is staged beside {index if folders[0] == '' else layout.history}"
        assert str(caught.value) == f"{layout.journal} can't be trusted: {why}"


@pytest.mark.parametrize("key", PLAIN)
def test_a_journal_that_lacks_something_is_not_believed(layout: Layout, key: str) -> None:
    layout.journal.write_text(json.dumps({k: v for k, v in PLAIN.items() if k != key}))
    with pytest.raises(UnsettledError):
        read_journal(layout)


@pytest.mark.parametrize("text", ["", "{", "7", "[]", "\ufeff{}", "[" * 100_000])
def test_text_that_is_no_journal_is_not_believed(layout: Layout, text: str) -> None:
    layout.journal.write_text(text)
    with pytest.raises(UnsettledError):
        read_journal(layout)


def test_a_journal_that_is_too_large_is_refused_unread(layout: Layout) -> None:
    layout.journal.touch()
    os.truncate(layout.journal, (64 << 20) + 1)
    with pytest.raises(RefusedError, match="larger than 67"):
        read_journal(layout)


def test_the_client_locks_are_known_by_their_places(layout: Layout) -> None:
    texts = ["$C/history.jsonl.lock", f"{layout.home}/.claude.json.lock"]
    layout.journal.write_text(json.dumps(PLAIN | {"locks": texts}))
    found = read_journal(layout)
    assert found is not None
    assert found.locks == layout.client_locks
