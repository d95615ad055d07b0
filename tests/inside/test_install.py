"""`ccmove hook --install` and `--remove`: one entry, and not a byte besides."""

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmove.inside import entry
from tests.support.run import Completed, run_ccmove
from tests.support.state import StateBuilder
from tests.support.tree import diff, snapshot

HOOK = {
    "type": "command",
    "command": "command -v ccmove >/dev/null 2>&1 && ccmove hook || true",
    "timeout": 10,
}
GROUP = {"matcher": "startup", "hooks": [HOOK]}
OTHER = '{"hooks": [{"type": "command", "command": "date"}]}'

SETTINGS = {
    "a file as the client writes it": '{\n  "model": "opus",\n  "n": 1.10\n}\n',
    "no final newline": '{\n  "model": "opus"\n}',
    "an empty object": "{}",
    "an empty object with a newline": "{\n}\n",
    "a blank in it": "{ }",
    "nothing": "",
    "blanks": "\n\n",
    "a mark of the byte order": '\ufeff{"a": 1}',
    "nothing but a mark": "\ufeff",
    "CRLF": '{\r\n    "a": 1,\r\n    "b": {\r\n    }\r\n}\r\n',
    "tabs": '{\n\t"a": 1\n}\n',
    "one line": '{"a":1,"b":[1,2]}',
    "one line with blanks": '{ "a": 1 }',
    "no hooks in it": '{\n  "hooks": {}\n}\n',
    "no hooks, spread": '{\n  "hooks": {\n  },\n  "a": 1\n}\n',
    "other hooks": '{\n  "hooks": {\n    "Stop": [\n      '
    + OTHER
    + "\n    ]\n  }\n}\n",
    "other hooks in a line": '{"hooks":{"Stop":[' + OTHER + "]}}",
    "an empty list": '{\n  "hooks": {\n    "SessionStart": []\n  }\n}\n',
    "an empty list, spread": '{"hooks": {"SessionStart": [\n ]}}',
    "others at the start": '{"hooks": {"SessionStart": [' + OTHER + "]}}",
    "others at the start, spread": (
        '{\n  "hooks": {\n    "SessionStart": [\n      ' + OTHER + "\n    ]\n  }\n}\n"
    ),
    "a key twice": '{"a": 1, "a": 2}',
    "odd escapes": '{"\\u0061": "\\/é", "n": 1E400, "p": "C:\\\\x"}',
    "a name that looks like ours": '{"enabledPlugins": {"ccmove": true}}',
}

REFUSED = {
    "a comment": '{\n  // mine\n  "a": 1\n}',
    "cut off": '{"a": 1',
    "a comma too many": '{"a": 1,}',
    "two values": "{} {}",
    "a list": "[]",
    "a string": '"hooks"',
    "hooks is a list": '{"hooks": []}',
    "hooks is null": '{"hooks": null}',
    "the start is an object": '{"hooks": {"SessionStart": {}}}',
    "a hook is a string": '{"hooks": {"SessionStart": ["date"]}}',
    "a group without hooks": '{"hooks": {"SessionStart": [{"command": "date"}]}}',
    "hooks twice": '{"hooks": {}, "hooks": {}}',
    "the start twice": '{"hooks": {"SessionStart": [], "SessionStart": []}}',
    "UTF-16": '{"a": 1}'.encode("utf-16").decode("utf-8", "surrogateescape"),
    "too deep": "[" * 5000 + "]" * 5000,
}


def settings(state: StateBuilder) -> Path:
    return state.config_dir / "settings.json"


def hook(state: StateBuilder, option: str, *more: str) -> Completed:
    return run_ccmove("hook", option, *more, state=state)


def written(state: StateBuilder, text: str) -> Path:
    file = settings(state)
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    return file


def groups(text: str) -> list[object]:
    return list(json.loads(text.lstrip("\ufeff"))["hooks"]["SessionStart"])


