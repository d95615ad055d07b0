"""Completion by the protocol that the shells speak, and in the shells themselves."""

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.client.waiting import wait_until
from tests.shapes.bench import Bench
from tests.support.run import run_ccmove, run_child
from tests.support.state import StateBuilder

pytestmark = pytest.mark.slow


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


KNOWN = [
    "plain,CODE/app-gone",
    "plain,CODE/zoo",
    "plain,CODE/app-here",
]  # missing first
ANSWERS = {
    **{f"ccmove{words} CODE/": KNOWN for words in ("", " move", " -n", " --json move")},
    "ccmove und": ["plain,undo"],
    "ccmove app-g": ["plain,CODE/app-gone"],
    "ccmove --dry": ["plain,--dry-run"],
    "ccmove --he": ["plain,--help"],
    **{
        f"ccmove{words} /old some/wh": ["dir,some/wh"] for words in ("", " move", " -n")
    },
    "ccmove --config-dir /x": ["dir,/x"],
    "ccmove /nowhere/x": ["dir,/nowhere/x"],
}


@pytest.mark.parametrize("typed", ANSWERS)
def test_typed_words_complete_to_commands_projects_folders(
    known: StateBuilder, typed: str
) -> None:
    answers = [answer.replace("CODE", str(known.code)) for answer in ANSWERS[typed]]
    assert complete(known, typed.replace("CODE", str(known.code))) == answers


def test_the_first_word_may_be_a_command_or_a_project(known: StateBuilder) -> None:
    assert {"plain,undo", f"plain,{known.code}/app-gone"} <= {
        *complete(known, "ccmove ")
    }


def test_restore_completes_from_backups_newest_first_undone_ones_last(
    known: StateBuilder,
) -> None:
    assert complete(known, "ccmove restore ") == []
    for number, (old, new) in enumerate((("app-gone", "one"), ("zoo", "two"))):
        (known.code / new).mkdir()
        assert (
            run_ccmove(f"{known.code}/{old}", f"{known.code}/{new}", state=known).exit
            == 0
        )
        assert len(complete(known, "ccmove restore ")) == number + 1
    newest, oldest = complete(known, "ccmove restore ")
    assert newest > oldest
    assert complete(known, f"ccmove restore {oldest.removeprefix('plain,')}") == [
        oldest
    ]
    with_help = complete(known, "ccmove restore ", "zsh")
    assert with_help[2] == f"move {known.code}/zoo -> {known.code}/two"
    assert run_ccmove("restore", newest.removeprefix("plain,"), state=known).exit == 0
    assert complete(known, "ccmove restore ")[-1] == newest


def test_the_config_directory_on_the_line_is_asked(
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


def test_names_that_would_act_on_the_terminal_are_not_offered(
    state: StateBuilder,
) -> None:
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
    done = run_child(
        [*program, script], state=state, env=Bench(state).on_path(), timeout=60
    )
    assert done.err == ""
    return done.out


@pytest.mark.slow
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


READY = "ready"
IN_SHELLS = {  # how each is started, and what makes it ready
    "bash": (
        "bash --norc",
        f"eval \"$(ccmove completion bash)\"; PS1='> '; clear; echo {READY}",
    ),
    "zsh": (
        "zsh -f",
        (
            "autoload -U compinit; compinit -u -D; PROMPT='> '; "
            f'eval "$(ccmove completion zsh)"; clear; print {READY}'
        ),
    ),
    "fish": (
        "fish --no-config",
        (
            "ccmove completion fish | source; function fish_prompt; echo '> '; end; "
            f"clear; echo {READY}"
        ),
    ),
}
# What is typed before TAB, and then stands there.
COMPLETED = {
    "ccmove und": "ccmove undo",
    "ccmove undo --ha": "ccmove undo --hash",
    "ccmove my": "ccmove CODE/my\\ app",
    "ccmove com,": "ccmove CODE/com,ma",
    "ccmove co:": "ccmove CODE/co:lon",
    "ccmove list app-g": "ccmove list CODE/app-gone",
    "ccmove --config-dir fold": "ccmove --config-dir folder/",
}


@contextlib.contextmanager
def shell_of(state: StateBuilder, name: str) -> Iterator[Callable[..., str]]:
    """What calls tmux, in which this shell runs and completes what ccmove knows."""
    program, script = IN_SHELLS[name]
    socket = state.root / "tmux"
    env = {**Bench(state).on_path(), "TERM": "xterm-256color"}

    def tmux(*words: str) -> str:
        command = ["tmux", "-S", str(socket), "-f", "/dev/null", *words]
        return run_child(command, state=state, env=env).out

    size = ["-x", "200", "-y", "20", "-c", str(state.code)]
    tmux("new-session", "-d", *size, program)
    try:
        tmux("send-keys", "-l", script)
        tmux("send-keys", "Enter")
        wait_until(
            lambda: tmux("capture-pane", "-p").startswith(f"{READY}\n>"), "the shell"
        )
        yield tmux
    finally:
        tmux("kill-server")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
@pytest.mark.parametrize("shell", list(IN_SHELLS))
def test_tab_completes_in_the_shell_itself(known: StateBuilder, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    for name in ("my app", "com,ma", "co:lon"):
        known.project(name, sessions=1)
    (known.code / "folder").mkdir()
    with shell_of(known, shell) as tmux:
        for typed, completed in COMPLETED.items():
            if shell == "bash" and ":" in typed:  # where a colon ends a word
                continue
            line = f"> {completed.replace('CODE', str(known.code))}"
            tmux("send-keys", "-l", typed)
            tmux("send-keys", "Tab")
            wait_until(partial(stands_there, tmux, line), f"{line} in {shell}")
            tmux("send-keys", "C-c")
            wait_until(partial(stands_there, tmux, ">"), "an empty line")


def stands_there(tmux: Callable[..., str], line: str) -> bool:
    lines = [row for row in tmux("capture-pane", "-p").splitlines() if row.strip()]
    return line in [row.rstrip() for row in lines[-3:]]


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
