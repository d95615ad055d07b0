"""The hook on the screen of the real client: in a renamed folder, and nowhere else."""

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk, new_prompt
from tests.client.screen import Screen
from tests.client.versions import Client
from tests.client.waiting import seen_within
from tests.inspect.conftest import git, make_repo

pytestmark = [*CLIENT_TEST, pytest.mark.usefixtures("terminal")]

ROOT = Path(__file__).parents[2]
SAYS = "SessionStart:startup says:"
FAILED = "hook failed"  # how the client shows an error
SETTLED = 3  # seconds: what a hook says is there within one

Install = Callable[[Desk], None]


def is_current(client: Client) -> bool:
    """Has plugins as they are now."""
    return client.number > (2, 1, 300)


def put_on_path(desk: Desk) -> Path:
    """`ccmove`, where the client's shell finds it."""
    program = desk.root / "bin" / "ccmove"
    call = f'PYTHONPATH={ROOT} exec {sys.executable} -m ccmove "$@"'
    program.write_text(f"#!/bin/sh\n{call}\n")
    program.chmod(0o755)
    return program


def by_plugin(desk: Desk) -> None:
    """From a marketplace that is a directory, with the client's own commands."""
    place = desk.root / "marketplace"
    for name in (".claude-plugin", "plugin"):
        shutil.copytree(ROOT / name, place / name)
    for words in (
        ["marketplace", "add", str(place)],
        ["install", "ccmove@ccmove"],
    ):
        done = desk.claude(desk.home, "plugin", *words)
        assert done.exit == 0, done


def by_settings(desk: Desk) -> None:
    desk.config_dir.mkdir(exist_ok=True)
    assert desk.ccmove("hook", "--install").exit == 0


def repository(desk: Desk, name: str, remote: str) -> Path:
    folder = desk.code / name
    make_repo(folder, remote, commit=True)
    desk.trust(folder)
    return folder


def said(screen: Screen) -> str | None:
    """What a hook says at the start; it is in lines, as the screen is wide."""
    seen_within(SETTLED, lambda: SAYS in screen.text)
    text = screen.text
    assert FAILED not in text, text
    if SAYS not in text:
        return None
    return " ".join(re.split(r"\n\s*\n|❯", text.partition(SAYS)[2])[0].split())


def start(desk: Desk, folder: Path) -> str | None:
    """What is said to who starts the client in a folder, and says nothing."""
    with desk.screen(folder) as screen:
        if screen.asks_for_trust:
            screen.accept_trust()
        heard = said(screen)
        screen.leave()
    return heard


@pytest.mark.parametrize("install", [by_plugin, by_settings])
@with_clients(is_current)
def test_it_speaks_in_a_renamed_folder_and_nowhere_else(
    desk: Desk, install: Install
) -> None:
    program = put_on_path(desk)
    install(desk)
    old, new = repository(desk, "old", "acme/app"), desk.code / "new"
    other, clone = (repository(desk, name, "acme/b") for name in ("b", "clone"))
    for folder in (old, other):
        desk.talk(folder, new_prompt("fix the fence"))
    desk.ask(old, new_prompt("and the gate"))

    assert start(desk, old) is None  # healthy
    fresh = desk.folder("fresh")
    desk.trust(fresh)
    assert start(desk, fresh) is None
    assert start(desk, clone) is None  # the first one is alive
    old.rename(new)
    fork = repository(desk, "fork", "me/app")
    git(fork, "remote", "add", "upstream", "git@github.com:acme/app.git")
    assert start(desk, fork) is None

    away = program.rename(desk.root / "ccmove")
    assert start(desk, new) is None  # without the program there is no error either
    away.rename(program)
    assert start(desk, new) == (
        f"2 sessions of this repository are under {old}, which is gone. "
        f"Exit Claude Code and run: ccmove {old} {new}"
    )

    done = desk.ccmove(old, new)
    assert done.exit == 0, done
    assert start(desk, new) is None


@with_clients(is_current)
def test_a_repository_without_a_remote_is_known_again(desk: Desk) -> None:
    """By the commit that the client notes in a transcript."""
    put_on_path(desk)
    by_settings(desk)
    old, new = desk.code / "old", desk.code / "new"
    for folder in (old, desk.code / "other"):
        make_repo(folder, commit=True)
        desk.trust(folder)
    desk.ask(old, new_prompt("fix the fence"))
    git(old, "commit", "-q", "--allow-empty", "-m", "fix the fence")
    old.rename(new)
    assert start(desk, desk.code / "other") is None
    assert start(desk, new) == (
        f"1 session of this repository is under {old}, which is gone. "
        f"Exit Claude Code and run: ccmove {old} {new}"
    )


@with_clients(is_current)
def test_print_mode_is_told_nothing(desk: Desk) -> None:
    """Nobody would see it; the model never does."""
    put_on_path(desk)
    by_settings(desk)
    old, new = repository(desk, "old", "acme/app"), desk.code / "new"
    desk.talk(old, new_prompt("fix the fence"))
    old.rename(new)
    prompt = new_prompt("what now")
    done = desk.claude(new, "-p", prompt, "--output-format", "stream-json", "--verbose")
    assert done.exit == 0, done
    assert "which is gone" not in done.out
    (sent,) = desk.api.conversations_with(prompt)
    assert "which is gone" not in sent


@with_clients(is_current)
def test_a_program_that_is_missing_would_be_an_error(desk: Desk) -> None:
    """The control: without asking the shell first, every start shows it."""
    folder = desk.folder("app")
    desk.trust(folder)
    hooks = [{"hooks": [{"type": "command", "command": "ccmove hook"}]}]
    settings = desk.config_dir / "settings.json"
    desk.config_dir.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"hooks": {"SessionStart": hooks}}))
    with desk.screen(folder) as screen:
        screen.wait_for(lambda: FAILED in screen.text, "the error")
        screen.leave()


@with_clients(is_current)
def test_taken_out_of_the_settings_it_is_silent(desk: Desk) -> None:
    put_on_path(desk)
    by_settings(desk)
    assert desk.ccmove("hook", "--remove").exit == 0
    old, new = repository(desk, "old", "acme/app"), desk.code / "new"
    desk.talk(old, new_prompt("fix the fence"))
    old.rename(new)
    assert start(desk, new) is None


@with_clients(is_current)
def test_the_plugin_is_valid(desk: Desk) -> None:
    place = desk.root / "marketplace"
    for name in (".claude-plugin", "plugin"):
        shutil.copytree(ROOT / name, place / name)
    for directory in (place, place / "plugin"):
        words = ["plugin", "validate", "--strict", str(directory)]
        done = desk.claude(desk.home, *words)
        assert done.exit == 0, done
        assert "Validation passed" in done.out
    (place / "plugin/hooks/hooks.json").write_text("{")
    assert desk.claude(desk.home, *words).exit == 1  # the control


@with_clients(is_current)
def test_the_skill_and_the_command_are_there(desk: Desk) -> None:
    by_plugin(desk)
    folder = desk.folder("app")
    desk.trust(folder)
    with desk.screen(folder) as screen:
        screen.type("/ccmove:")
        screen.wait_for(lambda: "/ccmove:lost" in screen.text, "the command")
        screen.wait_for(lambda: "/ccmove:ccmove" in screen.text, "the skill")
