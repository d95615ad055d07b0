"""A manifest with a right checksum can still be someone's trap.

The checksum is no secret, so everything in these files is signed here as ccmove would
sign it. Each must be refused whole, before a byte is written; other commands go on as
if it were not there.
"""

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.attack import Target
from tests.support import seams
from tests.systems import windows

Change = Callable[[dict[str, Any]], object]
HUGE = 10**30
ID = "20200101T000000Z-0000"


@pytest.fixture
def moved(target: Target) -> Target:
    assert target.move().exit == 0
    return target


def backup_of(target: Target) -> Path:
    return next((target.own / "backups").iterdir())


def manifest_of(target: Target) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(
        (backup_of(target) / "manifest.json").read_text()
    )
    return record


def signed(record: dict[str, Any]) -> dict[str, Any]:
    record["checksum"] = seams.checksum(record)
    return record


def forged(target: Target, change: Change) -> dict[str, Any]:
    record = manifest_of(target)
    change(record)
    return signed(record)


def put_manifest(target: Target, record: object) -> None:
    (backup_of(target) / "manifest.json").write_text(json.dumps(record))


def refused(target: Target) -> str:
    """As a backup: exit 4, and the others go on."""
    target.remember()
    identifier = backup_of(target).name
    done = target.run("restore", identifier)
    assert done.exit == 4, done
    assert target.run("restore", "--dry-run", identifier).exit == 4
    assert target.run("backups").exit == 0
    target.nothing_changed(ignore=(".claude/ccmove/lock",))
    return done.err


def not_rolled_back(target: Target, *commands: list[str]) -> None:
    """As what an interrupted run has left: exit 5."""
    target.remember()
    for command in (["recover"], *commands):
        done = target.run(*command)
        assert done.exit == 5, (command, done)
        assert str(target.own) in done.err
    target.nothing_changed(ignore=())


def test_a_forged_manifest_with_a_right_checksum_is_believed_otherwise(
    moved: Target,
) -> None:
    """The control: forging as such is not what the others are refused for."""
    put_manifest(
        moved,
        forged(moved, of_run(kept=["/\x1b[31m another"])),
    )
    assert moved.run("backups").exit == 0
    assert moved.run("restore").exit == 0


def test_so_it_is_in_a_run(moved: Target) -> None:
    """The control: this is a run that was interrupted when everything was changed."""
    put_manifest(moved, forged(moved, of_run(kept=["/another"])))
    backup_of(moved).rename(moved.own / "run")
    assert moved.run("recover").exit == 0
    assert moved.handle.directory.exists()
    assert not moved.target.exists()
    assert seams.left_over(moved.state) == []


def test_a_manifest_that_is_not_signed_is_refused(moved: Target) -> None:
    put_manifest(moved, manifest_of(moved) | {"kept": ["/another"]})
    assert "changed" in refused(moved)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        *(
            ("schema", version, "version")
            for version in (0, 1, 2, 3, 4, 5, 7, "6", 6.5, None)
        ),
        ("id", ID, ID),
    ],
)
def test_an_unknown_version_or_another_backups_manifest_is_refused(
    moved: Target, key: str, value: object, told: str
) -> None:
    put_manifest(moved, signed(manifest_of(moved) | {key: value}))
    assert told in refused(moved)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"schema":6}', "[" * 100_000, "\udcff"]
)
def test_garbage_instead_of_a_manifest_is_refused(moved: Target, text: str) -> None:
    path = backup_of(moved) / "manifest.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(moved)
    backup_of(moved).rename(moved.own / "run")
    not_rolled_back(moved)


# -- what was saved ------------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["before", "changes"])  # what this undo needs
@pytest.mark.parametrize(
    "how", ["changed", "missing", "a link", "a directory", "not ours"]
)
def test_a_saved_file_is_refused_that_is(moved: Target, which: str, how: str) -> None:
    kind = "WroteHistory" if which == "changes" else "Wrote"
    saved = seams.saved(
        backup_of(moved), row_of(manifest_of(moved), kind)["number"], which
    )
    text = saved.read_bytes()
    saved.unlink()
    if how == "changed":
        saved.write_bytes(text + b" ")
    elif how == "a link":
        (moved.outside / "same").write_bytes(text)
        saved.symlink_to(moved.outside / "same")
    elif how == "a directory":
        saved.mkdir()
    elif how == "not ours":
        windows.make_pipe(saved)
    assert str(saved) in refused(moved)


