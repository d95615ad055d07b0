"""`ccmove pack`: what goes into an archive, what never does, and when there is none."""

import contextlib
import gzip
import hashlib
import io
import json
import os
import stat
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from tests.inspect.conftest import git, make_repo, nothing_changes
from tests.output.terminal import run_on_terminal
from tests.support.run import Completed, ccmove_command, clean_environment, run_ccmove
from tests.support.state import StateBuilder, encoded_name

SECRETS = {
    "type": "stdio",
    "command": "npx",
    "args": [
        "--db", "postgresql://app:pass-in-args@h/db", "https://token-in-args@h/x",
        "-e", "TOKEN=env-in-args", "--header", "X-Key: header-in-args",
        "--header=X-Key:header-in-one", "-e", "console.log(1)",
        "-eTOKEN=glued-in-args", "-e", "my.token=dotted-in-args", "-HX-Key: glued-header",
        "A_TOKEN=bare-in-args", "-encoding=utf8", "--env-file=/x", "port=80",
        "--env=A=first-of-two", "--env=B=second-of-two",
    ],
    "env": {"TOKEN": "value-of-env", "NESTED": ["value-in-list"], "PIN": 80420815},
    "headers": {"Authorization": "value-of-header"},
    "url": "https://me:pass-in-url@example.org/mcp",
}  # fmt: skip
SECRET_VALUES = (
    "pass-in-args", "token-in-args", "value-of-env", "value-in-list", "value-of-header",
    "pass-in-url", "env-in-args", "header-in-args", "header-in-one", "80420815",
    "value-of-2", "glued-in-args", "dotted-in-args", "glued-header", "bare-in-args",
    "first-of-two", "second-of-two",
)  # fmt: skip


def pack(state: StateBuilder, *words: str | Path, cwd: Path | None = None) -> Completed:
    done = run_ccmove(
        "pack", "-o", state.root / "it.tar.gz", *words, state=state, cwd=cwd
    )
    assert done.exit == 0, done
    return done


def contents(state: StateBuilder, name: str = "it.tar.gz") -> dict[str, bytes]:
    """Every file of the archive, once its hashes were compared."""
    files: dict[str, bytes] = {}
    with tarfile.open(state.root / name) as tar:
        for info in tar:
            assert info.isreg()
            taken = tar.extractfile(info)
            assert taken is not None
            files[info.name] = taken.read()
    sums = dict(
        line.split("  ", 1)[::-1] for line in files["SHA256SUMS"].decode().splitlines()
    )
    assert list(sums) == list(files)[:-1]
    for file, digest in sums.items():
        assert hashlib.sha256(files[file]).hexdigest() == digest
    header = json.loads(files["ccmove.json"])
    assert [row["name"] for row in header["members"]] == list(files)[1:-1]
    for row in header["members"]:
        assert row["size"] == len(files[row["name"]])
    return files


def header(state: StateBuilder) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(contents(state)["ccmove.json"])
    return found


def of_sessions(state: StateBuilder) -> set[str]:
    names = map(Path, contents(state))
    return {name.stem for name in names if name.match("sessions/*.jsonl")}


def full_project(state: StateBuilder, path: str = "app") -> Any:
    """A project with something of every kind."""
    handle = state.project(
        path,
        index=True,
        memory={"MEMORY.md": f"- note of {path}\n", "deep/how.md": "so\n"},
        config={
            "hasTrustDialogAccepted": True,
            "mcpServers": {"db": SECRETS, "db, too": {"env": {"TOKEN": "value-of-2"}}},
        },
        make_folder=True,
    )
    session = handle.sessions[0]
    base = state.config_dir
    for place in ("file-history", "tasks"):
        (base / place / session).mkdir(parents=True)
        (base / place / session / "1").write_text(f"{place} of {path}\n")
    (base / "plans").mkdir(exist_ok=True)
    slug = f"calm-{path.replace('/', '-')}"
    (base / "plans" / f"{slug}.md").write_text(f"plan of {path}\n")
    (base / "paste-cache").mkdir(exist_ok=True)
    digest = hashlib.sha256(path.encode()).hexdigest()[:16]
    (base / "paste-cache" / f"{digest}.txt").write_text(f"pasted in {path}\n")
    with handle.transcripts[0].open("a") as file:
        file.write(
            json.dumps({"type": "x", "slug": slug}, separators=(",", ":")) + "\n"
        )
    with state.history.open("a") as file:
        pasted = {"1": {"id": 1, "type": "text", "contentHash": digest}}
        prompt = {"display": f"look at this in {path}", "pastedContents": pasted}
        prompt |= {"timestamp": 1, "project": handle.path, "sessionId": session}
        file.write(json.dumps(prompt) + "\n")
    (handle.directory / f"{session}.dir-sync.json").write_text(f'"note of {path}"')
    (handle.directory / "agent-0a1b2c3d.jsonl").write_text(
        json.dumps({"sessionId": session, "cwd": handle.path}) + "\n"
    )
    return handle


