"""Archives that nobody packed: each is refused in one line, and nothing of it counts.

A row spoils one thing of an archive that is otherwise right; the control shows that the
archive by itself is taken.
"""

import copy
import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ccmove.errors import CcmoveError
from ccmove.transfer.archive import Reader
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder
from tests.support.tree import diff, snapshot
from tests.transfer.archives import FIRST, SECOND, Archive, regular, sample_archive

pytestmark = pytest.mark.slow

Spoil = Callable[[Archive], bytes | None]
BASE = "projects/1"
NOTE = f"{BASE}/memory/MEMORY.md"
TRANSCRIPT = f"{BASE}/sessions/{FIRST}.jsonl"


def member(role: str, name: str, data: bytes = b"x\n", /, **said: Any) -> Spoil:
    """A member more, with its row and its hash."""
    return lambda archive: archive.add(role, name, data, **said)


def said(**changes: Any) -> Spoil:
    """Something else in the header."""
    return lambda archive: archive.header.update(changes)


def row(name: str, /, **changes: Any) -> Spoil:
    """Something else in the row of a member."""

    def spoil(archive: Archive) -> None:
        for listed in archive.header["members"]:
            if listed["name"] == name:
                listed.update(changes)

    return spoil


def as_type(kind: bytes, **more: Any) -> Spoil:
    """A member that is no regular file, and has a target."""

    def spoil(archive: Archive) -> None:
        info = regular(NOTE, archive.contents[NOTE])
        info.type = kind
        info.linkname = "/etc/passwd"
        for name, value in more.items():
            setattr(info, name, value)
        archive.changed[NOTE] = info

    return spoil


def extra(name: str, data: bytes = b"x\n", where: str = "extra") -> Spoil:
    """A file that no row of the header names."""
    return lambda archive: getattr(archive, where).append((regular(name, data), data))


def extended(records: dict[str, str]) -> Spoil:
    """A header before a member that says more about it."""

    def spoil(archive: Archive) -> None:
        info = regular(NOTE, archive.contents[NOTE])
        info.pax_headers = records
        archive.changed[NOTE] = info

    return spoil


def bytes_of(change: Callable[[bytes], bytes]) -> Spoil:
    """The same archive with other bytes around it."""
    return lambda archive: change(archive.build())


def without(name: str) -> Spoil:
    """A row of the header whose file is missing."""
    return lambda archive: archive.contents.pop(name) and None


def swapped(archive: Archive) -> None:
    names = list(archive.contents)
    first, second, *rest = names
    archive.contents = {name: archive.contents[name] for name in (second, first, *rest)}


def twice(archive: Archive) -> None:
    archive.header["members"].append(archive.header["members"][0])
    name = archive.header["members"][0]["name"]
    data = archive.contents[name]
    archive.extra.append((regular(name, data), data))


def long_link(name: bytes, kind: bytes) -> Spoil:
    """A header of GNU's for a name that is too long."""

    def spoil(archive: Archive) -> None:
        info = regular("././@LongLink", name)
        info.type = kind
        archive.first.append((info, name))

    return spoil


def raw_header(text: str) -> Spoil:
    """Any text as ccmove.json."""

    def spoil(archive: Archive) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            tar.addfile(regular("ccmove.json", data), io.BytesIO(data))
        return gzip.compress(out.getvalue())

    return spoil


def sums(change: Callable[[str], str]) -> Spoil:
    """Another SHA256SUMS."""

    def spoil(archive: Archive) -> None:
        _, listed = archive.entries()[-1]
        archive.listed = change(listed.decode()).encode()

    return spoil


def hash_of(name: str) -> Spoil:
    return lambda archive: archive.sums.update({name: "0" * 64})


def bomb(archive: Archive) -> bytes:
    """A header that says it is a terabyte, of which some megabytes are there."""
    info = tarfile.TarInfo("ccmove.json")
    info.size = 1 << 40
    start = info.tobuf(tarfile.GNU_FORMAT)
    return gzip.compress(start + bytes(32 << 20))


def other_role(role: str) -> Spoil:
    return row(NOTE, role=role)


