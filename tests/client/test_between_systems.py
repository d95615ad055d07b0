"""A project from Linux to Windows and back, by a Windows Python under Wine: bytes, dates
and paths. No client is needed.
"""

import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.client import CLIENT_TEST
from tests.client.wine import PYTHON, REPOSITORY, WINE, on_drive_z
from tests.support.packed import handle_at
from tests.support.run import Completed, run_ccmove
from tests.support.state import StateBuilder, encoded_name
from tests.transfer.test_pack import full_project

pytestmark = [*CLIENT_TEST, pytest.mark.windows]

# Wine would put a home of its own into the place of the one in the environment.
WITH_HOME = """
import os, sys
os.environ["USERPROFILE"] = sys.argv.pop(1)
from ccmove.cli.main import main
main(sys.argv[1:])
"""
# What a program that opens files as text would change, or end at.
ODD_BYTES = b'{"type":"user","text":"a\\r\\n\x1a"}\n\r\n{"x":"\xe2\x80\xa8"}\r\n\x1a\n'
STEP = 100  # ns, of dates there


class Windows:
    """A home on drive Z:, which is this machine's root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config_dir = root / "home" / ".claude"
        self.projects = self.config_dir / "projects"
        self.code = root / "code"
        self.folder("code")
        self.folder("home")

    def folder(self, name: str) -> Path:
        made = self.root / name
        made.mkdir(parents=True)
        return made

    def directory(self, folder: Path) -> Path:
        """Claude Code's directory of a folder."""
        return self.projects / encoded_name(on_drive_z(folder))

    def ccmove(self, *words: str | Path) -> Completed:
        said = [on_drive_z(word) if isinstance(word, Path) else word for word in words]
        home = on_drive_z(self.root / "home")
        argv = [WINE, str(PYTHON / "python" / "python.exe"), "-c", WITH_HOME, home]
        packages = map(on_drive_z, (REPOSITORY, PYTHON / "site"))
        environment = {
            "PATH": os.defpath,
            "HOME": str(self.root),
            "WINEPREFIX": str(PYTHON / "prefix"),
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "mscoree,mshtml=",
            "PYTHONPATH": ";".join(packages),
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            [*argv, *said],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Completed(done.returncode, done.stdout, done.stderr)

    def config(self) -> Any:
        return json.loads((self.root / "home" / ".claude.json").read_bytes())

    def prompts(self) -> list[str]:
        lines = (self.config_dir / "history.jsonl").read_bytes().splitlines()
        return [json.loads(line)["project"] for line in lines]


@pytest.fixture
def windows(tmp_path: Path) -> Windows:
    for needed in (Path(WINE), PYTHON / "site", PYTHON / "prefix"):
        if not needed.exists():
            pytest.skip(f"no {needed}: run scripts/install-windows-client")
    return Windows(tmp_path / "windows")


@pytest.fixture
def linux(tmp_path: Path) -> StateBuilder:
    return StateBuilder(tmp_path / "linux")


def project(linux: StateBuilder) -> Any:
    """One of everything, with bytes that text has not, and paths in values."""
    app = full_project(linux)
    with app.transcripts[0].open("ab") as file:
        file.write(ODD_BYTES)
    (app.memory / "crlf.md").write_bytes(b"a\r\nb\x1a\n")
    config = linux.config()
    entry = config["projects"][app.path]
    entry["allowedTools"] = [f"Read(/{app.path}/**)"]
    server = {"command": f"{app.path}/bin/db", "args": [f"--root={app.path}/x"]}
    entry["mcpServers"] = {"db": server}
    linux.write_config(config)
    return app


def archived(archive: Path) -> tuple[Any, dict[str, tuple[bytes, int]]]:
    """The header of an archive; and of each file the bytes, and the date it gets."""
    contents = {}
    with tarfile.open(archive) as tar:
        for info in tar:
            taken = tar.extractfile(info)
            assert taken is not None
            contents[info.name] = taken.read()
    header = json.loads(contents["ccmove.json"])
    dates = {row["name"]: row["mtime_ns"] for row in header["members"]}
    return header, {name: (contents[name], date) for name, date in dates.items()}


MERGED = ("index.json", "history.jsonl", "config.json")  # which get the paths of there


def assert_there(
    archive: Path, directory: Path, config_dir: Path, step: int = 1
) -> None:
    """Every file that was packed is in its place, with its bytes and its date, as exact
    as dates are there.
    """
    number = 0
    _, files = archived(archive)
    for name, (data, date) in files.items():
        inside = Path(name)
        place = config_dir / name
        if name.startswith("projects/1/"):
            inside = inside.relative_to("projects/1")
            place = directory / inside
            if inside.parts[0] in ("sessions", "agents"):
                place = directory.joinpath(*inside.parts[1:])
        if str(inside) in MERGED:
            continue
        number += 1
        assert place.read_bytes() == data, name
        is_merged = inside.name == "MEMORY.md"
        if not is_merged:
            assert place.stat().st_mtime_ns == date // step * step, name
    assert number > 10


def test_a_project_of_linux_comes_to_windows(
    linux: StateBuilder, windows: Windows
) -> None:
    app = project(linux)
    archive = linux.root / "it.tar.gz"
    assert run_ccmove("pack", app.path, "-o", archive, state=linux).exit == 0
    new = windows.folder("code/my app")
    done = windows.ccmove("unpack", archive, new, "--with-config")
    assert done.exit == 0, done

    path = on_drive_z(new)
    directory = windows.directory(new)
    assert_there(archive, directory, windows.config_dir, STEP)
    assert set(windows.prompts()) == {path}
    index = json.loads((directory / "sessions-index.json").read_bytes())
    assert index["originalPath"] == path
    for entry in index["entries"]:
        assert entry["projectPath"] == path
        there = on_drive_z(directory / f"{entry['sessionId']}.jsonl")
        assert entry["fullPath"] == there
    entries = windows.config()["projects"]
    (key,) = entries
    assert key == path.replace("\\", "/")
    in_rule = "//z" + str(new)
    assert entries[key]["allowedTools"] == [f"Read({in_rule}/**)"]
    server = {"command": f"{path}\\bin\\db", "args": [f"--root={path}\\x"]}
    assert entries[key]["mcpServers"]["db"] == server
    assert windows.ccmove("verify").exit == 0

    twice = windows.ccmove("unpack", archive, new, "--with-config")
    assert "here already" in twice.out
    undone = windows.ccmove("undo")
    assert undone.exit == 0, undone
    assert "changed since" not in undone.out
    assert list(windows.projects.iterdir()) == []


def test_it_goes_on_there_and_comes_to_linux(
    linux: StateBuilder, windows: Windows, tmp_path: Path
) -> None:
    """Back to where it was, and to a home that does not know it."""
    app = project(linux)
    archive = linux.root / "it.tar.gz"
    assert run_ccmove("pack", app.path, "-o", archive, state=linux).exit == 0
    there = windows.folder("code/app")
    mapped = f"{linux.code}={on_drive_z(windows.code)}"
    done = windows.ccmove("unpack", archive, "--map", mapped, "--with-config")
    assert done.exit == 0, done
    transcript = windows.directory(there) / f"{app.sessions[0]}.jsonl"
    turn = json.dumps({"type": "user", "cwd": on_drive_z(there), "text": "went on"})
    with transcript.open("ab") as file:
        file.write(turn.encode() + b"\n")
    of_windows = windows.root / "it.tar"
    packed = windows.ccmove("pack", there, "-o", of_windows)
    assert packed.exit == 0, packed
    header, files = archived(of_windows)
    assert header["system"] == "win32"
    assert header["projects"][0]["path"] == on_drive_z(there)
    assert set(files) == set(archived(archive)[1])

    same = app.transcripts[1].stat()
    done = run_ccmove("unpack", of_windows, app.path, state=linux)
    assert done.exit == 0, done
    assert app.transcripts[0].read_bytes() == transcript.read_bytes()
    now = app.transcripts[1].stat()
    assert (now.st_ino, now.st_mtime_ns) == (same.st_ino, same.st_mtime_ns)
    prompts = [json.loads(line) for line in linux.history.read_bytes().splitlines()]
    assert {prompt["project"] for prompt in prompts} == {app.path}
    assert len(prompts) == 4  # none of them twice
    assert run_ccmove("verify", state=linux).exit == 0

    other = StateBuilder(tmp_path / "other")
    mapped = f"{on_drive_z(windows.code)}={other.code}"
    words = ["unpack", of_windows, "--map", mapped, "--with-config"]
    done = run_ccmove(*words, state=other)
    assert done.exit == 0, done
    came = handle_at(other, "app")
    assert_there(of_windows, came.directory, other.config_dir)
    entry = other.config()["projects"][came.path]
    assert entry["allowedTools"] == [f"Read(/{came.path}/**)"]
    server = {"command": f"{came.path}/bin/db", "args": [f"--root={came.path}/x"]}
    assert entry["mcpServers"]["db"] == server
    index = json.loads(came.index.read_bytes())
    assert index["originalPath"] == came.path
    for row in index["entries"]:
        assert row["fullPath"] == str(came.directory / f"{row['sessionId']}.jsonl")
    Path(came.path).mkdir()
    assert run_ccmove("verify", state=other).exit == 0
