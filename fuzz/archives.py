"""Archives: refused in words, or exactly what Python's own tarfile finds in them, with
names that lead nowhere else.

Most inputs are changes of a right archive, whose hashes are made again: they are no
secret.
"""

from __future__ import annotations

import copy
import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from ccmove.errors import ArchiveError
from ccmove.transfer.archive import Reader
from fuzz.source import Source

LONGEST_INPUT = 64
FIRST = "11111111-2222-4333-8444-555555555555"
SAMPLE: tuple[tuple[str, str, bytes], ...] = (
    ("config", "projects/1/config.json", b"{}"),
    ("history", "projects/1/history.jsonl", b'{"project":"/a"}\n'),
    ("memory", "projects/1/memory/MEMORY.md", b"- short\n" * 80),
    ("transcript", f"projects/1/sessions/{FIRST}.jsonl", b"{}\n"),
    ("session-folder", f"projects/1/sessions/{FIRST}/a/b.txt", b""),
    ("tasks", f"tasks/{FIRST}/1.json", b"{}"),
    ("plan", "plans/calm-otter.md", b"#\n"),
    ("paste", "paste-cache/0123456789abcdef.txt", b"x" * 512),
)
ROLES = sorted(
    {role for role, _, _ in SAMPLE} | {"session-note", "agent", "index", "settings"}
)
NAMES = (
    *(name for _, name, _ in SAMPLE), "projects/1/memory/../x", "/etc/passwd", "..", ".", "",
    "projects/2/memory/x", "projects/1/memory/C:x", "projects/1/memory/memory.md", "settings.json",
    "projects/1/memory/a\\b", "projects/1/memory/\x1b", "projects/1/memory/nul", "ccmove.json",
    "SHA256SUMS", "projects/1/memory/MEMORY.md/x", "projects/1/memory/caf\xe9/" + "x" * 150,
    "projects/1/memory/cafe\u0301/y", "projects/1/memory/\ud800", ".credentials.json",
    f"projects/1/sessions/{FIRST}.ccr-tip.json", "projects/1/agents/agent-a.jsonl",
    "projects/1/index.json", "projects/1/memory/\u2028", "projects/1/memory/a.",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 1.0, 1 << 70, "", "x", [], {}, [[]], float("nan"), "/a", "C:\\a", "~/a",
    "\0", "\ud800", 2, "memory", {"root": None, "remote": None}, {"root": 1}, 512, 640,
)  # fmt: skip
TYPES = (
    b"0",
    b"\0",
    b"1",
    b"2",
    b"3",
    b"5",
    b"6",
    b"7",
    b"L",
    b"K",
    b"S",
    b"x",
    b"g",
    b"X",
    b"Z",
)
KEYS = (
    "path",
    "size",
    "linkpath",
    "mtime",
    "GNU.sparse.realsize",
    "hdrcharset",
    "uid",
    "",
)
# What is not said in words, and has no place in a name of an archive.
DANGEROUS = set('\\:*?"<>|') | set(map(chr, range(32))) | {"\x7f"}

Change = Callable[["Forgery", Source], None]