def test_everything_that_has_a_role_is_in_it_byte_for_byte(state: StateBuilder) -> None:
    handle = full_project(state)
    with nothing_changes(state):
        run_ccmove("pack", "-n", handle.path, state=state)
    before = {path: path.stat().st_mtime_ns for path in state.home.rglob("*")}
    pack(state, handle.path)
    assert {path: path.stat().st_mtime_ns for path in state.home.rglob("*")} == before
    files = contents(state)
    roles = {row["role"] for row in header(state)["members"]}
    assert roles == {
        "config", "history", "transcript", "session-folder", "session-note", "agent", "memory",
        "index", "file-history", "tasks", "plan", "paste",
    }  # fmt: skip
    base = "projects/1"
    for transcript in handle.transcripts:
        assert files[f"{base}/sessions/{transcript.name}"] == transcript.read_bytes()
    assert files[f"{base}/index.json"] == handle.index.read_bytes()
    assert files[f"{base}/memory/MEMORY.md"] == b"- note of app\n"
    assert files[f"{base}/history.jsonl"] == state.history.read_bytes()
    dates = {row["name"]: row["mtime_ns"] for row in header(state)["members"]}
    for transcript in handle.transcripts:
        name = f"{base}/sessions/{transcript.name}"
        assert dates[name] == transcript.stat().st_mtime_ns


def test_the_header_says_where_it_comes_from(state: StateBuilder) -> None:
    handle = full_project(state)
    make_repo(Path(handle.path), commit=True)
    git(
        Path(handle.path),
        "remote",
        "add",
        "origin",
        "https://tok:en@github.com/Me/App.git",
    )
    pack(state, handle.path)
    said = header(state)
    assert said["format"] == 1
    assert said["home"] == str(state.home)
    assert said["system"] == "linux"
    assert said["client"] == "2.1.325"
    (project,) = said["projects"]
    assert project["path"] == handle.path
    assert project["git"]["remote"] == "me/app"
    root = git(Path(handle.path), "rev-list", "--max-parents=0", "HEAD")
    assert project["git"]["root"] == str(root).strip()


@pytest.mark.slow
def test_the_same_state_gives_the_same_archive(state: StateBuilder) -> None:
    handle = full_project(state)
    for suffix in (".tar.gz", ".tar"):
        both = []
        for number in (1, 2):
            file = state.root / f"{number}{suffix}"
            assert run_ccmove("pack", "-o", file, handle.path, state=state).exit == 0
            both.append(file.read_bytes())
            time.sleep(1.1 if number == 1 else 0)
        assert both[0] == both[1]
    assert gzip.decompress((state.root / "1.tar.gz").read_bytes()) == both[0]


PRIVATE = {
    ".credentials.json": "private-credentials",
    "settings.json": "private-settings",
    "settings.local.json": "private-local-settings",
    "plugins/installed_plugins.json": "private-plugins",
    "daemon.json": "private-daemon",
    "daemon/roster.json": "private-roster",
    "jobs/1/state.json": "private-job",
    "sessions/1.json": "private-running",
    "session-env/x": "private-env",
    "shell-snapshots/x.sh": "private-snapshot",
    "debug/x.txt": "private-debug",
    "todos/x.json": "private-todo",
    "statsig/x": "private-statsig",
    "usage-data/session-meta/x.json": "private-usage",
    "CLAUDE.md": "private-claude-md",
    "agents/a.md": "private-agent",
    "commands/c.md": "private-command",
    "skills/s/SKILL.md": "private-skill",
    "hooks/h.sh": "private-hook",
    "backups/.claude.json.backup": "private-copy-of-config",
    "plans/not-named.md": "private-plan",
    "paste-cache/ffffffffffffffff.txt": "private-paste",
    "ccmove/ledger.json": "private-of-ours",
}


