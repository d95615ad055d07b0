"""Completion by the protocol that the shells speak, and in the shells themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.run import clean_environment, run_ccmove, run_child
from tests.support.state import StateBuilder


def complete(state: StateBuilder, words: str, shell: str = "bash") -> list[str]:
    """What a shell is answered when TAB is pressed at the end of `words`."""
    number = len(words.split()) - (not words.endswith(" "))
    environment = {
        "COMP_WORDS": words,
        "COMP_CWORD": str(number) if shell != "fish" else words.rpartition(" ")[2],
        "_CCMOVE_COMPLETE": f"{shell}_complete",
    }
    done = run_child([sys.executable, "-m", "ccmove"], state=state, env=environment)
    assert (done.exit, done.err) == (0, "")
    return [line for line in done.out.splitlines() if line]


@pytest.fixture
def known(state: StateBuilder) -> StateBuilder:
    state.project("app-here", make_folder=True)
    state.project("app-gone")
    state.project("zoo", config=None, prompts=0)
    return state


@pytest.mark.parametrize("start", ["ccmove", "ccmove move", "ccmove -n", "ccmove --json move"])
def test_old_completes_from_the_known_projects_missing_first(
    known: StateBuilder, start: str
) -> None:
    assert complete(known, f"{start} {known.code}/") == [
        f"plain,{known.code}/app-gone",
        f"plain,{known.code}/zoo",
        f"plain,{known.code}/app-here",
    ]


def test_the_first_word_may_be_a_command_too(known: StateBuilder) -> None:
    answers = complete(known, "ccmove ")
    assert "plain,restore" in answers
    assert f"plain,{known.code}/app-gone" in answers
    assert complete(known, "ccmove rest") == ["plain,restore"]


def test_a_folders_name_is_enough(known: StateBuilder) -> None:
    assert complete(known, "ccmove app-g") == [f"plain,{known.code}/app-gone"]


def test_options_of_a_move_complete_without_its_name(known: StateBuilder) -> None:
    assert complete(known, "ccmove --dry") == ["plain,--dry-run"]
    assert complete(known, "ccmove --he") == ["plain,--help"]


@pytest.mark.parametrize("start", ["ccmove /old", "ccmove move /old", "ccmove -n /old"])
def test_new_completes_from_directories(known: StateBuilder, start: str) -> None:
    assert complete(known, f"{start} some/wh") == ["dir,some/wh"]


def test_the_config_directory_completes_from_directories(known: StateBuilder) -> None:
    assert complete(known, "ccmove --config-dir /x") == ["dir,/x"]


def test_an_old_that_nobody_knows_completes_from_directories(known: StateBuilder) -> None:
    assert complete(known, "ccmove /nowhere/x") == ["dir,/nowhere/x"]


def test_restore_completes_from_the_backups_newest_first(known: StateBuilder) -> None:
    assert complete(known, "ccmove restore ") == []
    for number, (old, new) in enumerate((("app-gone", "one"), ("zoo", "two"))):
        (known.code / new).mkdir()
        assert run_ccmove(f"{known.code}/{old}", f"{known.code}/{new}", state=known).exit == 0
        assert len(complete(known, "ccmove restore ")) == number + 1
    newest, oldest = complete(known, "ccmove restore ")
    assert newest > oldest
    assert complete(known, f"ccmove restore {oldest.removeprefix('plain,')}") == [oldest]
    with_help = complete(known, "ccmove restore ", "zsh")
    assert with_help[2] == f"move {known.code}/zoo -> {known.code}/two"


def test_what_was_undone_comes_last(known: StateBuilder) -> None:
    for old, new in (("app-gone", "one"), ("zoo", "two")):
        (known.code / new).mkdir()
        assert run_ccmove(f"{known.code}/{old}", f"{known.code}/{new}", state=known).exit == 0
    _, second = sorted(os.listdir(known.config_dir / "ccmove" / "backups"))
    assert run_ccmove("restore", second, state=known).exit == 0
    assert complete(known, "ccmove restore ")[-1] == f"plain,{second}"


def test_the_config_directory_on_the_line_is_the_one_asked(
    known: StateBuilder, tmp_path: Path
) -> None:
    other = StateBuilder(tmp_path / "other")
    other.project("elsewhere")
    (other.config_dir / ".claude.json").write_bytes(other.config_file.read_bytes())
    line = f"ccmove --config-dir {other.config_dir} move {other.code}/"
    assert complete(known, line) == [f"plain,{other.code}/elsewhere"]


def test_blanks_stars_and_commas_come_quoted_for_bash(state: StateBuilder) -> None:
    """Twice: click's script reads one backslash of two away."""
    state.project("my app, v* $x")
    quoted = r"my\\ app,\\ v\\*\\ \\$x"
    assert complete(state, "ccmove my") == [f"plain,{state.code}/{quoted}"]
    assert complete(state, "ccmove my", "fish") == [
        f"plain,{state.code}/my app, v* $x\tfolder gone"
    ]


