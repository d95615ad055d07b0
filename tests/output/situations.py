"""Every way a user can be refused or fail: how to get there, and what is typed.

The name of a situation is that of its golden file.
"""

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import filelock
import pytest

from tests.support import seams
from tests.support.processes import started
from tests.support.state import StateBuilder

Arguments = list[str]


@dataclass
class Stage:
    """What a situation may work with; `folder` and `known` make the usual things."""

    state: StateBuilder
    monkeypatch: pytest.MonkeyPatch
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)
    open_files: list[int] = field(default_factory=list)
    identifier: str = ""  # of the move that was done

    @property
    def old(self) -> Path:
        return self.state.code / "my-app"

    @property
    def new(self) -> Path:
        return self.state.code / "new-app"

    def known(self) -> None:
        """OLD has state and is renamed to NEW already."""
        self.state.project("my-app")
        self.new.mkdir()

    def moved(self) -> None:
        self.known()
        self.run(self.old, self.new)
        self.identifier = seams.backup_ids(self.state)[0]

    def run(self, *arguments: str | Path) -> None:
        assert seams.exit_code_of(["-q", *map(str, arguments)]) == 0

    def close(self) -> None:
        for child in self.children:
            child.kill()
            child.wait()
        for fd in self.open_files:
            os.close(fd)


Situation = Callable[[Stage], Arguments]
Step = Callable[[Stage], object]


def filled_in(stage: Stage, text: str) -> str:
    places = {
        "OLD": stage.old,
        "NEW": stage.new,
        "ROOT": stage.state.root,
        "ID": stage.identifier,
    }
    return re.sub("OLD|NEW|ROOT|ID", lambda found: str(places[found[0]]), text)


def typed(words: str, *steps: Step) -> Situation:
    def bring(stage: Stage) -> Arguments:
        for step in steps:
            step(stage)
        return [filled_in(stage, word) for word in words.split(" ")]

    return bring


def listed(text: str, *steps: Step) -> Situation:
    """After these steps a file with these lines is given to --from-file."""
    return typed("--from-file ROOT/moves.txt", *steps, file("ROOT/moves.txt", text))


def folder(*names: str) -> Step:
    return lambda stage: [
        Path(filled_in(stage, name)).mkdir(parents=True) for name in names
    ]


def file(name: str, text: str = "") -> Step:
    return lambda stage: Path(filled_in(stage, name)).write_text(filled_in(stage, text))


def run_left(text: str) -> Step:
    """A run that was interrupted, whose manifest is this."""

    def make(stage: Stage) -> None:
        run = Path(filled_in(stage, RUN))
        run.mkdir(mode=0o700)
        (run / "manifest.json").write_text(text)

    return make


def checkout(name: str, repository: str) -> Step:
    """A folder that is a checkout of this repository."""

    def make(stage: Stage) -> None:
        place = Path(filled_in(stage, name))
        address = f"https://example.org/{repository}.git"
        subprocess.run(["git", "init", "-q", str(place)], check=True)
        add = ["git", "-C", str(place), "remote", "add", "origin", address]
        subprocess.run(add, check=True)

    return make


def project(name: str, **more: Any) -> Step:
    return lambda stage: stage.state.project(name, **more)


def session_in_both(*names: str) -> Step:
    """One session that went on in each of these projects."""
    session = "01234567-89ab-cdef-0123-456789abcdef"

    def make(stage: Stage) -> None:
        for name in names:
            stage.state.add_session(name, session_id=session, text=f"in {name}")

    return make


def gone_from_under_us(stage: Stage) -> None:
    stage.monkeypatch.chdir(stage.old)
    stage.monkeypatch.setenv("PWD", str(stage.old))
    stage.old.rmdir()


def folder_is_a_link(stage: Stage) -> None:
    real = stage.state.root / "disk" / "app"
    real.mkdir(parents=True)
    stage.old.symlink_to(real)


