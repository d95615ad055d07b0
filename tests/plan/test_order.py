"""Several renames at one moment, and the order in which they can be made."""

from pathlib import Path

import pytest

from ccmove.plan.placing import in_order

# Moves, and the renames that do all of them; `~1` is where the first one is parked.
ORDERS = {
    "one": ("a>b", "a>b"),
    "independent ones stay in order": ("a>b c>d", "a>b c>d"),
    "two come to one": ("a>c b>c", "a>c b>c"),
    "a chain begins at its end": ("a>b b>c", "b>c a>b"),
    "a longer chain": ("a>b b>c c>d", "c>d b>c a>b"),
    "in a swap one is parked": ("a>b b>a", "a>~1 b>a ~1>b"),
    "in a circle, too": ("a>b b>c c>a", "a>~1 c>a b>c ~1>b"),
    "two swaps": ("a>b b>a c>d d>c", "a>~1 b>a ~1>b c>~2 d>c ~2>d"),
    "one comes to a swap": ("x>a a>b b>a", "x>~1 a>~2 ~1>a b>a ~2>b"),
    "what is inside the target leaves first": ("a>b b/x>c", "b/x>c a>b"),
    "what is inside leaves first": ("a>b a/x>y", "a/x>y a>b"),
    "what comes inside waits for the folder": ("x>b/y a>b", "a>b x>b/y"),
}


def pairs(text: str) -> list[tuple[Path, Path]]:
    moves = []
    for word in text.split():
        old, new = word.split(">")
        moves.append((Path("/", old), Path("/", new)))
    return moves


def parked(_: Path, number: int) -> Path:
    return Path("/", f"~{number + 1}")


@pytest.mark.parametrize(("moves", "renames"), ORDERS.values(), ids=ORDERS)
def test_each_target_is_free_when_its_turn_comes(moves: str, renames: str) -> None:
    assert list(in_order(pairs(moves), parked)) == pairs(renames)
