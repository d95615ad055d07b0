"""On a terminal: fitted to its width, coloured unless that is not wanted, never cut at
the end.
"""

from pathlib import Path

import pytest

from tests.output.terminal import Screen, run_on_terminal
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder

DEEP = Path(
    "code", "customers", "northern-branch", "websites"
)  # so that paths are long


@pytest.fixture
def known(state: StateBuilder) -> StateBuilder:
    old, new = paths(state)
    state.project(old, sessions=2, index=True, repo="acme/cafe")
    state.project(old / "packages" / "core", sessions=1)
    new.mkdir(parents=True)
    return state


def paths(state: StateBuilder) -> tuple[Path, Path]:
    return state.home / DEEP / "cafe-menu", state.home / DEEP / "bistro-menu"


def preview(state: StateBuilder, columns: int, **env: str) -> Screen:
    screen = run_on_terminal(
        ["--dry-run", *paths(state)], state=state, columns=columns, env=env
    )
    assert screen.exit == 0
    return screen


def test_the_most_important_line_is_the_last_and_home_is_a_tilde(
    known: StateBuilder,
) -> None:
    old, new = paths(known)
    *above, before, last = preview(known, 80).lines
    told = f"ccmove {old} {new}".replace(str(known.home), "~")
    assert (before, last.strip()) == ("Nothing was changed. To apply:", told)
    assert str(known.home) not in "\n".join(above)
    assert preview(known, 140).lines[0].startswith("Would move  ~/code/")
    done = run_on_terminal(paths(known), state=known, columns=140)
    assert "To undo: ccmove undo" in done.lines[-1]


def test_a_difference_shows_what_is_in_the_file(known: StateBuilder) -> None:
    """With ~ for the home it would be another value."""
    old, new = paths(known)
    words = ["--dry-run", "-v", old, new]
    text = "\n".join(run_on_terminal(words, state=known, columns=200).lines)
    assert f"\n      - {old}\n      + {new}\n" in text


def test_the_command_to_undo_is_whole_on_a_narrow_terminal(known: StateBuilder) -> None:
    done = run_on_terminal(paths(known), state=known, columns=35)
    assert done.lines[-1].strip() == "ccmove undo"


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_it_is_not_wanted(
    known: StateBuilder, env: dict[str, str]
) -> None:
    screen, usual = preview(known, 80, **env), preview(known, 80)
    assert (screen.is_coloured, usual.is_coloured) == (False, True)
    assert [line.rstrip() for line in screen.lines] == [
        line.rstrip() for line in usual.lines
    ]


def test_a_failure_is_coloured_on_a_terminal_and_ends_with_the_hint(
    known: StateBuilder,
) -> None:
    old, new = paths(known)
    screen = run_on_terminal([new, old], state=known, columns=60)
    assert screen.exit == 4
    assert screen.is_coloured
    told = f"ccmove {old} {new}".replace(str(known.home), "~")
    assert screen.lines[-2].strip() == told
    assert screen.lines[-1].strip() == "-> all projects: ccmove list"


def test_a_quoted_path_keeps_its_home_since_no_shell_would_expand_it(
    known: StateBuilder,
) -> None:
    spaced = known.home / "my app"
    known.project(str(spaced), sessions=1, make_folder=True)
    screen = run_on_terminal([spaced, known.home / "new"], state=known, columns=200)
    assert f"ccmove --move-folder '{spaced}' ~/new" in "\n".join(screen.lines)


def test_a_pipe_has_no_colour_and_whole_paths(known: StateBuilder) -> None:
    old, new = paths(known)
    done = run_ccmove(
        "--dry-run", old, new, state=known, env={"TERM": "xterm-256color"}
    )
    assert "\x1b" not in done.out
    assert f"Would move  {old}\n" in done.out


def test_a_preview_of_many_fits_a_screen_and_says_how_to_see_all(
    state: StateBuilder,
) -> None:
    for number in range(15):
        state.project(
            state.home / f"all/app-{number}",
            sessions=1,
            prompts=1,
            index=True,
            subagents=False,
        )
    (state.home / "moved").mkdir()
    arguments = ["--dry-run", str(state.home / "all"), str(state.home / "moved")]
    screen = run_on_terminal(arguments, state=state, columns=80)
    assert len(screen.lines) <= 24
    assert "  and 5 more (-v)" in screen.lines
    whole = run_on_terminal([*arguments, "-v"], state=state)
    assert not any("more" in line for line in whole.lines)
    assert len(whole.lines) > 100
