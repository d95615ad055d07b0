"""Names are computed exactly as the real client does it."""

import json
import unicodedata
from pathlib import Path

import pytest

from ccmove.claude.naming import encode, may_be_name_of, possible_names, sieve, uncut
from tests.support.state import encoded_name

FACTS = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "facts" / "slugs.json").read_text("utf-8")
)
LONG = "/home/dev/" + "deep_dir/" * 30 + "end"
DECOMPOSED = "/home/dev/cafe\u0301"


@pytest.mark.parametrize("fact", FACTS["names"], ids=lambda fact: fact["name"][:60])
def test_the_name_is_the_one_that_the_client_wrote(fact: dict[str, str]) -> None:
    assert encode(fact["path"]) == fact["name"]
    assert may_be_name_of(fact["name"], fact["path"])
    assert sieve(fact["path"])(fact["name"])


@pytest.mark.parametrize("fact", FACTS["uncut"], ids=lambda fact: fact["path"][:60])
def test_the_uncut_name_is_the_one_that_older_clients_wrote(
    fact: dict[str, str],
) -> None:
    assert uncut(fact["path"]) == fact["name"]
    assert may_be_name_of(fact["name"], fact["path"])
    assert sieve(fact["path"])(fact["name"])


def test_the_facts_about_names_were_read() -> None:
    assert len(FACTS["names"]) >= 25
    assert len(FACTS["uncut"]) >= 3


def test_each_utf16_unit_becomes_one_dash() -> None:
    assert encode("/a\u00e9") == "-a-"
    assert encode("/a\U0001f680") == "-a--"
    assert encode("/a\ud83d") == "-a-"  # a lone surrogate is one unit
    assert (encode("/a\uffff"), encode("/a\U00010000")) == (
        "-a-",
        "-a--",
    )  # the last, the first
    assert encode("/٣") == "--"  # a digit, but not one of ours


@pytest.mark.parametrize(
    ("length", "is_cut"), [(199, False), (200, False), (201, True), (202, True)]
)
def test_only_what_is_longer_than_200_units_is_cut(length: int, is_cut: bool) -> None:
    path = "/" + "x" * (length - 1)
    name = encode(path)
    assert (name != uncut(path)) == is_cut
    assert name.startswith(uncut(path)[:200])
    assert (len(name) > 200) == is_cut


def test_a_pair_of_surrogates_may_be_cut_in_two() -> None:
    path = "/" + "x" * 198 + "\U0001f680"
    assert encode(path).startswith("-" + "x" * 198 + "--")
    assert len(uncut(path)) == 201


def test_the_hash_is_made_from_the_path_not_from_the_name() -> None:
    one, other = "/" + "a_" * 110, "/" + "a." * 110
    assert uncut(one) == uncut(other)
    assert encode(one) != encode(other)


@pytest.mark.parametrize(
    "character", ["\u65e5", "\U0001f680", "\ud83d", "\u0100", "\xff"]
)
def test_the_hash_of_a_long_path_is_made_from_any_units(character: str) -> None:
    for number in range(200, 210):
        path = "/" + character * number
        assert encode(path) == encoded_name(path)


def test_the_names_under_which_a_path_is_looked_for_the_current_one_first() -> None:
    composed = unicodedata.normalize("NFC", DECOMPOSED)
    assert possible_names(DECOMPOSED) == (encode(DECOMPOSED), encode(composed))
    assert encode(composed) == "-home-dev-caf-"
    assert sieve(DECOMPOSED)("-home-dev-caf--sub")
    assert possible_names("/home/dev/app") == ("-home-dev-app",)
    assert possible_names(LONG) == (encode(LONG), uncut(LONG))


CUT, COMPOSED = (
    uncut(LONG)[:200],
    uncut(unicodedata.normalize("NFC", DECOMPOSED + "/x" * 120))[:200],
)


@pytest.mark.parametrize(
    ("name", "path", "may_be"),
    [
        (f"{CUT}-1x9", LONG, True),
        (f"{COMPOSED}-1x9", DECOMPOSED + "/x" * 120, True),
        (f"{encode(LONG)}.0123456789abcdef", LONG, False),  # downloads beside it
        *((f"{CUT}{suffix}", LONG, False) for suffix in ("", "-", "x1")),
        (f"{CUT}-1x9", "/other" + LONG, False),
        (f"{uncut(LONG[:200])}-1x9", LONG[:200], False),  # which is not cut
        (f"{uncut(LONG[:200])}-1x9", LONG[:200] + "x", True),
        ("-home-dev-app-1x9", "/home/dev/app", False),
    ],
)
def test_any_suffix_may_be_the_hash_of_a_long_path(
    name: str, path: str, may_be: bool
) -> None:
    """Some clients cut long names with another hash: only its place is known."""
    assert may_be_name_of(name, path) == may_be


class TestSieve:
    """The first look at a name lets everything through that could be the path or below
    it.
    """

    @pytest.mark.parametrize("length", [5, 150, 198, 199, 200, 201, 230])
    def test_a_path_and_all_below_pass_the_sieve(self, length: int) -> None:
        path = "/" + "x" * (length - 1)
        may_concern = sieve(path)
        for below in ("", "/sub", "/sub/" + "y" * 100):
            assert may_concern(encode(path + below))
            assert may_concern(uncut(path + below))

    def test_what_cannot_be_below_does_not_pass(self) -> None:
        may_concern = sieve("/home/dev/app")
        assert not may_concern("-home-dev")
        assert not may_concern("-home-dev-other")
