"""The manifest: what one run did, written down so that later runs can undo it.

It is the plan's list of operations, with hashes instead of contents. `run.codec` makes
JSON of it, and reads that strictly.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ccmove.claude.layout import Layout, are_settings
from ccmove.plan.model import Id, Mkdir, Rename, Undertaking
from ccmove.plan.records import Count, Hash, Mode, OneOfSeveral, one_of
from ccmove.plan.tree import moved_by
from ccmove.run.disk import Attributes

LARGEST_MANIFEST = 64 << 20


@dataclass(frozen=True, slots=True)
class Content:
    """What a file held: enough to recognise it."""

    sha256: Hash
    size: Count
    mode: Mode = 0o600
    mtime_ns: int = 0

    @property
    def attributes(self) -> Attributes:
        """What a file gets that is to be as it was then."""
        return Attributes(self.mode, mtime_ns=self.mtime_ns)


@dataclass(frozen=True, slots=True)
class Wrote(OneOfSeveral):
    """A document that got new content; `before` is None for one that was made.

    The backup keeps both texts, as `files/<number>.before` and `.after`.
    """

    number: Count
    path: Path  # where it was replaced or made
    ends: Path  # where it was when the run was done
    form: Annotated[str, one_of("index", "config", "other")]
    before: Content | None
    after: Content

    @property
    def is_locked(self) -> bool:
        """Whether the client has a lock for it, as for what was planned."""
        return self.form == "config" and self.before is not None

    def left(self, data: bytes) -> bool:
        """Whether this is what the run left."""
        return sha256(data) == self.after.sha256


@dataclass(frozen=True, slots=True)
class WroteHistory(OneOfSeveral):
    """The history got new values;
    those and the old ones are kept in `files/<number>.changes`.
    """

    number: Count
    path: Path
    before: Content | None  # None for a history that was made
    after: Content
    record: Hash  # of that file

    @property
    def is_locked(self) -> bool:
        return self.before is not None

    @property
    def size_before(self) -> int:
        if self.before is None:
            return 0
        return self.before.size


@dataclass(frozen=True, slots=True)
class SavedNote:
    """A note that a merge renamed; the backup keeps it as it was, under `name`."""

    number: Count
    path: Path  # where it was
    ends: Path  # where it was when the run was done
    content: Content

    @property
    def name(self) -> str:
        return f"{self.number}.note"


Recorded = Wrote | WroteHistory | Rename | Mkdir


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest(Undertaking):
    """Everything that one run does, and has done once its directory is a backup."""

    id: Id
    folders_at_new: tuple[
        tuple[str, int, int], ...
    ]  # folders at a NEW: device and inode
    config_file: str  # as the client composes it, which depends on $CLAUDE_CONFIG_DIR
    # The documents that get new content, which is staged beside each; the number of
    # each is that of its operation:
    replaced: tuple[Path, ...] = ()
    operations: tuple[Recorded, ...] = ()  # from the commit point on
    notes_saved: tuple[SavedNote, ...] = ()  # from the commit point on

    @property
    def is_of_settings(self) -> bool:
        """Whether it rewrote settings, and moved nothing."""
        if self.projects or self.folders:
            return False
        return are_settings(str(path) for path in self.replaced)

    @property
    def writes(self) -> list[Wrote]:
        return [op for op in self.operations if isinstance(op, Wrote)]

    @property
    def renames(self) -> list[Rename]:
        return [op for op in self.operations if isinstance(op, Rename)]

    @property
    def retired(self) -> dict[Path, Path]:
        """Where things were that the run put into its backup -> where they are: in the
        directory that the manifest was read from, the run's or the backup's.

        Something may have come to NEW ahead of another one that made it superfluous.
        """
        return {
            start: end
            for start, end in moved_by(self.operations).items()
            if end.parent.name == "retired"
        }

    @property
    def holds_the_only_copy(self) -> bool:
        """Whether what it took away is nowhere else: it undid an unpack."""
        return self.is_of_archive and self.undoes is not None

    @property
    def beside_documents(self) -> list[Path]:
        """What may be staged beside each document, by a run or on the way back."""
        documents = dict(enumerate(self.replaced))
        for op in self.operations:
            if isinstance(op, Wrote | WroteHistory):
                documents[op.number] = op.path
        paths: list[Path] = []
        for number, path in documents.items():
            name = staged_name(self.id, number)
            staged = path.with_name(name)
            paths.append(staged)
            staged = path.with_name(name_on_the_way_back(name))
            paths.append(staged)
        return paths

    @property
    def history(self) -> WroteHistory | None:
        return next(
            (op for op in self.operations if isinstance(op, WroteHistory)), None
        )


def staged_name(identifier: str, number: int) -> str:
    """A name that only this run can have made."""
    return f".ccmove-{identifier}-{number}"


def name_on_the_way_back(name: str) -> str:
    """Never the name of the staged file: when that is gone the write was done."""
    return f"{name}-back"


def staged_path(directory: Path, name: str, path: Path, *, is_made: bool) -> Path:
    """Beside the document that it replaces; of one that is made, in the run."""
    if is_made:
        return directory / "staged" / name
    return path.with_name(name)


def folder_id(path: str) -> tuple[str, int, int] | None:
    """What a folder is known by for a while, on one disk: good enough for a hint."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return path, found.st_dev, found.st_ino


def config_name(layout: Layout) -> str:
    where = "~"
    if layout.config_file.parent == layout.config_dir:
        where = "$C"
    return f"{where}/{layout.config_file.name}"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
