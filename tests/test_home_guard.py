"""The real home is out of reach of the tests, and the guard that sees to it does fire.

Below, the real paths are only ever named. Were the guard broken, each attempt would
still fail, on a folder that does not exist or a file taken for a folder: nothing would
be read or changed.
"""

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import home_guard
from tests.support.home_guard import (
    REAL_HOME,
    RealHomeTouchedError,
    guarded_roots,
    is_guarded,
)

REAL = REAL_HOME / ".claude"
NOWHERE = REAL / "no-such-folder-by-ccmove-tests"
INSIDE = NOWHERE / "file"

ATTEMPTS: dict[str, Callable[[Path], object]] = {
    "open to read": lambda _: INSIDE.open(),
    "open to write": lambda _: INSIDE.open("w"),
    "open by bytes": lambda _: os.open(os.fsencode(INSIDE), os.O_RDONLY),
    "os.open": lambda _: os.open(INSIDE, os.O_RDWR | os.O_CREAT),
    "read the config file": lambda _: (REAL_HOME / ".claude.json/no-such").read_bytes(),
    "take the config file's lock": lambda _: (
        REAL_HOME / ".claude.json.lock/no-such"
    ).mkdir(),
    "listdir": lambda _: os.listdir(NOWHERE),
    "scandir": lambda _: os.scandir(NOWHERE),
    "mkdir": lambda _: INSIDE.mkdir(),
    "rmdir": lambda _: INSIDE.rmdir(),
    "unlink": lambda _: INSIDE.unlink(),
    "rename away": lambda tmp: INSIDE.rename(tmp / "x"),
    "rename onto": lambda tmp: tmp.rename(INSIDE),
    "link": lambda tmp: os.link(tmp / "x", INSIDE),
    "symlink": INSIDE.symlink_to,
    "chmod": lambda _: INSIDE.chmod(0o600),
    "utime": lambda _: os.utime(INSIDE),
    "truncate": lambda _: os.truncate(INSIDE, 0),
    "chdir": lambda _: os.chdir(NOWHERE),
    "copy": lambda tmp: shutil.copy(tmp / "x", INSIDE),
    "copytree": lambda tmp: shutil.copytree(tmp, INSIDE),
    "rmtree": lambda _: shutil.rmtree(INSIDE),
    "by way of ..": lambda _: Path(
        f"{REAL_HOME}/x/../.claude/{NOWHERE.name}/file"
    ).read_bytes(),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_reaching_for_the_real_home_raises(attempt: str, tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(RealHomeTouchedError, match="of the real"):
        ATTEMPTS[attempt](tmp_path)


def test_no_handler_for_exceptions_hides_it() -> None:
    assert not issubclass(RealHomeTouchedError, Exception)


def test_every_part_of_the_state_is_guarded_and_nothing_else() -> None:
    for name in (".claude", ".claude.json", ".claude.json.lock", ".claude/x/y"):
        assert is_guarded(REAL_HOME / name, guarded_roots())
        assert is_guarded(os.fsencode(REAL_HOME / name), guarded_roots())
    for name in (".claude-other", ".config/x", "code/.claude/settings.json"):
        assert not is_guarded(REAL_HOME / name, guarded_roots())
    assert not is_guarded(3, guarded_roots()), "an open file is not a path"


def test_the_throw_away_home_can_be_used(throw_away_home: Path) -> None:
    (throw_away_home / ".claude").mkdir()
    (throw_away_home / ".claude.json").write_text("{}")
    assert sorted(os.listdir(throw_away_home)) == [".claude", ".claude.json"]


def test_this_process_and_its_children_see_the_throw_away_home(
    throw_away_home: Path,
) -> None:
    code = "from pathlib import Path; print(Path.home())"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert child.stdout.strip() == str(Path.home()) == str(throw_away_home)
    assert throw_away_home != REAL_HOME


def test_nothing_of_claude_code_is_in_the_environment_and_xdg_folders_are_in_that_home(
    throw_away_home: Path,
) -> None:
    assert [name for name in os.environ if name.startswith("CLAUDE")] == []
    for kind in ("CONFIG", "CACHE", "DATA", "STATE"):
        assert os.environ[f"XDG_{kind}_HOME"].startswith(str(throw_away_home))


def test_the_fingerprint_changes_with_what_it_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home_guard, "REAL_HOME", tmp_path)
    seen = [home_guard.fingerprint()]
    for name in (".claude.json", ".claude/x", ".claude/ccmove"):
        (tmp_path / name).mkdir(parents=True)
        seen.append(home_guard.fingerprint())
    assert seen[0] == dict.fromkeys(home_guard.WATCHED)
    assert all(earlier != later for earlier, later in itertools.pairwise(seen))
