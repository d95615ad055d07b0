"""Is Claude Code running there? With real processes, and records that lie."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ccmove.claude import live
from ccmove.claude.layout import find_layout
from ccmove.claude.live import daemon_is_running, live_sessions, noted_start
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc"
)


def start_time(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Some process that has nothing to do with Claude."""
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path) as process:
        yield process
        process.kill()


@pytest.fixture
def claude(state: StateBuilder) -> Iterator[subprocess.Popen[bytes]]:
    """A process named claude that works in the project, as an older client does:
    unregistered.
    """
    folder = state.code / "my-app" / "src"
    folder.mkdir(parents=True)
    program = state.root / "claude"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "60"], cwd=folder) as process:
        _wait_for_name(process.pid)
        yield process
        process.kill()


def _wait_for_name(pid: int) -> None:
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/comm").read_text().strip() != "claude":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def found(state: StateBuilder, *folders: Path) -> list[int]:
    layout = find_layout(str(state.config_dir), {})
    return [
        session.pid
        for session in live_sessions(layout, [str(path) for path in folders])
    ]


def test_a_registered_session_in_the_folder_is_seen(
    state: StateBuilder, sleeper: subprocess.Popen[bytes]
) -> None:
    folder = state.code / "my-app"
    state.session_file(
        sleeper.pid, str(folder), start_time(sleeper.pid), "some-session"
    )
    assert found(state, folder) == [sleeper.pid]
    assert found(state, state.code) == [sleeper.pid]
    assert found(state, state.code / "my-app-docker") == []
    assert found(state, folder / "src") == []


def test_a_reused_pid_with_another_start_time_is_not_that_session(
    state: StateBuilder, sleeper: subprocess.Popen[bytes]
) -> None:
    state.session_file(sleeper.pid, str(state.code / "my-app"), "1", "long-gone")
    assert found(state, state.code / "my-app") == []


@pytest.mark.parametrize(
    ("noted", "when"),
    [
        ("134394176667225710", 1_794_944_066),  # Windows, 2.1.326
        ("Tue Nov 17 19:34:26 2026", 1_794_944_066),  # macOS
        ("639149924667225710", None),  # as if counted from the year 1
        ("None", None),
    ],
)
def test_when_a_client_started_is_known_from_its_record(
    noted: str, when: int | None
) -> None:
    told = noted_start(noted)
    assert when == (told and int(told))


def test_a_dead_pid_is_not_a_session(
    state: StateBuilder, sleeper: subprocess.Popen[bytes]
) -> None:
    started = start_time(sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    state.session_file(sleeper.pid, str(state.code / "my-app"), started, "dead")
    assert found(state, state.code / "my-app") == []


def with_pid_domain(record: Path, domain: object) -> None:
    record.write_text(
        json.dumps({**json.loads(record.read_text()), "pidDomain": domain})
    )


def domain_of_this_process() -> str:
    """As clients from 2.1.325 on write it."""
    machine = Path("/etc/machine-id")
    name = machine.read_text().strip() if machine.exists() else ""
    return f"linux:{name}:{os.readlink('/proc/self/ns/pid')}"


def of_another_container(state: StateBuilder, pid: int, folder: Path) -> None:
    record = state.session_file(pid, str(folder), "1", "far-away")
    with_pid_domain(record, f"{domain_of_this_process()}0")
    os.utime(record, (1_700_000_000, 1_700_000_000))


@pytest.mark.parametrize(
    "pid", [4_194_305, os.getpid()], ids=["no process", "some process"]
)
def test_a_session_of_another_container_can_not_be_checked(
    state: StateBuilder, pid: int
) -> None:
    """Neither that pid's absence here nor its presence says anything."""
    folder = state.code / "my-app"
    of_another_container(state, pid, folder)
    layout = find_layout(str(state.config_dir), {})
    (session,) = live_sessions(layout, [str(folder)])
    assert (session.pid, session.session, session.is_elsewhere) == (
        pid,
        "far-away",
        True,
    )
    assert session.last_written == 1_700_000_000
    assert live_sessions(layout, [str(state.code / "other")]) == []


def test_a_session_of_this_very_machine_is_checked(
    state: StateBuilder, sleeper: subprocess.Popen[bytes]
) -> None:
    """The control; what is not text counts as not said, as for the client."""
    folder = state.code / "my-app"
    layout = find_layout(str(state.config_dir), {})
    for domain in (domain_of_this_process(), None, 3):
        record = state.session_file(
            sleeper.pid, str(folder), start_time(sleeper.pid), "here"
        )
        with_pid_domain(record, domain)
        (session,) = live_sessions(layout, [str(folder)])
        assert not session.is_elsewhere
        with_pid_domain(
            state.session_file(sleeper.pid, str(folder), "1", "gone"), domain
        )
        assert live_sessions(layout, [str(folder)]) == []


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"pid":"x","cwd":3}', b'{"pid":-1}']
)
def test_a_file_that_is_not_a_record_of_a_session_is_passed_over(
    state: StateBuilder, content: bytes
) -> None:
    sessions = state.config_dir / "sessions"
    sessions.mkdir()
    (sessions / "17.json").write_bytes(content)
    (sessions / "17.abc.key").write_bytes(b"{}")
    assert found(state, Path("/")) == []