class Forgery:
    """An archive that is still right."""

    def __init__(self) -> None:
        rows = []
        self.files: list[tuple[str, bytes]] = []
        for role, name, data in SAMPLE:
            rows.append({"role": role, "name": name, "size": len(data), "mtime_ns": 1})
            self.files.append((name, data))
        git = {"root": None, "remote": None}
        self.header: dict[str, Any] = {
            "format": 1,
            "home": "/home/me",
            "system": "linux",
            "client": None,
            "projects": [{"path": "/a", "git": git}],
            "members": rows,
        }
        self.types: dict[str, bytes] = {}
        self.said: dict[str, dict[str, str]] = {}
        self.listed: list[str] | None = None

    def tar(self) -> bytes:
        header = json.dumps(self.header).encode()
        files = [("ccmove.json", header), *self.files]
        sums = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files]
        if self.listed is not None:
            sums = self.listed
        files.append(("SHA256SUMS", "".join(sums).encode("utf-8", "surrogatepass")))
        out = []
        for name, data in files:
            info = tarfile.TarInfo(spelled(name))
            info.size = len(data)
            info.type = self.types.get(name, b"0")
            info.pax_headers = self.said.get(name, {})
            out.append(info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogatepass"))
            out.append(data + bytes(-len(data) % 512))
        out.append(bytes(1024))
        return b"".join(out)


def spelled(text: str) -> str:
    """A text that a tar can hold."""
    return text.encode("utf-8", "replace").decode()


def _other_value(forgery: Forgery, source: Source) -> None:
    """Something else anywhere in the header."""
    record: Any = forgery.header
    while True:
        keys = list(record) if isinstance(record, dict) else list(range(len(record)))
        if not keys:
            return
        key = source.pick(keys)
        if isinstance(record[key], dict | list) and record[key] and not source.yes():
            record = record[key]
            continue
        if source.below(8) == 1:
            del record[key]
        else:
            record[key] = copy.deepcopy(source.pick(VALUES))
        return


def _other_name(forgery: Forgery, source: Source) -> None:
    """A member gets another name, and perhaps the role that goes with it."""
    number = source.below(len(forgery.files))
    name = source.pick(NAMES)
    _, data = forgery.files[number]
    forgery.files[number] = name, data
    rows = forgery.header.get("members")
    if isinstance(rows, list) and number < len(rows) and isinstance(rows[number], dict):
        rows[number] |= {"name": name, "size": len(data)}
        if source.yes():
            rows[number]["role"] = source.pick(ROLES)


def _other_order(forgery: Forgery, source: Source) -> None:
    files = forgery.files
    files.insert(source.below(len(files)), files.pop(source.below(len(files))))


def _one_more(forgery: Forgery, source: Source) -> None:
    forgery.files.append((source.pick(NAMES), source.raw(20)))


def _one_less(forgery: Forgery, source: Source) -> None:
    del forgery.files[source.below(len(forgery.files))]
    if not forgery.files:
        forgery.files = [SAMPLE[0][1:]]


def _other_type(forgery: Forgery, source: Source) -> None:
    name, _ = source.pick(forgery.files)
    forgery.types[name] = source.pick(TYPES)


def _said_more(forgery: Forgery, source: Source) -> None:
    name, _ = source.pick(forgery.files)
    value = source.pick((*NAMES, "0", "640", "-1", "9" * 30))
    forgery.said[name] = {source.pick(KEYS): spelled(value)}


def _other_data(forgery: Forgery, source: Source) -> None:
    number = source.below(len(forgery.files))
    forgery.files[number] = forgery.files[number][0], source.raw(30)


def _other_sums(forgery: Forgery, source: Source) -> None:
    sums = []
    for name, data in forgery.files:
        sums.append(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
    del sums[source.below(len(sums))]
    if source.yes():
        sums.append(f"{'0' * 64}  {source.pick(NAMES)}\n")
    forgery.listed = sums


CHANGES: tuple[Change, ...] = (
    _other_value, _other_name, _other_order, _one_more, _one_less, _other_type, _said_more,
    _other_data, _other_sums,
)  # fmt: skip


def check(data: bytes) -> None:
    """One way of making an archive, chosen by the first byte."""
    source = Source(data)
    way = source.below(4)
    if way == 3:
        read(source.rest())
        return
    forgery = Forgery()
    if way != 2:
        for _ in range(source.below(3) + 1):
            source.pick(CHANGES)(forgery, source)
    archive = forgery.tar()
    if way != 0:
        archive = _damaged(archive, source)
    if source.below(8) == 1:
        archive = gzip.compress(archive, 1, mtime=0)
        if source.yes():
            archive = archive[: source.below(len(archive) + 1)]
    read(archive)


def _damaged(archive: bytes, source: Source) -> bytes:
    """Bytes that are changed, cut off or added."""
    for _ in range(source.below(3)):
        where = source.below(len(archive))
        archive = archive[:where] + source.raw(8) + archive[where + source.below(9) :]
        archive = archive or b"\0"
    if source.yes():
        archive = archive[: source.below(len(archive)) // 512 * 512]
    if source.yes():
        archive += source.raw(20)
    return archive


def read(archive: bytes) -> None:
    """What is taken is what tarfile finds, and its names are harmless."""
    contents: dict[str, bytes] = {}
    try:
        reader = Reader(io.BytesIO(archive), "it")
        for member, chunks in reader.members():
            contents[member.name] = b"".join(chunks)
        reader.finish()
    except ArchiveError as error:
        if not error.message.startswith("it "):
            raise
        return
    found = dict(_by_tarfile(archive))
    header = json.loads(found.pop("ccmove.json"))
    sums = found.pop("SHA256SUMS").decode()
    assert found == contents
    assert [row["name"] for row in header["members"]] == list(contents)
    for name, data in contents.items():
        assert f"{hashlib.sha256(data).hexdigest()}  {name}\n" in sums
        _check_name(name)
    for row in header["members"]:
        assert row["size"] == len(contents[row["name"]])
    assert len({name.lower() for name in contents}) == len(contents)
    assert all(project["path"][0] in "/\\CD" for project in header["projects"])


def _check_name(name: str) -> None:
    assert not DANGEROUS & set(name)
    for path in (PurePosixPath(name), PureWindowsPath(name)):
        assert not path.is_absolute()
        assert not path.drive
        assert ".." not in path.parts
    top = name.split("/")[0]
    assert top in ("projects", "file-history", "tasks", "plans", "paste-cache")


def _by_tarfile(archive: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for info in tar:
            assert info.isreg()
            taken = tar.extractfile(info)
            assert taken is not None
            yield info.name, taken.read()
