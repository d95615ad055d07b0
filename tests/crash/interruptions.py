"""The different kinds of interruption that a recovery can meet."""

from collections.abc import Sequence

from tests.crash.calls import Point

KINDS = (
    "begun",
    "prepared",
    "committed",
    "locked files replaced",  # and the client's locks still held
    "half changed",
    "all changed",
    "finished but for its name",
)


def interruptions(points: Sequence[Point]) -> dict[str, Point]:
    """For each kind the point of a run at which to kill it."""
    written = _positions(points, "renameat", "run/manifest.json")
    began, committed = written[0], written[-1]
    given_back = [
        i for i, p in enumerate(points) if i > committed and _gives_back_a_lock(p)
    ]
    # An unpack that makes these files takes no lock: it is killed at its first change.
    released = given_back[0] if given_back else committed + 2
    changed = _positions(points, "fsync", "run/progress")[-1]
    # How often a process opens something depends on how many others there are.
    reported = _positions(points, "fsync", "run/report.json")[-1]
    finished = _positions(points, "renameat2", "ccmove/backups/ID")[-1]
    assert began < committed < released < changed < reported < finished < len(points)
    # The commit, and its flush, come first; after each change it is recorded.
    changes = points[committed + 2 : changed + 1]
    chosen = (
        points[began + 1],
        points[committed],
        changes[0],
        points[released],
        changes[len(changes) // 2],
        points[reported],
        points[finished],
    )
    return dict(zip(KINDS, chosen, strict=True))


def _positions(points: Sequence[Point], name: str, ending: str) -> list[int]:
    return [
        i for i, p in enumerate(points) if p.name == name and p.where.endswith(ending)
    ]


def _gives_back_a_lock(point: Point) -> bool:
    return point.name == "unlinkat" and point.where.endswith(".lock")
