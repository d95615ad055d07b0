"""A manifest, a journal or a list of edits with a right checksum can still be someone's trap.

The checksum is no secret, so everything in these files is signed here as ccmove would sign it. Each
must be refused whole, before a byte is written; other commands go on as if it were not there.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.attack import Target

Change = Callable[[dict[str, Any]], object]
HUGE = 10**30


def checksum(record: dict[str, Any]) -> str:
    body = {key: value for key, value in record.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


@pytest.fixture
def moved(target: Target) -> Target:
    """After one move, with its backup."""
    assert target.move().exit == 0
    return target


def backup_of(target: Target) -> Path:
    return next((target.own / "backups").iterdir())


def forge(target: Target, change: Change) -> None:
    """Change the manifest and sign it."""
    path = backup_of(target) / "manifest.json"
    record = json.loads(path.read_text())
    change(record)
    record["checksum"] = checksum(record)
    path.write_text(json.dumps(record))


def refused(target: Target) -> str:
    target.remember()
    identifier = backup_of(target).name
    done = target.run("restore", identifier)
    assert done.exit == 4, done
    assert target.run("restore", "--dry-run", identifier).exit == 4
    assert target.run("backups").exit == 0
    target.nothing_changed(ignore=(".claude/ccmove/lock",))
    return done.err


def test_a_forged_manifest_with_a_right_checksum_is_believed_otherwise(moved: Target) -> None:
    """The control: forging as such is not what the others are refused for."""
    forge(moved, lambda record: record.update(created="another day"))
    assert moved.run("restore").exit == 0


def test_a_manifest_of_an_earlier_version_is_restored(moved: Target) -> None:
    forge(moved, lambda record: record.pop("native"))
    assert moved.run("restore").exit == 0


# -- every value of the wrong kind ---------------------------------------------------------------

WRONG: list[object] = [None, True, -1, 1.5, HUGE, "x", [], {}, [[]], "\0", "../x"]


def places(value: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place in a JSON value, of lists only the first item."""
    found = [at] if at else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*at, key))
    elif isinstance(value, list) and value:
        found += places(value[0], (*at, 0))
    return found


def put(record: Any, at: tuple[str | int, ...], value: object) -> None:
    for token in at[:-1]:
        record = record[token]
    record[at[-1]] = value


def test_no_value_of_a_wrong_kind_is_a_bug(moved: Target) -> None:
    """Whatever stands in any place: it is refused, or means nothing and the restore is right."""
    from ccmove.claude.layout import find_layout
    from ccmove.run.manifest import from_json

    layout = find_layout(str(moved.state.config_dir), {})
    text = (backup_of(moved) / "manifest.json").read_text()
    tried = 0
    for at in places(json.loads(text)):
        for wrong in WRONG:
            record = json.loads(text)
            put(record, at, wrong)
            record["checksum"] = checksum(record)
            tried += 1
            try:
                manifest = from_json(record, layout)
            except ValueError:
                continue
            assert all(isinstance(path, str) for move in manifest.moves for path in move), at
            assert all(type(number) is int for number in manifest.inodes), at
    assert tried > 400


WRONG_KINDS: dict[str, Change] = {
    "steps that are no list": lambda r: r.update(steps=7),
    "a step that is a text": lambda r: r["steps"].insert(0, "rename"),
    "fewer inodes than steps": lambda r: r["inodes"].pop(),
    "an inode without end": lambda r: r["inodes"].__setitem__(0, float("inf")),
    "a size that is a text": lambda r: r["files"][0]["after"].update(size="7"),
    "a size below nothing": lambda r: r["files"][0]["before"].update(size=-1),
    "a mode of other bits": lambda r: r["files"][0]["before"].update(mode=0o100644),
    "a hash that is none": lambda r: r["files"][0]["before"].update(sha256="0"),
    "no hash of the edits": lambda r: r["files"][0].update(edits_sha256=None),
    "saved, but not what was there": lambda r: r["files"][0].update(before=None),
    "not saved, but known": lambda r: r["files"][0].update(saved=None),
    "entries that can't be counted": lambda r: r["projects"][0].update(entries=[[1]]),
    "an entry that leads elsewhere": lambda r: r["projects"][0].update(entries=["../x"]),
    "a directory that leads elsewhere": lambda r: r["projects"][0].update(target=".."),
    "moves that are words": lambda r: r.update(moves=["ab"]),
    "a move of nothing": lambda r: r["moves"].append(["", "/x"]),
    "a move of everything": lambda r: r["moves"].append(["/", "/x"]),
    "a move of a drive": lambda r: r["moves"].append(["C:\\", "/x"]),
    "a move of a NUL": lambda r: r["moves"].append(["/a\0b", "/x"]),
    "moves of three": lambda r: r["moves"][0].append("/x"),
    "digits of another script": lambda r: r.update(undoes="٢٠٢٠٠١٠١T000000Z-0000"),
    "an ID with a line end": lambda r: r.update(undoes="20200101T000000Z-0000\n"),
    "an ID of no day": lambda r: r.update(undoes="20209901T000000Z-0000"),
    "a native path that is a number": lambda r: r.update(native=[7]),
    "native paths that are none": lambda r: r.update(native=None),
}


