"""The config file value by value: what follows, what is merged, what stays, and all of
it undone.

Each case is a project of its own below the folders that move, so that one run tries
them all.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.shapes.bench import Bench, in_json, in_rule
from tests.support.state import StateBuilder

FACT = (
    Path(__file__).parents[2]
    / "fixtures"
    / "facts"
    / "client-2.1.325"
    / "dot-claude.json"
)
NO_OBJECTS: tuple[Any, ...] = (None, [], "x", 3)
Case = tuple[dict[str, Any], dict[str, Any]]

MOVED: dict[str, Case] = {
    "strings-that-are-paths": (
        {"A": {"cwd": "A", "s": {"x": {"command": "A/run", "args": ["--root", "A", "--x=A"]}}}},
        {"B": {"cwd": "B", "s": {"x": {"command": "B/run", "args": ["--root", "B", "--x=A"]}}}},
    ),
    "names-stay": ({"A": {"m": {"A": 1, "B": 2}}}, {"B": {"m": {"A": 1, "B": 2}}}),
    "lists-without-repeats": (
        {"A": {"t": ["a", "b"]}, "B": {"t": ["b", "c", "c"]}},
        {"B": {"t": ["b", "c", "c", "a"]}},
    ),
    "scalars-of-the-new": ({"A": {"n": 1, "m": 0}, "B": {"n": 2, "m": 7}}, {"B": {"n": 2, "m": 7}}),
    "what-only-the-old-has": ({"A": {"x": [{}]}, "B": {"n": 2}}, {"B": {"n": 2, "x": [{}]}}),
    "servers-by-name-and-never-mixed": (
        {"A": {"s": {"a": {"command": "A/a"}, "b": {"command": "A/b"}}}, "B": {"s": {"b": {}}}},
        {"B": {"s": {"b": {}, "a": {"command": "B/a"}}}},
    ),
    "a-path-is-changed-before-it-is-compared": (
        {"A": {"d": ["A", "A/x"]}, "B": {"d": ["B"]}},
        {"B": {"d": ["B", "B/x"]}},
    ),
    "a-number-is-not-its-digits": (
        {"A": {"l": [1, "1", [1], True]}, "B": {"l": ["1"]}},
        {"B": {"l": ["1", 1, [1], True]}},
    ),
    "empty-ones-are-filled": (
        {"A": {"l": [1], "m": {"k": 1}}, "B": {"l": [], "m": {}}},
        {"B": {"l": [1], "m": {"k": 1}}},
    ),
    "an-empty-new": ({"A": {"l": [1]}, "B": {}}, {"B": {"l": [1]}}),
    "an-empty-old": ({"A": {}, "B": {"l": [1]}}, {"B": {"l": [1]}}),
    **{
        f"no-object-gives-way-{number}-{side}": (
            {side: value, other: {"a": 1}},
            {"B": {"a": 1}},
        )
        for number, value in enumerate(NO_OBJECTS)
        for side, other in (("A", "B"), ("B", "A"))
    },
    **{
        f"consent-{key}-{number}": ({"A": {key: ours}, "B": {key: theirs}}, {"B": {key: after}})
        for key in ("hasTrustDialogAccepted", "hasCompletedProjectOnboarding")
        for number, (ours, theirs, after) in enumerate(
            [(True, False, True), (False, True, True), (False, False, False), (True, None, True)]
        )
    },
    "other-flags-are-the-new-ones": (
        {"A": {"lastGracefulShutdown": True}, "B": {"lastGracefulShutdown": False}},
        {"B": {"lastGracefulShutdown": False}},
    ),
}  # fmt: skip
INTO_ONE: dict[str, Case] = {
    "the-first-takes-up-the-second": (
        {"A": {"l": ["A", 1], "n": 1, "s": {}}, "B": {"l": ["B", 2], "n": 2, "s": {"x": "B/x"}}},
        {"C": {"l": ["C", 1, 2], "n": 1, "s": {"x": "C/x"}}},
    ),
    "one-of-them-was-trusted": (
        {"A": {"hasTrustDialogAccepted": False}, "B": {"hasTrustDialogAccepted": True}},
        {"C": {"hasTrustDialogAccepted": True}},
    ),
    "both-go-into-one-that-is-there": (
        {"A": {"l": [1], "x": 1}, "C": {"l": []}, "B": {"l": [1, 2], "x": 2, "y": 3}},
        {"C": {"l": [1, 2], "x": 1, "y": 3}},
    ),
    "the-first-is-no-object": (
        {"A": None, "B": {"l": ["B", "x"]}},
        {"C": {"l": ["C", "x"]}},
    ),
}  # fmt: skip
THREE: dict[str, Case] = {
    "the-first-of-three-is-no-object": (
        {"A": None, "B": {"l": ["B"]}, "C": {"l": ["C", "x"]}},
        {"D": {"l": ["D", "x"]}},
    )
}
SWAPPED: dict[str, Case] = {
    "keys-and-values": (
        {"A": {"p": "A", "m": {"A": 1, "B": 2}}, "B": {"p": "B"}},
        {"B": {"p": "B", "m": {"A": 1, "B": 2}}, "A": {"p": "A"}},
    ),
    "only-one-is-there": ({"B": {"l": ["A", "B"]}}, {"A": {"l": ["B", "A"]}}),
}
CHAINED: dict[str, Case] = {
    "each-path-moves-once": (
        {"A": {"n": 1, "p": "B"}, "B": {"n": 2}},
        {"B": {"n": 1, "p": "C"}, "C": {"n": 2}},
    )
}
GROUPS = {
    "one": ("A B", MOVED),
    "into one": ("A C, B C", INTO_ONE),
    "three": ("A D, B D, C D", THREE),
    "swap": ("A B, B A", SWAPPED),
    "chain": ("A B, B C", CHAINED),
}


def with_paths(value: Any, state: StateBuilder, case: str) -> Any:
    """The value with real paths in the place of A, B, C and D: strings that are or
    begin so.
    """
    if isinstance(value, dict):
        return {
            with_paths(k, state, case): with_paths(v, state, case)
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [with_paths(item, state, case) for item in value]
    if isinstance(value, str):
        flag, _, path = value.rpartition("=")
        if path[:1] in ("A", "B", "C", "D") and path[1:2] in ("", "/", "-"):
            place = f"{state.code.as_posix()}/{path[0].lower()}/{case}{path[1:]}"
            return f"{flag}{'=' * bool(flag)}{place}"
    return value


def of_case(projects: dict[str, Any], case: str) -> dict[str, Any]:
    """The entries of one case, in their order."""
    return {
        path: value
        for path, value in projects.items()
        if Path(path).parts[-2:][0] == case or Path(path).name == case
    }


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("indent", [None, 2])
def test_each_project_becomes_what_the_contract_says(
    bench: Bench, group: str, indent: int | None, state: StateBuilder
) -> None:
    moves, cases = GROUPS[group]
    for name in "abcd":
        (state.code / name).mkdir()
    projects = {
        k: v for c, (b, _) in cases.items() for k, v in with_paths(b, state, c).items()
    }
    before = json.dumps(
        {"projects": projects, "other": {"cwd": str(state.code / "a")}}, indent=indent
    )
    state.config_file.write_text(before)
    pairs = [
        [state.code / name.lower() for name in pair.split()]
        for pair in moves.split(", ")
    ]
    listed = "".join(f"{old}\t{new}\n" for old, new in pairs)
    bench.ok("--skip-path-check", "--from-file", "-", input=listed)
    after = json.loads(state.config_file.read_bytes())
    assert after["other"] == {"cwd": str(state.code / "a")}
    found = {case: of_case(after["projects"], case) for case in cases}
    assert found == {
        case: with_paths(wanted, state, case) for case, (_, wanted) in cases.items()
    }
    bench.restore()
    assert state.config_file.read_text() == before
    bench.ok("--skip-path-check", "--from-file", "-", input=listed)
    state.config_file.write_text(json.dumps(after | {"since": 1}, indent=indent))
    bench.ok("restore")  # value by value, since the file is not as the run left it
    assert json.loads(state.config_file.read_bytes()) == json.loads(before) | {
        "since": 1
    }


WHOLE: dict[str, tuple[str, str]] = {
    "everything else stays": (
        '\ufeff{ "n":1.10,"n" : 2 ,\r\n"projects":\t{"\\/OLD" :{}} }\n',
        '\ufeff{ "n":1.10,"n" : 2 ,\r\n"projects":\t{"/NEW" :{}} }\n',
    ),
    "numbers keep their digits": (
        '{"projects":{"/OLD":{"c":0.00014000000000000001,"d":[1E400,-0.0,"/OLD"]}}}',
        '{"projects":{"/NEW":{"c":0.00014000000000000001,"d":[1E400,-0.0,"/NEW"]}}}',
    ),
    "neighbours": (
        '{"projects": {"/OLD": {}, "/OLD/web": {}, "/OLD-docker": {"b": "/OLD"}, "/x/OLD": {}}}',
        '{"projects": {"/NEW": {}, "/NEW/web": {}, "/OLD-docker": {"b": "/OLD"}, "/x/OLD": {}}}',
    ),
    "a repeated key": (
        '{"projects": {"/OLD": {"n": 1}, "/OLD": {"n": 2}}}',
        '{"projects": {"/NEW": {"n": 1}, "/NEW": {"n": 2}}}',
    ),
    "a repeated name inside": (
        '{"projects": {"/OLD": {"/OLD": "/OLD", "/OLD": "/OLD"}}}',
        '{"projects": {"/NEW": {"/OLD": "/OLD", "/OLD": "/NEW"}}}',
    ),
    "a repeated key does not come back by a merge": (
        '{"projects": {"/OLD": {"a": 1}, "/OLD": {"b": 2}, "/NEW": {"c":3}}}',
        '{"projects": { "/NEW": {"c":3,"b":2}}}',
    ),
    "bytes that are not UTF-8": (
        '{"odd": "x\udcff", "projects": {"/OLD": {}, "/OLD/\udcff": {"p": "/OLD"}}}',
        '{"odd": "x\udcff", "projects": {"/NEW": {}, "/OLD/\udcff": {"p": "/OLD"}}}',
    ),
    "a lone surrogate": (
        '{"projects": {"/OLD": {"a": "\\ud83d", "b": "/OLD/\\ud83d"}}}',
        '{"projects": {"/NEW": {"a": "\\ud83d", "b": "/NEW/\\ud83d"}}}',
    ),
    "items are spaced as the others are": (
        '{"projects":{"/NEW":{"a":[],"b":[ ],"c":[1, 2],"d":[\n 1\n]},"/OLD":{"a":[3,4],"b":[3],"c":[3],"d":[3]}}}',  # noqa: E501
        '{"projects":{"/NEW":{"a":[3,4],"b":[3 ],"c":[1, 2, 3],"d":[\n 1,\n 3\n]}}}',
    ),
    "repositories": (
        '{"githubRepoPaths": {"a": ["/OLD", "/x"], "b": ["/OLD/x"], "c": ["/OLD-2"], "g": "/OLD"}}',
        '{"githubRepoPaths": {"a": ["/NEW", "/x"], "b": ["/NEW/x"], "c": ["/OLD-2"], "g": "/NEW"}}',
    ),
    "a repository is not listed twice": (
        '{"githubRepoPaths": {"d": ["/OLD", "/NEW"], "e": ["/NEW", "/OLD"], "f":["/OLD", "/OLD"]}}',
        '{"githubRepoPaths": {"d": [ "/NEW"], "e": ["/NEW"], "f":["/NEW"]}}',
    ),
    **{
        f"another shape {text}": (text, text)
        for text in (
            "{}", "[]", "null", '"x"', '{"projects": []}', '{"projects": "/OLD"}',
            '{"projects": null, "githubRepoPaths": null}', '{"x": {"projects": {"/OLD": 1}}}',
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("what", WHOLE)
def test_every_other_byte_stays(bench: Bench, what: str, state: StateBuilder) -> None:
    old = state.project("old", sessions=1, config=None)
    new = bench.folder("new")
    was = Path(old.path).as_posix()
    before, after = (
        text.replace("\\/OLD", was.replace("/", "\\/"))
        .replace("/OLD", was)
        .replace("/NEW", new.as_posix())
        .encode("utf-8", "surrogateescape")
        for text in WHOLE[what]
    )
    state.config_file.write_bytes(before)
    bench.ok(old.path, new)
    assert state.config_file.read_bytes() == after
    bench.restore()
    assert state.config_file.read_bytes() == before


def test_the_clients_own_file_changes_in_two_places(bench: Bench) -> None:
    old, new = "/home/dev/code/my-app", "/home/dev/code/new-app"
    before = FACT.read_bytes()
    bench.state.config_file.write_bytes(before)
    assert bench.ok("--skip-path-check", old, new)["counts"]["config"] == 2
    after = before.replace(f'"{old}"'.encode(), f'"{new}"'.encode())
    assert bench.state.config_file.read_bytes() == after
    bench.restore()
    assert bench.state.config_file.read_bytes() == before


def left(bench: Bench, *args: str | Path) -> str:
    """All that is said of values of the config file that stay."""
    report = bench.ok("--dry-run", "--skip-path-check", *args)
    rows = [
        row
        for row in report["left_alone"]
        if row["file"] == str(bench.state.config_file)
    ]
    return "\n".join(row["what"] for row in rows)


def test_values_that_stay_are_named_and_no_others(
    bench: Bench, state: StateBuilder
) -> None:
    code = state.code
    old, new, down = code / "old", code / "new", code / "down"
    values = {
        "named-flag": f"--root={old}", "named-prose": f"in {old}.",
        "named-rule": f"Read({in_rule(old)}/*)",
        "other-neighbour": f"{old}-docker", "other-plain": "/srv", "other-part": f"/x{old}",
        "named-parent": f"--dir={down}", "other-in-place": f"--dir={down}/main",
    }  # fmt: skip
    config = {
        "projects": {
            str(old): values | {"other": str(old)}, str(down): {},
            "/srv": {"named-link": str(old)},
        },
        "githubRepoPaths": {"other-repo": [str(old), str(new)]},
        "cache": {"named-key": {str(old): 1}},
    } | values  # fmt: skip
    text = json.dumps(config, indent=1).replace(
        '"projects": {', '"projects": {"left o\\u0075t 0": "in OLD", '
    )
    text = text.replace("in OLD", f"named-mark in {in_json(str(old))}")
    state.config_file.write_text(text)
    (state.root / "moves").write_text(f"{old}\t{new}\n{down}\t{down}/main\n")
    said = left(bench, "--from-file", state.root / "moves")
    named = [value for value in values if value.startswith("named")]
    number = 2 * len(named) + 3  # of values twice, and link, key, mark
    assert f"; and {number - 5} more; edit by hand" in said
