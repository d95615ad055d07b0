"""What is ours is for the owner's eyes only, and what is rewritten stays whose and what
it was.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.fork import Job
from tests.hostile.attack import Target, checked
from tests.hostile.surroundings import AS_ROOT, needs_root
from tests.support.run import Completed

NOBODY = 65534


def run_with(target: Target, *args: str | Path, sabotage: Sequence[str]) -> Completed:
    return checked(
        Job(target.state, [str(arg) for arg in args], sabotage=sabotage).run()
    )


def ordinary(target: Target, *args: str | Path) -> Completed:
    return run_with(target, *args, sabotage=["without_privileges"])


def too_open(own: Path) -> list[str]:
    """Whatever of ours others could look at."""
    found = []
    for path in (own, *own.rglob("*")):
        wanted = 0o700 if path.is_dir() else 0o600
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode != wanted:
            found.append(f"{path} {mode:o}")
    return found


@pytest.mark.parametrize("umask", ["000", "022", "077", "277", "777"])
def test_everything_of_ours_is_private_whatever_the_umask(
    target: Target, umask: str
) -> None:
    """And a strict one does not lock an ordinary user out."""
    for args in ((target.old, target.new), ("restore",)):
        done = run_with(
            target, *args, sabotage=["without_privileges", f"umask={umask}"]
        )
        assert done.exit == 0, done
        assert too_open(target.own) == []


def watched(target: Target, *args: str) -> str:
    """Run it while somebody watches; what of ours was open to others at any moment."""
    record = target.state.root / "too-open"
    hook = ["watch_modes", str(target.own), str(record)]
    done = Job(target.state, args, sabotage=["umask=0"], hook=hook).run()
    assert done.exit == 0, done
    return record.read_text()


@pytest.mark.parametrize("command", ["move", "restore"])
def test_at_no_moment_anything_of_ours_is_open_to_others(
    target: Target, command: str
) -> None:
    for path in (target.state.history, target.state.config_file, target.handle.index):
        path.chmod(0o644)
    os.link(
        target.state.history, target.state.home / "second-name"
    )  # so that it is copied
    args = [str(target.old), str(target.new)]
    if command == "restore":
        assert target.move().exit == 0
        args = ["restore"]
    assert watched(target, *args) == ""
    assert too_open(target.own) == []


def test_the_watcher_sees_what_is_open(target: Target) -> None:
    """The control of the test above."""
    target.own.mkdir()
    target.own.chmod(0o755)
    assert "755" in watched(target, str(target.old), str(target.new))


def test_a_directory_of_ours_that_was_open_is_closed(target: Target) -> None:
    (target.own / "backups").mkdir(parents=True)
    (target.own / "lock").touch(0o666)
    for path in (target.own, target.own / "backups", target.own / "lock"):
        path.chmod(0o777)
    assert target.move().exit == 0
    assert too_open(target.own) == []


MODES = [0o600, 0o640, 0o644, 0o660, 0o400]


@pytest.mark.parametrize("mode", MODES, ids=oct)
def test_rewritten_files_keep_their_mode_and_group(target: Target, mode: int) -> None:
    files = [target.state.history, target.state.config_file, target.job, target.plugins]
    index = target.handle.index
    group = 4321 if os.geteuid() == 0 else os.getgid()
    for path in (*files, index):
        path.chmod(mode)
        os.chown(path, -1, group)
    assert target.move().exit == 0
    moved = target.target / index.name
    for _ in ("after the move", "after the restore"):
        for path in (*files, moved):
            found = path.stat()
            assert (stat.S_IMODE(found.st_mode), found.st_gid) == (mode, group), path
        assert target.run("restore").exit in (0, 3)
        moved = index
    assert too_open(target.own) == []


def give_away(path: Path) -> None:
    for base, directories, files in os.walk(path):
        for name in (".", *directories, *files):
            os.chown(os.path.join(base, name), NOBODY, NOBODY, follow_symlinks=False)


@needs_root
@pytest.mark.parametrize(
    "command",
    [["move"], ["restore"], ["recover"], ["prune", "--keep", "0"]],
)
def test_root_does_not_touch_the_state_of_another_user(
    target: Target, command: list[str]
) -> None:
    assert target.move().exit == 0
    give_away(target.state.home)
    target.remember()
    words: list[str | Path] = (
        [target.new, target.old] if command == ["move"] else [*command]
    )
    if command == ["move"]:
        target.new.rename(target.old)
    done = target.run(*words)
    assert done.exit == 4, done
    assert "another user" in done.err
    target.nothing_changed(ignore=())
    owners = {path.lstat().st_uid for path in target.state.home.rglob("*")}
    assert owners == {NOBODY}


@needs_root
def test_root_may_look_at_the_state_of_another_user(target: Target) -> None:
    """But a preview refuses what the move would refuse (law 8)."""
    give_away(target.state.home)
    target.remember()
    assert target.move("--dry-run").exit == 4
    assert target.run("list").exit == 0
    assert target.run("backups").exit == 0
    target.nothing_changed(ignore=())


@needs_root
@pytest.mark.parametrize("what", ["history", "config", "index", "own"])
def test_a_single_thing_of_another_user_is_refused(target: Target, what: str) -> None:
    state, index = target.state, target.handle.index
    places = {"history": state.history, "config": state.config_file, "index": index}
    if not (path := places.get(what)):
        path = made(target.own)
    os.chown(path, NOBODY, NOBODY)
    target.remember()
    done = target.move()
    assert done.exit == 4, done
    assert str(path) in done.err
    target.nothing_changed(ignore=())


@needs_root
def test_transcripts_of_another_user_move_and_stay_his(target: Target) -> None:
    os.chown(target.handle.transcripts[0], NOBODY, NOBODY)
    assert target.move().exit == 0
    assert (target.target / target.handle.transcripts[0].name).stat().st_uid == NOBODY


LOCKED = {
    "the state": (lambda t: t.state.config_dir, 0o500),
    "projects": (lambda t: t.state.projects, 0o500),
    "projects, not even to look": (lambda t: t.state.projects, 0o000),
    "the project directory": (lambda t: t.handle.directory, 0o000),
    "the project directory, read-only": (lambda t: t.handle.directory, 0o500),
    "the history": (lambda t: t.state.history, 0o000),
    "the config file": (lambda t: t.state.config_file, 0o000),
    "the home": (lambda t: t.state.home, 0o500),
    "the index": (lambda t: t.handle.index, 0o000),
    "a transcript": (lambda t: t.handle.transcripts[0], 0o000),
    "the list of plugins": (lambda t: t.plugins, 0o000),
    "a job": (lambda t: t.job.parent, 0o000),
    "sessions": (lambda t: made(t.state.config_dir / "sessions"), 0o000),
    "ours": (lambda t: made(t.own), 0o000),
    "our lock": (lambda t: made(t.own) / "lock", 0o000),
    "backups": (lambda t: made(t.own / "backups"), 0o500),
}


def made(path: Path) -> Path:
    path.mkdir(parents=True, mode=0o700, exist_ok=True)
    if path.name == "ccmove":
        (path / "lock").touch(0o600)
    return path


@pytest.mark.parametrize("options", [[], ["--only"]], ids=["all", "only"])
def test_a_closed_directory_of_another_project_is_named_and_stops_nobody(
    target: Target, options: list[str]
) -> None:
    """Left there by `sudo claude`, and of a name that may be of something in OLD."""
    closed = target.handle.directory.with_name(f"{target.handle.directory.name}-docker")
    closed.mkdir(exist_ok=True)
    closed.chmod(0o000)
    if AS_ROOT:
        os.chown(closed, NOBODY, NOBODY)
    try:
        done = ordinary(target, "--json", *options, target.old, target.new)
        listed, undone = ordinary(target, "list"), ordinary(target, "restore")
    finally:
        closed.chmod(0o700)
    assert done.exit == 0, done
    rows = {row["file"]: row["what"] for row in done.json()["left_alone"]}
    assert rows[str(closed)] == "can't be read, and stays as it is: Permission denied"
    assert listed.exit == 0
    assert listed.err.startswith(f"Note: {closed}: Permission denied\n")
    assert undone.exit == 0, undone


@pytest.mark.parametrize("what", LOCKED)
def test_an_ordinary_user_is_told_what_is_locked(target: Target, what: str) -> None:
    where, mode = LOCKED[what]
    path = where(target)
    before = stat.S_IMODE(path.stat().st_mode)
    target.remember()
    path.chmod(mode)
    try:
        dry = ordinary(target, "--dry-run", target.old, target.new)
        done = ordinary(target, target.old, target.new)
    finally:
        path.chmod(before)
    code = (
        0
        if what in ("the list of plugins", "a job", "backups")
        else 4
        if mode & 0o400
        else 1
    )
    assert done.exit == code, done
    assert dry.exit == (0 if what == "our lock" else code), (
        dry
    )  # which a preview leaves alone
    if done.exit:
        assert str(path) in done.err, done.err
        target.nothing_changed()
        target.nothing_left_over()
        assert target.move().exit == 0, "when that is fixed, all goes well"


def test_a_home_below_a_directory_that_can_only_be_passed_is_not_in_the_way(
    target: Target,
) -> None:
    """/home is often 0711: nobody may list it, everyone may go through."""
    target.state.root.chmod(0o111)
    try:
        done = ordinary(target, target.old, target.new)
    finally:
        target.state.root.chmod(0o755)
    assert done.exit == 0, done


def test_a_home_that_is_reached_through_a_link_is_not_in_the_way(
    target: Target,
) -> None:
    link = target.state.root / "link-to-home"
    link.symlink_to(target.state.home)
    assert target.run_alone(target.old, target.new, env={"HOME": str(link)}).exit == 0
    assert target.target.is_dir()
    assert str(target.new) in target.state.config()["projects"]
    assert target.run_alone("restore", env={"HOME": str(link)}).exit == 0
    assert target.handle.directory.is_dir()
