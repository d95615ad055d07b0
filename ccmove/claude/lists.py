"""Which paths Claude Code's lists name: config file, prompt history, plugins, background jobs."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ccmove.claude.reading import read_document
from ccmove.claude.state import State, get, members
from ccmove.errors import CcmoveError, describe
from ccmove.rewrite.jsonspan import NotJsonError, loads
from ccmove.rewrite.pathmap import is_windows


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read."""

    file: str
    what: str


@dataclass(frozen=True, slots=True)
class Lists:
    """Which paths the config file, the history, plugins and jobs name, and how often each."""

    named: dict[str, Counter[str]] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)  # paths inside the config file's entries
    repositories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(self, path: str, place: str, number: int = 1) -> None:
        self.named.setdefault(path, Counter())[place] += number

    @contextlib.contextmanager
    def problems_of(self, file: Path) -> Iterator[None]:
        """What can't be read is a problem, and must not hide the rest."""
        try:
            yield
        except (CcmoveError, NotJsonError) as error:
            self.problems.append(Problem(str(file), str(error)))
        except OSError as error:
            self.problems.append(Problem(str(file), describe(error)))


def read_lists(state: State) -> Lists:
    """What all lists name."""
    lists, layout = Lists(), state.layout
    with lists.problems_of(layout.config_file):
        for path, entry in members(state.config_values, "projects").items():
            lists.add(path, "config")
            lists.values.extend(value for value in _absolute_paths(entry) if value != path)
        for name, listed in members(state.config_values, "githubRepoPaths").items():
            lists.repositories[name] = tuple(_absolute_paths(listed))
            for path in lists.repositories[name]:
                lists.add(path, "repository")
    with lists.problems_of(layout.history):
        for path, (number, _) in state.prompts.items():
            lists.add(path, "prompts", number)
    with lists.problems_of(layout.plugins):
        for installs in members(_parsed(layout.plugins), "plugins").values():
            for install in installs if isinstance(installs, list) else ():
                if isinstance(path := get(install, "projectPath"), str):
                    lists.add(path, "plugins")
    for file in sorted(layout.jobs.glob("*/state.json")):
        with lists.problems_of(file):
            job = _parsed(file)
            folders = [get(job, key) for key in ("cwd", "originCwd", "worktreePath")]
            for folder in set(_absolute_paths(folders)):
                lists.add(folder, "jobs")
    return lists


def _parsed(file: Path) -> Any:
    document = read_document(file)
    return loads(document.text) if document is not None else None


def _absolute_paths(value: object) -> Iterator[str]:
    """Every absolute path in a JSON value; a number is a string of another class here."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            waiting += current.values()
        elif isinstance(current, list):
            waiting += current
        elif type(current) is str and (current.startswith("/") or is_windows(current)):
            yield current
