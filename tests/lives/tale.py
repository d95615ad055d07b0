"""One life: steps in random order, told as lines that read like a shell's."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.crash.bench import age_locks
from tests.crash.fork import Ended, Job
from tests.lives.model import BrokenError, Model, Pair, Run, Thing, has_twin
from tests.lives.oracle import Oracle
from tests.support import seams, tree
from tests.support.life import Life
from tests.support.state import StateBuilder

NAMES = ("a", "b", "c", "par", "q", "my-app", "my_app")
CHILD = "x"
STEPS = 12
KILLED = 1  # what a command comes to that was killed and rolled back
CRASHES = 0.15  # of all commands
DEEPEST_CALL = 90  # about as many calls as a run makes
OWN = f"home/{seams.OWN}"
WEIGHTS = {
    "begin": 5, "go_on": 4, "remember": 2, "write_note": 2, "allow": 2,
    "change_directory": 1, "sweep": 1,
    "make_folder": 1, "rename_folder": 1, "remove_folder": 1,
    "move": 5, "move_folder": 2, "only": 1, "merge": 3, "swap": 2, "chain": 2,
    "two_into_one": 2, "lost": 1,
    "undo": 5, "undo_by_id": 3, "prune": 1,
}  # fmt: skip


class Tale:
    """A state, the steps that were taken on it, and what they must have led to.

    `without` holds steps that are not taken; also `crash`, `undo --merge` for that
    option, and `undo of nothing` for undos that must end with exit 3.
    """

    def __init__(self, root: Path, seed: int, without: Sequence[str] = ()) -> None:
        self.random = random.Random(f"life {seed}")
        self.seed = seed
        self.state = StateBuilder(root)
        self.life = Life(self.state)
        self.model = Model()
        self.oracle = Oracle(self.life, self.model)
        self.lines: list[str] = []
        self.steps: Counter[str] = Counter()
        self.without = without
        self.last = ""  # the kind of the last command
        self.has_index = self.random.random() < 0.5
        (root / "tmp").mkdir(exist_ok=True)

    def live(self) -> None:
        """Some projects, and then whatever comes."""
        for name in self.random.sample(NAMES, self.random.randint(2, 4)):
            self.make(name)
            self.begin_at(name)
        kinds = {k: w for k, w in WEIGHTS.items() if k not in self.without}
        taken = 0
        for _ in range(STEPS * 8):
            (kind,) = self.random.choices([*kinds], [*kinds.values()])
            step: Callable[[], bool] = getattr(self, kind)
            self.model.now += 1
            if step():
                taken += 1
            if taken == STEPS:
                return

    def tell(self, line: str) -> None:
        self.lines.append(line)

    # -- what there is to choose from ------------------------------------------

    def folders(self) -> list[str]:
        paths = [path for path in self.state.code.rglob("*") if path.is_dir()]
        return sorted(self.life.short(str(path)) for path in paths)

    def tops(self) -> list[str]:
        return [name for name in self.folders() if "/" not in name]

    def free(self) -> list[str]:
        return [name for name in NAMES if not self.exists(name)]

    def exists(self, name: str) -> bool:
        return self.life.folder(name).is_dir()

    def known(self) -> list[str]:
        """The folders, not inside another one, at or below which sessions are."""
        paths = {session.path.split("/")[0] for session in self.model.alive}
        return sorted(path for path in paths if self.exists(path))

    def chosen(self, names: Sequence[str], count: int = 1) -> list[str] | None:
        return self.random.sample(names, count) if len(names) >= count else None

    def resumable(self) -> list[Thing]:
        return [s for s in self.model.alive if self.exists(s.path)]

    def word(self, kind: str) -> str:
        """A text that is written once."""
        self.steps[f"words of {kind}"] += 1
        return f"{kind}{self.steps[f'words of {kind}']}"

    # -- the client ------------------------------------------------------------

    def begin(self) -> bool:
        names = self.chosen(self.folders())
        if names is None:
            return False
        self.begin_at(names[0])
        return True

    def begin_at(self, name: str) -> None:
        text = self.word("p")
        session = self.life.begin(name, text)
        label = self.word("s")
        self.tell(f"(cd {name} && claude -p {text})  # session {label}")
        self.model.sessions[session] = Thing(session, name, label, "session")
        self.model.prompts[text] = session
        self._wrote(session)

    def _wrote(self, session: str) -> None:
        """What the client does after a turn, up to 2.1.23 with its index."""
        if self.has_index:
            path = self.model.sessions[session].path
            self.life.list_in_index(path, session, create=True)
        listed = {entry["sessionId"] for _, entry in self.life.index_entries()}
        self.model.sessions[session].is_listed = session in listed
        self.oracle.note_what_people_wrote()

    def go_on(self) -> bool:
        sessions = self.resumable()
        if not sessions:
            return False
        session = self.random.choice(sessions)
        text = self.word("p")
        self.tell(f"(cd {session.path} && claude --resume {session.label} -p {text})")
        self.life.go_on(session.path, session.id, text)
        self.model.prompts[text] = session.id
        self._wrote(session.id)
        return True

    def remember(self) -> bool:
        return self._note("MEMORY.md")

    def write_note(self) -> bool:
        return self._note(self.random.choice(["topic.md", "other.md"]))

    def _note(self, note: str) -> bool:
        paths = {session.path for session in self.model.alive}
        names = self.chosen([name for name in self.folders() if name in paths])
        if names is None:
            return False
        line = self.word("note")
        self.tell(f"echo {line} >> memory-of-{names[0]}/{note}")
        self.life.write_note(names[0], note, line)
        self.model.notes[line] = Thing(line, names[0], line, "note")
        return True

    def allow(self) -> bool:
        names = self.chosen(self.folders())
        if names is None:
            return False
        tool = f"Bash({self.word('tool')})"
        self.tell(f"(cd {names[0]} && claude: allow '{tool}')")
        self.life.allow(names[0], tool)
        self.model.tools[tool] = Thing(tool, names[0], tool, "tool")
        return True

    def change_directory(self) -> bool:
        """Another project that has no name in common with the first one."""
        sessions = self.resumable()
        if not sessions:
            return False
        session = self.random.choice(sessions)
        others = [
            name
            for name in self.folders()
            if self.life.directory(name) != self.life.directory(session.path)
        ]
        names = self.chosen(others)
        if names is None:
            return False
        self.tell(
            f"(cd {session.path}; claude --resume {session.label}: /cd {names[0]})"
        )
        self.life.change_directory(session.path, session.id, names[0])
        session.path = names[0]
        session.has_left = True
        text = self.word("p")
        self.life.go_on(names[0], session.id, text)
        self.model.prompts[text] = session.id
        self._wrote(session.id)
        return True

    def sweep(self) -> bool:
        sessions = self.model.alive
        if not sessions:
            return False
        session = self.random.choice(sessions)
        self.tell(f"claude sweeps {session.label} of {session.path}")
        self.life.sweep(session.path, session.id)
        session.is_swept = True
        self.oracle.note_what_people_wrote()
        return True

    # -- folders, by hand ------------------------------------------------------

    def make(self, name: str) -> None:
        self.tell(f"mkdir {name}")
        self.life.folder(name).mkdir(parents=True)

    def make_folder(self) -> bool:
        children = [f"{name}/{CHILD}" for name in self.tops()]
        free = [name for name in children if not self.exists(name)]
        names = self.chosen([*self.free(), *free])
        if names is None:
            return False
        self.make(names[0])
        return True

    def mv(self, old: str, new: str) -> None:
        self.tell(f"mv {old} {new}")
        self.life.folder(old).rename(self.life.folder(new))

    def rm(self, name: str) -> None:
        self.tell(f"rm -r {name}")
        shutil.rmtree(self.life.folder(name))

    def rename_folder(self) -> bool:
        olds, news = self.chosen(self.tops()), self.chosen(self.free())
        if olds is None or news is None:
            return False
        self.mv(olds[0], news[0])
        return True

    def remove_folder(self) -> bool:
        names = self.chosen(self.tops())
        if names is None:
            return False
        self.rm(names[0])
        return True

    # -- moves -----------------------------------------------------------------

    def move(self) -> bool:
        olds, news = self.chosen(self.known()), self.chosen(self.free())
        if olds is None or news is None:
            return False
        self.mv(olds[0], news[0])
        return self.ccmove([(olds[0], news[0])])

    def move_folder(self) -> bool:
        olds, news = self.chosen(self.known()), self.chosen(self.free())
        if olds is None or news is None:
            return False
        return self.ccmove([(olds[0], news[0])], "-m")

    def only(self) -> bool:
        paths = {session.path for session in self.model.alive}
        olds = self.chosen([name for name in self.known() if name in paths])
        news = self.chosen(self.free())
        if olds is None or news is None:
            return False
        self.mv(olds[0], news[0])
        return self.ccmove([(olds[0], news[0])], "--only")

    def merge(self) -> bool:
        names = self.chosen(self.tops(), 2)
        if names is None or names[0] not in self.known():
            return False
        self.rm(names[0])
        return self.ccmove([(names[0], names[1])], "--merge")

    def swap(self) -> bool:
        names = self.chosen(self.known(), 2)
        if names is None:
            return False
        one, other = names
        self.mv(one, "aside")
        self.mv(other, one)
        self.mv("aside", other)
        return self.ccmove([(one, other), (other, one)])

    def chain(self) -> bool:
        names, news = self.chosen(self.known(), 2), self.chosen(self.free())
        if names is None or news is None:
            return False
        self.mv(names[1], news[0])
        self.mv(names[0], names[1])
        return self.ccmove([(names[1], news[0]), (names[0], names[1])])

    def two_into_one(self) -> bool:
        olds = self.chosen(self.known(), 2)
        if olds is None:
            return False
        news = self.chosen([name for name in NAMES if name not in olds])
        assert news is not None
        if self.exists(news[0]):
            self.rm(olds[0])
        else:
            self.mv(olds[0], news[0])
        self.rm(olds[1])
        return self.ccmove([(olds[0], news[0]), (olds[1], news[0])], "--merge")

    def lost(self) -> bool:
        """The folder was renamed some time ago, and ccmove is told only now."""
        paths = {session.path.split("/")[0] for session in self.model.alive}
        olds = self.chosen(sorted(path for path in paths if not self.exists(path)))
        news = self.chosen(self.tops())
        if olds is None or news is None:
            return False
        return self.ccmove([(olds[0], news[0])], "--merge")

    def ccmove(self, pairs: Sequence[Pair], *options: str) -> bool:
        moves = tuple(pairs)
        if len(moves) == 1:
            words = [*options, *moves[0]]
        else:
            lines = [
                f"{self.life.path(old)}\t{self.life.path(new)}\n" for old, new in moves
            ]
            (self.state.root / "moves.txt").write_text("".join(lines))
            words = [*options, "--from-file", str(self.state.root / "moves.txt")]
            said = ", ".join(f"{old} -> {new}" for old, new in moves)
            self.tell(f"cat > moves.txt  # {said}")
        only, folder = "--only" in options, "-m" in options
        expected = self.model.after_move(moves, only=only)

        def note(run_id: str) -> None:
            self.model.note_move(run_id, moves, only=only, folder=folder)

        code = self.run(words, expected, note)
        moved = any(expected[s.id] != s.path for s in self.model.alive)
        has_twins = any(has_twin(path) for pair in moves for path in pair)
        if code == 3 and moved and not has_twins:
            raise BrokenError("exit", "nothing known, but there are sessions")
        return True

    # -- undo, prune -----------------------------------------------------------

    def undo(self) -> bool:
        run = self.model.newest()
        if run is None and "undo of nothing" in self.without:
            return False
        code = self._undo(run, [])
        if run is None and code not in (3, KILLED):
            raise BrokenError("exit", f"there is nothing to undo, but exit {code}")
        return True

    def undo_by_id(self) -> bool:
        if not self.model.runs:
            return False
        run = self.random.choice(self.model.runs)
        is_open = not (run.is_undo or run.was_undone or run.was_pruned)
        if not is_open and "undo of nothing" in self.without:
            return False
        code = self._undo(run if is_open else None, [run.id])
        if run.is_undo and not run.was_pruned and code not in (3, KILLED):
            raise BrokenError("exit", f"an undo is not undone, but exit {code}")
        if not is_open and code == 0:
            raise BrokenError("exit", f"run {run.number} was undone again")
        return True

    def _undo(self, run: Run | None, words: list[str]) -> int:
        merges = self.random.random() < 0.3 and "undo --merge" not in self.without
        options = ["--merge"] if merges else []
        if run is None:

            def complain(run_id: str) -> None:
                raise BrokenError("exit", "there is nothing to undo, but exit 0")

            return self.run(["undo", *options, *words], self._places(), complain)
        expected = self.model.after_undo(run, self.exists)
        is_in_use = self.model.is_in_use(run, self.exists)
        is_built_on = self.model.is_built_on(run)

        def note(run_id: str) -> None:
            self.model.note_undo(run, run_id)
            if is_in_use and not options:
                raise BrokenError("exit", "OLD is in use by somebody else, but exit 0")
            if is_built_on:
                raise BrokenError("exit", "a later run builds on it, but exit 0")

        return self.run(["undo", *options, *words], expected, note)

    def _places(self) -> dict[str, str]:
        """Everything where it is: nothing may move."""
        return {thing.id: thing.path for thing in self.model.things}

    def prune(self) -> bool:
        runs = [run for run in self.model.runs if not run.was_pruned]
        if not runs:
            return False
        run = self.random.choice(runs)
        by_id = self.random.random() < 0.5
        words = [run.id] if by_id else ["--keep", str(self.random.randint(0, 2))]
        code = self.run(["prune", *words], self._places(), None)
        kept = seams.backup_ids(self.state)
        for one in runs:
            one.was_pruned = one.id not in kept
        if by_id and code == 0 and not run.was_pruned:
            raise BrokenError("prune", f"run {run.number} is still there")
        return True

    # -- a command, and what must be so after it -------------------------------

    def run(
        self,
        words: Sequence[str],
        expected: dict[str, str] | dict[str, str | None],
        note: Callable[[str], None] | None,
    ) -> int:
        """Run ccmove, now and then killed; returns its exit code, or 0 or 1 for what a
        killed one came to.
        """
        before = self.looked()
        ids = set(seams.backup_ids(self.state))
        crash = self._crash()
        done = self._call(words, crash)
        code = done.exit
        self.tell(f"{self._shell(words, crash, done)}  # exit {done.exit}")
        if code == -9:
            code = self._recover(before, ids)
        self.last = self._kind(words)
        self.steps[f"{self.last}, exit {code}"] += 1
        if code not in (0, KILLED, 3, 4) or (code == KILLED and done.exit != -9):
            raise BrokenError("exit", f"{done.exit}: {done.out}{done.err}")
        if code in (3, 4):
            self._check_unchanged(before)
            return code
        if code == 0:
            self.oracle.check()
            new = sorted(set(seams.backup_ids(self.state)) - ids)
            if note is not None:
                note(new[-1] if new else "")
            self.oracle.check_places(expected)
            self.oracle.follow(expected)
        else:
            self.oracle.check()
        self._verify()
        return code

    def looked(self) -> tree.Tree:
        whole = tree.snapshot(self.state.root)
        return {name: entry for name, entry in whole.items() if name[:3] != "tmp"}

    def _crash(self) -> int:
        """At which call the command is killed; mostly 0, at none."""
        call = self.random.randrange(1, DEEPEST_CALL)
        is_killed = self.random.random() < CRASHES and "crash" not in self.without
        return call if is_killed else 0

    def _call(self, words: Sequence[str], crash: int = 0) -> Ended:
        sabotage = [f"die_at={crash}"] if crash else []
        done = Job(self.state, words, sabotage=sabotage).run()
        if "Traceback (most recent call last)" in done.err:
            raise BrokenError("traceback", done.err)
        return done

    def _recover(self, before: tree.Tree, ids: set[str]) -> int:
        """After a kill: everything is as before (1) or as after the run (0)."""
        age_locks(self.state)
        done = self._call(["recover"])
        if done.exit != 0:
            raise BrokenError("recover", f"{done.exit}: {done.out}{done.err}")
        if set(seams.backup_ids(self.state)) - ids:
            return 0
        differences = [d for d in tree.diff(before, self.looked()) if OWN not in d]
        if differences:
            raise BrokenError("recover", "\n".join(differences))
        return KILLED

    def _check_unchanged(self, before: tree.Tree) -> None:
        after = self.looked()
        differences = tree.diff(before, after, mtimes="all", inodes="all")
        if differences:
            raise BrokenError("refused, but changed", "\n".join(differences))

    def _verify(self) -> None:
        done = self._call(["verify"])
        if done.exit != 0:
            raise BrokenError("verify", f"exit {done.exit}: {done.out}{done.err}")

    def _kind(self, words: Sequence[str]) -> str:
        options = [word for word in words if word[:1] == "-" and word != "--keep"]
        command = words[0] if words[0] in ("undo", "prune") else "move"
        by_id = ["ID"] if set(words) & {run.id for run in self.model.runs} else []
        return " ".join([command, *options, *by_id])

    def _shell(self, words: Sequence[str], crash: int, done: Ended) -> str:
        numbers = {run.id: f"$RUN{run.number}" for run in self.model.runs}
        file = str(self.state.root / "moves.txt")
        said = [numbers.get(w, "moves.txt" if w == file else w) for w in words]
        killed = f"kill -9 at call {crash}: " if done.exit == -9 else ""
        recovered = "; ccmove recover" if done.exit == -9 else ""
        return f"{killed}ccmove {' '.join(said)}{recovered}"