# -- every value of the wrong kind ---------------------------------------------------------------

WRONG: list[object] = [
    None,
    True,
    -1,
    1.5,
    HUGE,
    "x",
    [],
    {},
    [[]],
    "\0",
    "../x",
    "\ud800",
]


def places(
    value: object, at: tuple[str | int, ...] = ()
) -> list[tuple[str | int, ...]]:
    """Every place in a JSON value; of the operations one of each kind, of other lists
    the first.
    """
    found = [at] if at else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*at, key))
    elif isinstance(value, list) and value:
        kinds = [
            item.get("kind_of") if isinstance(item, dict) else None for item in value
        ]
        for number in {kinds.index(kind) for kind in kinds}:
            found += places(value[number], (*at, number))
    return found


def spoilt(record: object) -> Iterator[Any]:
    """The record with something wrong in each of its places, one at a time."""
    for *way, last in places(record):
        for wrong in WRONG:
            forgery = json.loads(json.dumps(record))
            holder = forgery
            for token in way:
                holder = holder[token]
            holder[last] = wrong
            yield forgery


def test_no_value_of_a_wrong_kind_is_a_bug(moved: Target) -> None:
    """Whatever stands in any place: it is refused, or means nothing and all of it can
    be listed.
    """
    read = seams.reader_of_manifests(moved.state, backup_of(moved))
    tried = 0
    for forgery in spoilt(manifest_of(moved)):
        tried += 1
        with contextlib.suppress(ValueError):
            moves = read(signed(forgery)).moves
            assert all(isinstance(path, str) for move in moves for path in move), (
                forgery
            )
    assert tried > 600


def row_of(record: dict[str, Any], kind: str) -> dict[str, Any]:
    return seams.operations(record, kind)[0]


def of_run(**values: object) -> Change:
    return lambda record: record.update(values)


def of_project(**values: object) -> Change:
    return lambda record: record["projects"][0].update(values)


def added(name: str, *items: object) -> Change:
    """One of its lists has more in it."""
    return lambda record: record[name].extend(items)


def also(kind: str, **values: object) -> Change:
    return added("operations", {"kind_of": kind, **values})


def without(name: str) -> Change:
    return lambda record: record.pop(name)


def change_row(kind: str, **values: object) -> Change:
    return lambda record: row_of(record, kind).update(values)


def content(which: str, kind: str = "Wrote", **values: object) -> Change:
    return lambda record: row_of(record, kind)[which].update(values)


def note(path: object, ends: object = None) -> dict[str, Any]:
    """A saved note, as a manifest has it."""
    content = {"sha256": "0" * 64, "size": 0, "mode": 0o600, "mtime_ns": 0}
    return {"number": 0, "path": path, "ends": ends or path, "content": content}


NOTE = ["projects", "-a", "memory", "x.md"]
TRANSCRIPT = ["projects", "-a", "1.jsonl"]
HISTORY = ["state", "history.jsonl"]
CONFIG = ["config"]
# Folders anywhere, as they are written in the lists of folders and places.
X = ["/", "srv", "x"]