ROWS: dict[str, Spoil] = {
    # Names
    "a way up": member("memory", f"{BASE}/memory/../../../x"),
    "an absolute name": member("memory", "/etc/cron.d/x"),
    "an absolute name below a role's": member("memory", f"{BASE}/memory//etc/x"),
    "a drive": member("memory", f"{BASE}/memory/C:/x"),
    "strokes of Windows": member("memory", f"{BASE}/memory/..\\..\\x"),
    "a name with an escape": member("memory", f"{BASE}/memory/\x1b[2J"),
    "a name with a newline": member("memory", f"{BASE}/memory/a\nb"),
    "a name with a NUL": row(NOTE, name=f"{NOTE}\0.txt"),
    "a name that Windows reserves": member("memory", f"{BASE}/memory/aux.md"),
    "a name that ends with a dot": member("memory", f"{BASE}/memory/x."),
    "a name that is too long": member("memory", f"{BASE}/memory/{'x' * 201}"),
    "the same name twice": twice,
    "two names that differ in case": member("memory", f"{BASE}/memory/memory.md"),
    "two names that differ in Unicode form": lambda archive: [
        archive.add("memory", f"{BASE}/memory/{name}") for name in ("caf\xe9", "cafe\u0301")
    ] and None,
    "a file where a folder is": member("memory", f"{BASE}/memory/how"),
    "a folder where a file is": member("memory", f"{NOTE}/x"),
    "half a surrogate pair": row(NOTE, name=f"{BASE}/memory/\ud800"),
    # Roles
    "settings": member("settings", "settings.json"),
    "settings as a note": member("memory", "settings.json"),
    "credentials": member("credentials", ".credentials.json"),
    "the config file": member("config", ".claude.json"),
    "a plugin": member("plugins", "plugins/installed_plugins.json"),
    "a hook": member("hooks", "hooks/x.sh"),
    "a running session": member("sessions", "sessions/1.json"),
    "a link to other projects": member("session-note", f"{BASE}/sessions/.session-aliases"),
    "a role that does not exist": other_role("everything"),
    "another role": other_role("plan"),
    "no role": other_role(""),
    "a role that is no text": row(NOTE, role=["memory"]),
    "a project that is not there": member("memory", "projects/2/memory/x"),
    "file history of a session that is not there": member(
        "file-history", f"file-history/{FIRST[:-1]}0/x"
    ),
    "tasks of a session that is not there": member("tasks", f"tasks/{SECOND[:-1]}0/x"),
    "a session that is none": member("transcript", f"{BASE}/sessions/settings.jsonl"),
    # Kinds
    "a symbolic link": as_type(tarfile.SYMTYPE, size=0),
    "a symbolic link with content": as_type(tarfile.SYMTYPE),
    "a hard link": as_type(tarfile.LNKTYPE, size=0),
    "a device": as_type(tarfile.CHRTYPE, size=0, devmajor=1, devminor=3),
    "a disk": as_type(tarfile.BLKTYPE, size=0),
    "a pipe": as_type(tarfile.FIFOTYPE, size=0),
    "a folder as a member": as_type(tarfile.DIRTYPE, size=0),
    "a sparse file": as_type(tarfile.GNUTYPE_SPARSE),
    "a kind that nobody knows": as_type(b"Z"),
    "a sparse file by its extended header": extended(
        {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"}
    ),
    "an extended header with another name": extended({"path": "/etc/passwd"}),
    "an extended header with a link": extended({"linkpath": "/etc/passwd"}),
    "an extended header with another size": extended({"size": "99999999999"}),
    "an extended header with a size below nothing": extended({"size": "-1"}),
    "an extended header with a size of text": extended({"size": "many"}),
    "a huge extended header": extended({"path": "x" * 200_000}),
    "a long name of GNU": long_link(b"x" * 300, tarfile.GNUTYPE_LONGNAME),
    "a long link of GNU": long_link(b"/etc/passwd", tarfile.GNUTYPE_LONGLINK),
    "a header for all files": extra("pax_global_header", where="first"),
    # The list, and what is there
    "two headers": extra("ccmove.json", b"{}"),
    "a file before the header": extra("README", where="first"),
    "a file that is in no list": extra("projects/1/memory/more.md"),
    "a listed file that is missing": without(NOTE),
    "another order": swapped,
    "a size that is too small": row(NOTE, size=1),
    "a size that is too large": row(NOTE, size=1 << 40),
    "a size below nothing": row(NOTE, size=-1),
    "a size that is no number": row(NOTE, size="9"),
    "a size with a point": row(NOTE, size=9.0),
    "a date that no clock has": row(NOTE, mtime_ns=1 << 80),
    "a date that is no number": row(NOTE, mtime_ns=None),
    "more in a row than there is": row(NOTE, mode=0o777),
    # Hashes
    "a wrong hash": hash_of(NOTE),
    "a wrong hash of the header": hash_of("ccmove.json"),
    "no hashes": sums(lambda _: ""),
    "a hash that is missing": sums(lambda text: text.replace(f"{text.splitlines()[-1]}\n", "")),
    "a hash of something else": sums(lambda text: f"{text}{'0' * 64}  /etc/passwd\n"),
    "a hash in another spelling": sums(str.upper),
    "no SHA256SUMS": lambda archive: archive.build()[:0] or _without_sums(archive),
    # The header
    "an older format": said(format=0),
    "a newer format": said(format=2),
    "a format that is no number": said(format="1"),
    "a format with a point": said(format=1.0),
    "no projects": said(projects=[]),
    "a project twice": lambda archive: archive.header["projects"].append(
        archive.header["projects"][0]
    ),
    "a path that is not absolute": lambda archive: archive.header["projects"][0].update(path="x"),
    "a path with a NUL": lambda archive: archive.header["projects"][0].update(path="/x\0"),
    "a path with half a surrogate pair": lambda archive: archive.header["projects"][0].update(
        path="/x\ud800"
    ),
    "a path of the home": lambda archive: archive.header["projects"][0].update(path="~/x"),
    "a path that is the root": lambda archive: archive.header["projects"][0].update(path="/"),
    "git that is no object": lambda archive: archive.header["projects"][0].update(git=[]),
    "a home that is no path": said(home=""),
    "something more in the header": said(run=["rm", "-rf"]),
    "members that are no list": said(members={"0": {}}),
    "a header that is no object": raw_header("[]"),
    "a header that is not JSON": raw_header("{"),
    "a header that is not UTF-8": raw_header('{"format": 1, "home": "\ud800"}'),
    "a header with NaN": raw_header('{"format": NaN}'),
    "a header that is very deep": raw_header("[" * 200_000 + "]" * 200_000),
    "a number with many digits": raw_header(f'{{"format": {"9" * 100_000}}}'),
    "an empty header": raw_header(""),
    "a huge header": bomb,
    # Bytes
    "nothing": bytes_of(lambda _: b""),
    "some text": bytes_of(lambda _: b"hello\n" * 1000),
    "a zip": bytes_of(lambda _: b"PK\3\4" + bytes(2000)),
    "zeros": bytes_of(lambda _: bytes(4096)),
    "a gzip of nothing": bytes_of(lambda _: gzip.compress(b"")),
    "a gzip with a damaged byte": bytes_of(
        lambda data: data[:-20] + bytes([data[-20] ^ 1]) + data[-19:]
    ),
    "garbage after the end": bytes_of(lambda data: data + b"more"),
    "a second archive after the end": bytes_of(lambda data: data + data),
    "garbage in the tar after the end": lambda archive: archive.tar() + b"x",
    "endless zeros after the end": lambda archive: archive.tar() + bytes(4 << 20),
    "a file after the hashes": extra(f"{BASE}/memory/late.md", where="behind"),
    "no end": lambda archive: archive.tar()[:-1024],
}  # fmt: skip


def _without_sums(archive: Archive) -> bytes:
    entries = archive.entries()[:-1]
    out = io.BytesIO()
    for info, data in entries:
        out.write(info.tobuf() + data + bytes(-len(data) % 512))
    return out.getvalue() + bytes(1024)


def spoiled(why: str) -> bytes:
    archive = copy.deepcopy(sample_archive())
    data = ROWS[why](archive)
    return data if isinstance(data, bytes) else archive.build()


def read(data: bytes) -> None:
    reader = Reader(io.BytesIO(data), "it.tar.gz")
    for _, chunks in reader.members():
        for _ in chunks:
            pass
    reader.finish()


def test_control_the_archive_that_is_spoiled_is_right() -> None:
    read(sample_archive().build())
    read(sample_archive().tar())


def test_there_are_at_least_thirty_hostile_archives() -> None:
    assert len(ROWS) >= 90


@pytest.mark.parametrize("why", ROWS)
def test_the_reader_refuses_it_in_one_line(why: str) -> None:
    with pytest.raises(CcmoveError) as refused:
        read(spoiled(why))
    assert refused.value.exit_code in (1, 4)
    message = refused.value.message
    assert message.startswith("it.tar.gz ")
    assert "\n" not in message.replace("\\n", "")
    assert len(message) < 600


def cuts() -> list[int]:
    """Where each block of the tar of the sample ends, and in the middle of it."""
    size = len(sample_archive().tar())
    return [*range(0, size, 512), *range(100, size, 512)]


def test_an_archive_that_is_cut_anywhere_is_refused() -> None:
    tar, whole = sample_archive().tar(), sample_archive().build()
    for end in cuts():
        for data in (tar[:end], gzip.compress(tar[:end], 1), whole[:end]):
            if data != whole:
                with pytest.raises(CcmoveError):
                    read(data)


@pytest.mark.parametrize("why", ROWS)
def test_nothing_is_placed_and_nothing_is_left(why: str, state: StateBuilder) -> None:
    state.project("other")
    new = state.code / "new"
    new.mkdir()
    file = state.root / "it.tar.gz"
    file.write_bytes(spoiled(why))
    (state.root / "tmp").mkdir()
    before = snapshot(state.root)
    for words in (["-n"], []):
        done = run_ccmove("unpack", *words, file, new, state=state)
        assert done.exit in (1, 4), done
        first, *more = done.err.splitlines()
        assert first.startswith("ccmove: ")
        assert all(line.startswith("  -> ") for line in more), done
        assert_nothing_left(before, state)


def test_control_the_archive_is_unpacked(state: StateBuilder) -> None:
    new = state.code / "new"
    new.mkdir()
    file = state.root / "it.tar.gz"
    file.write_bytes(sample_archive().build())
    done = run_ccmove("unpack", file, new, state=state)
    assert done.exit == 0, done
    assert list(state.projects.rglob(f"{FIRST}.jsonl"))


def assert_nothing_left(before: Any, state: StateBuilder) -> None:
    """Only the directory of ours with its lock may have been made."""
    after = snapshot(state.root)
    changes = [line for line in diff(before, after) if "/.claude/ccmove" not in line]
    assert changes == []
    own = state.config_dir / "ccmove"
    left = sorted(path.relative_to(own).as_posix() for path in own.rglob("*"))
    assert set(left) <= {"lock", "backups"}, left
    assert json.loads(state.config_file.read_text())
    assert not list(Path(state.root).rglob("passwd"))