def test_an_older_client_is_seen_by_its_process(
    state: StateBuilder, claude: subprocess.Popen[bytes]
) -> None:
    assert found(state, state.code / "my-app") == [claude.pid]
    assert found(state, state.code / "other") == []


def test_where_there_is_no_proc_psutil_tells_the_same(
    state: StateBuilder,
    claude: subprocess.Popen[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on macOS, where a client notes its start as `ps` prints it."""
    monkeypatch.setattr(live, "HAS_PROC", False)
    monkeypatch.setattr(live, "psutil", psutil, raising=False)
    monkeypatch.setattr(live, "_CLOSED", (OSError, psutil.Error))
    assert found(state, state.code / "my-app") == [claude.pid]
    began = psutil.Process(claude.pid).create_time()
    for late, pids in ((0, [claude.pid]), (60, [])):
        started = time.strftime("%a %b %d %H:%M:%S %Y", time.gmtime(began + late))
        state.session_file(
            claude.pid, str(state.code / "other"), started, "some-session"
        )
        assert found(state, state.code / "other") == pids


def test_ccmove_refuses_and_names_pid_and_folder(
    state: StateBuilder, claude: subprocess.Popen[bytes]
) -> None:
    state.project("my-app")
    (state.code / "new").mkdir()
    arguments = ("--skip-path-check", state.code / "my-app", state.code / "new")
    done = run_ccmove(*arguments, state=state)
    assert done.exit == 4
    assert f"pid {claude.pid}" in done.err
    assert str(state.code / "my-app" / "src") in done.err
    assert not (state.config_dir / "ccmove").exists()
    preview = run_ccmove("-n", "--allow-live", *arguments, state=state)
    assert (preview.exit, f"pid {claude.pid}" in preview.out) == (0, True)
    assert run_ccmove("--allow-live", *arguments, state=state).exit == 0


def test_a_session_that_cant_be_checked_is_refused_with_its_last_sign(
    state: StateBuilder,
) -> None:
    state.project("before")
    new = state.code / "my-app"
    new.mkdir(exist_ok=True)
    of_another_container(state, 4_194_305, new)
    arguments = (state.code / "before", new)
    done = run_ccmove(*arguments, state=state)
    assert (done.exit, "2023-11-14 22:13 UTC" in done.err) == (4, True)
    done = run_ccmove("--allow-live", *arguments, state=state)
    assert (done.exit, "far-away" in done.out) == (0, True)


def test_asked_inside_the_session_it_says_what_to_run_after_its_end(
    state: StateBuilder,
) -> None:
    """This very process plays the client: ccmove is its child."""
    state.project("my-app")
    (state.code / "new").mkdir(parents=True)
    state.session_file(
        os.getpid(), str(state.code / "my-app"), start_time(os.getpid()), "me"
    )
    done = run_ccmove(state.code / "my-app", state.code / "new", state=state)
    assert done.exit == 4
    assert "/exit" in done.err
    assert f"ccmove {state.code / 'my-app'} {state.code / 'new'}" in done.err


def test_the_daemon_runs_while_its_pid_and_start_time_match(
    state: StateBuilder, sleeper: subprocess.Popen[bytes]
) -> None:
    layout = find_layout(str(state.config_dir), {})
    assert not daemon_is_running(layout)
    record = '{{"pid":{},"procStart":"{}"}}'
    layout.daemon_lock.write_text(record.format(sleeper.pid, start_time(sleeper.pid)))
    assert daemon_is_running(layout)
    layout.daemon_lock.write_text(record.format(sleeper.pid, "1"))
    assert not daemon_is_running(layout)
