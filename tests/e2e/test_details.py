"""Small things of the command line that were once wrong, or that nothing else looks at."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.inspect.conftest import git, make_repo
from tests.support import tree
from tests.support.history_oracle import moved_history
from tests.support.run import run_ccmove, run_child
from tests.support.state import StateBuilder, encoded_name
from tests.systems import windows


@pytest.fixture
def ready(state: StateBuilder) -> StateBuilder:
    (state.code / "new").mkdir()
    return state


def moved(state: StateBuilder, *args: str | Path, code: int = 0) -> dict[str, Any]:
    done = run_ccmove(
        "--json", *args, state.code / "my-app", state.code / "new", state=state
    )
    assert done.exit == code, (done.out, done.err)
    report = done.json()
    assert isinstance(report, dict)
    return report


def directory(state: StateBuilder, name: str) -> Path:
    return state.projects / encoded_name(str(state.code / name))


def everything(state: StateBuilder) -> tree.Tree:
    return {k: v for k, v in tree.snapshot(state.home).items() if "/ccmove" not in k}


def restored(state: StateBuilder, before: tree.Tree) -> None:
    assert run_ccmove("restore", state=state).exit == 0
    assert tree.diff(before, everything(state)) == []


@pytest.mark.parametrize("lacking", ["history", "config_file", "both"])
def test_a_state_without_history_or_config_file(
    ready: StateBuilder, lacking: str
) -> None:
    ready.project("my-app", index=True)
    for name in ("history", "config_file"):
        if lacking in (name, "both"):
            getattr(ready, name).unlink()
    before = everything(ready)
    assert moved(ready)["counts"]["transcripts"] == 2
    assert (ready.history.exists(), ready.config_file.exists()) == (
        lacking == "config_file", lacking == "history",
    )  # fmt: skip
    restored(ready, before)


def test_odd_things_in_a_project_directory_move_along(ready: StateBuilder) -> None:
    handle = ready.project("my-app")
    (handle.directory / "empty.jsonl").touch()
    (handle.directory / "folder.jsonl").mkdir()
    (handle.directory / "torn.jsonl").write_bytes(b'{"cwd":"/x')
    (handle.directory / "link.jsonl").symlink_to("nowhere")
    (handle.directory / os.fsdecode(b"caf\xe9.txt")).touch()
    windows.make_pipe(handle.directory / "pipe.jsonl")
    sizes = [path.stat().st_size for path in handle.transcripts]
    before = everything(ready)
    report = moved(ready)
    moves = {
        f".claude/projects/{handle.name}": f".claude/projects/{directory(ready, 'new').name}"
    }
    now = {
        k: v for k, v in everything(ready).items() if k.startswith(".claude/projects")
    }
    wanted = {k: v for k, v in before.items() if k.startswith(".claude/projects")}
    assert tree.diff(tree.renamed(wanted, moves), now) == []
    (row,) = report["projects"]
    assert (row["transcripts"], row["bytes"]) == (4, sum(sizes) + len(b'{"cwd":"/x'))
    restored(ready, before)


def test_without_transcripts_nothing_is_said_of_them(ready: StateBuilder) -> None:
    ready.project("my-app", sessions=0)
    assert moved(ready)["left_alone"] == []


def test_lines_of_the_history_that_can_not_be_read_are_counted(
    ready: StateBuilder,
) -> None:
    path = ready.project("my-app").path
    broken = f'{{"project":"{path}"\n'.encode()
    ready.history.write_bytes(ready.history.read_bytes() + broken * 2)
    (warning,) = moved(ready)["warnings"]
    assert warning.startswith(f"{ready.history}: 2 lines left as found")


def test_lines_in_the_clients_form_are_taken_for_json_iff_they_are(
    ready: StateBuilder,
) -> None:
    """Python 3.11.2 had a fault that took `\\u` without digits for an escape."""
    path = ready.project("my-app", prompts=0).path
    texts = [
        "".join(t) for n in range(6) for t in itertools.product('\\u"0z', repeat=n)
    ]
    texts += ["\x1f", "\t", "\\x", "\\ud83", "\x7f", "é", "\\ud83d", "\\u0000", "\\/"]
    texts += ["\udcff", "caf\udcc3"]
    pieces = (
        '"1":{"id":1}',
        f'"2":{{"id":2,"project":"{path}"}}',
        ",",
        "{",
        "}",
        '"id"',
        "0",
    )
    pastes = ["".join(p) for n in range(5) for p in itertools.product(pieces, repeat=n)]
    pastes += [f'"1":{{"id":1,"type":"text","content":"{text}"}}' for text in texts]
    numbers = ["01", "+1", "1.", "", "0x1", "1 2", "-", "-1", "1e5"]
    usual = ("x", "", "1780000061003", path, "0a-1")
    odd = (texts, pastes, numbers, [f"{path}/{text}" for text in texts], texts)
    lines = [
        (*usual[:place], value, *usual[place + 1 :])
        for place, values in enumerate(odd)
        for value in values
    ]
    form = '{"display":"%s","pastedContents":{%s},"timestamp":%s,"project":"%s","sessionId":"%s"}\n'
    before = "".join(form % line for line in lines).encode("utf-8", "surrogateescape")
    ready.history.write_bytes(before)
    new = str(ready.code / "new")

    def mapping(project: str) -> str | None:
        inside = project == path or project.startswith(f"{path}/")
        return new + project.removeprefix(path) if inside else None

    moved(ready)
    assert ready.history.read_bytes() == moved_history(before, mapping) != before
    assert run_ccmove("restore", state=ready).exit == 0
    assert ready.history.read_bytes() == before


def test_sessions_that_went_on_in_both_are_counted(ready: StateBuilder) -> None:
    for number in range(3):
        session = str(uuid.UUID(int=number))
        for name, text in (("my-app", "a"), ("new", "b")):
            ready.add_session(name, session_id=session, text=text)
    report = moved(ready, code=4)
    assert len(report["details"]) == 3
    assert " and 2 more" in report["error"]
    assert "ccmove doctor 00000000-0000-0000-0000-000000000000" in report["hint"]


def test_who_holds_our_lock_by_filelock_keeps_us_out(ready: StateBuilder) -> None:
    ready.project("my-app")
    assert moved(ready)["status"] == "moved"
    with FileLock(ready.config_dir / "ccmove" / "lock"):
        before = tree.snapshot(ready.home)
        refused = run_ccmove("restore", state=ready)
        assert (refused.exit, "another ccmove" in refused.err) == (4, True)
        assert tree.diff(before, tree.snapshot(ready.home)) == []
    assert run_ccmove("restore", state=ready).exit == 0


def test_with_and_without_its_name_a_move_says_and_does_the_same(
    ready: StateBuilder,
) -> None:
    old, new = ready.project("my-app").path, ready.code / "new"
    outs = []
    for words in ((old, new), ("move", old, new)):
        done = run_ccmove(*words, state=ready)
        assert (done.exit, done.err) == (0, "")
        outs.append(re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{4}", "ID", done.out))
        assert run_ccmove("restore", state=ready).exit == 0
    assert outs[0] == outs[1]


def test_a_new_folder_may_be_named_like_a_command(state: StateBuilder) -> None:
    """And the old one, written with its place."""
    state.project("restore")
    (state.code / "list").mkdir()
    assert run_ccmove("./restore", "list", state=state, cwd=state.code).exit == 0
    assert directory(state, "list").is_dir()


INTERRUPTED = """
import os, runpy, sys
left = int(sys.argv.pop(1))
count = os.open(os.environ["TMPDIR"] + "/count", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
class Finder:
    seen = 0
    def find_spec(self, name, path=None, target=None):
        Finder.seen += 1
        os.write(count, b".")
        if Finder.seen == left:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
runpy.run_module("ccmove", run_name="__main__", alter_sys=True)
"""


def test_ctrl_c_while_modules_are_loaded_shows_no_traceback(
    ready: StateBuilder,
) -> None:
    """But for the first few, which are loaded before anything of ours can say so."""
    ready.project("my-app")
    words = [sys.executable, "-c", INTERRUPTED]
    paths = [str(ready.code / name) for name in ("my-app", "new")]
    assert run_child([*words, "0", "-n", *paths], state=ready).exit == 0
    loaded = (ready.root / "tmp" / "count").stat().st_size
    assert loaded > 50
    before = tree.snapshot(ready.home)
    for percent in (40, 70, 100):
        done = run_child(
            [*words, str(loaded * percent // 100), "-n", *paths], state=ready
        )
        assert (done.exit, "Traceback" in done.err) == (130, False), done.err
        assert tree.diff(before, tree.snapshot(ready.home)) == []


def test_a_move_that_was_undone_and_made_again_stands(ready: StateBuilder) -> None:
    ready.project("my-app")
    identifiers = []
    states: list[str] = []
    for command in (None, "undo", None, "undo"):
        if command is None:
            identifiers.append(moved(ready)["backup"])
        else:
            done = run_ccmove("--json", command, state=ready)
            identifiers.append(done.json()["backup"])
            states[-1] = "undone"
        states.append("done")
        rows = run_ccmove("backups", "--json", state=ready).json()["backups"][::-1]
        assert [row["id"] for row in rows] == identifiers
        assert [row["state"] for row in rows] == states
    shutil.rmtree(ready.config_dir / "ccmove" / "backups" / identifiers[2])
    rows = run_ccmove("backups", "--json", state=ready).json()["backups"]
    assert rows[0]["state"] == "done"  # what undoes a run that is not there any more


@pytest.mark.parametrize(
    "command", [("doctor",), ("my-app", "new"), ("-n", "my-app", "new")]
)
def test_no_hook_filter_or_monitor_runs_when_a_folder_is_looked_at(
    ready: StateBuilder, command: tuple[str, ...]
) -> None:
    repo = make_repo(ready.code / "new", "acme/app", commit=True)
    trap = ready.root / "sprung"
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        hook = repo / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {trap}\n")
        hook.chmod(0o755)
    for name in (
        "core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "filter.x.clean",
        "gc.recentObjectsHook", "credential.helper", "uploadpack.packObjectsHook",
    ):  # fmt: skip
        git(repo, "config", name, f"touch {trap}")
    (repo / ".gitattributes").write_text("* filter=x\n")
    trap.unlink(missing_ok=True)
    before = tree.snapshot(repo)
    ready.project("my-app", repo="acme/app")
    done = run_ccmove("--json", *command, state=ready, cwd=ready.code)
    if command == ("doctor",):
        (candidate,) = done.json()["findings"][0]["candidates"]
        assert candidate["path"] == str(repo)
    assert not trap.exists()
    assert tree.diff(before, tree.snapshot(repo), mtimes="all", inodes="all") == []
    subprocess.run(
        [windows.git(), "-C", repo, "status"], check=True, capture_output=True
    )
    assert trap.exists()  # the control


@pytest.mark.parametrize("content", ["gitdir: /no/such/place\n", "", "\0\udcff", None])
def test_a_broken_repository_disturbs_nothing(
    ready: StateBuilder, content: str | None
) -> None:
    ready.project("my-app", repo="acme/app")
    if content is None:
        (ready.code / "new" / ".git" / "config").mkdir(parents=True)
    else:
        (ready.code / "new" / ".git").write_bytes(
            content.encode("utf-8", "surrogateescape")
        )
    done = run_ccmove("doctor", "--json", state=ready)
    assert (done.exit, done.json()["findings"][0]["kind"]) == (1, "orphan")
    assert moved(ready)["status"] == "moved"


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:Acme/App.git", "https://github.com/acme/app",
        "https://x@github.com/acme/app/", "ssh://git@github.com:22/acme/app.git",
    ],
)  # fmt: skip
def test_a_remote_is_known_however_it_is_spelled(ready: StateBuilder, url: str) -> None:
    ready.project("my-app", repo="acme/app")
    git(make_repo(ready.code / "new"), "remote", "add", "origin", url)
    found = run_ccmove("doctor", "--json", state=ready).json()["findings"]
    assert [c["path"] for c in found[0]["candidates"]] == [str(ready.code / "new")]


@pytest.mark.parametrize(
    ("version", "has_notes", "is_said"),
    [("2.1.326", True, True), ("2.1.326", False, False), ("2.1.92", True, False)],
)
def test_what_a_resumed_session_still_believes_is_said_where_it_matters(
    state: StateBuilder, version: str, has_notes: bool, is_said: bool
) -> None:
    """Newer clients repeat the recorded system prompt, which names the old memory
    folder.
    """
    memory = {"MEMORY.md": "- tea\n"} if has_notes else {}
    project = state.project("old", sessions=1, memory=memory)
    new = state.code / "new"
    new.mkdir()
    [transcript] = project.transcripts
    record = {"type": "user", "cwd": project.path, "version": version}
    transcript.write_text(json.dumps(record, separators=(",", ":")) + "\n")
    for arguments in (["-n"], []):
        done = run_ccmove(*arguments, project.path, new, state=state)
        assert done.exit == 0
        assert ("in 1 session Claude still" in done.out) == is_said


def test_of_many_moves_the_first_ten_are_told(state: StateBuilder) -> None:
    moves = state.root / "moves.txt"
    lines = []
    for number in range(12):
        state.project(f"old-{number:02}", sessions=1)
        new = state.code / f"new-{number:02}"
        new.mkdir()
        lines.append(f"{state.code}/old-{number:02}\t{new}\n")
    moves.write_text("".join(lines))
    preview = run_ccmove("-n", "--from-file", moves, state=state)
    assert preview.out.count("Would move  ") == 10
    assert "  and 2 more (-v)\n" in preview.out
    whole = run_ccmove("-n", "-v", "--from-file", moves, state=state)
    assert whole.out.count("Would move  ") == 12
