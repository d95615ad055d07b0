"""Law 2: what is done is seen in what is there, not in inode numbers.

Seen to fail on the code that went by inodes: after a copy a third of the points were
neither before nor after, some of them with exit 0; a config file that the client had
written since was taken for "not begun", or for ours.
"""

import pytest

from tests.crash.conftest import Record
from tests.crash.scenarios import Scenario
from tests.crash.world import try_all, world_bench
from tests.support.state import StateBuilder

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(900)]


def _plain(state: StateBuilder) -> None:
    """Without an index: the config file is the first thing that is replaced."""
    state.project("app", sessions=1, subagents=False, prompts=1)
    state.project("other", sessions=0, prompts=0)
    (state.code / "neu").mkdir()


PLAIN = Scenario("plain", _plain, ("app", "neu"))


@pytest.mark.parametrize(
    ("scenario", "command"),
    [("move", "move"), ("split", "move"), ("swap", "move"), ("folder", "restore")],
)
def test_a_home_that_was_copied_is_rolled_back(
    scenario: str, command: str, proven: Record
) -> None:
    tally = try_all(world_bench(scenario, command), "home copied")
    proven(f"killed, home copied: {command} ({scenario})", tally)


def test_a_home_that_came_to_another_disk_is_rolled_back(proven: Record) -> None:
    tally = try_all(world_bench("folder"), "home on another file system")
    proven("killed, home on another disk: move (folder)", tally)


@pytest.mark.parametrize("number", ["once", "twice"])
def test_a_config_file_that_has_our_inode_again_is_not_ours(
    number: str, proven: Record
) -> None:
    """The client writes twice, and the second file gets the inode number that ours had.

    One that it wrote once is seen as replaced, else trust is under the new path and the
    sessions are under the old one.
    """
    tally = try_all(world_bench(PLAIN, on_disk=True), f"config written {number}")
    proven(f"killed, config written {number}: move (plain)", tally)


@pytest.mark.parametrize(
    "changes", [("sessions added",), ("home copied", "sessions added")], ids=", ".join
)
def test_a_directory_made_again_is_merged(
    changes: tuple[str, ...], proven: Record
) -> None:
    """Two projects change places, and a session is begun in each while one of them is
    parked.
    """
    tally = try_all(world_bench("swap"), *changes)
    proven(f"killed, {', '.join(changes)}: move (swap)", tally)
