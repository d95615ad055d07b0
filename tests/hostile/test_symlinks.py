"""A link that leads out of the state is refused with exit 4 and followed by nobody.

`$C` itself and the config file may be links, as dotfile managers make them:
systems/test_homes.py.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.attack import Target
from tests.support import tree


def path_at(target: Target, place: str) -> Path:
    """The path in the state that a row names, by the words before its first stroke.

    A star stands for the one name that is there.
    """
    root, _, below = place.partition("/")
    roots = {
        "OLD": target.handle.directory,
        "NEW": target.target,
        "NEIGHBOUR": target.neighbour.directory,
        "$C": target.state.config_dir,
        "HOME": target.state.home,
    }
    path = roots[root] / below
    if "*" in below:
        (path,) = roots[root].glob(below)
    return path


def lead_out(target: Target, path: Path) -> None:
    """Put the thing outside and a link in its place, as someone who shares his state
    would.
    """
    there = target.outside / path.name
    if path.is_dir() or path.is_file():
        path.rename(there)
    elif path.suffix or path.name in ("lock", ".session-aliases"):
        there.write_text("{}")
    else:
        there.mkdir()
        (there / "precious").write_text("precious")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.symlink_to(there)


def dangle(target: Target, path: Path) -> None:
    """Take the thing away, and leave a link to where nothing is yet."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if os.path.lexists(path):
        path.rename(target.state.root / f"taken-{path.name}")
    path.symlink_to(target.outside / "not-there-yet")


# Everything in the state that a move reads, writes, renames or makes.
MOVE_PATHS = {
    "the project directory": "OLD",
    "the target directory": "NEW",
    "the index": "OLD/sessions-index.json",
    "the aliases": "OLD/.session-aliases",
    "aliases of another project": "NEIGHBOUR/.session-aliases",
    "the aliases at NEW": "NEW/.session-aliases",
    "the history": "$C/history.jsonl",
    "plugins": "$C/plugins",
    "the list of plugins": "$C/plugins/installed_plugins.json",
    "jobs": "$C/jobs",
    "a job": "$C/jobs/*",
    "a job's state": "$C/jobs/*/state.json",
    "sessions": "$C/sessions",
    "a running session": "$C/sessions/1.json",
    "the daemon's lock": "$C/daemon.lock",
    "$C/ccmove": "$C/ccmove",
    "backups": "$C/ccmove/backups",
    "our lock": "$C/ccmove/lock",
    "the directory of a run": "$C/ccmove/run",
    "the client's history lock": "$C/history.jsonl.lock",
    "the client's config lock": "HOME/.claude.json.lock",
}


@pytest.mark.parametrize("plant", [lead_out, dangle])
@pytest.mark.parametrize("where", MOVE_PATHS)
def test_a_move_refuses_a_link_at(
    target: Target, where: str, plant: Callable[[Target, Path], None]
) -> None:
    path = path_at(target, MOVE_PATHS[where])
    plant(target, path)
    target.remember()
    for options in (("--dry-run",), ()):
        done = target.move(*options)
        assert done.exit == 4, (options, done)
        assert str(path) in done.err
        target.nothing_changed(ignore=())


@pytest.mark.parametrize("plant", [lead_out, dangle])
@pytest.mark.parametrize("name", ["sessions-index.json", "memory/MEMORY.md"])
def test_a_link_that_a_file_meets_in_a_merge_is_not_followed_and_both_stay(
    target: Target, name: str, plant: Callable[[Target, Path], None]
) -> None:
    path = target.target / name
    plant(target, path)
    leads_to = os.readlink(path)
    outside = Path(leads_to).read_bytes() if path.exists() else None
    assert target.move().exit == 0
    assert os.readlink(path) == leads_to
    assert (Path(leads_to).read_bytes() if path.exists() else None) == outside
    beside = path.with_name(f"{path.stem} (from my-app){path.suffix}")
    assert beside.is_file()
    assert not beside.is_symlink()


