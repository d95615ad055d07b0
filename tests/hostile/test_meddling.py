"""Somebody meddles with the files of a run at a chosen moment, known by what is on the
disk then.

The moment is looked for before and after every single system call of ccmove's own
process.
"""

import json
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.bench import age_locks
from tests.crash.fork import Job
from tests.support import tree
from tests.support.run import Completed, run_ccmove, run_child
from tests.support.state import StateBuilder, encoded_name

# Each pair of words is Python: a condition on the disk, and what happens once when it
# holds.
MEDDLER = """
import os, runpy, sys
from pathlib import Path
split = sys.argv.index("--")
waiting = [[compile(text.strip(), "<meddler>", "exec") for text in pair.split("=>")]
           for pair in sys.argv[2:split]]
names = {"calls": 0, "os": os, "Path": Path}
exec(sys.argv[1], names)
def look(frame, event, function):
    if event[:2] != "c_" or getattr(function, "__module__", "") != "posix":
        return
    names["calls"] += 1
    if waiting:
        names["now"] = False
        try:
            exec(waiting[0][0], names)
        except (FileNotFoundError, NotADirectoryError):
            return
        if names["now"]:
            exec(waiting.pop(0)[1], names)
del sys.argv[1 : split + 1]
sys.setprofile(look)
runpy.run_module("ccmove", run_name="__main__", alter_sys=True)
"""
PLACES = """
home = Path(os.environ["HOME"])
state, config, history = home / ".claude", home / ".claude.json", home / ".claude/history.jsonl"
own, lock = state / "ccmove", state / "history.jsonl.lock"
source, target = (state / "projects" / name for name in {names!r})
old, new = {paths!r}
"""
ALL_IN_PLACE = "now = all(new in p.read_text() and old not in p.read_text() for p in \
    (config, history, target / 'sessions-index.json'))"
NO_LINKS = """
def no_links(*_, **__): raise OSError(1, "no hard links here")
os.link = no_links
"""
NAMES = ("my-app", "new")
TOUCH = "os.utime(next(target.glob('*.jsonl')))"


@pytest.fixture
def ready(state: StateBuilder) -> StateBuilder:
    state.project("my-app", index=True, memory={"MEMORY.md": "x\n"}, subagents=False)
    (state.code / "new").mkdir()
    return state


def directory(state: StateBuilder, name: str) -> Path:
    return state.projects / encoded_name(str(state.code / name))


def meddle(
    state: StateBuilder,
    *pairs: str,
    args: tuple[str, ...] = (),
    paths: tuple[str, ...] = NAMES,
    links: bool = True,
) -> Completed:
    both = [str(state.code / name) for name in NAMES]
    places = PLACES.format(paths=both, names=[encoded_name(path) for path in both])
    places += "" if links else NO_LINKS
    moved = [str(state.code / name) for name in paths]
    words = [sys.executable, "-c", MEDDLER, places, *pairs, "--", *args, *moved]
    done = run_child(words, state=state)
    assert "Traceback" not in done.err, done.err
    return done


def as_before(state: StateBuilder, before: tree.Tree) -> list[str]:
    return tree.diff(
        before, tree.snapshot(state.home), ignore=[".claude/ccmove"], mtimes="none"
    )


# -- what was written is not what was planned ---------------------------------------------------

STAGED = """
wanted = {which}.read_text().replace('"' + old + '"', '"' + new + '"')
wanted = wanted.replace(source.name, target.name).encode()
every = (*home.iterdir(), *state.iterdir(), *state.glob("projects/*/*"))
found = [p for p in every if p.is_file() and p.stat().st_size == len(wanted)
         and p.read_bytes() == wanted] if (own / "run").exists() else []
now = bool(found)
=>
fd = os.open(found[0], os.O_WRONLY); os.pwrite(fd, b"~", 20); os.close(fd)
"""


@pytest.mark.parametrize(
    "which", ["history", "config", "(source / 'sessions-index.json')"]
)
def test_what_the_disk_holds_otherwise_than_planned_never_goes_live(
    ready: StateBuilder, which: str
) -> None:
    before = tree.snapshot(ready.home)
    done = meddle(ready, STAGED.format(which=which))
    assert done.exit == 1, done
    assert as_before(ready, before) == []
    assert run_ccmove(ready.code / "my-app", ready.code / "new", state=ready).exit == 0


# -- what is in place is not what was put there -------------------------------------------------