@pytest.mark.parametrize("what", ["one", "shared directory", "session"])
def test_nothing_that_is_not_the_projects_is_in_any_byte(
    state: StateBuilder, what: str
) -> None:
    """Every byte of the archive, as it is and decompressed, is searched for what was
    planted in everything else.
    """
    handle = full_project(state, "my-app")
    for name, text in PRIVATE.items():
        file = state.config_dir / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(text))
    config = state.config()
    config["oauthAccount"] = {"emailAddress": "private-account"}
    config["primaryApiKey"] = "private-key"
    config["mcpServers"] = {"of-user": {"env": {"A": "private-user-server"}}}
    config["githubRepoPaths"] = {"private/repository": ["/private/clone"]}
    state.write_config(config)
    others = ["zebra", "my-app-docker", "my-ap"]
    if what == "shared directory":
        others.append("my_app")
    for other in others:
        there = full_project(state, other)
        for transcript in there.transcripts:
            with transcript.open("a") as file:
                file.write('{"x":"private-transcript"}\n')
        state.add_prompt(other, f"private-prompt-of-{other}", there.sessions[0])
    # Notes of a directory that is shared can't be told apart; all else can.
    options = ["--session", handle.sessions[0]] if what == "session" else []
    done = pack(state, *options, handle.path)
    tokens = [
        b"private",
        b"zebra",
        b"my-app-docker",
        b"my-ap/",
        *map(str.encode, SECRET_VALUES),
    ]
    raw = (state.root / "it.tar.gz").read_bytes()
    files = contents(state)
    if what == "shared directory":
        files = {name: data for name, data in files.items() if "/memory/" not in name}
        assert "shares its notes with" in done.out
        assert b"note of my_app" not in b"".join(files.values())
        tokens += [b"plan of my_app", b"pasted in my_app", b"tasks of my_app"]
    text = raw + b"".join([name.encode() + data for name, data in files.items()])
    assert [token for token in tokens if token in text] == []
    assert b"look at this in my-app" in text  # the search can find something


def test_secrets_of_servers_go_along_only_when_that_is_asked_for(
    state: StateBuilder,
) -> None:
    handle = full_project(state)
    done = pack(state, handle.path)
    entry = json.loads(contents(state)["projects/1/config.json"])
    server = entry["mcpServers"]["db"]
    assert server["command"] == "npx"
    assert server["args"] == [
        "--db", "postgresql://app:@h/db", "https://@h/x",
        "-e", "TOKEN=", "--header", "X-Key: ", "--header=X-Key:", "-e", "console.log(1)",
        "-eTOKEN=", "-e", "my.token=", "-HX-Key: ", "A_TOKEN=", "-encoding=utf8",
        "--env-file=/x", "port=80", "--env=A=", "--env=B=",
    ]  # fmt: skip
    assert server["env"] == {"TOKEN": "", "NESTED": [""], "PIN": ""}
    assert server["headers"] == {"Authorization": ""}
    assert server["url"] == "https://me:@example.org/mcp"
    assert entry["hasTrustDialogAccepted"] is True
    for words in ("db, env TOKEN", "db, headers Authorization", "db, url", "db, args"):
        assert f"MCP server {words}" in done.out
    assert entry["mcpServers"]["db, too"]["env"] == {"TOKEN": ""}
    done = pack(state, "--with-secrets", handle.path)
    entry = json.loads(contents(state)["projects/1/config.json"])
    assert entry["mcpServers"]["db"] == SECRETS
    assert "Left out" not in done.out


def test_nested_projects_and_worktrees_go_along_unless_only_one_is_wanted(
    state: StateBuilder,
) -> None:
    app = state.project("app", make_folder=True)
    sub = state.project("app/sub", make_folder=True)
    tree = state.project("app/.claude/worktrees/x", make_folder=True)
    state.project("app-docker")
    pack(state, app.path)
    paths = [project["path"] for project in header(state)["projects"]]
    assert sorted(paths) == sorted([app.path, sub.path, tree.path])
    assert of_sessions(state) == {*app.sessions, *sub.sessions, *tree.sessions}
    pack(state, "--only", cwd=Path(app.path))
    assert of_sessions(state) == set(app.sessions)


