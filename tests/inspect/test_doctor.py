"""`ccmove doctor`: each finding in a state that has it, and none in one that has not."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ccmove import text as shell_words
from ccmove.inspect.findings import KINDS
from ccmove.report.console import Printer
from ccmove.text import plural
from tests.inspect.conftest import (
    examine,
    interrupted_move,
    make_repo,
    moved_repo,
    run_ccmove,
)
from tests.shapes.bench import Bench
from tests.support.run import run_child
from tests.support.state import StateBuilder, encoded_name


def healthy(state: StateBuilder) -> None:
    """A state in which nothing is wrong, with everything in it that could look so."""
    memory = {"MEMORY.md": "- x\n"}
    state.project("app", index=True, memory=memory, repo="acme/app", make_folder=True)
    state.project("app/packages/core", make_folder=True)
    state.project("app-docker", index=True, make_folder=True)
    downloads = state.projects / (
        encoded_name(str(state.code / "app")) + ".0123456789abcdef"
    )
    (downloads / "connector-downloads").mkdir(parents=True)
    for name in ("my-app", "my_app"):  # two paths share a directory
        state.project(name, sessions=1, make_folder=True)
    for name in ("one", "two"):  # agents are no sessions: theirs may have one name
        agent = state.project(name, make_folder=True).directory / "agent-12ab34cd.jsonl"
        agent.write_text("{}\n")
    for name in (encoded_name(str(state.code / "app-docker")), "-no-such-path"):
        (state.projects / name / "memory").mkdir(
            parents=True
        )  # the client makes it at every start
    state.project("moved-by-hand", cwd=str(state.code / "before"), make_folder=True)
    settings = state.config_dir / "settings.json"
    settings.write_text('{"cleanupPeriodDays": 36500}')  # no session is too old


def test_nothing_is_wrong_in_a_healthy_state(state: StateBuilder) -> None:
    healthy(state)
    assert examine(state) == []
    done = run_ccmove("doctor", state=state)
    assert done.exit == 0
    assert done.out == "Nothing is wrong: 8 projects checked.\n"


def test_every_finding_says_what_it_means_and_what_to_type(state: StateBuilder) -> None:
    healthy(state)
    state.project("gone")
    done = run_ccmove("doctor", state=state)
    assert KINDS["orphan"] in done.out
    assert f"-> ccmove doctor --search {state.home} {state.code / 'gone'}\n" in done.out
    assert done.out.endswith("1 finding in 9 projects.\nFix it: ccmove doctor --fix\n")


# -- lost projects -----------------------------------------------------------------------------


def test_a_project_whose_folder_is_gone_is_an_orphan(state: StateBuilder) -> None:
    handle = state.project("gone", memory={"MEMORY.md": "x"})
    (finding,) = examine(state)
    assert (finding.kind, finding.subject) == ("orphan", handle.path)
    assert "2 sessions" in finding.what
    assert "1 note" in finding.what
    assert finding.candidates == []


def test_a_folder_that_can_not_be_checked_is_not_an_orphan(state: StateBuilder) -> None:
    data = state.config()
    data["projects"]["C:\\code\\app"] = {}
    state.write_config(data)
    assert examine(state) == []


def test_more_than_a_few_details_are_shown_with_v(state: StateBuilder) -> None:
    handle = state.project("app", sessions=9, index=True, make_folder=True)
    for transcript in handle.transcripts[1:]:
        transcript.unlink()
    short = run_ccmove("doctor", state=state).out
    assert short.count("sessionId: ") == 5
    assert "    and 3 more (-v)\n" in short
    assert run_ccmove("doctor", "-v", state=state).out.count("sessionId: ") == 8


def test_entries_without_conversations_are_stale(state: StateBuilder) -> None:
    state.project("only-config", sessions=0, prompts=0)
    state.add_prompt("only-prompt", "hello")
    assert [(f.kind, Path(f.subject).name, f.what) for f in examine(state)] == [
        ("stale-entries", "only-config", "settings"),
        ("stale-entries", "only-prompt", "1 prompt"),
    ]


def test_entries_of_a_project_moved_by_hand_come_with_its_new_path(
    state: StateBuilder,
) -> None:
    old = str(state.code / "old")
    state.project("new", cwd=old, prompts=0, config=None, make_folder=True)
    state.add_prompt("old", "left behind")
    (finding,) = examine(state)
    assert (finding.kind, finding.subject) == ("moved-entries", old)
    assert finding.candidates[0].command == f"ccmove {old} {state.code / 'new'}"
    assert finding.candidates[0].confidence == "certain"
    assert finding.unambiguous


def test_our_own_move_tells_where_later_prompts_belong(state: StateBuilder) -> None:
    handle = state.project("old")
    (state.code / "new").mkdir()
    assert run_ccmove(handle.path, str(state.code / "new"), state=state).exit == 0
    assert examine(state) == []
    state.add_prompt("old", "written by a session that still ran")
    (finding,) = examine(state)
    assert finding.kind == "stale-entries"  # another folder may have been there since
    (candidate,) = finding.candidates
    assert (candidate.path, candidate.confidence) == (str(state.code / "new"), "likely")


def test_a_session_once_begun_at_home_makes_nothing_below_a_subfolder(
    state: StateBuilder,
) -> None:
    state.project(str(state.home))
    state.project(str(state.home / "code" / "gone"))
    (finding,) = examine(state)
    assert finding.candidates == []


def test_nested_projects_move_together_with_the_one_they_are_in(
    state: StateBuilder,
) -> None:
    state.project("old", repo="acme/old")
    nested = state.project("old/packages/core")
    make_repo(state.code / "new", "acme/old")
    first, second = examine(state, "orphan")
    assert (first.along, second.along) == (None, str(state.code / "old"))
    assert second.subject == nested.path
    assert second.command == ""


# -- directories -------------------------------------------------------------------------------


def test_a_project_directory_inside_a_project_directory_is_found(
    state: StateBuilder,
) -> None:
    outer = state.project("new", make_folder=True)
    inner = outer.directory / encoded_name(str(state.code / "old"))
    state.add_session("old", directory=inner)
    (finding,) = examine(state)
    assert (finding.kind, finding.subject) == ("misplaced-directory", str(inner))
    subprocess.run(finding.command, shell=True, check=True)
    assert [finding.kind for finding in examine(state)] == ["orphan"]


def test_a_copy_of_a_session_is_found_once_the_longer_one_first(
    state: StateBuilder,
) -> None:
    one = state.project("one", subagents=False, make_folder=True)
    two = state.project("two", subagents=False, make_folder=True)
    copy = two.directory / one.transcripts[0].name
    shutil.copy2(one.transcripts[0], copy)
    (finding,) = examine(state)
    assert (finding.kind, finding.subject) == ("split-session", one.sessions[0])
    assert finding.what == "both are the same"
    copy.write_bytes(copy.read_bytes() + b'{"type":"user"}\n')
    (finding,) = examine(state)
    assert finding.what == "the first has all that the second has, and more"
    files = [detail.split(": ")[0] for detail in finding.details]
    assert files == [str(copy), str(one.transcripts[0])]


def split(state: StateBuilder, common: int) -> tuple[Path, Path]:
    """A session that went on at the old path after the move; both files begin alike."""
    old = state.project("old", sessions=1, subagents=False)
    (state.code / "new").mkdir()
    assert run_ccmove(old.path, str(state.code / "new"), state=state).exit == 0
    moved = (
        state.projects / encoded_name(str(state.code / "new")) / old.transcripts[0].name
    )
    lines = moved.read_text().splitlines(keepends=True)
    later = {"type": "user", "timestamp": "2026-11-17T10:11:12.131Z", "cwd": old.path}
    old.directory.mkdir(exist_ok=True)
    old.transcripts[0].write_text("".join(lines[:common]) + json.dumps(later) + "\n")
    return moved, old.transcripts[0]


@pytest.mark.parametrize("common", [0, 3])
def test_a_split_conversation_is_told_turn_by_turn_and_no_hint_discards_a_part(
    state: StateBuilder, common: int
) -> None:
    moved, stayed = split(state, common)
    (finding,) = examine(state, "split-session")
    what = f"same beginning: {plural(common, 'line')}; then they differ"
    assert (finding.subject, finding.what) == (moved.stem, what)
    assert {*finding.details} == {
        f"{moved}: 5 lines",
        f"{stayed}: {plural(common + 1, 'line')}",
    }
    assert finding.command.startswith(("ls -l ", "dir "))
    done = run_ccmove("doctor", moved.stem, state=state)
    assert done.exit == 1
    for harmful in ("rm ", "mv "):
        assert harmful not in done.out


def test_a_move_that_a_split_conversation_would_stop_is_not_offered(
    state: StateBuilder,
) -> None:
    moved, stayed = split(state, 0)
    (lost,) = examine(state, "orphan")
    assert lost.candidates[0].command == f"ccmove doctor {moved.stem}"
    assert not lost.unambiguous
    done = run_ccmove("doctor", state=state)
    assert f"-> if so: ccmove doctor {moved.stem}" in done.out
    done = run_ccmove(str(state.code / "old"), str(state.code / "new"), state=state)
    assert done.exit == 4
    assert f"ccmove doctor {moved.stem}" in done.err
    assert "keep-" not in done.err
    assert moved.exists()
    assert stayed.exists()


def test_a_name_that_no_known_path_has_is_found(state: StateBuilder) -> None:
    directory = state.projects / "-home-dev-my.app"  # a tool that forgot the dot
    state.add_session("x", cwd="/home/dev/my.app", directory=directory)
    (finding,) = examine(state)
    assert (finding.kind, finding.subject) == ("misplaced-directory", str(directory))
    assert finding.details == ["its transcripts name /home/dev/my.app"]
    subprocess.run(finding.command, shell=True, check=True)
    assert (state.projects / "-home-dev-my-app").is_dir()


def test_a_directory_that_names_no_path_can_be_moved_by_any_path_of_its_name(
    state: StateBuilder,
) -> None:
    memory = state.projects / "-home-dev-nobody" / "memory" / "MEMORY.md"
    memory.parent.mkdir(parents=True)
    memory.write_text("x")
    (finding,) = examine(state, "misplaced-directory")
    assert finding.command == f"ls -lA {memory.parents[1]}"
    target = state.code / "found"
    target.mkdir()
    words = ["--skip-path-check", "/home/dev/nobody", str(target)]
    assert run_ccmove(*words, state=state).exit == 0
    assert (
        state.projects / encoded_name(str(target)) / "memory" / "MEMORY.md"
    ).exists()


def test_bringing_a_directory_beside_takes_hidden_files_along(
    state: StateBuilder,
) -> None:
    outer = state.project("outer", make_folder=True)
    inside = state.project("inside", subagents=False, make_folder=True)
    inner = outer.directory / inside.name
    state.add_session("inside", directory=inner)
    (inner / ".session-aliases").write_text(f"{outer.directory}\n")
    (finding,) = examine(state)
    subprocess.run(finding.command, shell=True, check=True)
    assert (inside.directory / ".session-aliases").exists()
    assert not inner.exists()
    assert examine(state) == []


# -- indexes and aliases -------------------------------------------------------------------------


def test_index_entries_that_point_nowhere_are_found(state: StateBuilder) -> None:
    handle = state.project("app", index=True, make_folder=True)
    assert examine(state) == []
    handle.transcripts[0].unlink()
    (finding,) = examine(state)
    assert (finding.kind, finding.subject) == ("index", str(handle.index))
    assert finding.details == [f"sessionId: {handle.sessions[0]}"]


def test_index_entries_that_point_at_another_directory_are_found(
    state: StateBuilder,
) -> None:
    handle = state.project("old", index=True, config=None, prompts=0)
    new = state.code / "new"
    new.mkdir()
    renamed = handle.directory.rename(state.projects / encoded_name(str(new)))
    (finding,) = examine(state)
    assert (finding.kind, finding.subject) == (
        "index",
        str(renamed / "sessions-index.json"),
    )
    assert f"originalPath: {handle.path}" in finding.details
    assert f"fullPath: {handle.transcripts[0]}" in finding.details
    assert run_ccmove("verify", new, state=state).exit == 1


def test_an_index_that_is_not_json_is_found(state: StateBuilder) -> None:
    handle = state.project("app", make_folder=True)
    handle.index.write_text("{ not json")
    moved_aside = shell_words.command_line(
        ["mv", "-n", f"{handle.index}", f"{handle.index}.old"]
    )
    (finding,) = examine(state)
    assert (finding.kind, finding.command) == ("index", moved_aside)


# -- ccmove's own --------------------------------------------------------------------------------


def test_an_interrupted_run_is_found_and_comes_first(state: StateBuilder) -> None:
    state.project("gone")
    identifier = interrupted_move(state, "gone", "new")
    first = examine(state)[0]
    assert (first.kind, first.command) == ("interrupted-run", "ccmove recover")
    assert identifier in first.what
    assert not [
        finding for finding in examine(state) if finding.kind == "damaged-backup"
    ]
    assert (
        run_ccmove("backups", "--json", state=state).json()["backups"][0]["state"]
        == "unfinished"
    )
    assert run_ccmove("recover", state=state).exit == 0
    assert [finding.kind for finding in examine(state)] == ["orphan"]


def test_a_run_that_can_not_be_trusted_is_found(state: StateBuilder) -> None:
    handle = state.project("app", make_folder=True)
    run = state.config_dir / "ccmove" / "run"
    run.mkdir(mode=0o700, parents=True)
    (run / "manifest.json").write_text("{}")
    (finding,) = examine(state)
    assert (finding.kind, finding.unambiguous) == ("interrupted-run", False)
    assert (
        run_ccmove("verify", handle.path, state=state).exit == 1
    )  # as of every project


def moves(state: StateBuilder, number: int) -> list[str]:
    """Move a project to and fro; the IDs of the backups."""
    state.project("a0")
    for i in range(number):
        (state.code / f"a{i + 1}").mkdir()
        done = run_ccmove(
            str(state.code / f"a{i}"), str(state.code / f"a{i + 1}"), state=state
        )
        assert done.exit == 0
        (state.code / f"a{i + 1}").rmdir()
    (state.code / f"a{number}").mkdir()
    return sorted(os.listdir(state.config_dir / "ccmove" / "backups"))


def test_a_damaged_backup_is_found(state: StateBuilder) -> None:
    (identifier,) = moves(state, 1)
    assert examine(state) == []
    manifest = (state.config_dir / "ccmove" / "backups") / identifier / "manifest.json"
    manifest.write_text(manifest.read_text().replace("a1", "a2"))
    (finding,) = examine(state)
    assert (finding.kind, finding.subject) == ("damaged-backup", f"run {identifier}")


def test_what_can_not_be_read_is_a_finding(state: StateBuilder) -> None:
    state.project("app", make_folder=True, config=None)
    state.config_file.write_text("{ not json")
    (finding,) = examine(state)
    assert (finding.kind, finding.subject) == ("unreadable", str(state.config_file))


def test_a_link_in_the_place_of_the_projects_is_fine(
    state: StateBuilder, tmp_path: Path
) -> None:
    state.projects.rmdir()
    state.projects.symlink_to(tmp_path)
    assert examine(state) == []


# -- asking for less ------------------------------------------------------------------------------


def test_a_subject_limits_the_findings(state: StateBuilder) -> None:
    gone = state.project("gone")
    state.project("lost")
    state.add_session("x", cwd="/no/my.app", directory=state.projects / "-no-my.app")
    for words, kind in (
        ([gone.path], "orphan"),
        (gone.sessions[:1], "orphan"),
        ([str(state.projects / "-no-my.app")], "misplaced-directory"),
        (["--", "-no-my.app"], "misplaced-directory"),
    ):
        done = run_ccmove("doctor", "--json", *words, state=state)
        assert [row["kind"] for row in done.json()["findings"]] == [kind]


@pytest.mark.parametrize(
    ("command", "is_there"),
    [(["doctor"], True), (["verify"], True), (["list"], False), ([], False)],
)
def test_a_path_that_nobody_knows_is_exit_3_with_the_nearest(
    state: StateBuilder, command: list[str], is_there: bool
) -> None:
    state.project("my-app", make_folder=is_there)
    done = run_ccmove(*command, str(state.code / "my-ap"), state=state)
    assert done.exit == 3
    assert (
        f"did you mean: {' '.join(['ccmove', *command])} {state.code / 'my-app'}\n"
        in done.err
    )


def test_the_bare_name_of_a_folder_and_the_current_one_are_subjects(
    state: StateBuilder,
) -> None:
    state.project("gone")
    state.project("here", make_folder=True)
    assert run_ccmove("doctor", "gone", state=state).exit == 1
    assert run_ccmove("doctor", "here", state=state).exit == 0
    assert run_ccmove("doctor", ".", state=state, cwd=state.code / "here").exit == 0
    assert run_ccmove("verify", "here", state=state).exit == 0


def test_a_folder_that_a_lost_project_may_be_is_a_subject(state: StateBuilder) -> None:
    state.project("gone", repo="acme/app")
    new = make_repo(state.code / "new", "acme/app")
    done = run_ccmove("doctor", ".", state=state, cwd=new)
    assert f"-> ccmove {state.code / 'gone'} {new}" in done.out


def test_commands_name_the_config_directory_that_was_asked_about(
    state: StateBuilder,
) -> None:
    state.project("gone")
    done = run_ccmove("--config-dir", str(state.config_dir), "doctor", state=state)
    named = f"ccmove --config-dir {state.config_dir} doctor"
    assert f"-> {named} --search {state.home} {state.code / 'gone'}\n" in done.out


def everything_wrong(state: StateBuilder) -> None:
    """Most kinds of findings at once."""
    moved_repo(state, "old", "new")
    state.project("deleted")
    state.project("twins", repo="acme/twins")
    for name in ("twin-1", "twin-2"):
        make_repo(state.code / name, "acme/twins")
    state.project("old/packages/core")
    state.project("app", index=True, make_folder=True).transcripts[0].unlink()
    state.project("app/.claude/worktrees/try")
    state.project("my-app", make_folder=True)
    state.project("my_app", make_folder=True)
    outer = state.project("outer", subagents=False, make_folder=True)
    state.add_session("inner", directory=outer.directory / "-gone-inner")
    two = state.project("two", make_folder=True)
    shutil.copy2(outer.transcripts[0], two.directory)
    state.add_session(
        "two", session_id=outer.sessions[1], directory=two.directory, text="other"
    )
    (state.root / "link").symlink_to(state.code / "two")
    state.project(state.root / "link", prompts=1)
    state.add_session(
        "x", cwd="/home/dev/my.app", directory=state.projects / "-home-dev-my.app"
    )
    state.add_prompt("only-prompt", "hello")


@pytest.mark.slow
def test_every_command_that_is_printed_can_be_typed_as_it_stands(
    state: StateBuilder,
) -> None:
    everything_wrong(state)
    out = run_ccmove("doctor", state=state).out
    kinds = {
        row["kind"]
        for row in run_ccmove("doctor", "--json", state=state).json()["findings"]
    }
    assert len(kinds) >= 6, kinds
    commands = re.findall(r"(?:-> (?:[a-z ]+: )?|one by one: |Fix it: )(.*)", out)
    assert len(commands) > 10
    assert not re.search(r"\b(OLD|NEW|DIR)\b|\brm\b", "\n".join(commands))
    env = {**Bench(state).on_path(), "TERM": "dumb"}
    for command in commands:
        kept = state.root / "kept"
        shutil.copytree(state.home, kept, symlinks=True)
        done = run_child(["bash", "-c", command], state=state, env=env)
        is_look = command.startswith("ccmove doctor")
        assert done.exit == 0 or (is_look and done.exit == 1), (command, done)
        shutil.rmtree(state.home)
        kept.rename(state.home)


@pytest.mark.parametrize(
    "word",
    [
        "plain",
        "two words",
        "quo'te",
        "esc\x1b[31m",
        "new\nline",
        "by\udcffte",
        "\u202e",
    ],
)
def test_a_command_can_be_typed_into_a_shell_whatever_the_path(word: str) -> None:
    shown = Printer().typed(word)
    assert all(char.isprintable() for char in shown)
    shell = ["bash", "-c", f"printf '%s\\0' {shell_words.command_line([word])}"]
    printed = subprocess.run(shell, capture_output=True, check=True).stdout
    assert printed == os.fsencode(word) + b"\0"
