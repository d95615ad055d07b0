"""Which paths Claude Code's lists name: config file, prompt history, plugins, background jobs.

One list that can't be read must not hide the others: it becomes a problem, and the look goes on.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ccmove.claude.layout import Layout
from ccmove.claude.reading import read_document
from ccmove.claude.state import State
from ccmove.errors import CcmoveError, describe
from ccmove.rewrite.jsonspan import NotJsonError, loads
from ccmove.rewrite.pathmap import is_windows

MOST_MENTIONS = 40
LATEST = 1e14  # milliseconds; no real moment lies beyond
_MENTION = re.compile(r"@([\w.+-]+(?:/[\w.+-]+)*)")


@dataclass(frozen=True)
class Problem:
    """Something that could not be read."""

    file: str
    what: str


@dataclass
class Listed:
    """What the lists say, by path."""

    kept: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    last_prompt: dict[str, int] = field(default_factory=dict)  # ns
    mentions: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    repositories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)  # paths inside the config file's entries
    problems: list[Problem] = field(default_factory=list)

    def add(self, path: str, place: str) -> None:
        self.kept[path][place] = self.kept[path].get(place, 0) + 1

    def guard(self, file: Path, read: Callable[[], None]) -> None:
        """Run `read`; what it can't read is a problem of `file`."""
        try:
            read()
        except (CcmoveError, NotJsonError) as error:
            self.problems.append(Problem(str(file), str(error)))
        except OSError as error:
            self.problems.append(Problem(str(file), describe(error)))


def read_lists(layout: Layout) -> Listed:
    """Everything that the lists name."""
    listed = Listed()
    listed.guard(layout.config_file, partial(_read_config, layout, listed))
    listed.guard(layout.history, partial(_read_history, layout, listed))
    listed.guard(layout.plugins, partial(_read_plugins, layout, listed))
    for path in sorted(layout.jobs.glob("*/state.json")):
        listed.guard(path, partial(_read_job, path, listed))
    return listed


def _read_config(layout: Layout, listed: Listed) -> None:
    document = State(layout).config
    config = loads(document.text.removeprefix("\ufeff")) if document is not None else None
    for path, entry in _members(_get(config, "projects")):
        listed.add(path, "config")
        listed.values += [text for text in _strings(entry) if _is_absolute(text) and text != path]
    for repository, paths in _members(_get(config, "githubRepoPaths")):
        absolute = tuple(path for path in _strings(paths) if _is_absolute(path))
        listed.repositories[repository] = absolute
        for path in absolute:
            listed.add(path, "repository")


def _read_history(layout: Layout, listed: Listed) -> None:
    for line in _history_lines(layout):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        path = _get(record, "project")
        if isinstance(path, str):
            _read_prompt(path, record, listed)


def _read_prompt(path: str, record: dict[str, Any], listed: Listed) -> None:
    listed.add(path, "prompts")
    moment = record.get("timestamp")
    if isinstance(moment, int | float) and 0 < moment < LATEST:
        listed.last_prompt[path] = max(listed.last_prompt.get(path, 0), int(moment) * 1_000_000)
    text = record.get("display")
    if isinstance(text, str) and "@" in text and len(listed.mentions[path]) < MOST_MENTIONS:
        listed.mentions[path].update(_MENTION.findall(text))


def _history_lines(layout: Layout) -> Iterator[bytes]:
    """The history's lines; a link is followed only inside the state, as a move does."""
    real = Path(os.path.realpath(layout.history))
    if real != layout.history and real.is_relative_to(layout.config_dir):
        with open(real, "rb") as file:
            yield from file
    else:
        yield from State(layout)._history_lines()


def _read_plugins(layout: Layout, listed: Listed) -> None:
    document = read_document(layout.plugins)
    plugins = _get(loads(document.text), "plugins") if document is not None else None
    for _, installs in _members(plugins):
        for install in installs if isinstance(installs, list) else ():
            path = _get(install, "projectPath")
            if isinstance(path, str):
                listed.add(path, "plugins")


def _read_job(path: Path, listed: Listed) -> None:
    document = read_document(path)
    record = loads(document.text) if document is not None else None
    for folder in {_get(record, key) for key in ("cwd", "originCwd", "worktreePath")}:
        if isinstance(folder, str) and _is_absolute(folder):
            listed.add(folder, "jobs")


def _get(record: object, key: str) -> Any:
    return record.get(key) if isinstance(record, dict) else None


def _members(record: object) -> list[tuple[str, Any]]:
    return list(record.items()) if isinstance(record, dict) else []


def _is_absolute(text: str) -> bool:
    return text.startswith("/") or is_windows(text)


def _strings(value: object) -> Iterator[str]:
    """Every string in a JSON value; a number is a string of another class here."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            waiting += current.values()
        elif isinstance(current, list):
            waiting += current
        elif type(current) is str:
            yield current