def test_with_all_every_project_of_a_home_is_packed(state: StateBuilder) -> None:
    handles = [
        full_project(state, path) for path in ("one", "two", "two/deep", "my_app")
    ]
    state.project("my-app", make_folder=True)
    done = pack(state, "--all")
    assert "5 projects" in done.out
    assert {*handles[0].sessions, *handles[2].sessions} <= of_sessions(state)
    assert len(of_sessions(state)) == 10


def test_what_was_begun_in_the_root_is_left_out_and_named(
    state: StateBuilder,
) -> None:
    """No folder elsewhere can be the root, so the whole archive would be refused."""
    app = state.project("app")
    state.project("/")
    done = pack(state, "--all")
    assert [project["path"] for project in header(state)["projects"]] == [app.path]
    assert "\n  /\n    the root folder is not a project\n" in done.out
    refused = run_ccmove("pack", "-n", "/", state=state)
    assert refused.exit == 4, refused
    assert "/ is not a project" in refused.err


def test_a_path_that_no_folder_can_have_is_left_out_and_named(
    state: StateBuilder,
) -> None:
    app = state.project("app")
    config = state.config()
    config["projects"]["/odd\ud800"] = {"lastCost": 1}
    state.write_config(config)
    done = pack(state, "--all")
    assert [project["path"] for project in header(state)["projects"]] == [app.path]
    assert "no folder can have this path" in done.out


def test_notes_deeper_than_names_can_be_are_left_out_and_named(
    state: StateBuilder,
) -> None:
    handle = state.project("app", memory={"a.md": "x\n"}, make_folder=True)
    deepest = handle.memory / "/".join(["d"] * 300)
    deepest.mkdir(parents=True)
    with contextlib.chdir(deepest):
        for _ in range(1200):
            os.mkdir("d")
            os.chdir("d")
        Path("note.md").write_text("x\n")
    try:
        done = pack(state, handle.path)
    finally:  # which is too deep for Python's own way to remove it
        subprocess.run(["rm", "-rf", handle.memory / "d"], check=True)
    assert [name for name in contents(state) if "memory" in name] == [
        "projects/1/memory/a.md"
    ]
    assert "not every system can have this name" in done.out


def test_sessions_that_are_named_come_alone(state: StateBuilder) -> None:
    handle = full_project(state)
    first, second = handle.sessions
    pack(state, "--session", first, handle.path)
    names = set(contents(state))
    assert {name.split("/")[-1] for name in names} >= {
        f"{first}.jsonl",
        "agent-0a1b2c3d.jsonl",
    }
    assert not any(second in name for name in names)
    assert not any("memory" in name or "config" in name for name in names)
    prompts = contents(state)["projects/1/history.jsonl"].decode().splitlines()
    assert {json.loads(line)["sessionId"] for line in prompts} == {first}
    index = json.loads(contents(state)["projects/1/index.json"])
    assert [entry["sessionId"] for entry in index["entries"]] == [first]
    done = run_ccmove("pack", "-n", "--session", "no-such", handle.path, state=state)
    assert done.exit == 3
    assert f"there is no session no-such in {handle.path}" in done.err


def test_a_project_without_that_session_is_not_unknown(state: StateBuilder) -> None:
    handle = state.project("app", sessions=0, prompts=0, make_folder=True)
    done = run_ccmove("pack", "-n", "--session", "no-such", handle.path, state=state)
    assert done.exit == 3
    assert f"there is no session no-such in {handle.path}" in done.err
    assert "did you mean" not in done.err


def test_of_a_session_that_is_named_no_other_project_is_told(
    state: StateBuilder,
) -> None:
    handle = full_project(state)
    full_project(state, "app/of-a-client")
    full_project(state, "elsewhere")
    session = handle.sessions[0]
    for words in ([handle.path], ["--all"]):
        pack(state, "--session", session, *words)
        files = contents(state)
        assert b"of-a-client" not in b"".join(files.values())
        assert b"elsewhere" not in b"".join(files.values())
        paths = [project["path"] for project in header(state)["projects"]]
        assert paths == [handle.path]


