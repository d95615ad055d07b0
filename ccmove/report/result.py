"""What a run did, as frozen data; one shape for people and for `--json`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ccmove.claude.layout import Layout
from ccmove.hints import Hint, in_one_line, in_words
from ccmove.plan.model import Operation, Plan, Write, WriteHistory
from ccmove.rewrite.compare import compare

SCHEMA = 1
NOTHING = Plan(kind="move", moves=())
Moves = tuple[tuple[str, str], ...]
DONE = {"move": "moved", "undo": "undone"}  # the status of a run of this kind


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a move, an undo or a recovery."""

    status: str
    layout: Layout | None = None
    moves: Moves = ()
    plan: Plan | None = None
    backup: str | None = None
    warnings: tuple[Hint, ...] = ()
    error: str | None = None
    hints: tuple[tuple[str, str], ...] = ()  # sentence, command
    details: tuple[str, ...] = ()
    exit_code: int = 0
    rolled_back: str | None = None
    apply: str | None = None  # the command that does what was planned
    past: bool = False  # a run of some time ago
    undone: bool = False  # since then
    is_newest: bool = True  # no run came later
    move_again: Hint | None = None  # where this was undone, or is an undo

    def to_do(self, config_dir: str | None = None) -> dict[str, list[tuple[str, ...]]]:
        """What needs a hand, by the command that deals with it:
        which file, and what about it.
        """
        left = (self.plan or NOTHING).left_alone
        rows = [(Hint(command=item.command), (item.file, item.what)) for item in left]
        rows += [(warning, (warning.text, "")) for warning in self.warnings]
        found: dict[str, list[tuple[str, ...]]] = {}
        for hint, about in rows:
            if hint.command:
                _, command = in_words(hint, config_dir=config_dir)
                found.setdefault(command, []).append(tuple(filter(None, about)))
        return found

    def counts(self) -> dict[str, int]:
        """How many values change, by place."""
        plan = self.plan or NOTHING
        found = dict.fromkeys(("transcripts", "history", "index", "config", "other"), 0)
        found["transcripts"] = sum(move.transcripts for move in plan.projects)
        found["history"] = plan.history.scan.lines if plan.history else 0
        for write in plan.writes:
            found[write.place] += len(compare(write.before, write.after))
        return found

    def to_json(self, config_dir: str | None = None) -> dict[str, Any]:
        """The object of contract version 1;
        commands act on the `config_dir` that was given.
        """
        old, new = self.moves[0] if self.moves else (None, None)
        plan = self.plan or NOTHING
        return {
            "schema": SCHEMA,
            "status": self.status,
            "old": old,
            "new": new,
            "moves": pairs(self.moves),
            "config_dir": str(self.layout.config_dir) if self.layout else None,
            "backup": self.backup,
            "projects": [
                {
                    "from": move.path,
                    "to": move.new_path,
                    "kind": move.kind,
                    "transcripts": move.transcripts,
                    "bytes": move.size,
                }
                for move in plan.projects
            ],
            "counts": self.counts(),
            "changes": [
                row for operation in plan.operations for row in _changes(operation)
            ],
            "to_do": [
                {
                    "what": "; ".join(": ".join(about) for about in rows),
                    "command": command,
                }
                for command, rows in self.to_do(config_dir).items()
            ],
            "left_alone": [
                {
                    "file": item.file,
                    "what": item.what,
                    "hint": in_one_line(hint, config_dir),
                }
                for item, hint in (
                    (item, Hint(command=item.command)) for item in plan.left_alone
                )
            ],
            "warnings": [
                *(in_one_line(w, config_dir) for w in self.warnings),
                *plan.warnings,
            ],
            "rolled_back": self.rolled_back,
            "error": self.error,
            "hint": "\n".join(": ".join(filter(None, hint)) for hint in self.hints)
            or None,
            "details": list(self.details),
        }


def pairs(moves: Moves) -> list[dict[str, str]]:
    return [{"old": old, "new": new} for old, new in moves]


def _changes(operation: Operation) -> Iterator[dict[str, Any]]:
    """Every value of a document; one row for the whole history,
    with its count and the paths.
    """
    if isinstance(operation, Write):
        for row in compare(operation.before, operation.after):
            place = {"file": str(operation.path), "pointer": row.place}
            yield {**place, "before": row.before, "after": row.after}
    elif isinstance(operation, WriteHistory):
        paths = [
            {"before": before, "after": after, "count": number}
            for (before, after), number in operation.scan.counts.items()
        ]
        first = paths[0] if paths else {"before": None, "after": None}
        place = {"file": str(operation.path), "pointer": "/project"}
        yield {**place, **first, "count": operation.scan.lines, "paths": paths}