WRONG_KINDS: dict[str, Change] = {
    "operations that are not a list": of_run(operations=7),
    "an operation that is a text": added("operations", "Rename"),
    "an operation of no kind": added("operations", {"path": NOTE, "mode": 0o700}),
    "an operation of an unknown kind": change_row("Rename", kind_of="Rmtree"),
    "an operation of another kind": change_row("Rename", kind_of="Mkdir"),
    "a record that is not an operation": also("ProjectMove", path="/a"),
    "an operation with more in it": change_row("Rename", mode=0o700),
    "an operation with less in it": lambda r: row_of(r, "Rename").pop("holds"),
    "a manifest with more in it": of_run(more=1),
    "a manifest with less in it": without("notes_saved"),
    "a size that is a text": content("after", size="7"),
    "a size below nothing": content("before", size=-1),
    "a size without end": content("after", size=HUGE),
    "a size that is not a whole number": content("after", size=1.5),
    "a mode of other bits": content("before", mode=0o100644),
    "a time without end": content("before", mtime_ns=HUGE),
    "a hash that is none": content("before", sha256="0"),
    "a hash of the history that is none": content(
        "after", "WroteHistory", sha256="x" * 64
    ),
    "a record of the history without a hash": change_row("WroteHistory", record="0"),
    "a history that was made": change_row("WroteHistory", before=None),
    "a number below nothing": change_row("Wrote", number=-1),
    "a number twice": lambda r: [
        row.update(number=1) for row in seams.operations(r, "Wrote")
    ],
    "a number that is a way": change_row("Wrote", number="../0"),
    "what it held that is a text": change_row("Rename", holds="x"),
    "what it held of no kind": content("holds", "Rename", kind_of="Content"),
    "entries that lead elsewhere": content("holds", "Rename", entries=[["../x", 1]]),
    "entries that are anywhere": content(
        "holds", "Rename", entries=[["/etc/passwd", 1]]
    ),
    "no kind of run": of_run(kind="delete"),
    "entries that can't be counted": of_project(entries=[[1]]),
    "an entry that leads elsewhere": of_project(entries=["../x"]),
    "a directory that leads elsewhere": of_project(target=".."),
    "no kind of move": of_project(kind="copy"),
    "moves that are words": of_run(moves=["ab"]),
    "a move of nothing": added("moves", ["", "/x"]),
    "a move of everything": added("moves", ["/", "/x"]),
    "a move of a drive": added("moves", ["C:\\", "/x"]),
    "a move of a NUL": added("moves", ["/a\0b", "/x"]),
    "moves of three": added("moves", ["/a", "/b", "/x"]),
    "digits of another script": of_run(undoes="٢٠٢٠٠١٠١T000000Z-0000"),
    "an ID with a line end": of_run(undoes="20200101T000000Z-0000\n"),
    "an ID of no day": of_run(undoes="20209901T000000Z-0000"),
    "a folder that is everything": added("folders", [["/"], X]),
    "a folder among the projects": added("folders", [["state", "projects", "-a"], X]),
    "all projects as a folder": added("folders", [["state", "projects"], X]),
    "a folder among our own": added("folders", [X, ["state", "ccmove", "backups"]]),
    "a place that is everything": added("settings_in", ["/"]),
    "a place among the projects": added("settings_in", ["state", "projects", "-a"]),
    "a place among our own": added("settings_in", ["state", "ccmove", "x"]),
    "a note elsewhere": added("notes_saved", note(["state", "settings.json"])),
    "a note outside": added("notes_saved", note(["/", "etc", "passwd"])),
    "a transcript as a note": added("notes_saved", note(TRANSCRIPT)),
    "a note that ends outside": added(
        "notes_saved", note(NOTE, ["/", "etc", "passwd"])
    ),
    "two notes of one number": added("notes_saved", note(NOTE), note(NOTE)),
}


# -- paths ----------------------------------------------------------------------------------------

HOLDS = {"kind_of": "Holds", "names": ["x"]}
FOLDER = {
    "kind_of": "FolderHolds",
    "device": 1,
    "inode": 1,
    "entries": [["x", "file", 1, 1]],
}


def rename(path: object, target: object, holds: object = HOLDS) -> Change:
    return also("Rename", path=path, target=target, holds=holds)


def as_file(path: object, form: str) -> Change:
    """The first document that was replaced is another one."""

    def both(record: dict[str, Any]) -> None:
        row = row_of(record, "Wrote")
        record["replaced"][row["number"]] = path
        row.update(path=path, ends=path, form=form)

    return both


def history(path: object) -> Change:
    def both(record: dict[str, Any]) -> None:
        row = row_of(record, "WroteHistory")
        record["replaced"][row["number"]] = path
        row.update(path=path)

    return both


ETC_X = ["/", "etc", "x"]
ETC_Y = ["/", "etc", "y"]
IN_PROJECTS = ["projects", "x"]