def test_sessions_of_a_gone_twin_come_along_with_their_prompts(
    state: StateBuilder,
) -> None:
    """Claude Code shows them in the project that shares its directory."""
    gone = state.project("my_app", index=True)
    there = state.project("my-app", index=True, make_folder=True)
    pack(state, there.path)
    assert of_sessions(state) == {*gone.sessions, *there.sessions}
    prompts = contents(state)["projects/1/history.jsonl"].decode().splitlines()
    assert len(prompts) == 6
    assert {json.loads(line)["project"] for line in prompts} == {there.path}


ODD = ["con.md", "a:b.md", "back\\slash.md", "esc\x1b.md", "end.", "x" * 210, "a\nb.md"]


def test_what_has_no_role_is_left_out_and_named(state: StateBuilder) -> None:
    handle = full_project(state)
    for name in ODD:
        (handle.memory / name).write_text("odd\n")
    (handle.memory / "Same.md").write_text("1\n")
    (handle.memory / "same.md").write_text("2\n")
    (handle.memory / "link.md").symlink_to(state.config_file)
    os.mkfifo(handle.memory / "pipe")
    (handle.directory / ".session-aliases").write_text("/x\n")
    (handle.directory / "whatever.txt").write_text("x\n")
    (handle.directory / f"{handle.sessions[1]}.jsonl.bak").write_text("x\n")
    done = run_ccmove(
        "pack", "-o", state.root / "it.tar.gz", "--json", handle.path, state=state
    )
    assert done.exit == 0, done
    named = {Path(row["file"]).name for row in done.json()["left_alone"]}
    assert named >= {
        *ODD, "same.md", "link.md", "pipe", ".session-aliases", "whatever.txt",
        f"{handle.sessions[1]}.jsonl.bak",
    }  # fmt: skip
    notes = {name for name in contents(state) if "/memory/" in name}
    assert notes == {
        f"projects/1/memory/{n}" for n in ("MEMORY.md", "deep/how.md", "Same.md")
    }
    words = run_ccmove("pack", "-n", handle.path, state=state).out
    assert "whatever.txt" in words
    assert "\x1b" not in words


def test_a_transcript_ends_at_its_last_line_end(state: StateBuilder) -> None:
    handle = state.project("app", make_folder=True)
    whole = handle.transcripts[0].read_bytes()
    with handle.transcripts[0].open("ab") as file:
        file.write(b'{"type":"user","mess')
    handle.transcripts[1].write_bytes(b"no line end at all")
    subagent = next((handle.directory / handle.sessions[0]).rglob("agent-*.jsonl"))
    of_agent = subagent.read_bytes()
    subagent.write_bytes(of_agent + b"{" + b" " * 200_000)
    pack(state, handle.path)
    files = contents(state)
    base = "projects/1/sessions"
    assert files[f"{base}/{handle.sessions[0]}.jsonl"] == whole
    assert files[f"{base}/{handle.sessions[1]}.jsonl"] == b"no line end at all"
    inside = subagent.relative_to(handle.directory).as_posix()
    assert files[f"{base}/{inside}"] == of_agent


def test_what_only_looks_like_a_transcript_is_packed_to_its_end(
    state: StateBuilder,
) -> None:
    notes = {"log.jsonl": '{"a": 1}\n{"b": 2}'}
    handle = state.project("app", memory=notes, make_folder=True)
    history = state.config_dir / "file-history" / handle.sessions[0]
    history.mkdir(parents=True)
    (history / "0a1b@v1.jsonl").write_text("1\n2")
    pack(state, handle.path)
    files = contents(state)
    assert files["projects/1/memory/log.jsonl"] == b'{"a": 1}\n{"b": 2}'
    name = f"file-history/{handle.sessions[0]}/0a1b@v1.jsonl"
    assert files[name] == b"1\n2"


ODD_LINES = {
    "half a surrogate pair": b'{"display":"\xed\xa0\x80","project":PATH}',
    "not UTF-8": b'{"display":"\xff","project":PATH}',
    "very deep": b'{"a":' + b"[" * 150 + b"]" * 150 + b',"project":PATH}',
    "NaN": b'{"timestamp":NaN,"project":PATH}',
    "half a line": b'{"display":"x","project":PATH',
}


