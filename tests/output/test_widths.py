"""No line is wider than the terminal, at any width; only a command on its own line may
be.
"""

import io
import os
import re
from collections.abc import Callable, Iterator

import pytest
from rich.cells import cell_len
from rich.console import Console

from ccmove.cli.boundary import Call, find_answer
from ccmove.cli.demo import play
from ccmove.cli.main import app
from ccmove.errors import CcmoveError
from ccmove.report.console import Printer
from tests.output.situations import Stage
from tests.support.state import StateBuilder

pytestmark = pytest.mark.slow

WIDTHS = range(40, 131)
COMMAND = re.compile(
    r" *(ccmove|git|grep|findstr|mv|move(?= .?[A-Z]:)|ls|dir|df|mkdir|chmod) "
)
Show = Callable[[Printer], None]


@pytest.fixture
def crowded(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> StateBuilder:
    """Deep and wide names, nested, shared and lost projects, settings that name the old
    path.
    """
    state = stage.state
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(state.home))
    deep = state.home / "code" / "customers" / "northern-branch" / "websites"
    state.project(deep / "cafe-menu", sessions=2, index=True, repo="acme/cafe")
    state.project(deep / "cafe-menu" / "packages" / "core", sessions=1)
    state.project(
        deep / "日本語のとても長いプロジェクト名", sessions=1, make_folder=True
    )
    state.project(deep / "cafe_menu", sessions=1, make_folder=True)
    state.project(
        state.home / "gone" / ("a-name-longer-than-any-line-is-wide-" * 4), sessions=1
    )
    settings = deep / "bistro-menu" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        f'{{"permissions": {{"allow": ["Read({deep}/cafe-menu/**)"]}}}}'
    )
    (settings.parents[1] / "CLAUDE.md").write_text(f"see {deep}/cafe-menu\n")
    return state


def paths(state: StateBuilder) -> list[str]:
    deep = state.home / "code" / "customers" / "northern-branch" / "websites"
    return [str(deep / "cafe-menu"), str(deep / "bistro-menu")]


def shown(words: list[str]) -> Show:
    """What the command says, at any width; it is done once."""
    call = Call(words, Printer(verbose="-v" in words))
    try:
        return find_answer(app, call).show
    except CcmoveError as error:
        return call.answer(call.failed(error)).show


def rows(say: Show, width: int) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    say(Printer(console=console, out=out, err=out))
    return out.getvalue().splitlines()


def too_wide(say: Show) -> Iterator[str]:
    for width in WIDTHS:
        for row in rows(say, width):
            if cell_len(row.rstrip()) > width and not COMMAND.match(row):
                yield f"{width}: {row}"


AFTERWARDS = ["list", "list -v", "doctor", "verify -v", "backups", "show", "restore -n", "restore",
              "prune --keep 0"]  # fmt: skip


@pytest.mark.parametrize("words", AFTERWARDS)
def test_what_a_move_leaves_fits_on_a_narrow_terminal(
    crowded: StateBuilder, words: str
) -> None:
    shown(paths(crowded))
    assert list(too_wide(shown(words.split()))) == []


@pytest.mark.parametrize("options", [["-n"], ["-n", "-v"], [], ["-v"]], ids=" ".join)
def test_a_move_and_its_preview_fit_on_a_narrow_terminal(
    crowded: StateBuilder, options: list[str]
) -> None:
    assert list(too_wide(shown([*options, *paths(crowded)]))) == []


@pytest.mark.slow
def test_the_demo_fits_on_a_narrow_terminal(crowded: StateBuilder) -> None:
    for width in (40, 50, 63, 80, 101, 130):
        said = rows(play, width)
        wide = [row for row in said if cell_len(row.rstrip()) > width]
        assert [row for row in wide if not COMMAND.match(row)] == []


def test_errors_fit_on_a_narrow_terminal(crowded: StateBuilder) -> None:
    old, new = paths(crowded)
    for words in (
        [new, old],
        [old, f"{new}-2"],
        ["restore"],
        ["--dryrun", old],
        ["restor"],
    ):
        assert list(too_wide(shown(words))) == []


def test_no_sentence_has_a_blank_line_in_it(crowded: StateBuilder) -> None:
    """A blank at the end of a row once made a row of its own."""
    say = shown(["doctor"])
    blank = {sum(not row.strip() for row in rows(say, width)) for width in WIDTHS}
    assert len(blank) == 1


@pytest.mark.slow
def test_of_a_long_path_the_last_component_is_never_cut(crowded: StateBuilder) -> None:
    preview, listing = shown(["-n", *paths(crowded)]), shown(["list"])
    for say, other in (
        (preview, "bistro-menu"),
        (listing, "core"),
    ):
        for width in WIDTHS:
            said = [row for row in rows(say, width) if not COMMAND.match(row)]
            for name in ("cafe-menu", other):
                assert any(row.endswith(name) for row in said), width


def test_a_list_has_fewer_columns_on_a_narrow_terminal(crowded: StateBuilder) -> None:
    say = shown(["list"])
    assert rows(say, 79)[0].split() == ["FOLDER", "SESSIONS", "PATH"]
    assert rows(say, 80)[0].split() == [
        "FOLDER",
        "SESSIONS",
        "SIZE",
        "LAST",
        "USED",
        "PATH",
    ]


def test_a_list_shows_each_path_whole_and_ends_with_what_to_do(
    crowded: StateBuilder,
) -> None:
    settings = crowded.config_dir / "settings.json"
    settings.write_text('{"cleanupPeriodDays": 36500}')  # else a note comes last
    said = [row.rstrip() for row in rows(shown(["list"]), 130)]
    parent = next(
        n
        for n, row in enumerate(said)
        if row.endswith(os.path.join("websites", "cafe-menu"))
    )
    assert said[parent].startswith("GONE")
    nested = os.path.join("websites", "cafe-menu", "packages", "core")
    assert said[parent + 1].endswith(nested)
    assert said[-1].endswith("3 folders are gone. See: ccmove doctor")
    assert os.environ["HOME"] not in "".join(said)