@pytest.mark.parametrize("what", WRONG_KINDS)
def test_refused_is(moved: Target, what: str) -> None:
    forge(moved, WRONG_KINDS[what])
    refused(moved)


# -- paths ----------------------------------------------------------------------------------------


def step(path: str, target: str | None = None, kind: str = "rename") -> Change:
    def change(record: dict[str, Any]) -> None:
        record["steps"].append({"kind": kind, "path": path, "target": target, "mode": 0o700})
        record["inodes"].append(0)

    return change


def as_file(path: str, place: str) -> Change:
    return lambda record: record["files"][0].update(path=path, ends=path, place=place)


def folders(change: Change, *pairs: tuple[str, str]) -> Change:
    """The manifest names these folders itself, as its moves."""

    def both(record: dict[str, Any]) -> None:
        record["moves"] = [list(pair) for pair in pairs]
        change(record)

    return both


def home_as_project(change: Change) -> Change:
    def both(record: dict[str, Any]) -> None:
        record["moves"] = [[os.path.dirname(record["config_dir"]), "/srv/home"]]
        change(record)

    return both


def inside_project(folder: str, name: str) -> Change:
    """A file of a project that lies in the state itself."""

    def change(record: dict[str, Any]) -> None:
        record["moves"] = [[f"{record['config_dir']}/{folder}", "/srv/x"]]
        as_file(f"$C/{folder}/{name}", "other")(record)

    return change


ID = "20200101T000000Z-0000"
TRAPS: dict[str, Change] = {
    # steps
    "rename the settings": step("$C/settings.json", "$C/projects/x"),
    "rename over the settings": step("$C/projects/x", "$C/settings.json"),
    "rename the history": step("$C/projects/x", "$C/history.jsonl"),
    "rename all projects": step("$C/projects", "$C/projects/x"),
    "rename the config file": step("$CONFIG", "$C/projects/x"),
    "rename our lock": step("$C/projects/x", "$C/ccmove/lock"),
    "rename a manifest": step("$C/projects/x", f"$C/ccmove/backups/{ID}/manifest.json"),
    "rename a backup": step("$C/projects/x", f"$C/ccmove/backups/{ID}"),
    "displace without an ID": step("$C/projects/x", "$C/ccmove/backups/x/displaced/0"),
    "make a directory of the state": step("$C/plugins/x", None, "mkdir"),
    "remove one": step("$C/plugins", None, "rmdir"),
    "make the moved folder": folders(step("/etc/x", None, "mkdir"), ("/etc/x", "/etc/y")),
    "remove the moved folder": folders(step("/etc/x", None, "rmdir"), ("/etc/x", "/etc/y")),
    "a way that is no way": step("$C/projects/./../../x", "$C/projects/x"),
    "another variable": step("$HOME/x", "$C/projects/x"),
    "the state itself": step("$C/", "$C/projects/x"),
    "a folder without a root": folders(step("x", "y"), ("x", "y")),
    "beside a folder without a root": folders(step(".ccmove-parked-0", "x"), ("x", "y")),
    "a name that no disk can hold": step("$C/projects/\ud800", "$C/projects/x"),
    "below the moved folder": folders(step("/etc/x/y", "$C/projects/x"), ("/etc/x", "/etc/y")),
    # files
    "rewrite a transcript": as_file("$C/projects/-a/1.jsonl", "other"),
    "rewrite a transcript as index": as_file("$C/projects/-a/1.jsonl", "index"),
    "rewrite what a tool said": as_file("$C/projects/-a/1/tool-results/x.txt", "other"),
    "an index too deep": as_file("$C/projects/-a/b/sessions-index.json", "index"),
    "rewrite settings": as_file("$C/settings.json", "other"),
    "rewrite settings as config": as_file("$C/settings.json", "config"),
    "rewrite settings as those of the home": home_as_project(as_file("$C/settings.json", "other")),
    "a project among the projects": inside_project("projects/-a", ".mcp.json"),
    "a project among our own": inside_project("ccmove/x", ".mcp.json"),
    "another file of a project in the state": inside_project("skills/a", "SKILL.md"),
    "rewrite our journal": as_file("$C/ccmove/journal.json", "other"),
    "rewrite settings as history": as_file("$C/settings.json", "history"),
    "another file as history": as_file("$C/history.jsonl/x", "history"),
    "rewrite the state itself": as_file("$C/.", "other"),
    "our journal as history": as_file("$C/ccmove/journal.json", "history"),
    "a transcript as history": as_file("$C/projects/-a/1.jsonl", "history"),
    "the config file as history": as_file("$CONFIG", "history"),
    "a file of the moved folder": folders(as_file("/etc/x/passwd", "other"), ("/etc/x", "/etc/y")),
    "a file without a root": folders(as_file("x/.mcp.json", "other"), ("x", "y")),
    "a file of nowhere": folders(as_file(".mcp.json", "other"), ("", "y")),
    "the moved folder as file": folders(as_file("/etc/x", "other"), ("/etc/x", "/etc/y")),
    "a settings file as history": folders(
        as_file("/etc/x/.mcp.json", "history"), ("/etc/x", "/etc/y")
    ),
}


