"""Checks the rules of a safe run against a trace of its system calls.

SIGKILL can't see a missing flush: what was written stays in the system's memory when a
process dies. Only the order of the calls tells what a power failure would leave.

Directories of the user's are flushed after every change, before the next step. Our own
ones build on nothing but the manifest of the run, which is written when it begins and
again at its commit point: they are flushed before it changes, and before the run is
done. From the commit point on every change of what is the user's has its line in the
record of progress, which is flushed before the next change. The names of staged files
and of the client's locks need not be flushed: what is lost of them is not missed.
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tests.crash.calls import OPENING, Call
from tests.support.tree import is_transcript

_LOCK = re.compile(r"(history\.jsonl|\.claude\.json)\.lock(\.ccmove-\d+)?")
_WRITING = ("O_WRONLY", "O_RDWR", "O_TRUNC", "O_APPEND")
_NEW_FILE = ("O_CREAT", "O_EXCL", "O_NOFOLLOW")
_WRITES = (
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "ftruncate",
    "fallocate",
)
_DRESSES = (
    "fchmod",
    "fchown",
    "chmod",
    "fchmodat",
    "fchmodat2",
    "fchownat",
    "chown",
    "utimensat",
)
_RENAMES = ("rename", "renameat", "renameat2")
_LINKS = ("link", "linkat", "symlink", "symlinkat")
_ENTRIES = ("mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "mknod", "mknodat")


@dataclass(frozen=True)
class Violation:
    """A rule that was broken, and the call that broke it."""

    rule: str
    call: str


@dataclass
class Linter:
    """Follows a run call by call. `root` is where the user's files are, `config_dir` is
    `$C`.
    """

    root: str
    config_dir: str
    committed: bool = False  # a manifest was there before the run: it is a recovery
    violations: list[Violation] = field(default_factory=list)
    _unflushed_data: set[str] = field(default_factory=set)
    _unflushed_entries: set[str] = field(
        default_factory=set
    )  # directories of the user's
    _unflushed_own: set[str] = field(default_factory=set)
    _made: set[str] = field(default_factory=set)
    _made_directories: set[str] = field(default_factory=set)
    _links: dict[str, str] = field(
        default_factory=dict
    )  # a link of ours -> the user's file
    _manifests: int = 0  # how often one was written
    _has_begun: bool = False  # the first is on disk
    _now: str = ""
    _is_recovery: bool = False
    _is_unrecorded: bool = False  # a change of what is the user's, since the last line

    def check(self, calls: Iterable[Call]) -> list[Violation]:
        self._is_recovery = self.committed
        for call in calls:
            if call.failed or call.result == "?":
                continue
            self._now = f"{call.name}({call.arguments})"
            for names, follow in self._ways():
                if call.name in names:
                    follow(call)
        self._now = "the end"
        self._flushed_before_the_next_step()
        self._flushed_before_the_manifest_changes()
        return self.violations

    def _ways(self) -> tuple[tuple[tuple[str, ...], Callable[[Call], None]], ...]:
        return (
            (OPENING, self._open),
            (_WRITES, self._write),
            (_DRESSES, self._dress),
            (("truncate",), self._truncate),
            (("fsync", "fdatasync"), self._flush),
            (_RENAMES, self._rename),
            (_LINKS, self._link),
            (_ENTRIES, self._entry),
        )

    # -- one kind of call each -----------------------------------------------------------

    def _open(self, call: Call) -> None:
        path = call.paths[-1]
        if not self._concerns(path):
            return
        writing = any(flag in call.arguments for flag in _WRITING)
        if writing and not self._is_ours(path):
            self._broken("a user's file is never opened for writing")
        if writing and self._links.get(path):
            self._broken(
                "a user's file is never written to, not even through a link to it"
            )
        if "O_CREAT" not in call.arguments or path == self._own("lock"):
            return
        self._flushed_before_the_next_step()
        if not all(flag in call.arguments for flag in _NEW_FILE):
            self._broken("a new file is made with O_CREAT|O_EXCL|O_NOFOLLOW")
        if not call.arguments.rstrip().endswith("0600"):
            self._broken("a new file is made with mode 0600")
        if self._is_staged(path) and not (self._has_begun or self.committed):
            self._broken("the manifest names what is staged before it is there")
        self._made.add(path)
        self._unflushed_data.add(path)
        if not os.path.basename(path).startswith(".ccmove-"):
            self._changed(path, ours=True)

    def _write(self, call: Call) -> None:
        path = call.paths[0]
        if not self._concerns(path):
            return
        if not self._is_ours(path) or path in self._links:
            self._broken("a user's file is never written to")
        self._unflushed_data.add(path)
        if path == self._own("run/progress"):
            self._is_unrecorded = False

    def _dress(self, call: Call) -> None:
        path = call.paths[-1]
        if not self._concerns(path):
            return
        if path in self._made_directories:
            return
        if not self._is_ours(path) or path in self._links:
            self._broken("a user's file keeps its mode, owner and time")
        if path in self._made:
            self._unflushed_data.add(path)

    def _truncate(self, call: Call) -> None:
        if self._concerns(call.paths[-1]):
            self._broken("nothing is ever truncated")

    def _flush(self, call: Call) -> None:
        path = call.paths[0]
        self._unflushed_data.discard(path)
        self._unflushed_entries.discard(path)
        self._unflushed_own.discard(path)
        if path == self._own("run"):
            self._has_begun = self._manifests > 0
            self.committed = self.committed or self._manifests > 1

    def _rename(self, call: Call) -> None:
        source, target = call.paths
        if not (self._concerns(source) or self._concerns(target)):
            return
        self._flushed_before_the_next_step()
        if source in self._unflushed_data:
            self._broken("data is flushed before its rename")
        if not self._is_ours(source) and "RENAME_NOREPLACE" not in call.arguments:
            self._broken(
                "what is the user's is renamed with a call that replaces nothing"
            )
        came = PurePosixPath(source).is_relative_to(self._own("run/incoming"))
        if is_transcript(target) and source in self._made and not came:
            self._broken("a transcript is never copied")
        self._user_change(source, target)
        self._links = {
            ours: theirs for ours, theirs in self._links.items() if theirs != target
        }
        if target == self._own("run/manifest.json"):
            self._flushed_before_the_manifest_changes(self._own("run"))
            self._manifests += 1
        if source == self._own("run"):
            self._ended()
        ours = self._is_ours(source)
        self._changed(source, ours=ours)
        self._changed(target, ours=ours and self._is_ours(target))
        if source in self._made:
            self._made.discard(source)
            self._made.add(target)

    def _link(self, call: Call) -> None:
        source, target = call.paths
        if not self._concerns(target):
            return
        self._flushed_before_the_next_step()
        if is_transcript(source) or "symlink" in call.name:
            self._broken("a transcript is never copied")
        if not self._is_ours(target):
            self._broken("links are made among our own files only")
        self._links[target] = source
        self._changed(target, ours=True)

    def _entry(self, call: Call) -> None:
        path = call.paths[-1]
        if not self._concerns(path):
            return
        self._flushed_before_the_next_step()
        self._user_change(path)
        if call.name.startswith("mkdir"):
            self._made_directories.add(path)
        if path == self._own("run") and not call.name.startswith("mkdir"):
            self._unflushed_own.discard(path)  # of what is gone itself
            self._ended()
        self._links.pop(path, None)
        self._made.discard(path)
        self._unflushed_data.discard(path)
        if not call.name.startswith("mkdir"):
            self._unflushed_entries.discard(path)
            self._unflushed_own.discard(path)
        # A staged file that is removed must not come back: nobody would look for it
        # again.
        self._changed(path, ours=self._is_ours(path) and not self._is_staged(path))

    # -- rules for several of them --------------------------------------------------------

    def _flushed_before_the_next_step(self) -> None:
        for directory in sorted(self._unflushed_entries):
            self._broken(f"a directory is flushed before the next step: {directory}")
        self._unflushed_entries.clear()

    def _flushed_before_the_manifest_changes(self, its_own: str = "") -> None:
        """But for the directory of that itself, which is flushed after it changed."""
        waiting = self._unflushed_own - {its_own}
        for directory in sorted(waiting):
            self._broken(
                f"a directory of ours is flushed before the manifest changes: {directory}"
            )
        self._unflushed_own -= waiting

    def _ended(self) -> None:
        """The directory of the run gets the name of a backup, or is gone."""
        self._flushed_before_the_manifest_changes(self._own())
        self.committed = self._has_begun = False
        self._manifests = 0

    def _changed(self, path: str, *, ours: bool) -> None:
        """A name came or went; what is not ours must be flushed before the next step."""
        directory = os.path.dirname(path)
        if not ours:
            self._unflushed_entries.add(directory)
        elif PurePosixPath(path).is_relative_to(self._own()):
            self._unflushed_own.add(directory)

    def _user_change(self, *changed: str) -> None:
        """The manifest of the commit point, and the directory that it is in, must be on
        disk.
        """
        if not self.committed and not all(self._is_ours(path) for path in changed):
            self._broken(
                "the manifest is on disk before the first change of what is the user's"
            )
        if not all(self._is_ours(path) for path in changed):
            self._recorded_before_the_next_change()

    def _recorded_before_the_next_change(self) -> None:
        """What a recovery merges file by file is one step of it, with one line."""
        if self._own("run/progress") in self._unflushed_data:
            self._broken("a line of the record is flushed before the next change")
        if self._is_unrecorded and not self._is_recovery:
            self._broken("each change is recorded before the next one")
        self._is_unrecorded = True

    def _broken(self, rule: str) -> None:
        self.violations.append(Violation(rule, self._now))

    # -- whose is a path? -----------------------------------------------------------------

    def _concerns(self, path: str) -> bool:
        return PurePosixPath(path).is_relative_to(self.root)

    def _own(self, name: str = "") -> str:
        return os.path.join(self.config_dir, "ccmove", name).rstrip("/")

    def _is_staged(self, path: str) -> bool:
        """A file of ours beside a file of the user's."""
        is_inside = PurePosixPath(path).is_relative_to(self._own())
        return os.path.basename(path).startswith(".ccmove-") and not is_inside

    def _is_ours(self, path: str) -> bool:
        """Our directory, staged files, and the client's lock directories while they are
        held.
        """
        name = os.path.basename(path)
        return (
            PurePosixPath(path).is_relative_to(self._own())
            or name.startswith(".ccmove-")
            or _LOCK.fullmatch(name) is not None
        )
