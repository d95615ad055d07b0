"""One folder under several paths: doctor names them, how they differ, and what merges
them.
"""

import os
from pathlib import Path

import pytest

from ccmove.inspect.survey import folded
from tests.inspect.conftest import examine, run_ccmove
from tests.support.state import StateBuilder


@pytest.mark.parametrize(
    "is_above", [True, False], ids=["a link above", "a link itself"]
)
def test_a_folder_that_is_known_through_a_link_is_merged_by_the_command(
    state: StateBuilder, is_above: bool
) -> None:
    real = state.project("app", make_folder=True)
    link = state.root / "link"
    link.symlink_to(state.code if is_above else real.path)
    spelled = str(link / "app" if is_above else link)
    state.project(spelled, prompts=1)
    (finding,) = examine(state)
    assert (finding.kind, finding.subject) == ("spelling", spelled)
    how = "through a link or a mount"
    assert finding.what == f"the same folder as {real.path}, {how}"
    assert finding.command == f"ccmove {spelled} {real.path}"
    assert run_ccmove(*finding.command.split()[1:], state=state).exit == 0
    assert len(list(real.directory.glob("*.jsonl"))) == 4
    assert examine(state) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a/App", "/a/app"),
        ("c:/work/x", "C:/work/x"),
        ("C:\\work\\x", "C:/work/x"),
        ("C:\\work\\X", "c:/work/x"),
        ("/a/caf\u00e9", "/a/cafe\u0301"),
    ],
)
def test_spellings_of_one_folder_are_known_even_if_alike(one: str, other: str) -> None:
    assert folded(one) == folded(other)


def test_of_spellings_in_other_case_the_one_on_disk_is_real(
    state: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that takes names in any case for the same."""
    from ccmove.claude.layout import find_layout
    from ccmove.inspect.findings import examine
    from ccmove.inspect.survey import Survey

    state.project("app", sessions=3, make_folder=True)
    state.project("App", sessions=1)
    actual = os.stat

    def folding(path: str | Path, *args: object, **more: object) -> os.stat_result:
        spelled = (
            str(path).replace("/code/App", "/code/app")
            if isinstance(path, str)
            else path
        )
        return actual(spelled, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", folding)
    survey = Survey(find_layout(str(state.config_dir), {}))
    (finding,) = examine(survey).findings
    assert finding.command == survey.layout.command(
        f"{state.code / 'App'}", f"{state.code / 'app'}"
    )