@pytest.mark.parametrize("what", TRAPS)
def test_no_manifest_makes_a_run(moved: Target, what: str) -> None:
    forge(moved, TRAPS[what])
    assert "can't be used" in refused(moved)


def test_a_manifest_that_is_too_large_is_refused_without_reading_it(moved: Target) -> None:
    os.truncate(backup_of(moved) / "manifest.json", 1 << 40)
    done = moved.run("restore", backup_of(moved).name)
    assert done.exit == 4
    assert "larger than" in done.err
    assert moved.run("backups").exit == 0


# -- lists of edits -------------------------------------------------------------------------------


def edits(*rows: object, lines: object = (), appended: object = "") -> dict[str, object]:
    return {"edits": rows, "lines": lines, "appended": appended}


def edit(**values: object) -> list[object]:
    """One edit as it is written down, with some other values."""
    plain: dict[str, object] = {"kind": "set", "pointer": ["x"], "before": "1", "after": "2"}
    return list((plain | {"anchor": None, "place": -1, "lead": "", "tail": ""} | values).values())


def removal(**values: object) -> list[object]:
    """The removal of the member `x`, with some other values."""
    plain: dict[str, object] = {"kind": "remove", "after": None, "place": 0, "lead": ', "x": '}
    return edit(**(plain | {"tail": ","} | values))


EDITS: dict[str, object] = {
    "no object": [],
    "nothing": {},
    "edits that are a number": edits() | {"edits": 1},
    "an edit that is a text": edits("set"),
    "an unknown kind": edits(edit(kind="do")),
    "a pointer to nothing": edits(edit(pointer=[])),
    "a pointer of lists": edits(edit(pointer=[[]])),
    "a pointer that is a text": edits(edit(pointer="x")),
    "what is no JSON": edits(edit(before="{")),
    "two values in one": edits(edit(before="1, 2")),
    "a number as text": edits(edit(before=1)),
    "a value with blanks around it": edits(edit(before=" 1")),
    "a byte order mark": edits(edit(before="\ufeff1")),
    "half a character": edits(edit(before='"\ud83d"')),
    "half a character in a line": edits(lines=[[1, "\ud83d", "x"]]),
    "half a character appended": edits(appended="\ud83d"),
    "nothing that was before": edits(edit(before=None)),
    "something before an addition": edits(edit(kind="add")),
    "something after a removal": edits(removal(after="1")),
    "a name in a list": edits(edit(kind="key", pointer=["l", 0], before='"a"', after='"b"')),
    "a name that is a number": edits(edit(kind="key", before="1", after='"x"')),
    "a pointer below the first": edits(edit(pointer=["x", -1])),
    "a removal from nowhere": edits(removal(place=-1)),
    "a removal without a comma": edits(removal(lead='"x": ')),
    "a removal without its name": edits(removal(lead=", ")),
    "a removal under another name": edits(removal(lead=', "y": ')),
    "a removal from a list with a name": edits(removal(pointer=[0])),
    "a tail without a comma": edits(removal(tail=" ")),
    "an anchor of numbers": edits(edit(anchor=7)),
    "a place that is a text": edits(edit(place="0")),
    "a lead with a value": edits(edit(kind="remove", lead=', "a": 1, "b": ')),
    "a tail with a value": edits(edit(kind="remove", tail=', "a": 1,')),
    "too little": edits(edit()[:-1]),
    "too much": edits([*edit(), ""]),
    "lines of one": edits(lines=[[1]]),
    "replaced that is a number": edits() | {"replaced": 1},
    "replaced by nothing": edits() | {"replaced": [["a"]]},
    "nothing replaced": edits() | {"replaced": [["", "x" * 1000]]},
    "a replacement of numbers": edits() | {"replaced": [["a", 1]]},
    "a replacement that was not made": edits() | {"replaced": [["numStartups", "x"]]},
    "a replacement without end": edits() | {"replaced": [["a", "x" * (1 << 20)]] * 4},
    "a line below the first": edits(lines=[[-1, "a", "b"]]),
    "an appendix of numbers": edits(appended=7),
}


