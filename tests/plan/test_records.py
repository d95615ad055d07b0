"""What a record is read as, and what is refused: exactly what the types say."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from ccmove.plan.records import (
    Below,
    Count,
    Hash,
    Mode,
    Name,
    OneOfSeveral,
    read,
    write,
)
from tests.systems import windows


@dataclass(frozen=True, slots=True)
class Square(OneOfSeveral):
    side: Count


@dataclass(frozen=True, slots=True)
class Circle(OneOfSeveral):
    side: Count  # of the square around it


@dataclass(frozen=True, slots=True)
class Drawing:
    """One field of each kind."""

    name: Name
    is_done: bool
    shape: Square | Circle
    place: Path
    frame: Square | None = None
    notes: tuple[Below, ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()


HOUSE = Drawing(
    "house", True, Circle(2), Path("b"), Square(3), ("x/y",), (("a", -1), ("b", 2))
)


def spelled(row: object, name: str, path: Path) -> str:
    """A path, with what it is a field of."""
    return f"{type(row).__name__}.{name}:{path}"


def from_text(value: object) -> Path:
    if type(value) is not str:
        raise ValueError("no path")
    return Path(value.partition(":")[2])


def record() -> dict[str, object]:
    text = json.dumps(write(HOUSE, spelled))
    loaded: dict[str, object] = json.loads(text)
    return loaded


def test_what_is_written_is_read_as_it_was() -> None:
    assert read(Drawing, record(), from_text) == HOUSE


def test_one_of_several_classes_says_which_it_is_and_a_path_whose_it_is() -> None:
    assert record()["shape"] == {"kind_of": "Circle", "side": 2}
    assert record()["place"] == "Drawing.place:b"


REFUSED: list[tuple[str, object]] = [
    ("name", None),
    ("name", 1),
    ("name", ""),
    ("name", ".."),
    ("name", "a/b"),
    ("name", "a\0"),
    ("is_done", 1),
    ("is_done", None),
    ("shape", None),
    ("shape", {"side": 2}),
    ("shape", {"kind_of": "Drawing", "side": 2}),
    ("shape", {"kind_of": "Circle"}),
    ("shape", {"kind_of": "Circle", "side": -1}),
    ("shape", {"kind_of": "Circle", "side": True}),
    ("shape", {"kind_of": "Circle", "side": 2.0}),
    ("shape", {"kind_of": "Circle", "side": 1 << 63}),
    ("shape", ["Circle", 2]),
    ("place", 1),
    ("frame", []),
    ("notes", "x"),
    ("notes", ["/x"]),
    ("notes", ["x/../y"]),
    ("sizes", [["a"]]),
    ("sizes", [["a", 1, 2]]),
    ("sizes", [["a", 1 << 63]]),
    ("sizes", {"a": 1}),
]
if not windows.HERE:  # where a name may hold it
    REFUSED.append(("name", "\ud800"))  # half a character


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_a_value_that_its_type_does_not_have_is_refused(
    name: str, value: object
) -> None:
    with pytest.raises(ValueError):
        read(Drawing, record() | {name: value}, from_text)


@pytest.mark.parametrize("name", ["name", "frame", "sizes"])
def test_a_value_that_is_missing_is_refused_even_if_it_has_a_usual_one(
    name: str,
) -> None:
    forged = record()
    del forged[name]
    with pytest.raises(ValueError, match=f"{name} is missing"):
        read(Drawing, forged, from_text)


@dataclass(frozen=True, slots=True)
class File:
    sha256: Hash
    mode: Mode


@pytest.mark.parametrize("digest", ["", "0" * 63, "0" * 64 + "\n", "A" * 64])
def test_a_hash_is_64_digits(digest: str) -> None:
    assert read(File, {"sha256": "0" * 64, "mode": 0o7777}).mode == 0o7777
    with pytest.raises(ValueError):
        read(File, {"sha256": digest, "mode": 0})


def test_a_mode_has_no_other_bits() -> None:
    with pytest.raises(ValueError):
        read(File, {"sha256": "0" * 64, "mode": 0o10000})


def test_where_no_path_is_expected_none_is_read() -> None:
    with pytest.raises(ValueError, match="no path"):
        read(Drawing, record())
