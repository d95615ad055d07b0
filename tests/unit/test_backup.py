"""Backups: IDs in the order of the runs, manifests that can be trusted, and what still stands."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest

from ccmove.claude.layout import Layout
from ccmove.errors import NothingKnownError, RefusedError
from ccmove.plan.model import ProjectMove
from ccmove.run import backups as backup
from ccmove.run.manifest import Manifest
from tests.support.hints import hint_of

NOON = 1_794_830_400  # 2026-11-16T12:00:00Z


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    home = Path(os.path.realpath(tmp_path))
    (home / ".claude" / "ccmove" / "backups").mkdir(parents=True)
    return Layout(home / ".claude", home / ".claude.json", home)


def number(n: int) -> str:
    return f"20261116T0000{n:02}Z-0000"


def save(layout: Layout, n: int, undoes: int | None = None, *moves: ProjectMove) -> Manifest:
    """Write the manifest of the n-th run."""
    undone = None if undoes is None else number(undoes)
    manifest = Manifest(number(n), "move", "now", (("/a", "/b"),), (), undone, moves)
    (layout.backups / manifest.id).mkdir()
    backup.write_manifest(manifest, layout)
    return manifest


class TestIds:
    """The clock is set by the test, and what is random is not."""

    @pytest.fixture(autouse=True)
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(time, "time", lambda: NOON + 0.5)
        monkeypatch.setattr(os, "urandom", lambda n: b"\x3f\x9c\x01\x02\x03"[:n])

    def made(self, layout: Layout, *names: str) -> str:
        for name in names:
            (layout.backups / name).mkdir()
        return backup.new_id(layout)

    def test_the_first_is_the_time_and_something_random(self, layout: Layout) -> None:
        assert self.made(layout) == "20261116T120000Z-3f9c"

    def test_it_is_so_after_older_ones(self, layout: Layout) -> None:
        assert self.made(layout, "20261116T115959Z-ffff", "20261116T120000Z-3f9b") == (
            "20261116T120000Z-3f9c"
        )

    @pytest.mark.parametrize(
        ("newest", "following"),
        [
            ("20261116T120000Z-3f9c", "20261116T120000Z-3f9d"),
            ("20261116T120000Z-fffe", "20261116T120000Z-ffff"),
            ("20261116T120000Z-ffff", "20261116T120001Z-0000"),
            ("20300708T091011Z-000a", "20300708T091011Z-000b"),
            ("20300708T091011Z-0fff", "20300708T091011Z-1000"),
            ("20300708T091011Z-ffff", "20300708T091012Z-0000"),
            ("20301231T235959Z-ffff", "20310101T000000Z-0000"),
            ("20300230T000000Z-ffff", "20300302T000001Z-0000"),
        ],
    )
    def test_it_comes_right_after_one_from_the_future(
        self, layout: Layout, newest: str, following: str
    ) -> None:
        assert self.made(layout, "20200101T000000Z-0000", newest) == following

    def test_after_the_last_of_all_there_is_none(self, layout: Layout) -> None:
        with pytest.raises(RefusedError) as caught:
            self.made(layout, "99991231T235959Z-ffff")
        last = layout.backups / "99991231T235959Z-ffff"
        assert str(caught.value) == f"no later backup than {last} can be made"
        assert hint_of(caught.value) == "its date can't be right: move it out of the way"

    def test_other_names_do_not_count(self, layout: Layout) -> None:
        assert self.made(layout, "20301316T120000Z-0000", "notes", "20300101T000000Z-000") == (
            "20261116T120000Z-3f9c"
        )
        (layout.backups / "20260101T000000Z-0000").mkdir()
        (layout.backups / "20250101T000000Z-0000").mkdir()
        assert backup.backup_ids(layout) == ["20250101T000000Z-0000", "20260101T000000Z-0000"]


def test_ids_differ_by_chance(layout: Layout) -> None:
    assert len({backup.new_id(layout)[-4:] for _ in range(40)}) > 30
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{4}", backup.new_id(layout))


class TestManifests:
    def test_what_was_written_is_read(self, layout: Layout) -> None:
        manifest = save(layout, 1)
        assert backup.read_manifest(manifest.id, layout) == manifest

    def test_writing_again_replaces_it(self, layout: Layout) -> None:
        manifest = save(layout, 1)._replace(kept=("/kept",))
        backup.write_manifest(manifest, layout)
        assert backup.read_manifest(manifest.id, layout) == manifest
        assert os.listdir(layout.backups / manifest.id) == ["manifest.json"]

    def test_one_that_is_not_there_is_nothing_known(self, layout: Layout) -> None:
        with pytest.raises(NothingKnownError) as caught:
            backup.read_manifest(number(1), layout)
        assert str(caught.value) == f"there is no backup {number(1)}"
        assert hint_of(caught.value) == "ccmove backups"

    def refusal(self, layout: Layout, n: int) -> RefusedError:
        with pytest.raises(RefusedError) as caught:
            backup.read_manifest(number(n), layout)
        saved = layout.backups / number(n) / "files"
        assert hint_of(caught.value) == f"what it saved is untouched: ls -l {saved}"
        return caught.value

    def test_one_of_another_run_is_refused(self, layout: Layout) -> None:
        save(layout, 1)
        (layout.backups / number(1)).rename(layout.backups / number(2))
        path = layout.backups / number(2) / "manifest.json"
        assert str(self.refusal(layout, 2)) == f"{path} can't be used: it belongs to {number(1)}"

    @pytest.mark.parametrize("text", ["", "{", "7", "[" * 100_000, "\udcff"])
    def test_what_is_no_manifest_is_refused(self, layout: Layout, text: str) -> None:
        path = layout.backups / number(1) / "manifest.json"
        path.parent.mkdir()
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        assert str(self.refusal(layout, 1)).startswith(f"{path} can't be used: ")

    def test_one_that_is_too_large_is_refused_unread(self, layout: Layout) -> None:
        path = layout.backups / save(layout, 1).id / "manifest.json"
        os.truncate(path, (64 << 20) + 1)
        with pytest.raises(RefusedError, match="larger than 67"):
            backup.read_manifest(number(1), layout)

    def test_one_that_was_changed_is_refused(self, layout: Layout) -> None:
        path = layout.backups / save(layout, 1).id / "manifest.json"
        record = json.loads(path.read_bytes()) | {"created": "another day"}
        path.write_text(json.dumps(record))
        assert "it was changed since it was written" in str(self.refusal(layout, 1))

    def test_all_of_them_are_those_that_can_be_trusted_oldest_first(self, layout: Layout) -> None:
        last, first = save(layout, 9), save(layout, 1)
        (layout.backups / number(2)).mkdir()  # without a manifest
        (layout.backups / number(3)).mkdir()
        (layout.backups / number(3) / "manifest.json").write_text("{")
        assert backup.all_manifests(layout) == [first, last]


class TestInForce:
    """Which runs still stand, by what each undoes."""

    @staticmethod
    def standing(*undoes: int | None) -> list[bool]:
        rows = [
            Manifest(number(n), "move", "", (), undoes=None if u is None else number(u))
            for n, u in enumerate(undoes)
        ]
        found = backup.in_force(rows)
        return [found[row.id] for row in rows]

    def test_a_run_stands(self) -> None:
        assert self.standing(None, None) == [True, True]

    def test_until_it_is_undone(self) -> None:
        assert self.standing(None, None, 0) == [False, True, True]

    def test_an_undoing_that_is_undone_brings_it_back(self) -> None:
        assert self.standing(None, 0, 1) == [True, False, True]

    def test_and_so_on(self) -> None:
        assert self.standing(None, 0, 1, 2) == [False, True, False, True]
        assert self.standing(None, 0, 1, 2, 3) == [True, False, True, False, True]
        assert self.standing(None, 0, 1, 2, 3, 4) == [False, True, False, True, False, True]

    def test_it_can_be_undone_twice(self) -> None:
        assert self.standing(None, 0, 1, 0) == [False, False, True, True]

    def test_what_undoes_a_pruned_run_stands(self) -> None:
        assert self.standing(None, 77) == [True, True]


class TestLedger:
    """What earlier moves say of whose the entries of a directory are."""

    @staticmethod
    def move(path: str, new: str, *entries: str) -> ProjectMove:
        names = (path.replace("/", "-"), new.replace("/", "-"))
        return ProjectMove(path, new, *names, "split", entries)

    @staticmethod
    def read(layout: Layout) -> tuple[object, object]:
        ledger = backup.read_ledger(layout)
        return ledger.entries, ledger.owners

    def test_without_backups_it_is_empty(self, layout: Layout) -> None:
        assert self.read(layout) == ({}, {})

    def test_entries_are_of_the_path_that_they_went_to(self, layout: Layout) -> None:
        save(layout, 1, None, self.move("/a", "/b", "x", "y"))
        entries = {("-b", "x"): "/b", ("-b", "y"): "/b"}
        assert self.read(layout) == (entries, {"-b": {"/b"}})

    def test_a_later_move_says_more(self, layout: Layout) -> None:
        save(layout, 1, None, self.move("/a", "/b", "x", "y"))
        save(layout, 2, None, self.move("/b", "/c", "x"))
        entries = {("-b", "y"): "/b", ("-c", "x"): "/c"}
        assert self.read(layout) == (entries, {"-b": set(), "-c": {"/c"}})

    def test_paths_that_share_a_directory_are_all_there(self, layout: Layout) -> None:
        save(layout, 1, None, self.move("/a", "/x/y"), self.move("/b", "/x-y"))
        assert self.read(layout) == ({}, {"-x-y": {"/x/y", "/x-y"}})
