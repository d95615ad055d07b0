"""Indexes, aliases, notes, jobs, plugins and settings in every spelling that may be on
a disk.

Each case is a project of its own below the folder that moves, so that one run tries
them all.
"""

import json
import os
from pathlib import Path

import pytest

from tests.shapes.bench import Bench, directory_of, in_json, in_rule
from tests.support.state import StateBuilder, encoded_name

FACT = (
    Path(__file__).parents[2]
    / "fixtures"
    / "facts"
    / "client-2.1.23"
    / "sessions-index.json"
)


@pytest.fixture
def moves(bench: Bench) -> tuple[Path, Path]:
    old, new = bench.state.code / "old", bench.state.code / "new"
    new.mkdir()
    return old, new


def move_and_back(bench: Bench, files: dict[Path, bytes], *args: str | Path) -> None:
    """After the move these files hold this; the undo brings back every byte and name."""
    with bench.moved(*args):
        assert {path.parent.name: path.read_bytes() for path in files} == {
            path.parent.name: content for path, content in files.items()
        }


# What follows the move is marked: +OLD is a path, +DIR the name of a directory.
INDEXES = {
    "all-places": """{"originalPath": "+OLD", "projectPath": "+OLD/s", "x": {"projectPath": "OLD"},
        "entries": [{"sessionId": "a", "projectPath": "+OLD", "firstPrompt": "OLD"}, "x", ["OLD"],
        {"projectPath": null, "fullPath": 7}, {"nested": {"projectPath": "OLD"}}]}""",
    **{
        f"entry-{number}": f'{{"entries": [{entry}]}}'
        for number, entry in enumerate([
            '{"project\\u0050ath" : "+OLD"}',
            '{"n":{"projectPath":"x"},"projectPath":"+OLD"}',
            '{"n":{"projectPath":"OLD"},"projectPath":"+OLD"}',
            '{"n":{"projectPath":"OLD"},"project\\u0050ath":"+OLD"}',
            '{"projectPath":"OLD","projectPath":"+OLD"}',
            '{"projectPath":"first","projectPath":"+OLD"}',
            '{"firstPrompt":"\\"projectPath\\":\\"OLD\\"","projectPath":"+OLD"}',
            '{"projectPath": ["OLD"]}',
        ])
    },
    **{
        f"full-path-{number}": f'{{"entries": [{{"fullPath": "{path}"}}]}}'
        for number, path in enumerate([
            "/h/.claude/projects/+DIR/x.jsonl", "/h/.claude/projects/+DIR",
            "/srv/projects/projects/+DIR/x", r"C:\\me\\.claude\\projects\\+DIR\\x",
            "+OLD/.claude/projects/other/x", "+OLD/.claude/projects/+DIR/x",
            "/h/.claude/projects/DIR-2/x", "/h/.claude/other/DIR/x", "/h/myprojects/DIR/x", "DIR",
            "/projects/",
        ])
    },
    **{
        f"another-shape-{number}": text
        for number, text in enumerate([
            '["OLD"]', '"OLD"', "null", '{"entries": {"projectPath": "OLD"}}',
            '{"originalPath": "OLD", "originalPath": "x"}', '{"originalPath": "xOLD"}',
        ])
    },
    "slashes": '{"originalPath": "+S-OLD", "projectPath": "+OLD"}',
    "no-utf8": '{"originalPath": "OLD/\udcff", "projectPath": "+OLD"}',
}  # fmt: skip


def versions(text: str, old: Path, new: Path) -> tuple[bytes, bytes]:
    """The text before the move and after it."""
    names = encoded_name(str(old)), encoded_name(str(new))
    slashes = old.as_posix().replace("/", "\\/"), new.as_posix()
    pairs = [("S-OLD", *slashes), ("OLD", in_json(str(old)), in_json(str(new)))]
    before = after = text
    for word, was, becomes in [("DIR", *names), *pairs]:
        after = after.replace(f"+{word}", becomes).replace(word, was)
        before = before.replace(f"+{word}", was).replace(word, was)
    return before.encode("utf-8", "surrogateescape"), after.encode(
        "utf-8", "surrogateescape"
    )