@pytest.mark.parametrize("text", SETTINGS.values(), ids=SETTINGS)
def test_an_entry_that_came_and_went_leaves_every_byte(
    state: StateBuilder, text: str
) -> None:
    file = written(state, text)
    assert hook(state, "--install").exit == 0
    installed = file.read_bytes().decode()
    assert groups(installed)[-1] == GROUP
    assert groups(installed).count(GROUP) == 1
    if text.strip("\ufeff \n"):
        without = json.loads(installed.lstrip("\ufeff"))
        assert {**without, "hooks": 0} == {
            **json.loads(text.lstrip("\ufeff")),
            "hooks": 0,
        }
    again = hook(state, "--install")
    assert again.exit == 0
    assert again.out.startswith("Already installed")
    assert file.read_bytes().decode() == installed
    assert hook(state, "--remove").exit == 0
    assert file.read_bytes() == text.encode()
    nothing = hook(state, "--remove")
    assert nothing.exit == 0
    assert nothing.out.startswith("Not installed")
    assert file.read_bytes() == text.encode()


def test_lines_are_indented_and_end_as_the_others(state: StateBuilder) -> None:
    file = written(state, '{\r\n\t"a": 1\r\n}\r\n')
    assert hook(state, "--install").exit == 0
    lines = file.read_bytes().decode().split("\r\n")
    assert lines[:5] == [
        "{",
        '\t"a": 1,',
        '\t"hooks": {',
        '\t\t"SessionStart": [',
        "\t\t\t{",
    ]
    assert lines[-3:] == ["\t}", "}", ""]


def test_a_file_that_was_not_there_goes_again(state: StateBuilder) -> None:
    assert hook(state, "--install").exit == 0
    assert settings(state).read_text().startswith('{\n  "hooks": {\n')
    assert hook(state, "--remove").exit == 0
    assert not settings(state).exists()


def test_a_file_that_we_made_stays_with_what_came_since(state: StateBuilder) -> None:
    assert hook(state, "--install").exit == 0
    text = settings(state).read_text()
    written(state, text.replace("{\n", '{\n  "model": "opus",\n', 1))
    assert hook(state, "--remove").exit == 0
    assert json.loads(settings(state).read_text()) == {"model": "opus"}


@pytest.mark.parametrize("option", ["--install", "--remove"])
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_is_broken_or_unknown_is_not_touched(
    state: StateBuilder, text: str, option: str
) -> None:
    file = written(state, text)
    before = snapshot(state.home)
    done = hook(state, option)
    assert done.exit == 4, done
    assert str(file) in done.err
    assert "it was not changed" in done.err
    assert diff(before, snapshot(state.home), mtimes="all", inodes="all") == []


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640, 0o400, 0o755])
def test_settings_keep_their_mode_and_stay_a_link(
    state: StateBuilder, mode: int
) -> None:
    real = state.home / "dotfiles.json"
    real.write_text("{}")
    real.chmod(mode)
    settings(state).symlink_to(real)
    for option in ("--install", "--remove"):
        assert hook(state, option).exit == 0
        assert settings(state).is_symlink()
        assert stat.S_IMODE(real.stat().st_mode) == mode
        assert os.listdir(real.parent).count(".ccmove-hook") == 0
    assert real.read_text() == "{}"


def test_a_link_that_leads_nowhere_is_still_one(state: StateBuilder) -> None:
    real = state.home / "dotfiles.json"
    settings(state).symlink_to(real)
    assert hook(state, "--install").exit == 0
    assert groups(real.read_text()) == [GROUP]
    assert hook(state, "--remove").exit == 0
    assert settings(state).is_symlink()
    assert not real.exists()


def test_a_directory_in_the_place_of_the_settings_is_refused(
    state: StateBuilder,
) -> None:
    settings(state).mkdir()
    done = hook(state, "--install")
    assert done.exit == 4
    assert "is not a regular file" in done.err


def test_where_there_is_no_state_nothing_is_made(state: StateBuilder) -> None:
    nowhere = state.home / "nowhere"
    done = hook(state, "--install", "--config-dir", str(nowhere))
    assert done.exit == 3
    assert not nowhere.exists()


def test_the_entry_goes_into_the_config_directory_that_was_named(
    state: StateBuilder,
) -> None:
    other = state.home / "other"
    other.mkdir()
    done = hook(state, "--install", "--config-dir", str(other))
    assert done.exit == 0
    assert done.out.endswith(f"ccmove --config-dir {other} hook --remove\n")
    assert groups((other / "settings.json").read_text()) == [GROUP]
    assert not settings(state).exists()


