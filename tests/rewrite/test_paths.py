"""For any paths: mapping goes by whole components, and names are as the independent encoder's."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from ccmove.claude.naming import encode, may_be_name_of, possible_names, sieve
from ccmove.rewrite.pathmap import PathMap, is_named_in
from tests.rewrite.strategies import PATHS
from tests.support.state import encoded_name

PARTS = st.lists(st.sampled_from(["a", "b", "a-b", "a b", "\u00e9"]), min_size=1, max_size=4)
Parts = list[str]
ANY_PATHS = st.text(st.characters(codec=None), max_size=260).map(lambda text: f"/{text}")


def path(parts: Parts) -> str:
    return "".join(f"/{part}" for part in parts)


def oracle(moves: list[tuple[Parts, Parts]], kept: list[Parts], parts: Parts) -> Parts | None:
    """The same by lists of components: the longest OLD, unless NEW below it, or something kept."""
    best: tuple[Parts, Parts] | None = None
    for old, new in moves:
        in_place = new[: len(old)] == old and new != old and parts[: len(new)] == new
        if parts[: len(old)] == old and not in_place and (not best or len(old) > len(best[0])):
            best = (old, new)
    if best is None:
        return None
    old, new = best
    if any(len(path(k)) > len(path(old)) and parts[: len(k)] == k for k in kept):
        return None
    return new + parts[len(old) :]


MOVES = st.lists(st.tuples(PARTS, PARTS), min_size=1, max_size=3, unique_by=lambda m: path(m[0]))


@given(MOVES, st.lists(PARTS, max_size=2), PARTS)
def test_mapping_is_mapping_of_components(
    moves: list[tuple[Parts, Parts]], kept: list[Parts], parts: Parts
) -> None:
    paths = PathMap(
        tuple((path(old), path(new)) for old, new in moves), frozenset(path(k) for k in kept)
    )
    expected = oracle(moves, kept, parts)
    assert paths.map(path(parts)) == (path(expected) if expected is not None else None)
    assert paths.covers(path(parts)) == (expected is not None)


@given(MOVES, PARTS)
def test_every_mapped_path_holds_a_needle(moves: list[tuple[Parts, Parts]], parts: Parts) -> None:
    for spelled in (path, windows_path):
        paths = PathMap(tuple((spelled(old), spelled(new)) for old, new in moves))
        for spelling in (spelled(parts), spelled(parts).replace("\\", "/")):
            if paths.covers(spelling):
                assert any(needle in spelling for needle in paths.needles())


def windows_path(parts: Parts) -> str:
    return "C:\\" + "\\".join(parts)


@given(PARTS, PARTS, PARTS)
def test_windows_paths_map_like_the_others(old: Parts, new: Parts, parts: Parts) -> None:
    expected = PathMap(((path(old), path(new)),)).map(path(parts))
    paths = PathMap(((windows_path(old), windows_path(new)),))
    for spelling in (windows_path(parts), windows_path(parts).replace("C:", "c:", 1)):
        found = paths.map(spelling)
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            assert found == "C:" + expected.replace("/", "\\")
        slashed = paths.map(spelling.replace("\\", "/"))
        assert slashed == (found.replace("\\", "/") if found is not None else None)


@given(PARTS, PARTS, PARTS)
def test_there_and_back_again(old: Parts, new: Parts, tail: Parts) -> None:
    """What is moved comes back, unless it came from where it would stay on the way back."""
    assume(old != new)
    paths = PathMap(((path(old), path(new)),))
    there = paths.map(path(old + tail))
    if there is not None and paths.reversed().covers(there):
        assert paths.reversed().map(there) == path(old + tail)


@given(PARTS, PARTS, PARTS)
def test_mapping_twice_moves_nothing_unless_new_is_above_old(
    old: Parts, new: Parts, parts: Parts
) -> None:
    assume(old[: len(new)] != new)
    paths = PathMap(((path(old), path(new)),))
    there = paths.map(path(parts))
    if there is not None:
        assert paths.map(there) is None


@given(PARTS, PARTS)
def test_a_path_below_names_the_path(old: Parts, tail: Parts) -> None:
    assert is_named_in(f"--x={path(old + tail)}", path(old))


@given(st.one_of(ANY_PATHS, PATHS))
def test_names_are_as_the_independent_encoder_s(any_path: str) -> None:
    name = encode(any_path)
    assert name == encoded_name(any_path)
    assert possible_names(any_path)[0] == name
    assert may_be_name_of(name, any_path)


@given(ANY_PATHS, ANY_PATHS)
def test_everything_below_passes_the_sieve(parent: str, below: str) -> None:
    may_concern = sieve(parent)
    for name in (*possible_names(parent), *possible_names(parent + below)):
        assert may_concern(name)