@pytest.mark.parametrize("why", ODD_LINES)
@pytest.mark.parametrize("of", ["itself", "a gone twin"])
def test_a_line_of_the_history_that_is_no_prompt_is_left_out_and_named(
    state: StateBuilder, why: str, of: str
) -> None:
    """Also where it is the last one, without its newline, or gets another path."""
    gone = state.project("my_app")
    there = state.project("my-app", make_folder=True)
    path = there.path if of == "itself" else gone.path
    line = ODD_LINES[why].replace(b"PATH", json.dumps(path).encode())
    with state.history.open("ab") as file:
        file.write(line)
    done = pack(state, there.path)
    assert "1 line that can't be read" in done.out
    prompts = contents(state)["projects/1/history.jsonl"].splitlines()
    assert len(prompts) == 6


def test_a_file_is_private_complete_and_replaces_the_one_before(
    state: StateBuilder,
) -> None:
    handle = state.project("app", make_folder=True)
    file = state.root / "it.tar.gz"
    file.write_text("something else")
    file.chmod(0o644)
    pack(state, handle.path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert contents(state)
    assert sorted(path.name for path in state.root.iterdir()) == [
        "code", "home", "it.tar.gz", "tmp",
    ]  # fmt: skip


def test_what_a_killed_one_left_is_removed_by_the_next(state: StateBuilder) -> None:
    handle = state.project("app", make_folder=True)
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = state.root / f".it.tar.gz.ccmove-{gone.pid}"
    at_work = state.root / f".it.tar.gz.ccmove-{os.getpid()}"
    other = state.root / ".it.tar.gz.ccmove-x"
    for file in (left, at_work, other):
        file.write_text("half")
    pack(state, handle.path)
    assert not left.exists()
    assert at_work.exists()
    assert other.exists()


def test_a_pipe_gets_the_same_bytes_and_words_go_to_standard_error(
    state: StateBuilder,
) -> None:
    handle = full_project(state)
    pack(state, handle.path)
    piped = subprocess.run(
        ccmove_command("pack", handle.path),
        env=clean_environment(state),
        cwd=state.home,
        capture_output=True,
        check=True,
    )
    assert piped.stdout == (state.root / "it.tar.gz").read_bytes()
    assert "Packed" in piped.stderr.decode()
    quiet = subprocess.run(
        ccmove_command("pack", "-q", handle.path),
        env=clean_environment(state),
        cwd=state.home,
        capture_output=True,
        check=True,
    )
    assert quiet.stderr == b""


def test_a_terminal_gets_no_archive(state: StateBuilder) -> None:
    handle = state.project("app", make_folder=True)
    seen = run_on_terminal(["pack", handle.path], state=state, columns=300)
    assert seen.exit == 2
    assert f"ccmove pack --output project.tar.gz {handle.path}" in "".join(seen.lines)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["-o", "x.zip", "."], 2, "x.zip ends with none of"),
        (["-o", "x.tar.gz", "/no/such"], 3, "no data for /no/such"),
        (["-o", "x.tar.gz", "--all", "."], 2, "--all takes the place of PATH"),
        (["--json", "."], 2, "--json needs -o"),
        (["-o", "dir.tar", "."], 2, "is a directory"),
        (["-o", ".", "."], 2, "is a directory"),
        (["-o", "no/such/x.tar", "."], 1, "no/such"),
        (["-o", "x.tar", ""], 2, "empty"),
    ],
)
def test_what_can_not_be_meant_is_said(
    state: StateBuilder, words: list[str], code: int, said: str
) -> None:
    handle = state.project("app", make_folder=True)
    (Path(handle.path) / "dir.tar").mkdir()
    done = run_ccmove("pack", *words, state=state, cwd=Path(handle.path))
    assert done.exit == code, done
    assert said in done.err + done.out
    assert os.listdir(handle.path) == ["dir.tar"]


def test_a_preview_ends_with_a_command_that_works_on_a_terminal(
    state: StateBuilder,
) -> None:
    state.project("app")
    planned = run_ccmove("pack", "-n", "app", state=state, cwd=state.code)
    assert planned.exit == 0
    assert "To apply: ccmove pack --output project.tar.gz app\n" in planned.out