BACKUP_PATHS = {
    "$C/ccmove": "$C/ccmove",
    "backups": "$C/ccmove/backups",
    "the backup": "$C/ccmove/backups/*",
    "its manifest": "$C/ccmove/backups/*/manifest.json",
    "its files": "$C/ccmove/backups/*/files",
    "a saved file": "$C/ccmove/backups/*/files/0.before",
    "the moved directory": "NEW",
    "the moved index": "NEW/sessions-index.json",
    "the history": "$C/history.jsonl",
    "the directory of a run": "$C/ccmove/run",
}


@pytest.mark.parametrize("where", BACKUP_PATHS)
def test_a_restore_refuses_a_link_at(target: Target, where: str) -> None:
    assert target.move().exit == 0
    identifier = next((target.own / "backups").iterdir()).name
    path = path_at(target, BACKUP_PATHS[where])
    lead_out(target, path)
    target.remember()
    for arguments in (["restore", "--dry-run", identifier], ["restore", identifier]):
        done = target.run(*arguments)
        assert done.exit == 4, (arguments, done)
        assert str(path) in done.err
        target.nothing_changed(ignore=())


PRUNE = ["prune", "--keep", "0"]


@pytest.mark.parametrize(
    ("command", "where", "codes"),
    [
        (["backups"], "$C/ccmove", (4,)),
        (["backups"], "backups", (4,)),
        (PRUNE, "$C/ccmove", (4,)),
        (PRUNE, "backups", (4,)),
        (PRUNE, "the backup", (4,)),
        (["recover"], "$C/ccmove", (4, 5)),
        (["recover"], "the directory of a run", (4, 5)),
    ],
    ids=str,
)
def test_commands_on_backups_refuse_a_link(
    target: Target, command: list[str], where: str, codes: tuple[int, ...]
) -> None:
    assert target.move().exit == 0
    lead_out(target, path_at(target, BACKUP_PATHS[where]))
    target.remember()
    assert target.run(*command).exit in codes
    target.nothing_changed(
        ignore=[".claude/ccmove/lock"] if where == "the backup" else ()
    )


def test_pruning_does_not_follow_links_inside_a_backup(target: Target) -> None:
    assert target.move().exit == 0
    (target.outside / "precious").write_text("precious")
    backup = path_at(target, BACKUP_PATHS["the backup"])
    (backup / "files" / "link").symlink_to(target.outside)
    target.remember()
    assert target.run(*PRUNE).exit == 0
    target.outside_is_untouched()
    assert not backup.exists()


# -- links that may be there: systems/test_homes.py has those of a dotfile manager ----------------


def test_links_among_a_projects_files_move_as_links(target: Target) -> None:
    """A transcript or a memory that is a link is renamed; what it points to is never
    opened.
    """
    victim = target.outside / "transcript"
    target.handle.transcripts[0].rename(victim)
    target.handle.transcripts[0].symlink_to(victim)
    lead_out(target, target.handle.memory)
    target.remember()
    assert target.move("--hash").exit == 0
    assert (target.target / target.handle.transcripts[0].name).is_symlink()
    assert (target.target / "memory").is_symlink()
    target.outside_is_untouched()


def test_project_files_behind_a_link_are_left_alone(target: Target) -> None:
    settings = target.outside / "settings.json"
    settings.write_text(f'{{"x": "{target.old}"}}')
    (target.new / ".claude").symlink_to(target.outside)
    (target.new / ".mcp.json").symlink_to(settings)
    target.remember()
    done = target.move("--settings", "--json")
    assert done.exit == 0
    left = {item["file"] for item in done.json()["left_alone"]}
    assert {
        str(target.new / ".mcp.json"),
        str(target.new / ".claude" / "settings.json"),
    } <= left
    target.outside_is_untouched()


def test_the_judge_sees_a_touched_victim(target: Target) -> None:
    victim = target.outside / "victim"
    victim.write_text("before")
    target.remember()
    victim.write_text("after!")
    with pytest.raises(AssertionError):
        target.outside_is_untouched()
    assert tree.snapshot(target.outside)["victim"].content == b"after!"
