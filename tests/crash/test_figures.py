"""The table at the end adds up."""

from tests.crash.figures import table


def test_points_of_one_kind_are_added_up_and_the_sum_is_last() -> None:
    noted = [("killed: move", 10, 0), ("failed: move", 7, 2), ("killed: move", 5, 1)]
    assert table(noted) == [
        "              points   bad",
        "failed: move       7     2",
        "killed: move      15     1",
        "crash points tried 22, bad 3",
    ]