@pytest.mark.parametrize("verify", [(), ("--hash",)])
def test_an_index_with_a_value_too_many_is_noticed_and_keeps_it(
    ready: StateBuilder, verify: tuple[str, ...]
) -> None:
    before = tree.snapshot(ready.home)
    index = directory(ready, "my-app") / "sessions-index.json"
    wanted = json.loads(index.read_text()) | {"intruder": 1}
    add = """live, theirs = target / "sessions-index.json", target / "theirs"
theirs.write_text(live.read_text().rstrip()[:-1] + ', "intruder": 1}'); os.rename(theirs, live)"""
    done = meddle(ready, f"{ALL_IN_PLACE}=>{add}", args=verify)
    assert done.exit == 1, done
    assert "intruder" in done.err
    assert json.loads(index.read_text()) == wanted
    assert all("sessions-index.json" in line for line in as_before(ready, before))


def test_a_transcript_of_another_date_is_noticed(ready: StateBuilder) -> None:
    before = tree.snapshot(ready.home)
    done = meddle(ready, f"{ALL_IN_PLACE}=>{TOUCH}")
    assert done.exit == 1, done
    assert ".jsonl" in done.err
    assert as_before(ready, before) == []


@pytest.mark.parametrize(("verify", "code"), [((), 0), (("--hash",), 1)])
def test_only_the_full_check_sees_bytes_behind_the_same_size_and_date(
    ready: StateBuilder, verify: tuple[str, ...], code: int
) -> None:
    flip = """p = next(target.glob("*.jsonl")); s = p.stat()
fd = os.open(p, os.O_WRONLY); os.pwrite(fd, b"#", 0); os.close(fd)
os.utime(p, ns=(s.st_atime_ns, s.st_mtime_ns))"""
    done = meddle(ready, f"{ALL_IN_PLACE}=>{flip}", args=verify)
    assert done.exit == code, done
    assert directory(ready, "new").exists() == (code == 0)


# -- a signal ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "moment", ["now = own.joinpath('run/manifest.json').exists()", ALL_IN_PLACE]
)
def test_ctrl_c_a_polite_kill_or_a_closed_terminal_leaves_everything_as_it_was(
    ready: StateBuilder, number: int, moment: str
) -> None:
    before = tree.snapshot(ready.home)
    done = meddle(ready, f"{moment}=>os.kill(os.getpid(), {int(number)})")
    assert done.exit == 130, done
    assert "as it was" in done.err
    assert as_before(ready, before) == []


# -- a prompt comes between the look and the change ---------------------------------------------

LINE = b'{"display":"late","project":"OLD"}\n'
MOMENTS = 4
SAVED = ["saved as a link", "saved as a copy"]
COUNTED = "now = own.joinpath('run/manifest.json').exists()=>began = calls"
ENDED = (
    "now = lock.exists()=>print(began, calls, file=open(home.parent / 'calls', 'w'))"
)


@pytest.mark.parametrize(("links", "fails"), [(True, False), (False, True)], ids=SAVED)
def test_a_late_prompt_is_there_once_after_the_move_and_after_its_undoing(
    tmp_path: Path, links: bool, fails: bool
) -> None:
    """At some moments from the run's beginning to the client's lock."""

    def fresh(name: str) -> StateBuilder:
        state = StateBuilder(tmp_path / name)
        state.project("my-app", index=True, sessions=1)
        (state.code / "new").mkdir()
        return state

    counted = fresh("counted")
    assert meddle(counted, COUNTED, ENDED, links=links).exit == 0
    began, ended = map(int, (counted.root / "calls").read_text().split())
    assert ended - began > 5 * MOMENTS
    for number in range(MOMENTS):
        state = fresh(str(number))
        before = state.history.read_bytes()
        line = LINE.replace(b"OLD", str(state.code / "my-app").encode())
        come = f"with open(history, 'ab') as f: f.write({line!r})\nos.utime(history, ns=TIME)"
        come = come.replace("TIME", "(10**18, 10**18)")
        moment = f"now = calls >= {began + (ended - began) * number // MOMENTS}=>{come}"
        spoil = [f"{ALL_IN_PLACE}=>{TOUCH}"] if fails else []
        done = meddle(state, moment, *spoil, links=links)
        assert done.exit == fails, done
        if not fails:
            moved = (before + line).replace(b"/my-app", b"/new")
            assert state.history.read_bytes() == moved
            assert run_ccmove("restore", state=state).exit == 0
        assert state.history.read_bytes() == before + line
        if fails:
            assert state.history.stat().st_mtime_ns == 10**18


# -- killed between two replacements, and the client goes on --------------------------------------

REPLACED = """
indexes = {p.read_bytes() for p in state.rglob("sessions-index.json")}
done = [config.read_bytes() != was[0], history.read_bytes() != was[1]]
now = sum(done) + len(indexes - was[2]) == """
WAS = """was = [config.read_bytes(), history.read_bytes(),
       {p.read_bytes() for p in state.rglob("sessions-index.json")}]"""
DIE = "os.kill(os.getpid(), 9)"


