"""What names the old path and stays as it is: each with its place, its reason, what to
do.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

from ccmove.text import command_line
from tests.shapes.bench import Bench, Expected
from tests.support.hints import look_for
from tests.support.oddlines import stringify
from tests.support.state import ProjectHandle, StateBuilder, encoded_name


def ready(bench: Bench) -> tuple[StateBuilder, ProjectHandle, Path]:
    memory = {"MEMORY.md": "# Notes\nsee /OLD\n"}
    new = bench.folder("new")
    return bench.state, bench.state.project("old", sessions=2, memory=memory), new


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def left(bench: Bench, *args: Any) -> dict[str, dict[str, str]]:
    """The rows by file; the move itself must not touch a byte of them."""
    report = bench.ok("--dry-run", *args)
    rows: dict[str, dict[str, str]] = {row["file"]: row for row in report["left_alone"]}
    assert len(rows) == len(report["left_alone"])
    return rows


def test_files_of_the_user_in_the_state(bench: Bench) -> None:
    state, old, new = ready(bench)
    root = state.config_dir
    hooks = {
        "hooks": {"Stop": [{"command": f"{old.path}/stop.sh --now"}]},
        "x": [old.path],
    }
    files = {
        root / "settings.json": (
            stringify(hooks, 2).decode(),
            "1 hook, 1 setting",
        ),
        root / "CLAUDE.md": (f"# Me\n\nsee {old.path}.\n", "1 line"),
        root / "agents" / "a.md": (f"{old.path}/x\n" * 5, "5 lines"),
        root / "hooks" / "run.sh": (f"cd '{old.path}'\n", "1 line"),
        root / "plugins" / "blocklist.json": (
            stringify({"a": f"{old.path}/m"}).decode(),
            "setting a",
        ),
    }
    for path, (text, _) in files.items():
        written(path, text)
    for name in ("old-2", "old.bak", "older"):
        written(
            root / "commands" / f"{name}.md", f"{state.code}/{name}\n/x{old.path}\n"
        )
    for name in ("a", "sub/b"):
        written(root / "rules" / f"{name}.md", f"{old.path}\n")
    expected = Expected(bench)
    expected.move(state, old.path, new)
    rows = left(bench, old.path, new)
    bench.cycle(expected, old.path, new)
    assert set(rows) == {str(state.projects), str(root / "rules"), *map(str, files)}
    for path, (_, number) in {**files, root / "rules": ("", "2 lines")}.items():
        assert rows[str(path)]["what"].startswith(f"names the old path in {number}")
        in_directory = path.name == "rules"
        hint = look_for(old.path, path, in_directory=in_directory)
        if path.name == "settings.json":
            hint = f"ccmove --settings {old.path} {new}"
        assert rows[str(path)]["hint"] == hint


def test_paths_with_a_tilde_or_home_are_seen(bench: Bench, state: StateBuilder) -> None:
    old = state.project(state.home / "work" / "old", sessions=1)
    other = state.project("other", sessions=1)
    config = state.config()
    config["projects"][other.path]["mcpServers"] = {
        "s": {"args": ["--root=~/work/old?x"]}
    }
    state.write_config(config)
    new = state.home / "work" / "new"
    new.mkdir(parents=True)
    texts = {
        "agents": ("@~/work/old/STYLE.md\n$HOME/work/old-2\n", "in 1 line;"),
        "rules": (
            "see $HOME/work/old.\ncd ${HOME}/work/old/x\n",
            "in 2 lines;",
        ),
        "hooks": (
            "~/work/old-2 ~/work/older $HOMER/work/old ~root/work/old x~/work/old\n",
            "",
        ),
    }
    files = {name: state.config_dir / name / "x.md" for name in texts}
    for name, (text, _) in texts.items():
        written(files[name], text)
    rows = left(bench, old.path, new)
    seen = {name for name, file in files.items() if str(file) in rows}
    assert seen == {"agents", "rules"}
    tilde = "'~/work/old'"
    for name in seen:
        assert texts[name][1] in rows[str(files[name])]["what"]
    assert rows[str(files["agents"])]["hint"] == look_for(tilde, files["agents"])
    assert "MCP server s, args of" in rows[str(state.config_file)]["what"]


def test_what_is_kept_by_session_or_too_large_is_not_named(
    bench: Bench,
) -> None:
    state, old, new = ready(bench)
    root = state.config_dir
    for name in ("file-history", "todos", "debug", "backups"):
        for number in range(3):
            written(
                root / name / f"s{number}" / "x.txt",
                f"{old.path}\n" if number else "no\n",
            )
    written(root / "big.log", "x" * (5 << 20))
    written(root / "commands" / "long.md", old.path * (1 << 17))
    rows = left(bench, old.path, new)
    assert set(rows) == {str(state.projects)}


def test_notes_of_the_moved_project_are_named_where_they_will_be(bench: Bench) -> None:
    state, old, new = ready(bench)
    (old.memory / "MEMORY.md").write_text(f"# Notes\nsee {old.path}/x\n")
    other = state.project("other", sessions=1, memory={"a.md": f"like {old.path}\n"})
    rows = left(bench, old.path, new)
    there = state.projects / encoded_name(str(new)) / "memory" / "MEMORY.md"
    assert rows[str(there)]["hint"] == look_for(old.path, there)
    assert str(other.memory / "a.md") in rows


def test_a_session_that_does_not_say_whose_it_is_in_8_mb_is_named(bench: Bench) -> None:
    state, old, new = ready(bench)
    cwd = f"{old.path}/service"
    records = [{"content": "x" * (9 << 20)}, {"type": "user", "cwd": cwd}]
    text = "".join(json.dumps(record) + "\n" for record in records)
    name = "5a0d1d70-9f2b-4b5c-8c55-0f6b8ea5c0de.jsonl"
    file = written(state.projects / encoded_name(cwd) / name, text)
    rows = left(bench, old.path, new)
    assert "8 MB" in rows[str(file)]["what"]
    assert rows[str(file)]["hint"] == command_line(("ls", "-l", str(file)))


def test_values_that_may_mean_something_else_are_named_one_by_one(bench: Bench) -> None:
    state, old, new = ready(bench)
    other = state.project("other", sessions=1)
    config = state.config()
    unclear = {"DB": f"host:{old.path}", "OK": f"{old.path}/x", "NO": f"{old.path}-x"}
    config["projects"][old.path]["mcpServers"] = {"db": {"env": unclear}}
    servers = {"s": {"args": [f"--root={old.path}?x", f"--root={old.path}"]}}
    entry = config["projects"][other.path]
    entry["mcpServers"] = servers
    entry["additionalDirectories"] = [f"host:{old.path}"]
    entry["history"] = [{"display": f"what is in {old.path}?"}]
    state.write_config(config)
    row = left(bench, old.path, new)[str(state.config_file)]
    assert row["what"] == (
        f"names the old path in MCP server db, env DB of {new}; "
        f"MCP server s, args of {other.path}; "
        f"additional directory host:{old.path} of {other.path}; edit by hand"
    )
    assert row["hint"] == look_for(old.path, state.config_file)


def test_what_settings_rewrites_is_counted_and_what_it_leaves_is_named(
    bench: Bench,
) -> None:
    _, old, new = ready(bench)
    rules = [f"Read(/{old.path}/{name}/**)" for name in "abc"]
    allow = [*rules, f"Bash(ssh host:{old.path})"]
    settings = {"permissions": {"allow": allow}, "hooks": {"Stop": [old.path]}}
    file = written(new / ".claude" / "settings.json", json.dumps(settings))
    row = left(bench, old.path, new)[str(file)]
    assert row["what"] == (
        "names the old path in 3 permission rules, 1 hook; "
        f"permission rule Bash(ssh host:{old.path}); edit by hand"
    )
    assert row["hint"] == f"ccmove --settings {old.path} {new}"
    rest = left(bench, "--settings", old.path, new)[str(file)]
    assert rest["what"].endswith(
        f"in permission rule Bash(ssh host:{old.path}); edit by hand"
    )
    assert rest["hint"] == look_for(old.path, file)


def test_files_in_the_repo_are_named_with_what_rewrites_them(bench: Bench) -> None:
    _, old, new = ready(bench)
    by_us = [".claude/settings.json", ".mcp.json"]
    by_hand = ["CLAUDE.md", ".claude/commands/x.md", ".claude/hooks/run.sh"]
    by_hand.append(".claude/settings.local.json")  # what it holds is a line for a shell
    for name in by_us:
        written(new / name, stringify({"command": f"{old.path}/x"}).decode())
    for name in by_hand:
        written(new / name, f'{{"command": "bash {old.path}/x"}}\n')
    written(new / ".claude" / "worktrees" / "fix" / "CLAUDE.md", old.path)
    written(new / "src" / "notes.md", old.path)
    rows = left(bench, old.path, new)
    command = f"ccmove --settings {old.path} {new}"
    assert {rows[str(new / name)]["hint"] for name in by_us} == {command}
    for name in by_hand:
        assert rows[str(new / name)]["hint"].startswith(("grep ", "findstr "))
    assert len(rows) == 1 + len(by_us) + len(by_hand)


def test_what_project_files_can_not_rewrite_is_still_named(bench: Bench) -> None:
    _, old, new = ready(bench)
    says = f"see {old.path}"
    text = stringify({"a": f"{old.path}/x", "b": says, "c": says}).decode()
    file = written(new / ".claude" / "settings.json", text)
    rows = left(bench, "--settings", old.path, new)
    what = "names the old path in setting b; setting c; edit by hand"
    assert rows[str(file)]["what"] == what
    assert rows[str(file)]["hint"].startswith(("grep ", "findstr "))


def test_the_state_in_a_home_that_moved_is_not_a_projects_own(bench: Bench) -> None:
    """`ccmove /Users/me /home/me`: no file of the state twice, and no transcript to
    edit.
    """
    state = bench.state
    for name in ("/Users/me", "/Users/me/code/app"):
        state.project(name, sessions=2)
    written(state.config_dir / "CLAUDE.md", "see /Users/me/notes\n")
    written(state.config_dir / "settings.json", '{"a": "/Users/me/x"}')
    written(state.home / "CLAUDE.md", "see /Users/me/notes\n")
    written(state.home / ".mcp.json", '{"a": "/Users/me/x"}')
    cache, market = "/Users/me/.claude/plugins/cache/x", "/Users/me/.claude/plugins/mkt"
    plugins = {
        "installed_plugins": {
            "plugins": {"x@mkt": [{"scope": "user", "installPath": cache}]}
        },
        "known_marketplaces": {"mkt": {"installLocation": market}},
    }
    for name, record in plugins.items():
        written(state.config_dir / "plugins" / f"{name}.json", json.dumps(record))
    (state.home / "code" / "app").mkdir(parents=True)
    rows = left(bench, "/Users/me", state.home)
    files = [state.config_dir / "CLAUDE.md", state.config_dir / "settings.json"]
    files += [state.home / "CLAUDE.md", state.home / ".mcp.json", state.projects]
    assert {Path(file) for file in rows} - {state.config_dir} == set(files)
    done = bench.run("--settings", "/Users/me", state.home)
    assert done.exit == 0, done
    for file in (state.config_dir / "settings.json", state.home / ".mcp.json"):
        assert file.read_text() == f'{{"a": "{state.home}/x"}}'
    for name, record in plugins.items():
        text = (state.config_dir / "plugins" / f"{name}.json").read_text()
        assert text == json.dumps(record).replace("/Users/me", str(state.home))


def test_every_hint_is_a_command_that_works_as_it_stands(bench: Bench) -> None:
    state, old, new = ready(bench)
    state.project("old/sub", sessions=1)
    state.project(
        "o/ld", sessions=1, make_folder=True
    )  # in one directory with two others
    state.project("o_ld", sessions=1)
    state.add_session("o-ld")
    (state.projects / encoded_name(str(state.code / "o-ld")) / "x.jsonl").write_text(
        "{}\n"
    )
    for folder in (new, new / "sub"):
        written(
            folder / ".claude" / "settings.json", f'{{"a": "{state.code}/old/sub"}}'
        )
        written(folder / "CLAUDE.md", old.path)
    written(state.config_dir / "settings.json", f'{{"a": "{old.path}"}}')
    record = stringify({"cwd": old.path}).decode()
    app = state.home / ".config" / "Claude" / "claude-code-sessions"
    written(app / "local_1.json", record)
    (state.code / "n-ew").mkdir()
    rows = [*bench.ok(old.path, new)["left_alone"]]
    rows += bench.ok(state.code / "o-ld", state.code / "n-ew")["left_alone"]
    hints = dict.fromkeys(row["hint"] for row in rows if row["hint"])
    commands = [hint.split() for hint in hints]  # one may be for several files
    assert {tuple(command[:2]) for command in commands} >= {
        ("ccmove", "--settings"),
        ("ccmove", "--desktop"),
        ("ccmove", str(state.code / "o_ld")),
        ("ls", "-l"),
    }
    for program, *args in commands:
        if program == "ccmove":
            assert bench.run(*args).exit == 0, args
            rewritten = "--settings" in args and args[-1] == str(new)
            assert (
                not rewritten or str(new) in (new / ".claude/settings.json").read_text()
            )
        else:
            assert subprocess.run(
                [program, *args], check=True, capture_output=True
            ).stdout


def test_transcripts_are_one_line_and_a_link_in_the_state_leads_nowhere(
    bench: Bench,
) -> None:
    state, old, new = ready(bench)
    outside = written(state.root / "outside" / "x.md", old.path)
    (state.config_dir / "agents").symlink_to(outside.parent)
    (state.config_dir / "linked.md").symlink_to(outside)
    rows = left(bench, old.path, new)
    assert list(rows) == [str(state.projects)]
    assert "2 transcripts" in rows[str(state.projects)]["what"]
