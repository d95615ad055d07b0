"""The inputs that fuzzing left behind hold, and a planted bug is found by them."""

import importlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ccmove.claude import naming as encoding
from ccmove.rewrite import pathmap
from fuzz.driver import CORPUS, TARGETS
from fuzz.planted import BUGS

PLANTED = [(target, bug) for target in TARGETS for bug in BUGS[target]]
Check = Callable[[bytes], None]


def check_of(target: str) -> Check:
    check: Check = importlib.import_module(f"fuzz.{target}").check
    return check


def kept(target: str) -> list[Path]:
    return sorted((CORPUS / target).iterdir())


@pytest.fixture(autouse=True)
def _no_cache_outlives_a_bug() -> Iterator[None]:
    yield
    encoding.possible_names.cache_clear()
    pathmap._whole_path.cache_clear()


@pytest.mark.parametrize("target", TARGETS)
def test_every_kept_input_keeps_the_promises(target: str) -> None:
    assert len(kept(target)) >= 10
    for path in kept(target):
        check_of(target)(path.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_random_inputs_keep_the_promises(target: str) -> None:
    for data in random_inputs(300):
        check_of(target)(data)


def random_inputs(number: int) -> Iterator[bytes]:
    chance = random.Random(7)
    for _ in range(number):
        yield chance.randbytes(chance.randrange(120))


@pytest.mark.parametrize(("target", "bug"), PLANTED)
def test_control_a_planted_bug_is_found_by_the_kept_inputs(
    target: str, bug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    BUGS[target][bug](monkeypatch.setattr)
    assert any(fails(check_of(target), path.read_bytes()) for path in kept(target))


def fails(check: Check, data: bytes) -> bool:
    try:
        check(data)
    except Exception:
        return True
    return False


def test_the_kept_inputs_are_few_and_small() -> None:
    files = [path for target in TARGETS for path in kept(target)]
    assert len(files) <= 150
    assert sum(path.stat().st_size for path in files) <= 100_000