def test_the_plain_edit_as_such_is_taken(moved: Target) -> None:
    """The control: what is refused below is not the form of the list."""
    name = edit(kind="key", before='"a"', after='"b"', place=0)
    addition = edit(kind="add", before=None)
    swap_edits(moved, edits(edit(), removal(), removal(pointer=["l", 0], lead=","), name, addition))
    assert moved.run("restore").exit == 0


def swap_edits(target: Target, record: object) -> None:
    """Other edits of the config file, which has changed since, so that they are read."""
    state = target.state
    state.write_config(state.config() | {"numStartups": 5})
    data = json.dumps(record).encode()

    def change(manifest: dict[str, Any]) -> None:
        (row,) = [row for row in manifest["files"] if row["place"] == "config"]
        (backup_of(target) / row["edits"]).write_bytes(data)
        row["edits_sha256"] = hashlib.sha256(data).hexdigest()

    forge(target, change)


@pytest.mark.parametrize("what", EDITS)
def test_a_list_of_edits_is_refused_that_holds(moved: Target, what: str) -> None:
    swap_edits(moved, EDITS[what])
    assert "can't be used" in refused(moved)


# -- journals -------------------------------------------------------------------------------------


def journal(**values: object) -> dict[str, object]:
    plain: dict[str, object] = {"schema": 1, "id": ID, "mark": 1, "locks": [], "staged": []}
    return plain | {"manifest": None} | values


JOURNALS: dict[str, object] = {
    "a mark without end": journal(mark=float("inf")),
    "a mark below nothing": journal(mark=-1),
    "a mark that is a text": journal(mark="1"),
    "locks that are a number": journal(locks=5),
    "a lock that is a number": journal(locks=[5]),
    "a lock elsewhere": journal(locks=["/etc"]),
    "staged that is a number": journal(staged=[5]),
    "staged elsewhere": journal(staged=["$C/settings.json"]),
    "staged beside ours": journal(staged=[f"$C/x.ccmove-{ID}-1"]),
    "staged without a number": journal(staged=[f"$C/.ccmove-{ID}"]),
    "staged by another run": journal(staged=["$C/.ccmove-20210101T000000Z-0000-1"]),
    "staged nowhere": journal(staged=[f"x/.ccmove-{ID}-1"]),
    "staged under a name that no disk can hold": journal(staged=[f"$C/\ud800/.ccmove-{ID}-1"]),
    "staged there by its whole path": journal(staged=[f"/\ud800/.ccmove-{ID}-1"]),
    "staged with a NUL": journal(staged=[f"$C/\0/.ccmove-{ID}-1"]),
    "an ID with a way": journal(id="../../x"),
    "a manifest that is a number": journal(manifest=5),
    "a manifest of another run": journal(manifest={"schema": 1, "id": "x"}),
    "no object": [],
    "a number": 7,
}


@pytest.mark.parametrize("what", JOURNALS)
def test_a_journal_is_not_followed_that_has(moved: Target, what: str) -> None:
    path = moved.own / "journal.json"
    path.write_text(json.dumps(JOURNALS[what]))
    moved.remember()
    for command in (["recover"], ["restore"], ["backups", "--prune", "--keep", "0"]):
        done = moved.run(*command)
        assert done.exit == 5, (command, done)
        assert str(path) in done.err
    moved.nothing_changed(ignore=())