def test_zstd_is_told_where_python_can_not(state: StateBuilder) -> None:
    state.project("app", make_folder=True)
    done = run_ccmove("pack", "-o", "x.tar.zst", state.code / "app", state=state)
    try:
        import compression.zstd  # noqa: F401
    except ImportError:
        assert done.exit == 2
        assert "Python 3.14" in done.err
    else:
        assert done.exit == 0


def test_an_interrupted_run_comes_first(state: StateBuilder) -> None:
    handle = state.project("app", make_folder=True)
    run = state.config_dir / "ccmove" / "run"
    run.mkdir(parents=True)
    (run / "manifest.json").write_text("{}")
    done = run_ccmove("pack", "-n", handle.path, state=state)
    assert done.exit == 5, done


class Slow:
    """A pack whose reader takes little at a time, so that there is time to meddle."""

    def __init__(self, state: StateBuilder, path: str) -> None:
        self.child = subprocess.Popen(
            ccmove_command("pack", path),
            env=clean_environment(state),
            cwd=state.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
        )
        assert self.child.stdout is not None
        self.start = self.child.stdout.read(1000)

    def end(self) -> tuple[int, bytes, str]:
        out, err = self.child.communicate()
        return self.child.returncode, self.start + out, err.decode()


def large_project(state: StateBuilder) -> Any:
    """Neither transcript fits into a pipe, even compressed: while the first is written,
    the last is not open yet.
    """
    handle = state.project("app", sessions=2, make_folder=True)
    for transcript in handle.transcripts:
        with transcript.open("ab") as file:
            for _ in range(8):
                line = os.urandom(250_000).hex().encode()
                file.write(b'{"x":"' + line + b'"}\n')
    return handle, max(handle.transcripts)


def test_what_grows_meanwhile_is_left_out(state: StateBuilder) -> None:
    handle, last = large_project(state)
    before = last.read_bytes()
    slow = Slow(state, handle.path)
    with last.open("ab") as file:
        file.write(b'{"later":1}\n')
    code, out, err = slow.end()
    assert code == 0, err
    with tarfile.open(fileobj=io.BytesIO(out)) as tar:
        taken = tar.extractfile(f"projects/1/sessions/{last.name}")
        assert taken is not None
        assert taken.read() == before


@pytest.mark.parametrize("how", ["shorter", "gone", "another", "link"])
def test_what_shrinks_or_vanishes_breaks_off_a_pipe(
    state: StateBuilder, how: str
) -> None:
    handle, last = large_project(state)
    slow = Slow(state, handle.path)
    if how == "shorter":
        os.truncate(last, 1_000_000)
    else:
        last.rename(state.root / "elsewhere")
    if how == "another":
        last.write_bytes((state.root / "elsewhere").read_bytes())
    if how == "link":
        last.symlink_to(state.root / "elsewhere")
    code, out, err = slow.end()
    assert code == 1, err
    assert str(last) in err
    with pytest.raises(EOFError):
        gzip.decompress(out)


def test_a_reader_that_goes_away_is_told(state: StateBuilder) -> None:
    handle, _ = large_project(state)
    slow = Slow(state, handle.path)
    with slow.child:
        assert slow.child.stdout is not None
        slow.child.stdout.close()
        assert slow.child.stderr is not None
        err = slow.child.stderr.read().decode()
    assert slow.child.returncode == 1
    assert "could not be written" in err
    assert "Traceback" not in err


def test_a_name_that_is_known_nowhere_gets_the_nearest(state: StateBuilder) -> None:
    handle = state.project("frontend", make_folder=True)
    done = run_ccmove("pack", "-o", "x.tar", "/old/frontend", state=state)
    assert done.exit == 3
    assert handle.path in done.err


def test_a_directory_whose_name_is_not_in_use_is_packed_by_its_name(
    state: StateBuilder,
) -> None:
    """Notes alone, which nobody lists: they are whose path asks for them."""
    handle = state.project(
        "app", sessions=0, prompts=0, config=None, memory={"a.md": "x\n"}
    )
    assert encoded_name(handle.path) == handle.name
    pack(state, handle.path)
    assert "projects/1/memory/a.md" in contents(state)
