"""In which order to rename things so that nothing is in another's way.

Moves that happen at one moment may be a chain, a swap, or one inside another. Each waits until
its place is free and there; where all wait for each other, one steps aside first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

Move = tuple[Path, Path]  # where it is, where it goes


def arrange(
    moves: Iterable[Move], bring: Callable[[Path, Path], None], park: Callable[[Path], Path]
) -> None:
    """Bring everything to its place; `park` sets one aside for a while and says where."""
    waiting = list(moves)
    while waiting:
        crowd = _Crowd(waiting)
        ready = [move for move in waiting if crowd.lets_through(move)]
        if not ready:
            first = next(i for i, (path, _) in enumerate(waiting) if not crowd.inside[path])
            waiting[first] = (park(waiting[first][0]), waiting[first][1])
            continue
        for path, target in ready:
            bring(path, target)
        waiting = [move for move in waiting if not crowd.lets_through(move)]


class _Crowd:
    """The moves that still wait."""

    def __init__(self, moves: list[Move]) -> None:
        self.places = Counter(path for path, _ in moves)
        self.targets = Counter(target for _, target in moves)
        self.inside = Counter(above for path, _ in moves for above in path.parents)

    def lets_through(self, move: Move) -> bool:
        """Its place is not another's, the directory it goes to is there, nothing is inside it."""
        path, target = move
        taken = any(self.places[p] - (p == path) for p in (target, *target.parents))
        missing = any(self.targets[p] for p in target.parents)
        return not (taken or missing or self.inside[path])
