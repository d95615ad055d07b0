"""Names are chosen by others: printed harmlessly everywhere, and moved where the client
would look.

`checked` fails any test here whose output holds a character that a terminal would act
on, or that could make one name look like another.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.hostile.attack import HARMFUL, Target
from tests.output.terminal import Screen, run_on_terminal
from tests.support.processes import started
from tests.support.state import ProjectHandle, StateBuilder, encoded_name

NAMES: dict[str, bytes] = {
    "ESC": b"a\x1b[31mred\x1b[0m",
    "a window title": b"a\x1b]0;owned\x07b",
    "C1": "a\u009b31mred".encode(),
    "BEL and backspace": b"a\x07\x08\x08b",
    "carriage return": b"good\rbad",
    "tab": b"a\tb",
    "newline": b"a\nb",
    "newline and a command": b"a\n  -> rm -rf x",
    "delete": b"a\x7fb",
    "right to left": "a\u202egpj.exe".encode(),
    "isolates": "a\u2066b\u2069c".encode(),
    "invisible": "a\u200bb\ufeffc\u2060d".encode(),
    "line separator": "a\u2028b\u2029c\u0085d".encode(),
    "markup": b"[red]x[/red]",
    "closing markup": b"x[/x]",
    "an emoji code": b":smile: :x:",
    "format": b"%s {0} {} $HOME `id` $(id)",
    "quotes": b'it\'s "x"',
    "backslashes": b"a\\n\\x1b\\",
    "spaces": b"  a  b  ",
    "a dash": b"-rf",
    "an option": b"--dry-run",
    "a subcommand": b"restore",
    "a tilde": b"~root",
    "astral": "🚀".encode(),
    "combining": "e\u0301".encode(),
    "private use": "\ue000\U000f0000".encode(),
    "Latin 1": b"caf\xe9",
    "an encoded surrogate": b"a\xed\xa0\x80b",
    "overlong": b"a\xc0\xafb",
    "cut UTF-8": b"a\xf0\x9f\x9a",
    "every odd byte": bytes(range(0x80, 0x100)),
    "very long": b"x" * 255,
}


def client(path: Path) -> str:
    """The path as the client writes it down."""
    return os.fsencode(path).decode("utf-8", "replace")


def renamed(state: StateBuilder, name: bytes) -> Target:
    """A project whose folder was renamed; both names hold what is odd."""
    tail = name if len(name) > 200 else name + b"-2"
    old = state.code / os.fsdecode(name)
    new = state.code / "moved" / os.fsdecode(tail)
    state.project(client(old), sessions=1, index=True, subagents=False, prompts=1)
    new.mkdir(parents=True)
    old.parent.mkdir(parents=True, exist_ok=True)  # a name with a slash is two
    nobody = ProjectHandle("", "", state.projects)
    return Target(state, nobody, nobody, old, new, state.root / "outside")


@pytest.mark.parametrize("what", NAMES)
def test_a_project_moves_that_is_named_with(state: StateBuilder, what: str) -> None:
    target = renamed(state, NAMES[what])
    old, new = target.old, target.new
    before = state.config_file.read_bytes(), state.history.read_bytes()
    assert target.run("--dry-run", "-v", "--", old, new).exit == 0
    done = target.run("--json", "--", old, new)
    assert done.exit == 0, done
    assert done.json()["new"] == client(new)
    assert (state.projects / encoded_name(client(new))).is_dir()
    assert not (state.projects / encoded_name(client(old))).exists()
    assert list(state.config()["projects"]) == [client(new)]
    assert json.loads(state.history.read_bytes())["project"] == client(new)
    for command in (["backups"], ["list"], ["doctor"], ["verify"]):
        target.run(*command)
    assert target.run("restore").exit == 0
    assert (state.config_file.read_bytes(), state.history.read_bytes()) == before
    assert (state.projects / encoded_name(client(old))).is_dir()


@pytest.mark.parametrize("what", NAMES)
def test_the_folder_moves_too_that_is_named_with(
    state: StateBuilder, what: str
) -> None:
    target = renamed(state, NAMES[what])
    old, new = target.old, target.new
    new.rename(old)
    (old / ".mcp.json").write_bytes(json.dumps({"x": client(old)}).encode())
    done = target.run("--move-folder", "--settings", "--", old, new)
    assert done.exit == 0, done
    assert (new.is_dir(), old.exists()) == (True, False)
    assert json.loads((new / ".mcp.json").read_bytes()) == {"x": client(new)}
    assert target.run("restore").exit == 0
    assert (old.is_dir(), new.exists()) == (True, False)
    assert json.loads((old / ".mcp.json").read_bytes()) == {"x": client(old)}


@pytest.mark.parametrize("what", NAMES)
def test_a_refusal_is_harmless_about(state: StateBuilder, what: str) -> None:
    """OLD is still there, NEW is not; nothing is known; both are there: each names both
    paths.
    """
    target = renamed(state, NAMES[what])
    old, new = target.old, target.new
    old.mkdir()
    assert target.run("--json", "--", old, new).exit == 4
    new.rmdir()
    done = target.move("--")
    assert done.exit == 4
    first, *hints = done.err.splitlines()
    assert first.startswith("ccmove: ")
    assert hints, (
        "a name does not make a line of its own: each begins as ccmove begins its lines"
    )
    assert all(re.match("  -> .*ccmove ", line) for line in hints), hints
    old.rmdir()
    assert target.run("--", old, new).exit == 4
    new.mkdir()
    assert target.run("--", Path(f"{old}-x"), new).exit in (3, 4)
    assert target.run("--config-dir", old, "--", old, new).exit == 3
    assert target.run("--from-file", old).exit in (1, 2)
    assert target.run("restore", "--", os.fsdecode(NAMES[what])).exit == 3
    assert target.run("--verify", os.fsdecode(NAMES[what]), "--", old, new).exit == 2


@pytest.mark.parametrize("what", sorted(NAMES.keys() - {"very long"}))
def test_a_command_in_a_hint_can_be_typed_with(state: StateBuilder, what: str) -> None:
    """What the shell makes of it is the very command."""
    target = renamed(state, NAMES[what])
    target.old.mkdir()
    done = target.move("--")
    assert done.exit == 4
    (hint,) = [line for line in done.err.splitlines() if "--skip-path-check" in line]
    typed = hint[hint.index("ccmove ") :]
    script = f"ccmove() {{ printf '%s\\0' \"$@\"; }}; {typed}"
    bash = subprocess.run(
        ["bash", "-c", script], capture_output=True, env={"LC_ALL": "C.UTF-8"}
    )
    words = bash.stdout.split(b"\0")
    assert {os.fsencode(target.old), os.fsencode(target.new)} <= set(words), typed


MARKUP = ("markup", "closing markup", "an emoji code")


@pytest.mark.parametrize(
    "what", ["ESC", "a window title", "C1", "right to left", *MARKUP]
)
def test_a_terminal_with_colours_gets_no_command_from(
    state: StateBuilder, what: str
) -> None:
    target = renamed(state, NAMES[what])
    words = ["--dry-run", "--", target.old, target.new]
    shown = run_on_terminal(words, state=state, columns=200)
    text = shown_harmlessly(shown)
    assert (
        "owned" not in re.sub(r"\x1b\][^\x07]*\x07", "", shown.raw)
        or what == "a window title"
    )
    assert what not in MARKUP or NAMES[what].decode() in text.replace("\n", "")


def test_a_terminal_with_colours_gets_no_command_from_a_list_of_all(
    state: StateBuilder,
) -> None:
    for name in NAMES.values():
        renamed(state, name)
    shown_harmlessly(run_on_terminal(["list"], state=state, columns=200))


def shown_harmlessly(shown: Screen) -> str:
    text = "\n".join(shown.lines)
    assert shown.exit == 0, text
    assert shown.is_coloured
    assert not HARMFUL.search(text), repr(text)
    return text


def test_two_names_that_the_client_can_not_tell_apart(state: StateBuilder) -> None:
    target = renamed(state, b"caf\xe9")
    new = state.code / os.fsdecode(b"caf\xe8")
    new.mkdir()
    done = target.run(target.old, new)
    assert done.exit == 4
    assert "the same" in done.err


def test_a_running_session_in_a_folder_that_is_not_utf_8_is_seen(
    state: StateBuilder,
) -> None:
    target = renamed(state, b"caf\xe9")
    program = state.root / "claude"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "30"], cwd=target.new) as process:
        try:
            while Path(f"/proc/{process.pid}/comm").read_text().strip() != "claude":
                pass
            done = target.run_alone(target.old, target.new)
        finally:
            process.kill()
    assert done.exit == 4
    assert str(process.pid) in done.err


HARM = "\x1b[31m\x07\u009b\u202e[red]\n"


def test_names_inside_the_state_are_harmless(target: Target) -> None:
    """Directories, entries, keys, ids, prompts, sessions: whatever is printed of them."""
    state, handle = target.state, target.handle
    (state.projects / f"{handle.name}-{HARM}").mkdir()
    (state.projects / f"{handle.name}-{HARM}" / f"{HARM}.jsonl").write_text("{}")
    (handle.directory / HARM).write_text("")
    (handle.memory / HARM).write_text("old")
    (target.job.parent.parent / HARM).mkdir()
    (target.job.parent.parent / HARM / "state.json").write_text("{")
    state.add_session(target.old, cwd=f"{target.old}/{HARM}", text=HARM)
    state.add_prompt(f"{target.old}/{HARM}", HARM)
    config = state.config()
    entry = config["projects"][str(target.old)]
    entry["mcpServers"] = {
        HARM: {"command": f"{target.old}/{HARM}", "args": [f"x={target.old}"]}
    }
    config["projects"][f"{target.old}/{HARM}"] = {HARM: HARM}
    config["githubRepoPaths"] = {HARM: [str(target.old)]}
    config[HARM] = f"see {target.old} {HARM}"
    state.write_config(config)
    for command in (["list"], ["list", "-v"], ["list", "--json"], ["doctor"], ["doctor", "--json"],
                    ["verify"], ["verify", "--json"]):  # fmt: skip
        target.run(*command)
    for options in (["-n"], ["-n", "-v"], ["-n", "--json"], ["-v"]):
        assert target.move(*options).exit == 0
    assert target.run("restore", "-v").exit == 0


def test_files_of_one_harmful_name_both_stay_and_are_named_harmlessly(
    target: Target,
) -> None:
    for directory, text in ((target.handle.directory, "old"), (target.target, "new")):
        directory.mkdir(exist_ok=True)
        (directory / f"notes{HARM}").write_text(text)
    done = target.move()
    assert done.exit == 0
    assert "both have a different notes" in done.out
    assert len(list(target.target.glob("notes*"))) == 2


def test_a_session_with_harmful_names_is_named_harmlessly(target: Target) -> None:
    pid = os.getpid()
    target.state.session_file(pid, f"{target.old}/{HARM}", started(pid), HARM)
    done = target.run_alone(
        target.old, target.new
    )  # the child of `run` sees no other process
    assert done.exit == 4
    assert "is running" in done.err


@pytest.mark.parametrize(
    "text", ["/a\0b\t/c\n", "/a\t/b\0\n", "a\x1b\t\n", "\x1b[31m\n"]
)
def test_a_list_of_moves_with_harmful_lines_is_refused(
    target: Target, text: str
) -> None:
    done = target.run("--from-file", "-", given=text)
    assert done.exit == 2
    assert "line 1" in done.err or "path" in done.err


def test_a_list_of_moves_may_hold_names_that_are_not_utf_8(state: StateBuilder) -> None:
    target = renamed(state, b"caf\xe9")
    lines = os.fsencode(target.old) + b"\t" + os.fsencode(target.new) + b"\n"
    done = target.run_alone("--from-file", "-", input=lines)
    assert done.exit == 0, done
    assert list(state.config()["projects"]) == [client(target.new)]


@pytest.mark.parametrize(
    "argument", ["--\x1b[31m", "--verify=\x1b", "-\x1b", "--config-dir"]
)
def test_options_with_harmful_names_are_wrong_usage(
    target: Target, argument: str
) -> None:
    assert target.run(argument).exit == 2


def test_a_path_longer_than_the_system_allows_is_not_a_bug(target: Target) -> None:
    long = "/" + "/".join(["x" * 200] * 40)
    assert target.run(long, target.new).exit in (1, 3, 4)
    assert target.run(target.old, long).exit in (1, 3, 4)
    assert target.run("--skip-path-check", long, target.new).exit == 3
    too_long = target.state.code / ("x" * 300)
    assert target.run(too_long, target.new).exit in (1, 3, 4)
    assert target.run("--skip-path-check", target.old, too_long).exit == 0
    assert target.run("restore").exit == 0