def test_a_home_typed_as_tilde_stays_one(state: StateBuilder) -> None:
    state.project(str(state.home / "work"))
    assert complete(state, "ccmove ~/w") == ["plain,~/work"]
    assert complete(state, "ccmove ~/w", "fish") == ["plain,~/work\tfolder gone"]


def test_names_that_would_act_on_the_terminal_are_not_offered(state: StateBuilder) -> None:
    state.project("evil\x1b[31m")
    state.project("good")
    assert complete(state, f"ccmove {state.code}/") == [f"plain,{state.code}/good"]


def test_a_broken_state_disturbs_no_prompt(known: StateBuilder) -> None:
    known.config_file.write_text("{ not json")
    assert complete(known, "ccmove move /x") == ["dir,/x"]
    shutil.rmtree(known.home)
    known.home.mkdir()
    assert complete(known, "ccmove move /x") == ["dir,/x"]


def test_an_unknown_shell_is_wrong_usage(state: StateBuilder) -> None:
    assert run_ccmove("completion", state=state).exit == 2
    done = run_ccmove("completion", "tcsh", state=state)
    assert done.exit == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in done.err


def in_shell(state: StateBuilder, program: list[str], script: str) -> str:
    """What the shell prints when it runs this script with `ccmove` on its path."""
    path = state.root / "bin"
    path.mkdir(exist_ok=True)
    command = path / "ccmove"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ccmove "$@"\n')
    command.chmod(0o755)
    environment = clean_environment(state)
    environment["PATH"] = f"{path}:{environment['PATH']}"
    done = subprocess.run(
        [*program, script], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout


def test_bash_gets_the_answers_as_they_are(known: StateBuilder) -> None:
    known.project("my app *", sessions=1, make_folder=True)
    script = f"""
        eval "$(ccmove completion bash)"
        cd {known.code}
        COMP_WORDS=(ccmove my); COMP_CWORD=1
        _ccmove_completion ccmove
        printf '<%s>' "${{COMPREPLY[@]}}"
        complete -p ccmove
    """
    out = in_shell(known, ["bash", "--norc", "-c"], script)
    assert out.startswith(f"<{known.code}/my\\ app\\ \\*>")
    assert "-F _ccmove_completion ccmove" in out


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_takes_the_script(known: StateBuilder) -> None:
    script = """
        autoload -U compinit; compinit -u -D
        eval "$(ccmove completion zsh)"
        print $_comps[ccmove]
    """
    assert in_shell(known, ["zsh", "-f", "-c"], script) == "_ccmove_completion\n"


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_offers_known_projects(known: StateBuilder) -> None:
    script = f"ccmove completion fish | source; complete -C 'ccmove {known.code}/'"
    out = in_shell(known, ["fish", "--no-config", "-c"], script)
    assert out.splitlines() == [
        f"{known.code}/app-gone\tfolder gone",
        f"{known.code}/app-here\tfolder exists",
        f"{known.code}/zoo\tfolder gone",
    ]
