"""`claude purge --dry-run PATH` lists what the client takes to be PATH's state."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.client import CLIENT_TEST, with_clients
from tests.client.driver import Desk, new_prompt

pytestmark = [*CLIENT_TEST, pytest.mark.usefixtures("terminal")]


@dataclass(frozen=True)
class Claimed:
    """What the client would purge: project directories, config keys, and the number of
    prompts.
    """

    directories: tuple[str, ...] = ()
    config_keys: tuple[str, ...] = ()
    prompts: int = 0


def claimed_by(desk: Desk, path: Path) -> Claimed:
    """What `claude purge --dry-run` says of `path`, which need not exist."""
    done = desk.claude(desk.root, "purge", "--dry-run", str(path))
    assert str(path) in done.out + done.err
    # Its sentences change from version to version; the list's form has stayed.
    listed = re.findall(r"^  (\w+): +(.*)\n +(.*)$", done.out, re.MULTILINE)
    claimed = Claimed(
        tuple(Path(what).name for kind, what, _ in listed if kind == "dir"),
        tuple(what.split('"')[1] for kind, what, _ in listed if kind == "config"),
        sum(int(detail.split()[0]) for kind, _, detail in listed if kind == "filter"),
    )
    assert (done.exit == 0) == (claimed != Claimed()), (done.out, done.err)
    return claimed


@with_clients(lambda client: not client.is_of_the_older_form)
def test_after_a_move_everything_is_the_new_paths_and_nothing_the_olds(
    desk: Desk,
) -> None:
    old, new = desk.folder("old"), desk.code / "new"
    desk.trust(old)
    desk.talk(old, new_prompt("one"))
    desk.talk(old, new_prompt("two"))
    (before,) = {path.parent.name for path in desk.transcripts()}
    assert claimed_by(desk, old) == Claimed((before,), (str(old),), 2)
    assert claimed_by(desk, new) == Claimed()

    desk.rename_and_move(old, new)

    (after,) = {path.parent.name for path in desk.transcripts()}
    assert claimed_by(desk, new) == Claimed((after,), (str(new),), 2)
    assert claimed_by(desk, old) == Claimed()


@with_clients(lambda client: not client.is_of_the_older_form)
def test_without_ccmove_everything_is_still_the_old_paths(desk: Desk) -> None:
    """The control."""
    old, new = desk.folder("old"), desk.code / "new"
    desk.trust(old)
    desk.talk(old, new_prompt("one"))

    old.rename(new)

    assert claimed_by(desk, new) == Claimed()
    assert claimed_by(desk, old).prompts == 1