def live(stage: Stage) -> None:
    """A process that is registered as a client running in NEW."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    stage.children.append(child)
    stage.state.session_file(
        child.pid, str(stage.new), started(child.pid), "sample-session"
    )


def live_elsewhere(stage: Stage) -> None:
    record = stage.state.session_file(77, str(stage.new), "1", "sample-session")
    record.write_text(
        json.dumps({**json.loads(record.read_text()), "pidDomain": "elsewhere"})
    )
    os.utime(record, (1_700_000_000, 1_700_000_000))


def other_ccmove(stage: Stage) -> None:
    fd = os.open(seams.own(stage.state) / "lock", os.O_RDWR)
    stage.open_files.append(fd)
    filelock.lock_descriptor(fd, blocking=False)


def patched(what: str, value: object) -> Step:
    return lambda stage: stage.monkeypatch.setattr(what, value)


def gone(name: str) -> Step:
    def remove(stage: Stage) -> None:
        path = Path(filled_in(stage, name))
        path.rmdir() if path.is_dir() else path.unlink()

    return remove


def history_leads_out(stage: Stage) -> None:
    elsewhere = stage.state.root / "history.jsonl"
    stage.state.history.rename(elsewhere)
    stage.state.history.symlink_to(elsewhere)


def tampered(**values: object) -> Step:
    def tamper(stage: Stage) -> None:
        manifest = seams.manifest(stage.state, stage.identifier)
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **values}))

    return tamper


def fails_with(error: BaseException | int) -> Step:
    """Make the look at the state fail in this way."""

    def plant(stage: Stage) -> None:
        def fail(*_: object, **__: object) -> None:
            if isinstance(error, int):
                raise OSError(error, os.strerror(error), str(stage.new))
            raise error

        stage.monkeypatch.setattr("ccmove.commands.move.plan_move", fail)

    return plant


known, moved = Stage.known, Stage.moved
RUN = "ROOT/home/.claude/ccmove/run"
SAVED = "ROOT/home/.claude/ccmove/backups/ID/files/0.before"
HISTORY, PROJECTS = "ROOT/home/.claude/history.jsonl", "ROOT/home/.claude/projects"
FULL = SimpleNamespace(f_blocks=1, f_bavail=1, f_files=0, f_frsize=4096)
UNFORESEEN = KeyError("what nobody foresaw")

SITUATIONS: dict[str, Situation] = {
    # the command line
    "usage_unknown_option": typed("--dryrun OLD NEW"),
    "nothing_about_one_path": typed("OLD"),
    "usage_misspelled_command": typed("undoo"),
    "usage_three_paths": typed("OLD NEW third"),
    "usage_empty_path": typed(" NEW"),
    "usage_unknown_choice": typed("list --sort colour"),
    "usage_option_without_value": typed("undo --config-dir"),
    "usage_list_and_paths": typed("--from-file moves.txt OLD NEW"),
    "usage_list_is_missing": typed("--from-file ROOT/moves.txt"),
    "usage_list_without_tab": listed("# moves\nOLD NEW\n"),
    "usage_list_is_empty": listed("# nothing here\n"),
    "usage_list_moves_twice": listed("OLD\tNEW\nOLD\tNEW2\n"),
    "usage_negative_keep": typed("prune --keep -1"),
    "usage_not_an_age": typed("prune --older-than long"),
    # the paths
    "paths_neither_there": typed("OLD NEW"),
    "paths_neither_there_and_known": typed("OLD NEW", known, gone("NEW")),
    "paths_almost_the_name": typed("OLD ROOT/code/new-ap", known),
    "paths_same_repository": typed(
        "OLD ROOT/code/frontent",
        project("my-app", repo="acme/my-app"),
        checkout("ROOT/code/site", "acme/my-app"),
    ),
    "paths_in_a_list": listed("# moves\nOLD\tNEW\n"),
    "paths_the_same": typed("OLD OLD/"),
    "paths_root": typed("/ NEW"),
    "paths_old_still_there": typed("--hash OLD NEW", folder("OLD"), project("my-app")),
    "paths_old_still_there_and_unknown": typed("OLD NEW", folder("OLD")),
    "paths_swapped": typed("OLD NEW", folder("OLD"), project("new-app")),
    "paths_both_there": typed("OLD NEW", folder("OLD", "NEW"), project("my-app")),
    "paths_new_is_a_file": typed("OLD NEW", file("NEW")),
    "paths_folder_into_itself": typed("--move-folder OLD OLD/inner", folder("OLD")),
    "paths_into_itself": typed("OLD OLD/inner", project("my-app", make_folder=True)),
    "paths_folder_is_gone": typed("--move-folder OLD NEW", folder("NEW")),
    "paths_folder_in_the_way": typed("--move-folder OLD NEW", folder("OLD", "NEW")),
    "paths_folder_without_parent": typed(
        "--move-folder OLD ROOT/code/no/such/parent",
        project("my-app", make_folder=True),
    ),
    "paths_folder_is_a_link": typed("--move-folder OLD NEW", folder_is_a_link),
    "paths_what_mv_does": typed("OLD NEW", folder("NEW/my-app/.git")),
    "paths_in_a_folder_that_is_gone": typed(". NEW", folder("OLD"), gone_from_under_us),
    # nothing known
    "nothing_is_not_an_id": typed("restore yesterday"),
    "nothing_to_undo": typed("restore"),
    "nothing_with_that_id": typed("restore 20200101T000000Z-0000"),
    "nothing_with_that_id_in_another_place": typed(
        "restore --config-dir ROOT/home/.claude 20200101T000000Z-0000"
    ),
    "nothing_in_a_line_of_a_list": listed("OLD\tNEW\nOLDs\tNEW\n", known),
    "nothing_did_you_mean": typed(
        "--dry-run ROOT/code/my-ap NEW", known, project("elsewhere/my-app")
    ),
    "nothing_like_it": typed("OLD NEW", folder("NEW")),
    "nothing_left_to_move": typed("OLD NEW", moved),
    "nothing_no_config_dir": typed("--config-dir ROOT/nowhere OLD NEW", folder("NEW")),
    # somebody or something is in the way
    "refused_another_project": typed(
        "OLD NEW",
        project("my-app", repo="me/my-app"),
        project("new-app", make_folder=True, repo="acme/new-app"),
    ),
    "refused_living_twin": typed(
        "--only OLD NEW", known, project("new/app", make_folder=True)
    ),
    "refused_session_elsewhere": typed("--dry-run OLD NEW", known, live_elsewhere),
    "refused_live_session": typed("--only OLD NEW", known, live),
    "refused_live_session_preview": typed("--dry-run OLD NEW", known, live),
    "refused_live_session_restore": typed("restore", moved, live),
    "refused_other_ccmove": typed("restore", moved, other_ccmove),
    "refused_client_lock": typed(
        "OLD NEW",
        known,
        patched("ccmove.run.locks.WAIT", 0.1),
        folder(f"{HISTORY}.lock"),
    ),
    "refused_session_in_two_files": typed(
        "OLD NEW", known, session_in_both("my-app", "new-app")
    ),
    "refused_other_owner": typed("OLD NEW", known, patched("os.geteuid", lambda: 4242)),
    "refused_full_disk": typed("OLD NEW", known, patched("os.statvfs", lambda _: FULL)),
    "refused_projects_is_a_file": typed(
        "OLD NEW", folder("NEW"), gone(PROJECTS), file(PROJECTS)
    ),
    "refused_history_leads_out": typed("OLD NEW", known, history_leads_out),
    "refused_history_is_a_directory": typed(
        "OLD NEW", known, gone(HISTORY), folder(HISTORY)
    ),
    "refused_config_is_not_json": typed(
        "OLD NEW", known, file("ROOT/home/.claude.json", '{"projects": ')
    ),
    # backups
    "restore_undone_already": typed(
        "restore ID", moved, lambda stage: stage.run("restore")
    ),
    "restore_saved_file_is_missing": typed("restore", moved, gone(SAVED)),
    "restore_saved_file_was_changed": typed("restore", moved, file(SAVED, "{}")),
    "restore_manifest_of_another_version": typed(
        "restore ID", moved, tampered(schema=99)
    ),
    "restore_manifest_was_changed": typed(
        "restore ID", moved, tampered(kind="restore")
    ),
    "recover_run_can_not_be_read": typed("recover", moved, run_left("{}")),
    # failures
    "failed_permission": typed("OLD NEW", known, fails_with(errno.EACCES)),
    "failed_io_error": typed("OLD NEW", known, fails_with(errno.EIO)),
    "failed_bug": typed("OLD NEW", known, fails_with(UNFORESEEN)),
    "failed_bug_with_a_run_left": typed(
        "OLD NEW", moved, run_left("{}"), fails_with(UNFORESEEN)
    ),
    "failed_interrupted": typed("OLD NEW", known, fails_with(KeyboardInterrupt())),
}


@pytest.fixture
def stage(state: StateBuilder, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    stage = Stage(state, monkeypatch)
    yield stage
    stage.close()