@pytest.mark.parametrize(
    ("links", "goes_on"), [(True, True), (False, False)], ids=SAVED
)
@pytest.mark.parametrize("replaced", range(5))
def test_a_swap_that_died_half_way_is_rolled_back_only_where_it_was_done(
    state: StateBuilder, links: bool, replaced: int, goes_on: bool
) -> None:
    """In a swap, what is rolled back but was never done comes out exchanged."""
    for name in ("my-app", "new"):
        state.project(name, sessions=1, index=True, prompts=2, make_folder=True)
    files = [
        state.config_file,
        state.history,
        *state.projects.glob("*/sessions-index.json"),
    ]
    one, two = (str(state.code / name) for name in ("my-app", "new"))
    (state.root / "moves").write_text(f"{one}\t{two}\n{two}\t{one}\n")
    before, was = tree.snapshot(state.home), [file.read_bytes() for file in files[:2]]
    words = ("--skip-path-check", "--from-file", str(state.root / "moves"))
    pairs = (f"now = lock.exists()=>{WAS}", f"{REPLACED}{replaced}=>{DIE}")
    assert meddle(state, *pairs, args=words, paths=(), links=links).exit == -9
    if goes_on:
        starts, line = (
            (b'"numStartups": 4', b'"numStartups": 17'),
            LINE.replace(b"OLD", b"/third"),
        )
        theirs = state.home / "theirs"
        theirs.write_bytes(state.config_file.read_bytes().replace(*starts))
        theirs.rename(state.config_file)
        with state.history.open("ab") as history:
            history.write(line)
        was = [was[0].replace(*starts), was[1] + line]
    age_locks(state)
    assert run_ccmove("recover", state=state).exit == 0
    assert [file.read_bytes() for file in files[:2]] == was
    mine = [".claude.json", ".claude/history.jsonl"] if goes_on else []
    now = tree.snapshot(state.home)
    assert tree.diff(before, now, ignore=[".claude/ccmove", *mine]) == []


# -- a merge ------------------------------------------------------------------------------------

COMES = {
    "a session": "(source / 'since.jsonl').write_text('since')",
    "a note": "(source / 'memory' / 'since.md').write_text('since')",
    "a line": "(source / 'memory' / 'MEMORY.md').write_text('since')",
}


@pytest.fixture
def merging(ready: StateBuilder) -> StateBuilder:
    for number in "123":
        (directory(ready, "my-app") / f"memory/{number}.md").write_text(
            f"our {number}\n"
        )
    ready.project("new", sessions=1, memory={"MEMORY.md": "y\n"})
    return ready


@pytest.mark.parametrize("what", COMES)
def test_what_comes_while_a_merge_is_staged_does_not_go_into_the_backup(
    merging: StateBuilder, what: str
) -> None:
    assert (
        meddle(merging, f"now = any((own / 'run/files').iterdir())=>{COMES[what]}").exit
        == 0
    )
    live = [path for path in directory(merging, "new").rglob("*") if path.is_file()]
    assert any("since" in path.read_text() for path in live)


def test_a_note_at_new_that_the_merge_never_came_to_stays_there(
    merging: StateBuilder,
) -> None:
    """Killed between two notes; then Claude writes others of their names at NEW."""
    old, new = (directory(merging, name) / "memory" for name in NAMES)
    assert meddle(merging, f"now = (target / 'memory/1.md').exists()=>{DIE}").exit == -9
    for number in "23":
        (new / f"{number}.md").write_text("written later\n")
    age_locks(merging)
    assert run_ccmove("recover", state=merging).exit == 0
    assert [(old / f"{n}.md").read_text() for n in "123"] == [
        f"our {n}\n" for n in "123"
    ]
    assert [(new / f"{n}.md").read_text() for n in "23"] == ["written later\n"] * 2


# -- looking while others work --------------------------------------------------------------------


@pytest.mark.parametrize("command", ["list", "doctor", "verify"])
@pytest.mark.parametrize("what", ["directory", "transcript", "history", "config"])
def test_what_vanishes_in_a_look_is_no_error(
    ready: StateBuilder, command: str, what: str
) -> None:
    """At some of the calls that open or list something; the rest is looked at all the
    same.
    """
    ready.project("other", make_folder=True)
    source = directory(ready, "my-app")
    paths = {"directory": source, "history": ready.history, "config": ready.config_file}
    path = paths.get(what) or next(source.glob("*.jsonl"))
    record, away = ready.root / "calls", ready.root / "away"
    look = Job(ready, [command, "--json"], hook=["note", str(record)])
    whole, others = look.run(), 0
    calls = len(record.read_text().splitlines())
    for number in range(1, calls + 1, max(1, calls // 16)):
        done = replace(look, hook=["vanish", str(number), str(away), str(path)]).run()
        assert "Traceback" not in done.err + done.out, (number, done)
        assert done.exit in (0, 1), (number, done)
        assert command != "list" or str(ready.code / "other") in done.out
        others += done.out != whole.out
        away.rename(path)
    assert others