def folders(change: Change, old: object = ETC_X, new: object = ETC_Y) -> Change:
    """The manifest names these folders itself, as moved and as places: they are the
    first of both.
    """

    def both(record: dict[str, Any]) -> None:
        record["folders"].insert(0, [old, new])
        record["settings_in"][:0] = [old, new]
        change(record)

    return both


def in_an_undo(change: Change) -> Change:
    def both(record: dict[str, Any]) -> None:
        record["kind"] = "undo"
        change(record)

    return both


def file_of(folder: list[str], name: str) -> Change:
    return folders(as_file([*folder, name], "other"), folder, X)


OUTSIDE: dict[str, object] = {
    "outside": ["/", "etc", "passwd"],
    "outside by its whole path": "/etc/passwd",
    "outside by its way": ["state", "..", "outside"],
    "outside by a name with strokes": ["projects", "../../outside"],
    "outside by two strokes": ["state", "", "etc", "passwd"],
    "outside by a name that is a path": ["projects", "/etc/passwd"],
    "without a root": ["..", "x"],
    "no root but names": ["x"],
    "up again": ["projects", "a", "..", "..", "..", "x"],
    "where it is": ["projects", "."],
    "no path": "",
    "no names": [],
    "nothing": ["projects", ""],
    "a NUL": ["projects", "x\0y"],
    "half a character": ["projects", "\ud800"],
    "a number": ["projects", 1],
    "a path as it was spelled once": "$C/projects/x",
    "another root": ["sessions", "x"],
    "a root of no number": ["folder", "x"],
    "a folder of nobody": X,
    "settings of nobody": [*X, ".mcp.json"],
    "the state": ["state"],
    "the home": ["home"],
    "beside the state in the home": ["home", "x"],
    "beside the config file": ["config", "..", "x"],
    "below the config file": ["config", "x"],
    "all projects": ["projects"],
    "projects from the state": ["state", "projects", "-a", "bridge-pointer.json"],
    "another file of the state": ["state", "keybindings.json"],
    "the history": HISTORY,
    "the config file": CONFIG,
    "our lock": ["state", "ccmove", "lock"],
    "our ledger": ["state", "ccmove", "ledger.json"],
    "this run from the state": ["state", "ccmove", "run", "retired", "0"],
    "a manifest": ["backup", ID, "manifest.json"],
    "this manifest": ["run", "manifest.json"],
    "what was saved": ["run", "files", "0.before"],
    "what is staged": ["run", "staged", "x"],
    "all backups": ["backup"],
    "a backup": ["backup", ID],
    "a backup without an ID": ["backup", "x", "retired", "0"],
    "all that is retired": ["run", "retired"],
    "a plugin": ["state", "plugins", "x"],
    "the desktop app": ["desktop"],
    "a file of the desktop app": ["desktop", "x.json"],
}
if windows.HERE:  # where a name may hold it
    del OUTSIDE["half a character"]
