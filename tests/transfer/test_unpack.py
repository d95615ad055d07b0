"""Unpacking: into empty and used homes, and back again.

The archives are made by `tests.support.packed`, with nothing of `ccmove` in it.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.shapes.bench import in_rule
from tests.support.packed import handle_at, packed, written
from tests.support.run import Completed, run_ccmove, run_child
from tests.support.state import ProjectHandle, StateBuilder
from tests.support.tree import snapshot

MEMORY = {"MEMORY.md": "- likes tea\n", "notes.md": "long\n"}


@pytest.fixture
def there(tmp_path: Path) -> StateBuilder:
    """The other machine."""
    return StateBuilder(tmp_path / "there")


@pytest.fixture
def here(tmp_path: Path) -> StateBuilder:
    state = StateBuilder(tmp_path / "here")
    (state.code / "x").mkdir()
    return state


def unpack(
    here: StateBuilder, data: bytes, *args: str, new: str | None = "x"
) -> Completed:
    file = written(here, "app.tar.gz", data)
    place = [here.code / new] if new else []
    return run_ccmove("unpack", file, *place, *args, state=here)


def prompts(state: StateBuilder, path: str) -> list[str]:
    """What arrow-up offers at a path, in its order."""
    spelled = str(state.code / path)
    found = []
    for line in state.history.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["project"] == spelled:
            found.append(record["display"])
    return found


def sessions_with_prompts(state: StateBuilder) -> set[str]:
    lines = state.history.read_text(encoding="utf-8").splitlines()
    return {json.loads(line)["sessionId"] for line in lines}


def contents(project: ProjectHandle) -> dict[str, tuple[bytes, int]]:
    """Of every file of a project but its index: the bytes and the date."""
    found = {}
    for file in project.directory.rglob("*"):
        if file.is_file() and file != project.index:
            inside = file.relative_to(project.directory).as_posix()
            found[inside] = file.read_bytes(), file.stat().st_mtime_ns
    return found


def without_own(state: StateBuilder) -> dict[str, object]:
    """The tree of a home, but for what is ours, and for dates of directories."""
    tree = snapshot(state.home)
    return {
        name: (entry.kind, entry.mode, entry.sha256, entry.target)
        for name, entry in tree.items()
        if not name.startswith(".claude/ccmove")
    }


def test_all_of_a_project_comes_as_it_was(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", index=True, memory=MEMORY)
    pkg = there.project("app/pkg", sessions=1)
    session = app.sessions[0]
    for place, name in (("tasks", "1.json"), ("file-history", "a@v1")):
        folder = there.config_dir / place / session
        folder.mkdir(parents=True)
        (folder / name).write_text("{}")
    done = unpack(here, packed(there, "app", "app/pkg"))
    assert done.exit == 0, done
    assert contents(handle_at(here, "x")) == contents(app)
    assert contents(handle_at(here, "x/pkg")) == contents(pkg)
    assert prompts(here, "x") == prompts(there, "app")
    index = json.loads(handle_at(here, "x").index.read_bytes())
    assert index["originalPath"] == str(here.code / "x")
    for entry in index["entries"]:
        assert entry["projectPath"] == str(here.code / "x")
        assert Path(entry["fullPath"]).is_file()
    assert (here.config_dir / "tasks" / session / "1.json").read_text() == "{}"
    assert (here.config_dir / "file-history" / session / "a@v1").is_file()
    for name in ("x", "x/pkg"):
        (here.code / name).mkdir(exist_ok=True)
    assert run_ccmove("verify", state=here).exit == 0


def test_a_machine_without_any_state_gets_it(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", memory=MEMORY)
    shutil.rmtree(here.config_dir)
    here.config_file.unlink()
    before = without_own(here)
    assert unpack(here, packed(there, "app"), "-n").exit == 0
    assert without_own(here) == before
    assert unpack(here, packed(there, "app"), "--with-config").exit == 0
    assert contents(handle_at(here, "x")) == contents(app)
    entry = here.config()["projects"][str(here.code / "x")]
    assert entry["hasTrustDialogAccepted"] is True
    undone = run_ccmove("undo", state=here)
    assert undone.exit == 0
    assert " kB), 3 prompts, 2 notes\n" in undone.out
    assert here.history.read_bytes() == b""  # Claude Code may use them by now
    assert here.config() == {"projects": {}}
    for file in (here.history, here.config_file):
        assert f"Note: {file} was made by the unpack and stays, empty\n" in undone.out
    assert list(here.projects.iterdir()) == []


def test_undo_leaves_what_others_wrote_where_there_was_no_file(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app")
    here.history.unlink()
    here.config_file.unlink()
    assert unpack(here, packed(there, "app")).exit == 0
    here.add_prompt("elsewhere", "mine")
    config = here.config()
    here.write_config({"numStartups": 1, **config})
    undone = run_ccmove("undo", state=here)
    assert undone.exit == 0, undone
    assert "made by the unpack" not in undone.out
    assert prompts(here, "elsewhere") == ["mine"]
    assert len(here.history.read_bytes().splitlines()) == 1
    assert here.config() == {"numStartups": 1, "projects": {}}


def test_files_that_were_there_and_empty_are_so_again(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app")
    here.config_file.write_bytes(b"")
    before = without_own(here)
    assert unpack(here, packed(there, "app")).exit == 0
    assert run_ccmove("undo", state=here).exit == 0
    assert without_own(here) == before


def test_undo_takes_its_entry_out_of_a_config_file_that_it_made(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app")
    here.config_file.unlink()
    assert unpack(here, packed(there, "app"), "--with-config").exit == 0
    theirs = {"/elsewhere": {"hasTrustDialogAccepted": True}}
    projects = here.config()["projects"] | theirs
    config = {"numStartups": 1, "projects": projects}
    here.write_config(config)
    done = run_ccmove("undo", state=here)
    assert done.exit == 0, done
    assert here.config() == {"numStartups": 1, "projects": theirs}


def test_unpacking_twice_changes_nothing_the_second_time(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app", index=True, memory=MEMORY)
    here.project("x", index=True, memory={"notes.md": "other\n", "MEMORY.md": "- a\n"})
    data = packed(there, "app")
    assert unpack(here, data).exit == 0
    before = without_own(here)
    again = unpack(here, data)
    assert again.exit == 0
    assert "here already" in again.out
    assert again.out[:1] != "\n"
    assert without_own(here) == before


def test_nothing_is_changed_by_a_preview(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app", memory=MEMORY)
    before = snapshot(here.home)
    preview = unpack(here, packed(there, "app"), "-n")
    assert preview.exit == 0
    assert "Would unpack" in preview.out
    assert "3 prompts" in preview.out
    assert snapshot(here.home) == before


def test_packed_unpacked_worked_on_and_brought_back_every_turn_is_there(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = here.project("x", memory=MEMORY)
    (there.code / "app").mkdir()
    first = written(there, "x.tar.gz", packed(here, "x"))
    assert run_ccmove("unpack", first, there.code / "app", state=there).exit == 0
    session = app.sessions[0]
    transcript = handle_at(there, "app").directory / f"{session}.jsonl"
    with transcript.open("ab") as file:
        file.write(b'{"type": "user", "turn": "went on there"}\n')
    there.add_prompt("app", "went on there", session)
    begun = "11111111-2222-4333-8444-555555555555"
    there.add_session("app", session_id=begun, text="begun there")
    back = packed(there, "app")
    done = unpack(here, back)
    assert done.exit == 0, done
    after = handle_at(here, "x")
    assert b"went on there" in (after.directory / f"{session}.jsonl").read_bytes()
    assert (after.directory / f"{begun}.jsonl").is_file()
    assert prompts(here, "x").count("went on there") == 1
    assert run_ccmove("undo", state=here).exit == 0
    assert contents(handle_at(here, "x")) == contents(app)
    assert "went on there" not in prompts(here, "x")


def test_a_session_that_went_on_here_and_there_stays_as_it_is_here(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", prompts=2, subagents=False)
    apart, other = app.sessions
    text = (app.directory / f"{apart}.jsonl").read_bytes()
    mine = handle_at(here, "x").directory
    mine.mkdir()
    (mine / f"{apart}.jsonl").write_bytes(text + b'{"turn": "here"}\n')
    with (app.directory / f"{apart}.jsonl").open("ab") as file:
        file.write(b'{"turn": "there"}\n')
    done = unpack(here, packed(there, "app"))
    assert done.exit == 0, done
    assert apart in done.out
    assert b"here" in (mine / f"{apart}.jsonl").read_bytes()
    assert (mine / f"{other}.jsonl").is_file()
    assert sessions_with_prompts(here) == {other}


def test_a_session_of_another_project_here_is_left_out(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", index=True, subagents=False)
    moved = app.sessions[0]
    here.add_session("elsewhere", session_id=moved)
    done = unpack(here, packed(there, "app"))
    assert done.exit == 0, done
    assert moved in done.out
    after = handle_at(here, "x")
    assert after.sessions == app.sessions[1:]
    assert moved not in after.index.read_text()
    assert moved not in here.history.read_text()


def test_sessions_that_are_elsewhere_here_are_named_together(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", sessions=3)
    for session in app.sessions:
        here.add_session("elsewhere", session_id=session)
    done = unpack(here, packed(there, "app"))
    assert done.exit == 0, done
    (note,) = [line for line in done.out.splitlines() if "left out, they" in line]
    assert note.startswith("Note: 3 sessions were left out, they are in ")
    assert all(session in note for session in app.sessions)


def test_file_and_new_the_wrong_way_round(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app")
    file = here.root / "app.tar.gz"
    file.write_bytes(packed(there, "app"))
    folder = here.code / "x"
    folder.mkdir(exist_ok=True)
    done = run_ccmove("unpack", folder, file, state=here)
    assert done.exit == 2
    assert f"did you mean: ccmove unpack {file} {folder}\n" in done.err


def test_privilege_is_left_out_and_named(
    there: StateBuilder, here: StateBuilder
) -> None:
    entry = {
        "allowedTools": ["Bash(rm:*)", "Bash(ls)"],
        "mcpServers": {"db": {"command": "db-server", "env": {"KEY": ""}}},
        "hooks": {"SessionStart": [{"hooks": []}]},
        "hasTrustDialogAccepted": True,
        "somethingNew": {"allow": "all"},
        "lastCost": 1.5,
    }
    there.project("app", config=entry)
    data = packed(there, "app")
    preview = unpack(here, data, "-n")
    done = unpack(here, data)
    for name in ("Bash(rm:*)", "MCP server db", "hooks for SessionStart", "trust"):
        assert name in done.out
        assert name in preview.out
    assert "somethingNew" in done.out
    together = "allowed tool Bash(rm:*), allowed tool Bash(ls) (would run without"
    assert together in done.out
    assert here.config()["projects"][str(here.code / "x")] == {"lastCost": 1.5}
    asked = unpack(here, data, "--with-config")
    assert asked.exit == 0
    assert "trust, 2 allowed tools, 1 MCP server" in asked.out
    assert "MCP server db, env KEY: not packed" in asked.out
    assert here.config()["projects"][str(here.code / "x")] == entry


def test_what_is_allowed_here_already_is_not_said_to_be_left_out(
    there: StateBuilder, here: StateBuilder
) -> None:
    entry = {
        "allowedTools": ["Bash(ls)", "Bash(rm:*)"],
        "mcpServers": {"db": {"command": "of there"}},
        "hasTrustDialogAccepted": True,
        "odd": {"a": 1, "b": 2},
    }
    there.project("app", config=entry)
    mine = {
        "allowedTools": ["Bash(ls)"],
        "mcpServers": {"db": {"command": "of here"}},  # which stays in any case
        "hasTrustDialogAccepted": True,
        "odd": {"a": 1},
    }
    here.project("x", sessions=0, config=mine)
    for words in (["-n"], []):
        said = unpack(here, packed(there, "app"), *words).out
        (note,) = [line for line in said.splitlines() if "left out, since" in line]
        assert "Bash(rm:*)" in note
        assert "setting odd" in note
        for name in ("Bash(ls)", "trust", "MCP server db"):
            assert name not in note
    asked = unpack(here, packed(there, "app"), "--with-config")
    assert asked.exit == 0, asked
    assert "left out, since" not in unpack(here, packed(there, "app")).out


def test_a_server_that_has_its_values_here_lacks_nothing(
    there: StateBuilder, here: StateBuilder
) -> None:
    empty = {"command": "db", "env": {"KEY": ""}}
    full = {"command": "db", "env": {"KEY": "secret"}}
    there.project("app", config={"mcpServers": {"db": empty, "web": empty}})
    here.project("x", sessions=0, config={"mcpServers": {"db": full}})
    done = unpack(here, packed(there, "app"), "--with-config")
    assert done.exit == 0, done
    assert "MCP server web, env KEY: not packed" in done.out
    assert "MCP server db" not in done.out


def test_a_merge_is_told_where_sessions_join_others_and_only_then(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", subagents=False)
    of_older_client = app.directory / "agent-1.jsonl"
    of_older_client.write_text(f'{{"sessionId": "{app.sessions[0]}"}}\n')
    here.add_session("x", session_id="11111111-2222-4333-8444-555555555555")
    data = packed(there, "app")
    assert "had 1 session of its own" in unpack(here, data).out
    twice = unpack(here, data)
    assert "here already" in twice.out
    assert "of its own" not in twice.out


def test_undo_leaves_a_session_that_went_on_with_all_that_is_its(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", index=True, memory=MEMORY)
    stays, goes = app.sessions
    assert unpack(here, packed(there, "app")).exit == 0
    after = handle_at(here, "x")
    with (after.directory / f"{stays}.jsonl").open("ab") as file:
        file.write(b'{"turn": "since"}\n')
    here.add_prompt("x", "since", stays)
    done = run_ccmove("undo", state=here)
    assert done.exit == 0, done
    left = handle_at(here, "x")
    assert left.sessions == [stays]
    assert (left.directory / stays).is_dir()
    assert not (left.directory / goes).exists()
    assert not left.memory.exists()
    assert stays in left.index.read_text()
    assert goes not in left.index.read_text()
    assert sessions_with_prompts(here) == {stays}
    what = "1 session went on since and stays, with all that is its own"
    assert f"{what}: {stays}" in done.out


@pytest.mark.parametrize("since", [False, True])
def test_undo_leaves_prompts_that_it_did_not_bring(
    there: StateBuilder, here: StateBuilder, since: bool
) -> None:
    """Claude Code's sweep deletes a transcript and keeps its prompts; an archive brings
    it again. The path of there is no place for them.
    """
    app = there.project("app", subagents=False)
    data = packed(there, "app")
    assert unpack(here, data).exit == 0
    for transcript in handle_at(here, "x").transcripts:
        transcript.unlink()
    assert unpack(here, data).exit == 0
    if since:
        here.add_prompt("x", "since", app.sessions[0])
    before = here.history.read_bytes()
    undone = run_ccmove("undo", state=here)
    assert undone.exit == 0, undone
    assert here.history.read_bytes() == before
    assert handle_at(here, "x").sessions == []


def test_undo_names_sessions_that_left_or_were_deleted_since(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", index=True, sessions=3, subagents=False)
    left, deleted, _ = app.sessions
    for session in app.sessions:
        folder = there.config_dir / "file-history" / session
        folder.mkdir(parents=True)
        (folder / "a@v1").write_text("{}")
    assert unpack(here, packed(there, "app")).exit == 0
    came = handle_at(here, "x").directory
    elsewhere = handle_at(here, "elsewhere").directory
    elsewhere.mkdir()
    (came / f"{left}.jsonl").rename(elsewhere / f"{left}.jsonl")
    (came / f"{deleted}.jsonl").unlink()
    done = run_ccmove("undo", state=here)
    assert done.exit == 0, done
    what = "1 session left for another project since and stays there, in"
    assert f"{what} {elsewhere.name}: {left}" in done.out
    what = "1 session of this run no longer exists: it was deleted since"
    assert f"{what}: {deleted}" in done.out
    assert (elsewhere / f"{left}.jsonl").is_file()
    assert os.listdir(here.config_dir / "file-history") == [left]
    assert sessions_with_prompts(here) == {left}
    assert not came.exists()


@pytest.mark.parametrize("unit", [100, 10**9, 2 * 10**9])
def test_undo_takes_out_what_came_where_times_are_coarser(
    there: StateBuilder, here: StateBuilder, unit: int
) -> None:
    """Windows has 100 ns, others whole seconds; a copied home may be there by now."""
    there.project("app", index=True, memory=MEMORY)
    before = without_own(here)
    assert unpack(here, packed(there, "app"), new="x").exit == 0
    for file in here.projects.rglob("*"):
        date = file.stat().st_mtime_ns // unit * unit
        os.utime(file, ns=(date, date))
    done = run_ccmove("undo", state=here)
    assert done.exit == 0, done
    assert "has changed since" not in done.out
    assert without_own(here) == before


def test_undo_brings_no_beginning_back_beside_the_session_that_left(
    there: StateBuilder, here: StateBuilder
) -> None:
    """One session in two projects breaks `--resume`."""
    app = there.project("app", sessions=1, subagents=False)
    (session,) = app.sessions
    text = app.transcripts[0].read_bytes()
    mine = handle_at(here, "x").directory
    mine.mkdir()
    (mine / f"{session}.jsonl").write_bytes(text[: text.index(b"\n") + 1])
    assert unpack(here, packed(there, "app")).exit == 0
    elsewhere = handle_at(here, "elsewhere").directory
    elsewhere.mkdir()
    (mine / f"{session}.jsonl").rename(elsewhere / f"{session}.jsonl")
    done = run_ccmove("undo", state=here)
    assert done.exit == 0, done
    assert f"stays there, in {elsewhere.name}: {session}" in done.out
    found = list(here.projects.rglob(f"{session}.jsonl"))
    assert found == [elsewhere / f"{session}.jsonl"]
    assert found[0].read_bytes() == text


def test_the_backup_of_an_undone_unpack_is_pruned_only_by_its_id(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app")
    assert unpack(here, packed(there, "app")).exit == 0
    assert run_ccmove("undo", state=here).exit == 0
    listed = run_ccmove("backups", state=here)
    assert "holds 2 sessions that came in an archive" in listed.out
    kept = run_ccmove("prune", "--keep", "0", state=here)
    assert kept.exit == 0
    assert kept.out.count("removed only by its ID") == 1
    backups = sorted(os.listdir(here.config_dir / "ccmove" / "backups"))
    assert len(backups) == 2
    assert run_ccmove("prune", backups[1], state=here).exit == 0
    assert os.listdir(here.config_dir / "ccmove" / "backups") == []


def test_a_backup_says_what_it_holds_and_not_nothing(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app", sessions=0, memory={"a.md": "a\n", "b.md": "b\n"}, prompts=1)
    data = packed(there, "app")
    assert unpack(here, data).exit == 0
    assert unpack(here, data, "--with-config").exit == 0
    assert run_ccmove("undo", state=here).exit == 0
    listed = run_ccmove("backups", state=here).out
    assert "taken out: " in listed
    assert "holds what was unpacked and taken out again" in listed
    older = sorted(os.listdir(here.config_dir / "ccmove" / "backups"))[0]
    assert run_ccmove("undo", older, state=here).exit == 0
    listed = run_ccmove("backups", state=here).out
    assert "holds 2 notes that came in an archive: removed only by its ID" in listed


def test_where_it_goes_without_new(there: StateBuilder, here: StateBuilder) -> None:
    there.project("app")
    data = packed(there, "app", home=str(there.root))
    refused = unpack(here, data, new=None)
    assert refused.exit == 4
    assert "ccmove unpack" in refused.err
    missing = unpack(here, data, new="missing")
    assert missing.exit == 4
    (here.home / "code" / "app").mkdir(parents=True)
    done = unpack(here, data, new=None)
    assert done.exit == 0, done
    path = str(here.home / "code" / "app")
    assert handle_at(here, path).sessions


def test_another_project_at_new_is_refused(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app")
    here.project("x", repo="me/other", sessions=1)
    git = {"root": None, "remote": "me/app"}
    data = packed(there, "app", git=git)
    # The sessions of both builders have the same IDs.
    handle_at(here, "x").transcripts[0].rename(
        handle_at(here, "x").directory / "11111111-2222-4333-8444-555555555555.jsonl"
    )
    refused = unpack(here, data)
    assert refused.exit == 4, refused
    assert "another project" in refused.err
    assert unpack(here, data, "--merge").exit == 0


FROM = {  # a home, a project and a rule for it
    "windows": ("C:\\Users\\me", "C:\\work\\app", "//c/work/app"),
    "posix": ("/home/me", "/work/app", "//work/app"),
}


@pytest.mark.parametrize("system", FROM)
def test_between_windows_and_others(
    there: StateBuilder, here: StateBuilder, system: str
) -> None:
    """Whichever of them runs this."""
    home, path, rule = FROM[system]
    stroke = "\\" if system == "windows" else "/"
    inside = [stroke.join([path, *names]) for names in (["bin", "db.exe"], ["x"])]
    server = {"command": inside[0], "args": [f"--root={inside[1]}"]}
    config = {"allowedTools": [f"Read({rule}/**)"], "mcpServers": {"db": server}}
    there.project("app", index=True, config=config)
    data = packed(there, "app", home=home, path_there=path)
    done = unpack(here, data, "--with-config")
    assert done.exit == 0, done
    new = str(here.code / "x")
    entry = here.config()["projects"][new]
    assert entry["allowedTools"] == [f"Read({in_rule(new)}/**)"]
    moved = {
        "command": os.path.join(new, "bin", "db.exe"),
        "args": [f"--root={os.path.join(new, 'x')}"],
    }
    assert entry["mcpServers"] == {"db": moved}
    assert len(prompts(here, "x")) == 3
    index = json.loads(handle_at(here, "x").index.read_bytes())
    assert {entry["projectPath"] for entry in index["entries"]} == {new}
    for entry in index["entries"]:
        assert Path(entry["fullPath"]).is_file()
        assert Path(entry["fullPath"]).parent == handle_at(here, "x").directory


def test_a_project_is_compared_by_its_own_sessions_and_not_by_anothers(
    there: StateBuilder, here: StateBuilder
) -> None:
    """The folder was renamed and its repository, too, and Claude Code went on in it: so
    says the last session of that project, whatever another one did later.
    """
    git = {"PATH": os.environ["PATH"], "HOME": str(here.home)}
    folder = str(here.code / "x")
    shell = "git init -q && git -c user.name=n -c user.email=e commit -q --allow-empty"
    shell += " -m m && git remote add origin https://github.com/me/renamed"
    date = {"GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    made = subprocess.run(["sh", "-c", shell + "; :"], cwd=folder, env=git | date)
    assert made.returncode == 0
    there.project("one")
    here.add_session("x", session_id="11111111-2222-4333-8444-555555555555")
    mine = handle_at(here, "x").transcripts[0]
    later = there.add_session("two")
    day = 24 * 3600 * 10**9
    newest = max(f.stat().st_mtime_ns for f in handle_at(there, "one").transcripts)
    os.utime(mine, ns=(newest + day, newest + day))
    other = handle_at(there, "two").directory / f"{later}.jsonl"
    os.utime(other, ns=(newest + 2 * day, newest + 2 * day))
    data = packed(there, "one", "two", git={"root": None, "remote": "me/app"})
    file = written(here, "all.tar.gz", data)
    one = f"{there.code / 'one'}={folder}"
    two = f"{there.code / 'two'}={here.code / 'y'}"
    done = run_ccmove("unpack", "-n", file, "--map", one, "--map", two, state=here)
    assert done.exit == 0, done


@pytest.mark.parametrize("spelled", ["/nowhere", "app", "/code/ap"])
def test_a_map_that_fits_nothing_is_a_slip(
    there: StateBuilder, here: StateBuilder, spelled: str
) -> None:
    app = there.project("app")
    file = written(here, "app.tar.gz", packed(there, "app"))
    before = snapshot(here.home)
    slip = f"{spelled}={here.code}"
    right = f"{there.code}={here.code}"
    for maps in ([slip], [right, slip]):
        words = [word for text in maps for word in ("--map", text)]
        refused = run_ccmove("unpack", file, *words, state=here)
        assert refused.exit == 2, refused
        assert f"--map {slip}: the archive has nothing there" in refused.err
        assert app.path in refused.err
        assert snapshot(here.home) == before


def test_what_is_typed_comes_before_the_home(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app")
    data = packed(there, "app", home=str(there.code))
    done = unpack(here, data, "--map", f"{there.root}={here.code / 'all'}", new=None)
    assert done.exit == 0, done
    assert handle_at(here, "all/code/app").sessions


def test_an_unpack_that_a_later_one_builds_on_is_undone_after_that(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", subagents=False)
    assert unpack(here, packed(there, "app")).exit == 0
    [first] = os.listdir(here.config_dir / "ccmove" / "backups")
    with app.transcripts[0].open("ab") as file:
        file.write(b'{"turn": "since"}\n')
    assert unpack(here, packed(there, "app")).exit == 0
    refused = run_ccmove("undo", first, state=here)
    assert refused.exit == 4, refused
    assert f" unpacked {app.path} to {here.code / 'x'}\n" in refused.err


def test_a_session_that_is_running_is_not_replaced(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", sessions=1, subagents=False)
    session = app.sessions[0]
    text = app.transcripts[0].read_bytes()
    mine = handle_at(here, "x").directory
    mine.mkdir()
    (mine / f"{session}.jsonl").write_bytes(text[: text.index(b"\n") + 1])
    here.session_file(os.getpid(), str(here.code / "y"), "", session)
    preview = unpack(here, packed(there, "app"), "-n")
    assert preview.exit == 4, preview
    assert "Would unpack" in preview.out + preview.err
    command = f"ccmove unpack {here.root / 'app.tar.gz'} {here.code / 'x'}\n"
    assert preview.err.endswith(f"exit it (/exit), then: {command}")
    refused = unpack(here, packed(there, "app"))
    assert refused.exit == 4, refused
    assert "is running" in refused.err


def test_a_subagent_of_a_running_session_is_not_replaced(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", sessions=1)
    (session,) = app.sessions
    data = packed(there, "app")
    assert unpack(here, data).exit == 0
    agents = handle_at(here, "x").directory / session / "subagents"
    (agent,) = agents.iterdir()
    text = agent.read_bytes()
    agent.write_bytes(text[: text.index(b"\n") + 1])
    here.session_file(os.getpid(), str(here.code / "y"), "", session)
    for words in (["-n"], []):
        refused = unpack(here, data, *words)
        assert refused.exit == 4, refused
        assert "is running" in refused.err
    assert agent.read_bytes() != text


def spoiled(data: bytes, how: str) -> bytes:
    tar = gzip.decompress(data)
    if how.startswith("cut"):
        share = int(how.removeprefix("cut"))
        return gzip.compress(tar)[: len(data) * share // 100]
    if how == "bytes":
        return gzip.compress(tar.replace(b"tea", b"TEA"))
    if how == "behind":
        return gzip.compress(tar + b"more")
    assert how == "no archive"
    return b"PK\x03\x04"


@pytest.mark.parametrize(
    "how", ["cut5", "cut50", "cut90", "cut99", "bytes", "behind", "no archive"]
)
def test_what_is_damaged_places_nothing_and_leaves_nothing(
    there: StateBuilder, here: StateBuilder, how: str
) -> None:
    there.project("app", memory=MEMORY)
    here.project("x", memory={"notes.md": "mine\n"})
    data = spoiled(packed(there, "app"), how)
    before = without_own(here)
    for words in ((), ("-n",)):
        failed = unpack(here, data, *words)
        assert failed.exit == 1, failed
        assert failed.err.startswith("ccmove: ")
        assert without_own(here) == before
    ours = here.config_dir / "ccmove"
    left = {file.relative_to(ours).as_posix() for file in ours.rglob("*")}
    assert left <= {"lock", "backups"}


@pytest.mark.parametrize("how", ["cut99", "bytes"])
def test_nothing_is_left_on_a_machine_without_any_state(
    there: StateBuilder, here: StateBuilder, how: str
) -> None:
    there.project("app", memory=MEMORY)
    data = packed(there, "app")
    shutil.rmtree(here.config_dir)
    here.config_file.unlink()
    assert unpack(here, spoiled(data, how)).exit == 1
    assert list(here.home.iterdir()) == []
    assert unpack(here, data).exit == 0


def test_the_bytes_of_the_history_stay_and_prompts_come_behind_them(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app")
    here.project("other", sessions=0, prompts=2)
    here.odd_history("other", 8)  # the last line has no newline
    before = here.history.read_bytes()
    assert unpack(here, packed(there, "app")).exit == 0
    assert here.history.read_bytes().startswith(before + b"\n")
    here.add_prompt("other", "came since")
    assert run_ccmove("undo", state=here).exit == 0
    after = here.history.read_bytes()
    assert after.startswith(before + b"\n")
    assert b"came since" in after
    assert after.count(b"\n") == before.count(b"\n") + 2


def test_a_project_that_moved_on_after_the_unpack_is_undone_in_order(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app")
    assert unpack(here, packed(there, "app")).exit == 0
    first = os.listdir(here.config_dir / "ccmove" / "backups")[0]
    (here.code / "x").rename(here.code / "y")
    moved = run_ccmove(here.code / "x", here.code / "y", state=here)
    assert moved.exit == 0, moved
    refused = run_ccmove("undo", first, state=here)
    assert refused.exit == 4, refused
    assert run_ccmove("undo", state=here).exit == 0
    undone = run_ccmove("undo", first, state=here)
    assert undone.exit == 0, undone
    assert list(here.projects.iterdir()) == []


def test_a_living_twin_at_new_is_refused(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app")
    here.add_session("a-b", session_id="11111111-2222-4333-8444-555555555555")
    for name in ("a-b", "a.b"):
        (here.code / name).mkdir(exist_ok=True)
    data = packed(there, "app")
    before = without_own(here)
    for words in ((), ("-n",)):
        refused = unpack(here, data, *words, new="a.b")
        assert refused.exit == 4, refused
        assert "could not tell them apart" in refused.err
        assert without_own(here) == before
    (here.code / "a-b").rmdir()
    assert unpack(here, data, new="a.b").exit == 0


def test_two_living_twins_of_one_archive_are_refused(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("a-b")
    there.project("other")
    data = packed(there, "a-b", "other")
    for name in ("a-b", "a.b"):
        (here.code / name).mkdir()
    file = written(here, "all.tar.gz", data)
    maps = [f"--map={there.code / 'a-b'}={here.code / 'a-b'}"]
    maps.append(f"--map={there.code / 'other'}={here.code / 'a.b'}")
    before = without_own(here)
    for words in ([], ["-n"]):
        refused = run_ccmove("unpack", *words, file, *maps, state=here)
        assert refused.exit == 4, refused
        assert "could not tell them apart" in refused.err
        assert without_own(here) == before
    (here.code / "a-b").rmdir()
    done = run_ccmove("unpack", file, *maps, state=here)
    assert done.exit == 0, done


def test_living_twins_come_back_where_they_were(here: StateBuilder) -> None:
    """Their transcripts name their own paths, so Claude Code tells them apart."""
    one = here.project("a-b", make_folder=True)
    here.project("a.b", make_folder=True)
    before = contents(one)
    archive = here.root / "all.tar"
    assert run_ccmove("pack", "--all", "-o", archive, state=here).exit == 0
    shutil.rmtree(one.directory)
    done = run_ccmove("unpack", archive, state=here)
    assert done.exit == 0, done
    assert contents(one) == before


FULL = """
import os, sys, types
from ccmove.cli.main import main
full = types.SimpleNamespace(f_blocks=1, f_bavail=1, f_files=0, f_frsize=4096)
os.statvfs = lambda _: full
main(sys.argv[1:])
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows is asked in another way")
def test_a_full_disk_is_seen_before_anything_is_staged(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app")
    file = written(here, "app.tar.gz", packed(there, "app"))
    before = snapshot(here.home)
    root = str(Path(__file__).parents[2])
    words = ["unpack", str(file), str(here.code / "x")]
    for more in ([], ["-n"]):
        command = [sys.executable, "-c", FULL, *words, *more]
        refused = run_child(command, state=here, env={"PYTHONPATH": root})
        assert refused.exit == 4, refused
        assert "not enough room" in refused.err
        assert snapshot(here.home) == before


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
def test_a_file_that_may_not_be_so_large_is_told_and_nothing_is_left(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", sessions=1)
    with app.transcripts[0].open("ab") as file:
        file.write(b'{"x": "%s"}\n' % (b"x" * 3_000_000))
    archive = written(here, "app.tar", gzip.decompress(packed(there, "app")))
    before = without_own(here)
    limited = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (10**6, 10**6));"
    limited += "import sys; from ccmove.cli.main import main; main(sys.argv[1:])"
    root = {"PYTHONPATH": str(Path(__file__).parents[2])}
    for state, words, said in (
        (here, ["unpack", archive, here.code / "x"], "could not change the state"),
        (there, ["pack", app.path, "-o", there.root / "x.tar"], "could not pack to"),
    ):
        argv = [sys.executable, "-c", limited, *map(str, words)]
        failed = run_child(argv, state=state, env=root)
        assert failed.exit == 1, failed
        assert said in failed.err
        assert "File too large" in failed.err
        assert "fix that and try again: ccmove" in failed.err
    assert without_own(here) == before
    assert not (here.config_dir / "ccmove" / "run").exists()
    assert not [name for name in os.listdir(there.root) if "tar" in name]


def test_two_projects_into_one_folder(there: StateBuilder, here: StateBuilder) -> None:
    one = there.project("one", index=True, memory={"notes.md": "one\n"} | MEMORY)
    other = {"MEMORY.md": "- is tall\n", "notes.md": "other\n"}
    two = there.project("two", index=True, memory=other)
    file = written(here, "all.tar.gz", packed(there, "one", "two"))
    maps = []
    for project in (one, two):
        maps += ["--map", f"{project.path}={here.code / 'x'}"]
    before = without_own(here)
    preview = run_ccmove("unpack", "-n", file, *maps, state=here)
    assert preview.exit == 0, preview
    done = run_ccmove("unpack", file, *maps, state=here)
    assert done.exit == 0, done
    for said in (preview.out, done.out):
        assert "4 notes and 6 prompts" in said
    after = handle_at(here, "x")
    assert after.sessions == sorted(one.sessions + two.sessions)
    assert sessions_with_prompts(here) == set(after.sessions)
    entries = json.loads(after.index.read_bytes())["entries"]
    assert sorted(entry["sessionId"] for entry in entries) == after.sessions
    memory = (after.memory / "MEMORY.md").read_text()
    assert "likes tea" in memory
    assert "is tall" in memory
    texts = [file.read_text() for file in after.memory.glob("notes*")]
    assert sorted(texts) == ["long\n", "other\n"]
    twice = run_ccmove("unpack", file, *maps, state=here)
    assert "here already" in twice.out, twice
    assert run_ccmove("undo", state=here).exit == 0
    assert without_own(here) == before


def test_lines_that_join_a_memory_are_told(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app", memory={"MEMORY.md": "- likes tea\n"}, prompts=0)
    here.project("x", memory={"MEMORY.md": "- is tall\n"})
    for words in (["-n"], []):
        done = unpack(here, packed(there, "app"), *words)
        assert "1 note" in done.out
        assert "Claude will take them for yours" in done.out


def test_a_memory_too_long_to_merge_comes_beside_the_one_here(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app", memory={"MEMORY.md": "- likes tea\n" * 800_000})
    mine = here.project("x", memory={"MEMORY.md": "- is tall\n"})
    done = unpack(here, packed(there, "app"))
    assert done.exit == 0, done
    beside = mine.memory / "MEMORY (from app).md"
    assert beside.read_text() == "- likes tea\n" * 800_000
    assert (mine.memory / "MEMORY.md").read_text() == "- is tall\n"


def test_a_plan_goes_with_the_transcript_that_names_it(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", sessions=2, subagents=False)
    longer, same = app.sessions
    mine = handle_at(here, "x").directory
    mine.mkdir()
    for state in (there, here):
        (state.config_dir / "plans").mkdir()
        for slug in ("brave-fox", "calm-owl"):
            plan = state.config_dir / "plans" / f"{slug}.md"
            plan.write_text(f"{slug} of {state.root.name}\n")
    for session, slug in ((longer, "brave-fox"), (same, "calm-owl")):
        with (app.directory / f"{session}.jsonl").open("ab") as file:
            file.write(b'{"slug":"%s"}\n' % slug.encode())
        shutil.copy2(app.directory / f"{session}.jsonl", mine)
    with (app.directory / f"{longer}.jsonl").open("ab") as file:
        file.write(b'{"turn": "went on there"}\n')
    (there.config_dir / "plans" / "new-elk.md").write_text("new\n")
    before = without_own(here)
    done = unpack(here, packed(there, "app"))
    assert done.exit == 0, done
    plans = here.config_dir / "plans"
    assert (plans / "brave-fox.md").read_text() == "brave-fox of there\n"
    assert (plans / "calm-owl.md").read_text() == "calm-owl of here\n"
    assert (plans / "new-elk.md").read_text() == "new\n"
    assert run_ccmove("undo", state=here).exit == 0
    assert without_own(here) == before


def test_a_paste_that_is_here_stays(there: StateBuilder, here: StateBuilder) -> None:
    there.project("app")
    for state in (there, here):
        (state.config_dir / "paste-cache").mkdir()
        (state.config_dir / "paste-cache" / "0123456789abcdef.txt").write_text("both")
    (there.config_dir / "paste-cache" / "fedcba9876543210.txt").write_text("new")
    mine = here.config_dir / "paste-cache" / "0123456789abcdef.txt"
    before = mine.stat()
    tree = without_own(here)
    assert unpack(here, packed(there, "app")).exit == 0
    after = mine.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert sorted(os.listdir(mine.parent)) == [mine.name, "fedcba9876543210.txt"]
    assert run_ccmove("undo", state=here).exit == 0
    assert without_own(here) == tree


@pytest.mark.parametrize("spelled", ["C:\\work", "c:/Work/", "C:\\work\\app"])
def test_an_archive_of_windows_is_mapped(
    there: StateBuilder, here: StateBuilder, spelled: str
) -> None:
    app = there.project("app", index=True)
    path = "C:\\work\\app"
    data = packed(there, "app", home="C:\\Users\\me", path_there=path)
    to = here.code / "app" if spelled.endswith("app") else here.code
    done = unpack(here, data, "--map", f"{spelled}={to}", new=None)
    assert done.exit == 0, done
    after = handle_at(here, "app")
    assert after.sessions == app.sessions
    assert len(prompts(here, "app")) == len(prompts(there, "app"))
    for entry in json.loads(after.index.read_bytes())["entries"]:
        assert entry["projectPath"] == after.path


def test_an_archive_of_windows_comes_to_the_home_of_here(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app")
    home = "C:\\Users\\me"
    data = packed(there, "app", home=home, path_there=f"{home}\\code\\app")
    missing = unpack(here, data, new=None)
    assert missing.exit == 4, missing
    done = unpack(here, data, "--map", f"{home}={here.home}", new=None)
    assert done.exit == 0, done
    path = str(here.home / "code" / "app")
    assert handle_at(here, path).sessions == app.sessions
    outside = packed(there, "app", home=home, path_there="D:\\work\\app")
    slip = unpack(here, outside, "--map", f"{home}={here.home}", new=None)
    assert slip.exit == 2, slip
    both = packed(there, "app", "two", home=home, path_there="D:\\work\\app")
    two = f"{there.code / 'two'}={here.code / 'two'}"
    refused = unpack(here, both, "--map", two, new=None)
    assert refused.exit == 4, refused
    assert "--map" in refused.err


def test_a_folder_may_be_mapped_to_the_root(
    there: StateBuilder, here: StateBuilder
) -> None:
    """As in a container, where projects are in `/`; the root itself is none."""
    there.project("app")
    data = packed(there, "app")
    done = unpack(here, data, "--map", f"{there.code}=/", new=None)
    assert done.exit == 0, done
    assert handle_at(here, "/app").sessions
    assert list(here.config()["projects"]) == ["/app"]
    for words in ([f"--map={there.code / 'app'}=/"], ["/"]):
        file = written(here, "app.tar.gz", data)
        refused = run_ccmove("unpack", file, *words, state=here)
        assert refused.exit == 4, refused
        assert "can't be a folder here" in refused.err
        hint = f"ccmove unpack --map {there.code / 'app'}=TO {file}\n"
        assert refused.err.endswith(hint)


def test_a_folder_of_the_home_can_be_typed_behind_the_sign(
    there: StateBuilder, here: StateBuilder
) -> None:
    """No shell puts the home there."""
    app = there.project("app")
    done = unpack(here, packed(there, "app"), "--map", f"{there.code}=~/src", new=None)
    assert done.exit == 0, done
    new = str(here.home / "src" / "app")
    assert handle_at(here, new).sessions == app.sessions


def test_sessions_that_are_deleted_soon_come_first_of_what_is_to_do(
    there: StateBuilder, here: StateBuilder
) -> None:
    """With the days of here; dates are never changed."""
    server = {"mcpServers": {"db": {"command": "db", "env": {"KEY": ""}}}}
    app = there.project("app", sessions=3, subagents=False, config=server)
    now = time.time_ns()
    day = 24 * 3600 * 10**9
    for transcript, days in zip(app.transcripts, (40, 31, 29), strict=True):
        os.utime(transcript, ns=(now, now - days * day))
    data = packed(there, "app")
    settings = here.config_dir / "settings.json"
    for text, number in (
        (None, "2 sessions were"),
        ('{"cleanupPeriodDays": 35}', "1 session was"),
        ('{"cleanupPeriodDays": 3650}', None),
    ):
        if text is not None:
            settings.write_text(text)
        said = unpack(here, data, "-n", "--with-config").out
        assert ("minutes after it starts" in said) is (number is not None)
        if number is not None:
            _, _, to_do = said.partition("Still to do afterwards\n")
            assert to_do.startswith(f"  {settings}: {number} last used over ")
            assert '"cleanupPeriodDays": 3650' in to_do
            assert to_do.index("cleanupPeriodDays") < to_do.index("env KEY")
    settings.unlink()
    done = unpack(here, data, "--with-config")
    _, _, to_do = done.out.partition("Still to do\n")
    assert to_do.startswith(f"  {settings}: 2 sessions were last used over 30 days ago")
    assert contents(handle_at(here, "x")) == contents(app)


@pytest.mark.parametrize("words", [["unpack", ""], ["pack", "-o", ""]])
def test_a_file_without_a_name_is_an_unset_variable(
    here: StateBuilder, words: list[str]
) -> None:
    refused = run_ccmove(*words, state=here, cwd=here.code / "x")
    assert refused.exit == 2, refused
    assert "FILE is empty (an unset variable?)" in refused.err


@pytest.mark.parametrize("bad", [b"\xff", b"\xed\xa0\x80"])
def test_no_document_of_here_gets_bytes_that_are_not_utf8(
    there: StateBuilder, here: StateBuilder, bad: bytes
) -> None:
    """Other programs could not read it any more."""
    there.project("app", index=True, config={"lastCost": "<BAD>"})
    here.project("x", sessions=0, index=True)
    data = packed(there, "app", spoil=(b"<BAD>", bad))
    before = without_own(here)
    for words in (["-n"], []):
        refused = unpack(here, data, *words)
        assert refused.exit == 1, refused
        assert "a config entry that can't be used: not UTF-8" in refused.err
        assert without_own(here) == before
    data = packed(there, "app", spoil=(b'"summary"', b'"' + bad + b'"'))
    there.config_file.unlink()
    assert unpack(here, data).exit == 0
    assert here.config_file.read_bytes().decode()
    assert handle_at(here, "x").index.read_bytes().decode()


def test_a_file_that_can_hold_no_entry_is_refused_and_not_damaged(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("app")
    for text in ('{"projects": null}', '{"projects": []}', "[]", "null"):
        here.config_file.write_text(text)
        before = without_own(here)
        for words in (["-n"], [], ["--with-config"]):
            refused = unpack(here, packed(there, "app"), *words)
            assert refused.exit == 4, refused
            assert f"{here.config_file}: " in refused.err
            assert without_own(here) == before


def test_an_index_names_nothing_that_is_not_there(
    there: StateBuilder, here: StateBuilder
) -> None:
    app = there.project("app", index=True, sessions=3)
    app.transcripts[0].unlink()
    assert unpack(here, packed(there, "app")).exit == 0
    index = json.loads(handle_at(here, "x").index.read_bytes())
    listed = [entry["sessionId"] for entry in index["entries"]]
    assert sorted(listed) == sorted(app.sessions[1:])
    assert run_ccmove("verify", state=here).exit == 0


def test_several_projects_are_unpacked_again_by_the_command_that_is_told(
    there: StateBuilder, here: StateBuilder
) -> None:
    there.project("one")
    there.project("two")
    file = written(here, "all.tar.gz", packed(there, "one", "two"))
    pairs = [(there.code / name, here.code / f"my-{name}") for name in ("one", "two")]
    words = [word for old, new in pairs for word in ("--map", f"{old}={new}")]
    assert run_ccmove("unpack", file, *words, state=here).exit == 0
    undone = run_ccmove("undo", state=here)
    assert undone.exit == 0, undone
    again = " ".join(["ccmove", "unpack", *words, "FILE"])
    assert undone.out.endswith(f"To unpack again: {again}\n")


def test_the_command_that_unpacks_all_again_names_what_all_is_in(
    there: StateBuilder, here: StateBuilder
) -> None:
    for name in ("one", "two", "deep/one"):
        there.project(name)
    before = without_own(here)
    file = written(here, "all.tar.gz", packed(there, "one", "two", "deep/one"))
    words = ["--map", f"{there.root}={here.root}"]
    assert run_ccmove("unpack", file, *words, state=here).exit == 0
    came = without_own(here)
    undone = run_ccmove("undo", state=here)
    again = " ".join(["ccmove", "unpack", *words, "FILE"])
    assert undone.out.endswith(f"To unpack again: {again}\n")
    assert without_own(here) == before
    assert run_ccmove("unpack", *words, file, state=here).exit == 0
    assert without_own(here) == came


@pytest.mark.parametrize("names", [("my-app", "my_app"), ("one", "two")])
def test_an_undo_counts_what_goes_of_projects_that_share_a_directory(
    there: StateBuilder, here: StateBuilder, names: tuple[str, str]
) -> None:
    for name in names:
        session = there.add_session(name)
        there.add_prompt(name, "hello", session)
    file = here.root / "all.tar.gz"
    assert run_ccmove("pack", "--all", "-o", file, state=there).exit == 0
    maps = [f"--map={there.code}={here.code}"]
    if names == ("one", "two"):
        maps = [f"--map={there.code / name}={here.code / 'x'}" for name in names]
    done = run_ccmove("unpack", file, *maps, state=here)
    assert "2 sessions" in done.out, done
    shown = run_ccmove("show", state=here).out
    assert "added    -" in shown
    assert "renamed" not in shown
    undone = run_ccmove("undo", state=here)
    assert "  2 sessions" in undone.out, undone
    assert "removed  -" in run_ccmove("show", state=here).out


def test_a_whole_home_has_one_line_and_not_one_for_each_project(
    there: StateBuilder, here: StateBuilder
) -> None:
    names = [f"app-{number}" for number in range(12)]
    for name in names:
        there.project(name, sessions=1, prompts=0, config=None)
    file = written(here, "all.tar.gz", packed(there, *names))
    words = ["unpack", "--map", f"{there.code}={here.code}", file]
    done = run_ccmove(*words, state=here)
    first, second, *rest = done.out.splitlines()
    assert first == f"Unpacked 12 projects from  {there.root}"
    assert second == f"                       to  {here.root}"
    assert any(line.startswith(f"  {here.code / names[1]} ") for line in rest), rest
    undone = run_ccmove("undo", state=here).out.splitlines()
    assert undone[:3] == [
        f"  Took out of  {here.root}",
        f"unpacked from  {there.root}",
        "",
    ]
    every = run_ccmove("show", state=here).out
    assert all(str(there.code / name) in every for name in names)


def test_folders_that_do_not_exist_here_yet_are_told(
    there: StateBuilder, here: StateBuilder
) -> None:
    for name in ("one", "two", "three"):
        there.project(name)
    (here.code / "one").mkdir()
    file = written(here, "all.tar.gz", packed(there, "one", "two", "three"))
    words = ["unpack", "--map", f"{there.code}={here.code}", file]
    told = "Note: 2 of these folders do not exist here yet: clone or copy them there"
    assert told in run_ccmove(*words, "-n", state=here).out
    (here.code / "two").mkdir()
    told = f"Note: {here.code / 'three'} does not exist here yet: clone or copy it"
    assert told in run_ccmove(*words, state=here).out


def test_tasks_go_with_the_transcript_that_comes(
    there: StateBuilder, here: StateBuilder
) -> None:
    """What is left here of a session whose transcript is gone is a former version."""
    app = there.project("app", sessions=1)
    for state in (there, here):
        folder = state.config_dir / "tasks" / app.sessions[0]
        folder.mkdir(parents=True)
        (folder / "1.json").write_text(state.root.name)
    mine = here.config_dir / "tasks" / app.sessions[0] / "1.json"
    assert unpack(here, packed(there, "app")).exit == 0
    assert mine.read_text() == "there"
    assert run_ccmove("undo", state=here).exit == 0
    assert mine.read_text() == "here"