def test_what_another_call_left_is_no_obstacle(state: StateBuilder) -> None:
    left = state.config_dir / ".ccmove-hook"
    left.write_text("{")
    assert hook(state, "--install").exit == 0
    assert groups(settings(state).read_text()) == [GROUP]
    assert not left.exists()


def test_the_plugin_is_named_when_it_is_enabled(state: StateBuilder) -> None:
    name = "ccmove@ccmove"
    written(state, json.dumps({"enabledPlugins": {name: True, "else@x": True}}))
    done = hook(state, "--install")
    assert f"The plugin {name} is enabled and says the same." in done.out
    assert groups(settings(state).read_text()) == [GROUP]
    assert hook(state, "--install", "--json").json()["plugins"] == [name]
    written(state, json.dumps({"enabledPlugins": {name: False}}))
    assert "The plugin" not in hook(state, "--install").out


@pytest.mark.parametrize(
    "theirs",
    [
        {"command": "~/x/ccmove hook"},
        {"command": "python3 -m ccmove hook"},
        {"command": '"/my tools/ccmove" hook'},
        {"command": "C:\\tools\\ccmove.exe hook"},
        {"command": "/x/ccmove", "args": ["hook"]},
        {"command": "python3", "args": ["-m", "ccmove", "hook"]},
    ],
    ids=str,
)
def test_somebodys_own_entry_counts_and_is_theirs(
    state: StateBuilder, theirs: dict[str, object]
) -> None:
    own = json.dumps({"hooks": {"SessionStart": [{"hooks": [theirs]}]}})
    file = written(state, own)
    assert hook(state, "--install").out.startswith("Already installed")
    done = hook(state, "--remove")
    assert done.exit == 4
    assert "an entry of another form" in done.err
    assert file.read_text() == own


def test_installing_and_removing_print_one_object_with_json(
    state: StateBuilder,
) -> None:
    for option, is_installed in (("--install", True), ("--remove", False)):
        assert hook(state, option, "--json").json() == {
            "schema": 1,
            "status": "ok",
            "file": str(settings(state)),
            "installed": is_installed,
            "changed": True,
            "plugins": [],
        }


def test_installing_and_removing_at_once_is_refused(state: StateBuilder) -> None:
    assert hook(state, "--install", "--remove").exit == 2


# -- any settings

BLANKS = st.text(" \t\r\n", max_size=3)
SCALARS = st.sampled_from(["1", "1.10", "-0", "null", "true", '"x"', '"\\u00e9"', '""'])
NAMES = st.sampled_from(["a", "b", "permissions", "Stop", "model", "\\u0061"])
GROUPS = st.sampled_from([OTHER, '{ "matcher" : "x",\t"hooks":[ ] }'])


@st.composite
def lists(draw: st.DrawFn, items: st.SearchStrategy[str]) -> str:
    parts = [
        draw(BLANKS) + draw(items) + draw(BLANKS)
        for _ in range(draw(st.integers(0, 3)))
    ]
    return f"[{','.join(parts) or draw(BLANKS)}]"


@st.composite
def objects(
    draw: st.DrawFn,
    name: str,
    inner: st.SearchStrategy[str],
    rest: st.SearchStrategy[str],
) -> str:
    """An object with any members, among them maybe one of that name."""
    names = draw(st.lists(NAMES, max_size=3))
    if draw(st.booleans()):
        names.insert(draw(st.integers(0, len(names))), name)
    parts = []
    for key in names:
        value = draw(inner if key == name else rest)
        blanks = [draw(BLANKS) for _ in range(4)]
        parts.append(f'{blanks[0]}"{key}"{blanks[1]}:{blanks[2]}{value}{blanks[3]}')
    return f"{{{','.join(parts) or draw(BLANKS)}}}"


DOCUMENTS = objects("hooks", objects("SessionStart", lists(GROUPS), SCALARS), SCALARS)


@given(
    mark=st.sampled_from(["", "\ufeff"]),
    blank=BLANKS,
    text=DOCUMENTS | st.just(""),
    end=BLANKS,
)
def test_taken_out_of_any_settings_it_leaves_every_byte(
    mark: str, blank: str, text: str, end: str
) -> None:
    before = mark + blank + text + end
    assert not entry.has_hook(before)
    installed = entry.with_entry(before)
    assert entry.has_entry(installed)
    assert groups(installed).count(GROUP) == 1
    assert entry.without_entry(installed) == before