TRAPS: dict[str, Change] = {
    **{
        f"rename to {what}": rename(IN_PROJECTS, path) for what, path in OUTSIDE.items()
    },
    **{
        f"rename from {what}": rename(path, IN_PROJECTS)
        for what, path in OUTSIDE.items()
    },
    **{
        f"make {what}": also("Mkdir", path=path, mode=0o700)
        for what, path in OUTSIDE.items()
    },
    **{
        f"rewrite as other {what}": as_file(path, "other")
        for what, path in OUTSIDE.items()
    },
    **{
        f"rewrite as history {what}": history(path)
        for what, path in OUTSIDE.items()
        if path != HISTORY
    },
    # directories
    "make one of other bits": also("Mkdir", path=IN_PROJECTS, mode=0o40700),
    "make the moved folder": folders(also("Mkdir", path=ETC_X, mode=7)),
    "below the moved folder": folders(rename([*ETC_X, "y"], IN_PROJECTS)),
    "the moved folder as state": folders(rename(ETC_X, ETC_Y)),
    "another folder": folders(rename(["/", "etc", "z"], ETC_Y, FOLDER)),
    "one beside the folder": folders(rename(["/", "etc", "z"], ETC_Y, FOLDER)),
    "a folder into the state": folders(rename(ETC_X, IN_PROJECTS, FOLDER)),
    "projects as a folder": rename(IN_PROJECTS, ["projects", "y"], FOLDER),
    "a folder without a root": folders(rename(ETC_X, ETC_Y, FOLDER), ["x"], ["y"]),
    "a folder by its whole path": folders(
        rename(ETC_X, ETC_Y, FOLDER), "/etc/x", "/etc/y"
    ),
    "a folder that leads up": folders(
        rename(ETC_X, ETC_Y, FOLDER), ["home", "..", "x"]
    ),
    "parked elsewhere": folders(
        rename(ETC_X, ["/", "usr", ".ccmove-parked-0"], FOLDER)
    ),
    "parked deeper": folders(
        rename(ETC_X, ["/", "etc", ".ccmove-parked-0", "x"], FOLDER)
    ),
    "the history among the projects, in an undo": in_an_undo(
        rename(HISTORY, IN_PROJECTS)
    ),
    "retire the history, in an undo": in_an_undo(
        rename(HISTORY, ["run", "retired", "0"])
    ),
    "the history into a backup, in an undo": in_an_undo(
        rename(HISTORY, ["backup", ID, "parked", "0"])
    ),
    # files
    "rewrite a transcript": as_file(TRANSCRIPT, "other"),
    "rewrite a transcript as index": as_file(TRANSCRIPT, "index"),
    "rewrite a transcript as history": history(TRANSCRIPT),
    "move a document onto a transcript": change_row("Wrote", ends=TRANSCRIPT),
    "rewrite what a tool said": as_file(
        ["projects", "-a", "1", "tool-results", "x.txt"], "other"
    ),
    "an index too deep": as_file(
        ["projects", "-a", "b", "sessions-index.json"], "index"
    ),
    "rewrite settings as config": as_file(["state", "settings.json"], "config"),
    "the config file as index": as_file(CONFIG, "index"),
    "no place at all": as_file(["state", "jobs", "1", "state.json"], "nowhere"),
    "a document that was not staged": of_run(replaced=[]),
    "settings as those of the home": folders(
        as_file(["home", ".claude", "settings.json"], "other"), ["home"], X
    ),
    "a project among the projects": file_of(["state", "projects", "-a"], ".mcp.json"),
    "a project among our own": file_of(["state", "ccmove", "x"], ".mcp.json"),
    "another file of a project in the state": file_of(
        ["state", "skills", "a"], "SKILL.md"
    ),
    "a file of the moved folder": folders(as_file([*ETC_X, "passwd"], "other")),
    "the moved folder as file": folders(as_file(ETC_X, "other")),
    "a folder of settings as file": folders(as_file(ETC_X, "other")),
    "a settings file as index": folders(as_file([*ETC_X, ".mcp.json"], "index")),
    "a settings file of no folder": as_file([*ETC_X, ".mcp.json"], "other"),
}
# What differs from a trap in one thing alone, and is what a run does.
NO_TRAPS: dict[str, Change] = {
    "as it was written": of_run(),
    "rename in the projects": rename(IN_PROJECTS, ["run", "retired", "0"]),
    "make a directory": also("Mkdir", path=IN_PROJECTS, mode=0o700),
    "rename out of a backup": rename(["backup", ID, "retired", "0"], IN_PROJECTS),
    "rename a folder": folders(rename(ETC_X, ETC_Y, FOLDER)),
    "park a folder": folders(rename(ETC_X, ["/", "etc", ".ccmove-parked-0"], FOLDER)),
    "settings of a folder": folders(as_file([*ETC_X, ".mcp.json"], "other")),
    "settings of the home itself": file_of(["home"], ".mcp.json"),
    "settings of a project in the state": file_of(
        ["state", "skills", "a"], ".mcp.json"
    ),
    "a note": as_file(NOTE, "other"),
    "a saved note": added("notes_saved", note(NOTE)),
    "an index": as_file(["projects", "-a", "sessions-index.json"], "index"),
    "a job": as_file(["state", "jobs", "1", "state.json"], "other"),
    "a session of the desktop app": as_file(["desktop", "a", "local_1.json"], "other"),
}


