"""The plugin in this repository: the hook that `--install` adds, and a skill that only
looks.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ccmove.cli.main import COMMANDS
from ccmove.inside.entry import COMMAND, EVENT, GROUP
from tests.inspect.conftest import nothing_changes
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugin"
PAGES = ("skills/ccmove/SKILL.md", "commands/lost.md")
# What would change something, had it been allowed.
TRIES = ("", "--fix --yes", "--install", "--set-aside", "--yes", "{old} {new}", "{old}")


def front(page: str) -> dict[str, str]:
    """The settings at the head of a page."""
    _, head, _ = (PLUGIN / page).read_text(encoding="utf-8").split("---\n", 2)
    return dict(line.split(": ", 1) for line in head.splitlines())


def allowed(page: str) -> list[str]:
    """What a page may run: `ccmove …`, with `:*` at the end where anything may follow."""
    tools = front(page)["allowed-tools"]
    rules = re.findall(r"Bash\(ccmove ([^)]*)\)", tools)
    assert tools == ", ".join(f"Bash(ccmove {rule})" for rule in rules)
    return rules


RULES = sorted({rule for page in PAGES for rule in allowed(page)})


@pytest.mark.parametrize("rule", RULES)
def test_what_the_skill_may_run_changes_nothing(rule: str, state: StateBuilder) -> None:
    old, new = (
        state.project("old", sessions=2, repo="acme/app").path,
        state.code / "new",
    )
    new.mkdir()
    words, rest = rule.removesuffix(":*"), rule.endswith(":*")
    with nothing_changes(state):
        for more in TRIES if rest else ("",):
            line = f"{words} {more}".format(old=old, new=new)
            run_ccmove(*line.split(), state=state)


def test_without_a_preview_the_same_would_change_something(state: StateBuilder) -> None:
    """The control."""
    old, new = state.project("old", sessions=2).path, state.code / "new"
    new.mkdir()
    with pytest.raises(AssertionError), nothing_changes(state):
        run_ccmove(old, new, state=state)


@pytest.mark.parametrize("page", PAGES)
def test_only_the_user_invokes_them(page: str) -> None:
    assert front(page)["disable-model-invocation"] == "true"
    assert "`pipx install ccmove`" in (PLUGIN / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [*PAGES, "README.md"])
def test_every_command_that_a_page_names_is_one(page: str) -> None:
    text = (PLUGIN / page).read_text(encoding="utf-8")
    for word in re.findall(r"`ccmove ([a-z]+)", text):
        assert word in COMMANDS


def test_the_hook_is_the_one_that_is_installed() -> None:
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text(encoding="utf-8"))
    assert hooks["hooks"] == {EVENT: [GROUP]}


NO_PROGRAM = None
BROKEN = "#!/nowhere/python3\n"
FAILING = "#!/bin/sh\necho Traceback >&2\nexit 1\n"
SPEAKING = "#!/bin/sh\necho '{}'\n"


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh"])
@pytest.mark.parametrize("program", [NO_PROGRAM, BROKEN, FAILING, SPEAKING])
def test_the_line_of_the_hook_never_fails(
    program: str | None, shell: str, tmp_path: Path
) -> None:
    """Where the program is missing it does not even say so."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not on PATH")
    if program is not None:
        (tmp_path / "ccmove").write_text(program)
        (tmp_path / "ccmove").chmod(0o755)
    env = {"PATH": str(tmp_path)}
    done = subprocess.run([found, "-c", COMMAND], env=env, capture_output=True)
    assert done.returncode == 0
    assert done.stdout == (b"{}\n" if program == SPEAKING else b"")
    if program is None:
        assert done.stderr == b""


def test_the_marketplace_has_the_plugin() -> None:
    market = json.loads(
        (ROOT / ".claude-plugin" / "marketplace.json").read_text("utf-8")
    )
    (listed,) = market["plugins"]
    plugin = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    assert ROOT / listed["source"] == PLUGIN
    for name in ("name", "version", "description", "license"):
        assert listed[name] == plugin[name]
    assert (PLUGIN / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
