"""For any document and any life since: the run's change goes, all that came later
stays.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccmove.rewrite import config as config_file
from ccmove.rewrite import index
from ccmove.rewrite.jsonspan import parse
from ccmove.rewrite.pathmap import NameMap, PathMap
from ccmove.rewrite.splice import with_mapped
from ccmove.rewrite.threeway import Following, taken_out
from tests.rewrite.strategies import (
    BLANKS,
    LEAVES,
    NEW,
    OLD,
    everywhere,
    json_texts,
    spellings,
)
from tests.rewrite.test_document_properties import (
    CONFIGS,
    INDEXES,
    MAPS,
    PROJECTS,
    count_members,
)
from tests.support.oddlines import stringify

pytestmark = pytest.mark.slow

MOVE = PathMap(((OLD, NEW),))
INDENTS = st.sampled_from([None, 2])
LATER = "later"
NAMES = st.sampled_from(["a", "b", "c", OLD, NEW, OLD + "/x", "x y", "\u00e9"])
DOCUMENTS = json_texts(LEAVES, spellings(NAMES), max_leaves=16)
ANYTHING = st.one_of(
    DOCUMENTS,
    INDEXES,
    st.builds(lambda config: stringify(config).decode(), CONFIGS),
    st.sampled_from(
        ["", "{", "[1", "\ufeff{}", "\n\n", "x\r\ny", '{"a": 1, "a": 2}', "[" * 3000]
    ),
    st.sampled_from(["[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000]),
)


def out(
    before: str, after: str, now: str, paths: PathMap, form: str = "config"
) -> tuple[str, list[str]]:
    return taken_out(
        form,
        before,
        after,
        now,
        Following(paths.reversed().map, paths.reversed().map),
        paths.map,
    )


def later_values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from [item] if key == LATER else later_values(item)
    elif isinstance(value, list):
        for item in value:
            yield from later_values(item)


def without_later(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_later(item) for key, item in value.items() if key != LATER}
    return [without_later(item) for item in value] if isinstance(value, list) else value


def is_hollow(value: Any) -> bool:
    """Whether there is nothing in it but objects that hold nothing."""
    return isinstance(value, dict) and all(map(is_hollow, value.values()))


@st.composite
def lives(draw: st.DrawFn, document: Any) -> Any:
    """The document with members added anywhere; each has a number of its own."""
    document = json.loads(json.dumps(document))
    places = list(objects(document))
    for number, place in enumerate(places):
        if draw(st.booleans()):
            place[LATER] = number
    return document


def objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    below = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else ()
    )
    for item in below:
        yield from objects(item)


@given(CONFIGS, MAPS, INDENTS)
def test_what_is_as_the_run_left_it_becomes_what_it_was(
    config: dict[str, Any], paths: PathMap, indent: int | None
) -> None:
    before = stringify(config, indent).decode()
    after = config_file.rewritten(before, paths)
    assert out(before, after, after, paths) == (before, [])
    assert out(before, after, before, paths) == (before, [])
    blank, lost = out(before, after, after + "\n", paths)
    assert lost == []
    assert json.loads(blank) == config


@given(CONFIGS, MAPS, INDENTS, st.data())
def test_what_came_later_in_a_config_file_is_kept(
    config: dict[str, Any], paths: PathMap, indent: int | None, data: st.DataObject
) -> None:
    before = stringify(config, 2).decode()
    after = config_file.rewritten(before, paths)
    now = data.draw(lives(json.loads(after)))
    now["projects"]["/elsewhere"] = data.draw(PROJECTS)
    result, lost = out(before, after, stringify(now, indent).decode(), paths)
    found = json.loads(result)
    assert found["projects"].pop("/elsewhere") == now["projects"].pop("/elsewhere")
    kept = sorted(later_values(found))
    if (
        not lost
    ):  # two that were merged can't be separated again where both have changed
        # What came later where two became one stays there, and nothing else does.
        left = [key for key in found["projects"] if key not in config["projects"]]
        rest = without_later(found)
        assert all(is_hollow(rest["projects"].pop(key, {})) for key in left)
        for key, entry in rest["projects"].items():
            # A member that holds only what came later came with that.
            for name in entry.keys() - config["projects"][key].keys():
                assert is_hollow(entry.pop(name))
        assert rest == config
        assert kept == sorted(later_values(now))
    assert set(kept) == set(later_values(now))


PLACES = ("/a", "/b", "/c", "/a/x")


@settings(max_examples=500)
@given(
    st.dictionaries(st.sampled_from(PLACES), st.sampled_from(PLACES), min_size=2),
    st.sets(st.sampled_from(PLACES), min_size=2),
    st.sets(st.sampled_from(PLACES)),
    st.sets(st.sampled_from((*PLACES, "/b/y", "/n"))),
)
def test_wherever_it_belongs_what_came_later_is_kept_and_no_key_is_there_twice(
    moves: dict[str, str], known: set[str], staying: set[str], used: set[str]
) -> None:
    """In swaps, chains and merges, of which some follow and others stay."""
    paths = PathMap(tuple(pair for pair in moves.items() if pair[0] != pair[1]))
    before = stringify(
        {"projects": {key: {"v": key} for key in sorted(known)}}
    ).decode()
    after = config_file.rewritten(before, paths)
    now = json.loads(after)
    for number, key in enumerate(sorted(used)):
        now["projects"].setdefault(key, {})[f"later {number}"] = True
    following = PathMap(paths.reversed().moves, frozenset(staying))
    back = Following(following.map, following.map)
    text = stringify(now).decode()
    result, _ = taken_out("config", before, after, text, back, paths.map)
    for key in PLACES:
        assert result.count(f'"{key}":') <= 1
    for number in range(len(used)):
        assert result.count(f'"later {number}"') == 1


@given(CONFIGS, MAPS, st.data())
def test_taking_out_twice_is_taking_out_once(
    config: dict[str, Any], paths: PathMap, data: st.DataObject
) -> None:
    before = stringify(config, 2).decode()
    after = config_file.rewritten(before, paths)
    now = data.draw(lives(json.loads(after)))
    now["projects"][NEW + "/since"] = {"cwd": NEW + "/since/x"}
    once, _ = out(before, after, stringify(now, 2).decode(), paths)
    again, _ = out(before, after, once, paths)
    assert json.loads(again) == json.loads(once)


@given(CONFIGS, st.data())
def test_paths_that_came_since_follow(
    config: dict[str, Any], data: st.DataObject
) -> None:
    config["projects"] = {OLD: {"a": OLD}, "/z": {}}
    config["githubRepoPaths"] = {"a/b": [OLD]}
    before = stringify(config, 2).decode()
    after = config_file.rewritten(before, MOVE)
    now = json.loads(after)
    tail = data.draw(st.sampled_from(["/since", "/since/x y", "/since\u00e9"]))
    now["projects"][NEW]["dirs"] = [NEW + tail, "/z"]
    now["projects"][NEW + tail] = {"cwd": NEW + tail + "/x"}
    now["githubRepoPaths"]["c/d"] = [NEW + tail]
    now["tip"] = NEW + tail
    result, lost = out(before, after, stringify(now, 2).decode(), MOVE)
    expected = config | {"tip": NEW + tail}
    expected["projects"][OLD]["dirs"] = [OLD + tail, "/z"]
    expected["projects"][OLD + tail] = {"cwd": OLD + tail + "/x"}
    expected["githubRepoPaths"]["c/d"] = [OLD + tail]
    assert (json.loads(result), lost) == (expected, [])


@given(DOCUMENTS, MAPS, BLANKS, st.data())
def test_what_came_later_in_any_document_is_kept(
    text: str, paths: PathMap, blank: str, data: st.DataObject
) -> None:
    after = with_mapped(text, everywhere(paths.map))
    now = data.draw(lives(json.loads(after)))
    result, _ = out(text, after, blank + stringify(now).decode(), paths, "json")
    found = json.loads(result)
    assert sorted(later_values(found)) == sorted(later_values(now))
    assert count_members(found) == count_members(now)


@given(INDEXES, st.data())
def test_an_index_gets_back_what_it_was(text: str, data: st.DataObject) -> None:
    names = NameMap((("-code-app", "-src-new-app"),), MOVE)
    after = index.rewritten(text, MOVE.map, names)
    now = data.draw(lives(json.loads(after)))
    result, _ = out(text, after, stringify(now).decode(), MOVE, "index")
    again, _ = out(text, after, result, MOVE, "index")
    assert json.loads(again) == json.loads(result)
    assert sorted(later_values(json.loads(result))) == sorted(later_values(now))


@given(
    st.sampled_from(["config", "index", "json", "lines"]),
    ANYTHING,
    ANYTHING,
    ANYTHING,
    MAPS,
)
def test_whatever_the_texts_are_nothing_is_raised(
    form: str, before: str, after: str, now: str, paths: PathMap
) -> None:
    result, lost = out(before, after, now, paths, form)
    if form == "lines" or now in (before, after):
        return
    try:
        parse(now)
    except ValueError:
        assert (result, bool(lost)) == (now, True)
    else:
        parse(result)