def test_an_index_is_rewritten_whatever_its_spelling(
    bench: Bench, moves: tuple[Path, Path]
) -> None:
    state, (old, new) = bench.state, moves
    after: dict[Path, bytes] = {}
    for case, text in INDEXES.items():
        handle = state.project(
            old / case, sessions=1, config=None, prompts=0, subagents=False
        )
        target = directory_of(state, new / case) / "sessions-index.json"
        before, after[target] = versions(text, old / case, new / case)
        handle.index.write_bytes(before)
    move_and_back(bench, after, old, new)


def test_an_index_as_the_client_writes_it_is_rewritten_whole(bench: Bench) -> None:
    old, new = "/home/dev/code/my-app", "/home/dev/code/new-app"
    bench.state.project(old, sessions=1).index.write_bytes(FACT.read_bytes())
    target = directory_of(bench.state, new) / "sessions-index.json"
    names = old.replace("/", "-"), new.replace("/", "-")
    after = FACT.read_text().replace(old, new).replace(*names).encode()
    move_and_back(bench, {target: after}, "--skip-path-check", old, new)


def test_lines_and_values_of_other_files_are_rewritten(
    bench: Bench, moves: tuple[Path, Path]
) -> None:
    state, (old, new) = bench.state, moves
    state.project(old, sessions=1)
    other = state.project("other", sessions=1)
    files = {
        other.directory / ".session-aliases": "".join(
            f"{state.projects}/{line}"
            for line in ("+DIR\n", "DIR \n", "\n", "DIRX\n", "+DIR\r\n", "DIR-2")
        ),
        state.config_dir
        / "jobs"
        / "1a2b"
        / "state.json": """{"cwd": "+OLD", "odd": "\udcff",
            "prompt": "OLD", "nested": {"cwd": "OLD"},
            "sessionPermissionRules": {"addDirs": ["+OLD", "/x"], "allow": ["+OLD"]}}""",
        state.config_dir
        / "plugins"
        / "installed_plugins.json": """{"projectPath": "OLD",
            "plugins": {"a@b": [{"projectPath": "+OLD"}], "projectPath": "OLD"}}""",
    }
    after = {}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        before, after[path] = versions(text, old, new)
        path.write_bytes(before)
    move_and_back(bench, after, old, new)


def test_plugins_that_can_not_be_read_are_named(
    bench: Bench, moves: tuple[Path, Path]
) -> None:
    bench.state.project(moves[0])
    plugins = bench.state.config_dir / "plugins" / "installed_plugins.json"
    plugins.parent.mkdir()
    plugins.write_text("{")
    report = bench.ok(*moves)
    assert str(plugins) in [row["file"] for row in report["left_alone"]]
    assert plugins.read_text() == "{"


# (of NEW, of OLD, what is appended to NEW's)
NOTES = [
    ("a\nb\n", "b\nc\n", "c\n"),
    ("a\nb", "c", "\nc\n"),
    ("", "a\nb", "a\nb\n"),
    ("a\n", "\n\n  \n", ""),
    ("a\n", "b\nb\n", "b\n"),
    ("a  \r\n", "a\nb\r\n", "b\r\n"),
    ("a b\n", "a b\na\n", "a\n"),
    ("a\n", "  a\n", "  a\n"),
    ("a\n", "a  \n", ""),
    ("a\n", "b  \nb\n", "b  \n"),
]


def test_notes_that_new_lacks_are_appended_once(
    bench: Bench, moves: tuple[Path, Path]
) -> None:
    state, (old, new) = bench.state, moves
    after = {}
    for number, (theirs, ours, added) in enumerate(NOTES):
        for base, text in ((old, ours), (new, theirs)):
            path = base / f"case-{number}"
            memory = {"MEMORY.md": text}
            state.project(
                path, sessions=1, config=None, prompts=0, subagents=False, memory=memory
            )
        there = directory_of(state, new / f"case-{number}") / "memory" / "MEMORY.md"
        after[there] = (theirs + added).encode()
    with bench.moved(old, new):
        assert [path.read_bytes() for path in after] == list(after.values())


