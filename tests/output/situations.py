"""Every way a user can be refused or fail: how to get there, and what was typed.

Each function brings a state into the situation and returns the arguments. Its name is the name
of the golden file.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
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

    def moved(self) -> str:
        """A move that was done; its ID."""
        self.known()
        self.run(self.old, self.new)
        return max(path.name for path in self.backups.iterdir())

    @property
    def backups(self) -> Path:
        return self.state.config_dir / "ccmove" / "backups"

    def run(self, *arguments: str | Path) -> None:
        with pytest.raises(SystemExit) as ended:
            seams.run_main(["-q", *(str(argument) for argument in arguments)])
        assert ended.value.code == 0

    def live(self, folder: Path) -> None:
        """A process that is registered as a client running in `folder`."""
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        self.children.append(child)
        self.state.session_file(child.pid, str(folder), started(child.pid), "sample-session")

    def close(self) -> None:
        for child in self.children:
            child.kill()
            child.wait()
        for fd in self.open_files:
            os.close(fd)


Situation = Callable[[Stage], Arguments]
SITUATIONS: dict[str, Situation] = {}


def situation(function: Situation) -> Situation:
    SITUATIONS[function.__name__] = function
    return function


def paths(stage: Stage, *options: str) -> Arguments:
    return [*options, str(stage.old), str(stage.new)]


# -- the command line: nothing is planted, this alone is typed -------------------------------------

TYPED = {
    "usage_unknown_option": ["--dryrun", "OLD", "NEW"],
    "nothing_about_one_path": ["OLD"],
    "usage_misspelled_command": ["restor"],
    "usage_three_paths": ["OLD", "NEW", "third"],
    "usage_empty_path": ["", "NEW"],
    "usage_unknown_choice": ["--verify", "twice", "OLD", "NEW"],
    "usage_option_without_value": ["restore", "--config-dir"],
    "usage_list_and_paths": ["--from-file", "moves.txt", "OLD", "NEW"],
    "nothing_is_not_an_id": ["restore", "yesterday"],
    "usage_prune_what": ["backups", "--prune"],
    "usage_keep_without_prune": ["backups", "--keep", "3"],
    "usage_negative_keep": ["backups", "--prune", "--keep", "-1"],
    "usage_not_an_age": ["backups", "--prune", "--older-than", "long"],
    "paths_neither_there": ["OLD", "NEW"],
    "paths_the_same": ["OLD", "OLD/"],
    "paths_root": ["/", "NEW"],
    "nothing_to_undo": ["restore"],
    "nothing_with_that_id": ["restore", "20200101T000000Z-0000"],
}
LISTED = {  # lines of a file that is given to --from-file
    "usage_list_without_tab": "# moves\nOLD NEW\n",
    "usage_list_is_empty": "# nothing here\n",
    "usage_list_moves_twice": "OLD\tNEW\nOLD\tNEW2\n",
    "paths_in_a_list": "# moves\nOLD\tNEW\n",
}


def filled_in(stage: Stage, text: str) -> str:
    return text.replace("OLD", str(stage.old)).replace("NEW", str(stage.new))


def typed(words: Arguments) -> Situation:
    return lambda stage: [filled_in(stage, word) for word in words]


def listed(text: str) -> Situation:
    def write(stage: Stage) -> Arguments:
        file = stage.state.root / "moves.txt"
        file.write_text(filled_in(stage, text))
        return ["--from-file", str(file)]

    return write


SITUATIONS.update({name: typed(words) for name, words in TYPED.items()})
SITUATIONS.update({name: listed(text) for name, text in LISTED.items()})


@situation
def usage_list_is_missing(stage: Stage) -> Arguments:
    return ["--from-file", str(stage.state.root / "moves.txt")]


# -- the paths ----------------------------------------------------------------------------------


@situation
def paths_old_still_there(stage: Stage) -> Arguments:
    stage.old.mkdir()
    return paths(stage, "--verify", "full")


@situation
def paths_both_there(stage: Stage) -> Arguments:
    stage.old.mkdir()
    stage.new.mkdir()
    return paths(stage)


@situation
def paths_new_is_a_file(stage: Stage) -> Arguments:
    stage.new.write_text("")
    return paths(stage)


@situation
def paths_folder_into_itself(stage: Stage) -> Arguments:
    stage.old.mkdir()
    return ["--move-folder", str(stage.old), str(stage.old / "inner")]


@situation
def paths_folder_is_gone(stage: Stage) -> Arguments:
    stage.new.mkdir()
    return paths(stage, "--move-folder")


@situation
def paths_folder_in_the_way(stage: Stage) -> Arguments:
    stage.old.mkdir()
    stage.new.mkdir()
    return paths(stage, "--move-folder")


@situation
def paths_folder_without_parent(stage: Stage) -> Arguments:
    stage.state.project("my-app", make_folder=True)
    return ["--move-folder", str(stage.old), str(stage.state.code / "no" / "such" / "parent")]


@situation
def paths_folder_is_a_link(stage: Stage) -> Arguments:
    real = stage.state.root / "disk" / "app"
    real.mkdir(parents=True)
    stage.old.symlink_to(real)
    return paths(stage, "--move-folder")


@situation
def paths_what_mv_does(stage: Stage) -> Arguments:
    (stage.new / "my-app" / ".git").mkdir(parents=True)
    return paths(stage)


@situation
def paths_in_a_folder_that_is_gone(stage: Stage) -> Arguments:
    stage.old.mkdir()
    stage.monkeypatch.chdir(stage.old)
    stage.monkeypatch.setenv("PWD", str(stage.old))
    stage.old.rmdir()
    return [".", str(stage.new)]


# -- nothing known ------------------------------------------------------------------------------


@situation
def nothing_in_a_line_of_a_list(stage: Stage) -> Arguments:
    stage.known()
    return listed("OLD\tNEW\nOLDs\tNEW\n")(stage)


@situation
def nothing_did_you_mean(stage: Stage) -> Arguments:
    stage.known()
    stage.state.project("elsewhere/my-app")
    return ["--dry-run", str(stage.state.code / "my-ap"), str(stage.new)]


@situation
def nothing_like_it(stage: Stage) -> Arguments:
    stage.new.mkdir()
    return paths(stage)


@situation
def nothing_left_to_move(stage: Stage) -> Arguments:
    stage.moved()
    return paths(stage)


@situation
def nothing_no_config_dir(stage: Stage) -> Arguments:
    stage.new.mkdir()
    return paths(stage, "--config-dir", str(stage.state.root / "nowhere"))


@situation
def nothing_with_that_id_in_another_place(stage: Stage) -> Arguments:
    return ["restore", "--config-dir", str(stage.state.config_dir), "20200101T000000Z-0000"]


# -- somebody or something is in the way ----------------------------------------------------------


@situation
def refused_another_project(stage: Stage) -> Arguments:
    stage.state.project("my-app", repo="me/my-app")
    stage.state.project("new-app", make_folder=True, repo="acme/new-app")
    return paths(stage)


@situation
def refused_living_twin(stage: Stage) -> Arguments:
    stage.known()
    stage.state.project("new/app", make_folder=True)
    return paths(stage, "--only")


@situation
def refused_session_elsewhere(stage: Stage) -> Arguments:
    stage.known()
    record = stage.state.session_file(77, str(stage.new), "1", "sample-session")
    record.write_text(json.dumps({**json.loads(record.read_text()), "pidDomain": "elsewhere"}))
    os.utime(record, (1_700_000_000, 1_700_000_000))
    return paths(stage, "--dry-run")


@situation
def refused_live_session(stage: Stage) -> Arguments:
    stage.known()
    stage.live(stage.new)
    return paths(stage, "--only")


@situation
def refused_live_session_preview(stage: Stage) -> Arguments:
    stage.known()
    stage.live(stage.new)
    return paths(stage, "--dry-run")


@situation
def refused_live_session_restore(stage: Stage) -> Arguments:
    stage.moved()
    stage.live(stage.new)
    return ["restore"]


@situation
def refused_other_ccmove(stage: Stage) -> Arguments:
    stage.moved()
    fd = os.open(stage.state.config_dir / "ccmove" / "lock", os.O_RDWR)
    stage.open_files.append(fd)
    filelock.lock_descriptor(fd, blocking=False)
    return ["restore"]


@situation
def refused_client_lock(stage: Stage) -> Arguments:
    stage.known()
    stage.monkeypatch.setattr(seams.module("locks"), "WAIT", 0.1)
    (stage.state.config_dir / "history.jsonl.lock").mkdir()
    return paths(stage)


@situation
def refused_conflict(stage: Stage) -> Arguments:
    stage.known()
    for path, text in (("my-app", "old"), ("new-app", "new")):
        stage.state.project(path, memory={"style.md": f"{text} style\n"})
    return paths(stage)


@situation
def refused_other_owner(stage: Stage) -> Arguments:
    stage.known()
    stage.monkeypatch.setattr(os, "geteuid", lambda: 4242)
    return paths(stage)


@situation
def refused_full_disk(stage: Stage) -> Arguments:
    stage.known()

    class Full:
        f_bavail, f_files = 1, 0
        f_frsize = 4096

    stage.monkeypatch.setattr(os, "statvfs", lambda _: Full)
    return paths(stage)


@situation
def refused_projects_is_a_file(stage: Stage) -> Arguments:
    stage.new.mkdir()
    stage.state.projects.rmdir()
    stage.state.projects.write_text("")
    return paths(stage)


@situation
def refused_history_leads_out(stage: Stage) -> Arguments:
    stage.known()
    elsewhere = stage.state.root / "history.jsonl"
    stage.state.history.rename(elsewhere)
    stage.state.history.symlink_to(elsewhere)
    return paths(stage)


@situation
def refused_history_is_a_directory(stage: Stage) -> Arguments:
    stage.known()
    stage.state.history.unlink()
    stage.state.history.mkdir()
    return paths(stage)


@situation
def refused_config_is_not_json(stage: Stage) -> Arguments:
    stage.known()
    stage.state.config_file.write_text('{"projects": ')
    return paths(stage)


# -- backups --------------------------------------------------------------------------------------


@situation
def restore_undone_already(stage: Stage) -> Arguments:
    identifier = stage.moved()
    stage.run("restore")
    return ["restore", identifier]


@situation
def restore_saved_file_is_missing(stage: Stage) -> Arguments:
    identifier = stage.moved()
    (stage.backups / identifier / "files" / "0.before").unlink()
    return ["restore"]


@situation
def restore_saved_file_was_changed(stage: Stage) -> Arguments:
    identifier = stage.moved()
    (stage.backups / identifier / "files" / "0.before").write_text("{}")
    return ["restore"]


def tamper(stage: Stage, **values: Any) -> str:
    identifier = stage.moved()
    file = stage.backups / identifier / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))
    return identifier


@situation
def restore_manifest_of_another_version(stage: Stage) -> Arguments:
    return ["restore", tamper(stage, schema=99)]


@situation
def restore_manifest_was_changed(stage: Stage) -> Arguments:
    return ["restore", tamper(stage, kind="restore")]


@situation
def recover_journal_can_not_be_read(stage: Stage) -> Arguments:
    stage.moved()
    (stage.state.config_dir / "ccmove" / "journal.json").write_text("{")
    return ["recover"]


# -- failures -------------------------------------------------------------------------------------


@situation
def failed_permission(stage: Stage) -> Arguments:
    stage.known()
    plant(stage, PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(stage.new)))
    return paths(stage)


@situation
def failed_io_error(stage: Stage) -> Arguments:
    stage.known()
    plant(stage, OSError(errno.EIO, os.strerror(errno.EIO), str(stage.new)))
    return paths(stage)


@situation
def failed_bug(stage: Stage) -> Arguments:
    stage.known()
    plant(stage, KeyError("what nobody foresaw"))
    return paths(stage)


@situation
def failed_bug_with_a_journal_left(stage: Stage) -> Arguments:
    stage.moved()
    (stage.state.config_dir / "ccmove" / "journal.json").write_text("{}")
    plant(stage, KeyError("what nobody foresaw"))
    return paths(stage)


@situation
def failed_interrupted(stage: Stage) -> Arguments:
    stage.known()
    plant(stage, KeyboardInterrupt())
    return paths(stage)


def plant(stage: Stage, error: BaseException) -> None:
    """Make the look at the state fail in this way."""

    def fail(*_: object, **__: object) -> None:
        raise error

    stage.monkeypatch.setattr("ccmove.cli.move.plan_move", fail)


@pytest.fixture
def stage(state: StateBuilder, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    stage = Stage(state, monkeypatch)
    yield stage
    stage.close()