def test_a_journal_without_a_place_for_what_it_takes_back_is_not_followed(moved: Target) -> None:
    """The manifest of the run is its own and signed; only what was staged is not in the list."""
    record = json.loads((backup_of(moved) / "manifest.json").read_text())
    moved.own.joinpath("journal.json").write_text(
        json.dumps(journal(id=record["id"], manifest=record))
    )
    with open(moved.state.config_dir / "history.jsonl", "a") as history:
        history.write("{}\n")  # so that it has to be taken back line by line
    moved.remember()
    done = moved.run("recover")
    assert done.exit == 5
    assert "nothing is staged beside" in done.err
    moved.nothing_changed(ignore=())


def test_a_forged_journal_can_not_make_a_recovery_reach_outside(moved: Target) -> None:
    """A journal with a signed manifest that asks for a rename out of the state."""
    record = json.loads((backup_of(moved) / "manifest.json").read_text())
    victim = moved.outside / "victim"
    victim.mkdir()
    inode = victim.stat().st_ino
    record["steps"] = [
        {"kind": "rename", "path": "$C/projects/x", "target": str(victim), "mode": 0o700}
    ]
    record["inodes"] = [inode]
    record["checksum"] = checksum(record)
    text = json.dumps(journal(id=record["id"], manifest=record))
    (moved.own / "journal.json").write_text(text)
    moved.remember()
    assert moved.run("recover").exit == 5
    moved.nothing_changed(ignore=())


@pytest.mark.parametrize("size", [65 << 20, 1 << 40])
def test_a_journal_that_is_too_large_is_refused_without_reading_it(
    moved: Target, size: int
) -> None:
    path = moved.own / "journal.json"
    path.touch(mode=0o600)
    os.truncate(path, size)
    for command in (["recover"], ["restore"]):
        done = moved.run(*command)
        assert done.exit in (4, 5), done
        assert str(path) in done.err


# -- IDs ------------------------------------------------------------------------------------------

NO_IDS = [
    "99999999T999999Z-ffff",
    "٢٠٢٠٠١٠١T000000Z-0000",
    "20261116T004112Z-FFFF",
    "20261116T004112Z-3f9c\n",
    "..",
    ".hidden",
]


@pytest.mark.parametrize("name", NO_IDS)
def test_a_directory_that_is_named_like_no_id_is_passed_over(moved: Target, name: str) -> None:
    (moved.own / "backups" / name).mkdir(exist_ok=True)
    assert len(moved.run("backups", "--json").json()["backups"]) == 1
    moved.new.rename(moved.state.code / "third")
    assert moved.run(moved.new, moved.state.code / "third").exit == 0
    assert len(moved.run("backups", "--json").json()["backups"]) == 2


def test_the_last_id_of_all_is_refused_with_a_reason(target: Target) -> None:
    last = target.own / "backups" / "99991231T235959Z-ffff"
    last.mkdir(parents=True, mode=0o700)
    done = target.move()
    assert done.exit == 4, done
    assert str(last) in done.err


def test_an_id_of_a_day_that_the_month_does_not_have_is_counted_on(target: Target) -> None:
    (target.own / "backups" / "21000230T235959Z-ffff").mkdir(parents=True, mode=0o700)
    assert target.move("--json").json()["backup"] == "21000303T000000Z-0000"


# -- the list of backups ---------------------------------------------------------------------------


def test_the_size_of_a_backup_that_is_a_link_is_not_looked_for_outside(moved: Target) -> None:
    (moved.outside / "victim").write_bytes(b"x" * 12_345)
    (moved.own / "backups" / "20200101T000000Z-0000").symlink_to(moved.outside)
    rows = moved.run("backups", "--json").json()["backups"]
    assert [row["bytes"] for row in rows if row["id"] == "20200101T000000Z-0000"] == [0]


def test_a_backup_nested_a_thousand_directories_deep_is_listed(moved: Target) -> None:
    path = backup_of(moved) / "/".join(["d"] * 1_100)
    subprocess.run(["mkdir", "-p", path], check=True)  # Python's own would not go so deep
    try:
        (path / "file").write_bytes(b"x" * 12_345)
        [row] = moved.run("backups", "--json").json()["backups"]
        assert row["bytes"] > 12_345
    finally:
        subprocess.run(["rm", "-r", backup_of(moved) / "d"], check=True)
