"""For any document: only values that are paths in the move change, once, and back
again.
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccmove.rewrite import config as config_file
from ccmove.rewrite import index, settings
from ccmove.rewrite.occurrences import HOLDERS, Occurrences
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.splice import with_mapped
from tests.rewrite.strategies import (
    LEAVES,
    NEW,
    OLD,
    PATHS,
    TEXTS,
    everywhere,
    json_texts,
    spellings,
)
from tests.support.oddlines import stringify

pytestmark = pytest.mark.slow

MOVE = PathMap(((OLD, NEW),))
STATE = "/home/dev/.claude/projects/"
NAMES = NameMap((("-code-app", "-src-new-app"),), MOVE)
DOCUMENTS = json_texts(LEAVES, spellings(TEXTS), max_leaves=20)

MAPS = st.sampled_from(
    [
        MOVE,
        PathMap(((OLD, OLD + "/main"),)),
        PathMap((("/code", "/src"), ("/src", "/code"))),
        PathMap(((OLD, "/lib"), (OLD + "-docker", "/lib"))),
        PathMap((("/code", "/src"), (OLD, "/code/app-docker"))),
        PathMap(((OLD, NEW),), frozenset({OLD + "/web"})),
    ]
)


def moved_strings(value: Any, paths: PathMap) -> Any:
    """Every string value that is a path, by values instead of spans; keys stay."""
    if isinstance(value, str):
        return paths.map(value) or value
    if isinstance(value, list):
        return [moved_strings(item, paths) for item in value]
    if isinstance(value, dict):
        return {key: moved_strings(item, paths) for key, item in value.items()}
    return value


def loads(text: str) -> Any:
    return json.loads(
        text, parse_int=lambda raw: ["int", raw], parse_float=lambda raw: ["f", raw]
    )


@given(
    json_texts(LEAVES, st.sampled_from(['"a"', '"b"', '"\\u0061"']), max_leaves=20),
    MAPS,
)
def test_exactly_the_values_that_are_paths_change(text: str, paths: PathMap) -> None:
    assert loads(with_mapped(text, everywhere(paths.map))) == moved_strings(
        loads(text), paths
    )


@given(DOCUMENTS, MAPS)
def test_no_member_is_hidden_by_another_s_new_name(text: str, paths: PathMap) -> None:
    after = with_mapped(text, everywhere(paths.map))
    assert count_members(loads(after)) == count_members(loads(text))


def count_members(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(count_members, value.values()))
    return sum(map(count_members, value)) if isinstance(value, list) else 0


FULL_PATHS = st.builds(
    "{}{}/{}.jsonl".format,
    st.just(STATE),
    st.sampled_from(["-code-app", "-code-app-docker", "-src-new-app"]),
    st.sampled_from(["a", "b"]),
)
FIELDS = st.sampled_from(
    ["projectPath", "fullPath", "sessionId", "originalPath", "entries", "x"]
)
INDEX_LEAVES = st.one_of(spellings(PATHS), spellings(FULL_PATHS), LEAVES)
ENTRIES = json_texts(INDEX_LEAVES, spellings(FIELDS), max_leaves=8)
INDEXES = st.builds(
    '{{"originalPath": {},"entries" :[{}], "projectPath":{} }}'.format,
    INDEX_LEAVES,
    st.lists(ENTRIES, max_size=4).map(" ,\n".join),
    INDEX_LEAVES,
)


@given(st.one_of(INDEXES, ENTRIES, DOCUMENTS))
def test_an_index_changes_in_its_four_places(text: str) -> None:
    expected = loads(text)
    if isinstance(expected, dict):
        for key in ("originalPath", "projectPath"):
            move_member(expected, key, MOVE)
        entries = expected.get("entries")
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                move_member(entry, "projectPath", MOVE)
                move_member(entry, "fullPath", NAMES)
    after = index.rewritten(text, MOVE.map, NAMES)
    assert loads(after) == expected
    assert index.rewritten(after, MOVE.map, NAMES) == after


def move_member(record: dict[str, Any], key: str, mapping: PathMap | NameMap) -> None:
    if isinstance(record.get(key), str):
        record[key] = mapping.map(record[key]) or record[key]


# Few paths, so that many meet.
FEW = st.sampled_from(
    [OLD, NEW, OLD + "/web", NEW + "/web", OLD + "-docker", "/lib", "/src/app"]
)
TOOLS = st.lists(
    st.sampled_from(["Bash(ls)", OLD, NEW, 1, "1"]), min_size=1, max_size=4
)
PROJECTS = st.fixed_dictionaries(
    {},
    optional={
        "allowedTools": TOOLS,
        "dirs": st.lists(FEW, max_size=2),
        "hasTrustDialogAccepted": st.booleans(),
        "hasCompletedProjectOnboarding": st.booleans(),
        "lastCost": st.integers(0, 3),
        "mcpServers": st.dictionaries(
            st.sampled_from(["a", "b"]), st.lists(FEW, max_size=1)
        ),
        "cwd": PATHS,
    },
)
CONFIGS = st.fixed_dictionaries(
    {
        "numStartups": st.integers(),
        "projects": st.dictionaries(FEW, PROJECTS, min_size=2),
        "githubRepoPaths": st.dictionaries(
            st.sampled_from(["a/b", "c/d"]), st.lists(FEW, max_size=4)
        ),
        "tip": TEXTS,
    }
)


def moved_config(config: dict[str, Any], paths: PathMap) -> dict[str, Any]:
    """What the contract says of a config file, on values."""
    projects = {}
    for key, value in config["projects"].items():
        if not paths.map(key):  # in others' entries only the values that hold paths
            holders = {name: value[name] for name in HOLDERS & value.keys()}
            projects[key] = {**value, **moved_strings(holders, paths)}
    for key, value in config["projects"].items():
        new = paths.map(key)
        if new is not None:
            moved = moved_strings(value, paths)
            projects[new] = merged(projects[new], moved) if new in projects else moved
    repos = {}
    for name, listed in config["githubRepoPaths"].items():
        staying = [path for path in listed if paths.map(path) is None]
        kept: list[str] = []
        for path in listed:
            new = paths.map(path)
            if new is None or (new not in staying and new not in kept):
                kept.append(new or path)
        repos[name] = kept
    return {**config, "projects": projects, "githubRepoPaths": repos}


def merged(mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    result = dict(mine)
    for key, value in theirs.items():
        if key not in mine:
            result[key] = value
        elif isinstance(value, list):
            lacking = dict.fromkeys(json.dumps(x) for x in value)
            have = [json.dumps(x) for x in mine[key]]
            result[key] = mine[key] + [json.loads(x) for x in lacking if x not in have]
        elif isinstance(value, dict):
            result[key] = {**value, **mine[key]}
        elif key.startswith("has"):
            result[key] = mine[key] or value
    return result


@given(CONFIGS, MAPS, st.sampled_from([None, 2]))
def test_the_config_file_becomes_what_the_contract_says(
    config: dict[str, Any], paths: PathMap, indent: int | None
) -> None:
    text = stringify(config, indent).decode()
    inside = Occurrences.of(paths, "/nowhere", is_path=lambda _: False)
    after = config_file.rewritten(config_file.with_values(text, inside, inside), paths)
    assert json.loads(after) == moved_config(json.loads(text), paths)


@given(DOCUMENTS, MAPS)
def test_any_document_can_be_a_config_file_or_settings(
    text: str, paths: PathMap
) -> None:
    inside = Occurrences.of(paths, "/nowhere", is_path=lambda _: False)
    loads(config_file.rewritten(config_file.with_values(text, inside, inside), paths))
    loads(settings.project_file(text, inside, NAMES))