@pytest.mark.parametrize("what", NO_TRAPS)
def test_control_what_a_run_writes_is_believed(moved: Target, what: str) -> None:
    for run in (backup_of(moved), moved.own / "run"):
        read = seams.reader_of_manifests(moved.state, run)
        read(forged(moved, NO_TRAPS[what]))


def test_no_trap_is_believed(moved: Target) -> None:
    """By the one reader of manifests, in a backup and in the run under way."""
    believed = []
    for what, change in (WRONG_KINDS | TRAPS).items():
        for run in (backup_of(moved), moved.own / "run"):
            read = seams.reader_of_manifests(moved.state, run)
            try:
                read(forged(moved, change))
            except ValueError:
                continue
            believed.append(what)
    assert believed == []


SOME = ["an operation of an unknown kind", "a time without end", "a move of everything",
        "a note outside", "rename to outside", "rename from all projects",
        "make half a character", "rewrite as other outside by its way", "rewrite a transcript",
        "rewrite as history a NUL", "a project among our own"]  # fmt: skip


@pytest.mark.parametrize("what", [what for what in SOME if what in WRONG_KINDS | TRAPS])
def test_no_manifest_makes_a_run(moved: Target, what: str) -> None:
    """Neither in a backup nor in the directory of a run."""
    put_manifest(moved, forged(moved, (WRONG_KINDS | TRAPS)[what]))
    assert "can't be used" in refused(moved)
    backup_of(moved).rename(moved.own / "run")
    not_rolled_back(moved, ["restore"])


# -- what changed in the history -----------------------------------------------------------------

HISTORIES = {
    "empty": "",
    "no list": "{}\n",
    "not closed": "[]",
    "a number": "7\n",
    "too deep": "[" * 50_000 + "\n",
    "cut off": "[]\n1234567",
    "behind the end": '[["\\"/a\\"", "\\"/b\\""]]\n' + "\0\0\0\0\0\1\0\0" + "\0" * 12,
    "without its swap": "[]\n" + "\0" * 20,
}


@pytest.mark.parametrize("what", HISTORIES)
def test_a_record_of_the_history_is_refused_that_is(moved: Target, what: str) -> None:
    data = HISTORIES[what].encode()
    record = manifest_of(moved)
    row = row_of(record, "WroteHistory")
    seams.saved(backup_of(moved), row["number"], "changes").write_bytes(data)
    row["record"] = seams.sha256(data)
    put_manifest(moved, signed(record))
    refused(moved)


def test_no_value_of_a_wrong_kind_in_a_record_of_the_history_is_a_bug(
    moved: Target,
) -> None:
    """It is refused, or the restore keeps every line."""
    record = manifest_of(moved)
    row = row_of(record, "WroteHistory")
    path = seams.saved(backup_of(moved), row["number"], "changes")
    head, newline, rows = path.read_bytes().partition(b"\n")
    with moved.state.history.open("a") as history:
        history.write('{"display":"late"}\n')
    before = moved.state.history.read_bytes()
    for forgery in spoilt(json.loads(head)):
        data = json.dumps(forgery).encode() + newline + rows
        path.write_bytes(data)
        row["record"] = seams.sha256(data)
        put_manifest(moved, signed(record))
        done = moved.run("restore", "--dry-run", record["id"])
        assert done.exit in (0, 4), (forgery, done)
    assert moved.state.history.read_bytes() == before


# -- a run that had just begun --------------------------------------------------------------------


def begun(target: Target, *replaced: object, **values: object) -> None:
    """The manifest of a run that has begun to stage files beside these."""
    record = (
        manifest_of(target)
        | {"id": ID, "operations": [], "replaced": list(replaced)}
        | values
    )
    run = target.own / "run"
    run.mkdir(mode=0o700)
    (run / "manifest.json").write_text(json.dumps(signed(record)))