FOLLOW = r"""
Read(//OLD/**)|Read(//OLD)|Edit(/OLD/src/*)|Write(/OLD)|Bash(/OLD/x:*)|Bash(/OLD:*)
Bash(/OLD/bin/run)|Bash(cd /OLD && make:*)|Bash(git -C /OLD status:*)|Bash(make -C /OLD/*)
Bash(cat /OLD/$X)|Bash(cat /OLD/a\ x)|Bash(cat /OLD/a"x y")|Bash(cat /OLD/a'x y')
Read(/OLD/a(b)c)|mcp__x(/OLD/y)|/OLD|/OLD/x y|Read(//OLD*)|Bash(cat /OLD*)|(/OLD)|a b(/OLD)
Bash(X=/OLD/x make)|Bash(x --root=/OLD/x)|Bash(cat "/OLD/a\x")|Bash(ls;/OLD/x)|see /OLD
Bash(cp '/srv/a' '/OLD/b')|Bash(X="/OLD/x" make)|Bash(/srv:/OLD)|bash /OLD/x
"""
STAY = r"""
Read(//OLD-docker/**)|Read(//OLD x/**)|Read(~/OLD/**)|Read(!//OLD)
Edit(/OLD2/src/*)|Bash(/OLD-docker/x:*)|Bash(cat /OLD$X)|Bash(cat /OLD`x`)
Bash(cd "/srv/OLD")|Bash(cat /OLD\ x)|Bash(cat /OLD"x")|Bash(cat /OLD/../x)
Bash(cat $HOME/OLD)|Bash(cat X/OLD)|WebFetch(domain:x/OLD)|Bash(scp me@host:/OLD/x .)
"""
SPACED = {
    "Bash(/OLD/x:*)": False, "Bash(ls /OLD)": False, "Read(//OLD/**)": True,
    "Bash(ls '/OLD')": True,
}  # fmt: skip


def rules(text: str) -> list[str]:
    return [rule for line in text.strip().splitlines() for rule in line.split("|")]


@pytest.mark.parametrize("name", ["new", "new app"])
def test_the_path_of_a_rule_follows_and_what_may_not_be_it_stays(
    bench: Bench, name: str
) -> None:
    """A path with a blank is put only where it does not break the command."""
    state: StateBuilder = bench.state
    old, new = state.project("old", sessions=1).path, state.code / name
    cases = dict.fromkeys(rules(FOLLOW), True) | dict.fromkeys(rules(STAY), False)
    cases |= {"Bash(ls /OLD | wc)": True, "Bash(a|/OLD/x)": False}
    if os.sep == "\\":
        del cases[r"Bash(cat /OLD\ x)"]  # there the folder, with a separator behind it
    if " " in name:
        cases = SPACED
    hook = {"command": "/OLD/hook.sh --all /OLD"}
    permissions = {"allow": list(cases)}
    env = {"R": "/OLD", "F": "-I/OLD"}
    before = json.dumps({"permissions": permissions, "hooks": [hook], "env": env})
    file = new / ".claude" / "settings.json"
    file.parent.mkdir(parents=True)
    before = before.replace("//OLD", in_rule(old)).replace("/OLD", in_json(old))
    file.write_text(before)
    bench.ok("--settings", old, new)
    after = json.loads(file.read_text())
    places = [new if moves else old for moves in cases.values()]
    expected = [
        rule.replace("//OLD", in_rule(place)).replace("/OLD", str(place))
        for rule, place in zip(cases, places, strict=True)
    ]
    assert after["permissions"]["allow"] == expected
    in_hook = old if " " in name else str(new)
    assert after["hooks"][0]["command"] == hook["command"].replace("/OLD", in_hook)
    assert after["env"] == {"R": str(new), "F": f"-I{new}"}
    bench.restore()
    assert file.read_text() == before
