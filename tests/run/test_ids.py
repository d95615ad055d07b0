"""IDs in the order of the runs, whatever the clock says."""

import os
import re
import time
from pathlib import Path

import pytest

from ccmove.claude.layout import Layout
from ccmove.errors import RefusedError
from ccmove.run import backups as backup
from tests.support.hints import hint_of

NOON = 1_794_830_400  # 2026-11-16T12:00:00Z


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    home = Path(os.path.realpath(tmp_path))
    (home / ".claude" / "ccmove" / "backups").mkdir(parents=True)
    return Layout(home / ".claude", home / ".claude.json", home)


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

    @pytest.mark.parametrize(
        ("names", "following"),
        [
            ([], "20261116T120000Z-3f9c"),  # the time, and something random
            (
                ["20261116T115959Z-ffff", "20261116T120000Z-3f9b"],
                "20261116T120000Z-3f9c",
            ),
            (["20261116T120000Z-3f9c"], "20261116T120000Z-3f9d"),
            (["20261116T120000Z-fffe"], "20261116T120000Z-ffff"),
            (["20261231T235959Z-ffff"], "20270101T000000Z-0000"),
            (
                ["20200101T000000Z-0000", "20300708T091011Z-000a"],
                "20300708T091011Z-000b",
            ),
            (
                ["20200101T000000Z-0000", "20300708T091011Z-0fff"],
                "20300708T091011Z-1000",
            ),
            (
                ["20301316T120000Z-0000", "notes", "20300101T000000Z-000"],
                "20261116T120000Z-3f9c",
            ),
        ],
    )
    def test_it_is_of_this_time_or_comes_right_after_the_newest(
        self, layout: Layout, names: list[str], following: str
    ) -> None:
        assert self.made(layout, *names) == following

    def test_after_the_last_of_all_there_is_none(self, layout: Layout) -> None:
        with pytest.raises(RefusedError) as caught:
            self.made(layout, "99991231T235959Z-ffff")
        last = layout.backups / "99991231T235959Z-ffff"
        assert str(caught.value) == f"no later backup than {last} can be made"
        assert hint_of(caught.value) == "its date can't be right: ccmove backups"

    def test_they_are_listed_in_order_and_other_names_are_not(
        self, layout: Layout
    ) -> None:
        names = ["20250101T000000Z-0000", "20260101T000000Z-0000"]
        self.made(
            layout,
            "20301316T120000Z-0000",
            "notes",
            "20300101T000000Z-000",
            *names[::-1],
        )
        assert backup.backup_ids(layout.backups) == names

    def test_a_run_that_was_set_aside_counts_as_well(self, layout: Layout) -> None:
        (layout.unfinished / "20300708T091011Z-000a").mkdir(parents=True)
        assert backup.new_id(layout) == "20300708T091011Z-000b"


def test_ids_differ_by_chance(layout: Layout) -> None:
    assert len({backup.new_id(layout)[-4:] for _ in range(40)}) > 30
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{4}", backup.new_id(layout))