NOT_STAGED: dict[str, object] = {
    "a number": 5,
    "elsewhere": ["state", "keybindings.json"],
    "outside": ["/", "etc", "passwd"],
    "by its whole path": f"/etc/.ccmove-{ID}-0",
    "nowhere": ["x", "y"],
    "up again": ["state", "..", "history.jsonl"],
    "under a name that no disk can hold": ["projects", "\ud800", "memory", "x.md"],
    "with a NUL": ["projects", "\0", "memory", "x.md"],
    "beside a transcript": TRANSCRIPT,
}


@pytest.mark.parametrize("what", NOT_STAGED)
def test_nothing_is_swept_up_that_is_staged(moved: Target, what: str) -> None:
    begun(moved, NOT_STAGED[what])
    not_rolled_back(moved, ["restore"], [str(moved.old), str(moved.new)])
    assert moved.run("prune", "--keep", "0").exit == 5
    moved.nothing_changed(ignore=())


def test_only_staged_files_of_a_run_that_had_just_begun_are_swept_up(
    moved: Target,
) -> None:
    """The control."""
    named, other = (
        moved.state.config_dir / f".ccmove-{ID}-{number}" for number in (0, 1)
    )
    for path in (named, other):
        path.write_text("x")
    begun(moved, HISTORY)
    assert moved.run("recover").exit == 0
    assert (named.exists(), other.exists()) == (False, True)


@pytest.mark.parametrize("size", [65 << 20, 1 << 40])
def test_a_manifest_that_is_too_large_is_refused_and_never_read(
    moved: Target, size: int
) -> None:
    os.truncate(backup_of(moved) / "manifest.json", size)
    done = moved.run("restore", backup_of(moved).name)
    assert done.exit == 4
    assert "larger than" in done.err
    assert moved.run("backups").exit == 0
    backup_of(moved).rename(moved.own / "run")
    for command in ("recover", "restore"):
        done = moved.run(command)
        assert done.exit in (4, 5), done
        assert str(moved.own / "run/manifest.json") in done.err


# -- IDs ------------------------------------------------------------------------------------------

NO_IDS = [
    "99999999T999999Z-ffff", "٢٠٢٠٠١٠١T000000Z-0000", "20261116T004112Z-FFFF",
    "20261116T004112Z-3f9c\n", "..", ".hidden",
]  # fmt: skip


@pytest.mark.parametrize("name", NO_IDS)
def test_a_directory_that_is_named_like_no_id_is_passed_over(
    moved: Target, name: str
) -> None:
    (moved.own / "backups" / name).mkdir(exist_ok=True)
    assert len(moved.run("backups", "--json").json()["backups"]) == 1
    moved.new.rename(moved.state.code / "third")
    assert moved.run(moved.new, moved.state.code / "third").exit == 0
    assert len(moved.run("backups", "--json").json()["backups"]) == 2


@pytest.mark.parametrize("name", ["99991231T235959Z-ffff", "21000230T235959Z-ffff"])
def test_an_id_after_which_there_is_none_is_refused_and_named(
    target: Target, name: str
) -> None:
    last = target.own / "backups" / name
    last.mkdir(parents=True, mode=0o700)
    done = target.move()
    assert done.exit == 4, done
    assert str(last) in done.err


# -- the list of backups ---------------------------------------------------------------------------


def test_the_size_of_a_backup_that_is_a_link_is_not_looked_for_outside(
    moved: Target,
) -> None:
    (moved.outside / "victim").write_bytes(b"x" * 12_345)
    (moved.own / "backups" / ID).symlink_to(moved.outside)
    rows = moved.run("backups", "--json").json()["backups"]
    [size] = [row["bytes"] for row in rows if row["id"] == ID]
    assert size < 1_000  # of the link itself, at most


def test_a_backup_nested_a_thousand_directories_deep_is_listed(moved: Target) -> None:
    path = backup_of(moved) / "/".join(["d"] * 1_100)
    subprocess.run(
        ["mkdir", "-p", path], check=True
    )  # Python's own would not go so deep
    try:
        (path / "file").write_bytes(b"x" * 12_345)
        [row] = moved.run("backups", "--json").json()["backups"]
        assert row["bytes"] > 12_345
    finally:
        subprocess.run(["rm", "-r", backup_of(moved) / "d"], check=True)
