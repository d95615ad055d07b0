"""What only Windows does; and the table of what does not run there names what there is."""

from pathlib import Path

import pytest

from ccmove.plan.records import is_below, is_name
from tests.shapes.bench import Bench
from tests.support.state import StateBuilder
from tests.systems import windows

only_there = pytest.mark.skipif(not windows.HERE, reason="`make test-windows` runs it")


def test_every_test_that_does_not_run_on_windows_is_there() -> None:
    root = Path(__file__).parents[2]
    for name in (*windows.FILES, *(name for name, _ in windows.excluded())):
        file, _, test = name.partition("[")[0].partition("::")
        assert (root / file).exists(), name
        assert not test or f"def {test}(" in (root / file).read_text(
            encoding="utf-8"
        ), name


@pytest.fixture
def bench(state: StateBuilder) -> Bench:
    state.project("my-app", index=True, make_folder=True)
    return Bench(state)


@only_there
def test_a_folder_that_only_changes_its_case_is_moved_and_comes_back(
    bench: Bench,
) -> None:
    """Wine says that it has renamed such a folder and leaves its name, so that is not
    looked at.
    """
    state = bench.state
    old, new = state.code / "my-app", state.code / "My-App"
    before = bench.tree()
    bench.ok("--move-folder", old, new)
    assert [Path(path).name for path in state.config()["projects"]] == ["My-App"]
    assert b"My-App" in state.history.read_bytes()
    assert b"my-app" not in state.history.read_bytes()
    bench.restore()
    bench.expect(before)


@only_there
def test_a_case_that_the_folder_does_not_have_is_refused_with_what_to_do(
    bench: Bench,
) -> None:
    old, new = (bench.state.code / name for name in ("my-app", "My-App"))
    report = bench.refused(old, new)
    assert report["error"] == f"the folder is still called {old}"
    assert "--move-folder" in report["hint"]


@only_there
def test_a_file_that_a_program_has_open_is_named_before_anything_changes(
    bench: Bench,
) -> None:
    """Windows would not let us replace it, unless it is shared as the client shares it."""
    state = bench.state
    Path(state.code / "my-app").rename(state.code / "new")
    with state.history.open("ab"):
        report = bench.refused(state.code / "my-app", state.code / "new")
        assert report["error"].startswith(f"{state.history} is in use by ")
    bench.ok(state.code / "my-app", state.code / "new")


@only_there
@pytest.mark.parametrize(
    "text", ["..\\x", "a\\b", "C:x", "C:\\x", "\\x", "/x", "a:stream"]
)
def test_no_name_in_a_manifest_leads_elsewhere(text: str) -> None:
    assert not is_name(text)
    assert is_below(text) == (text == "a\\b")
