"""Which paths Claude Code's lists name: config file, prompt history, plugins, background jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ccmove.claude.reading import read_document
from ccmove.claude.state import State, get
from ccmove.errors import CcmoveError, describe
from ccmove.rewrite.jsonspan import NotJsonError, loads
from ccmove.rewrite.pathmap import is_windows


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be read."""

    file: str
    what: str

    @classmethod
    def of(cls, file: Path, error: Exception) -> Problem:
        return cls(str(file), describe(error) if isinstance(error, OSError) else str(error))


@dataclass(frozen=True, slots=True)
class Lists:
    """Which paths the config file, the history, plugins and jobs name, and how often each."""

    named: dict[str, Counter[str]] = field(default_factory=dict)
    values: list[str] = field(default_factory=list)  # paths inside the config file's entries
    repositories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(self, path: str, place: str, number: int = 1) -> None:
        self.named.setdefault(path, Counter())[place] += number


def read_lists(state: State) -> Lists:
    """What all lists name; one that can't be read must not hide the others."""
    lists = Lists()
    readers: list[tuple[Path, Callable[[State, Lists], None]]] = [
        (state.layout.config_file, _read_config),
        (state.layout.history, _read_history),
        (state.layout.plugins, _read_plugins),
    ]
    jobs = sorted(state.layout.jobs.glob("*/state.json"))
    readers += [(file, partial(_read_job, file)) for file in jobs]
    for file, read in readers:
        try:
            read(state, lists)
        except (CcmoveError, NotJsonError, OSError) as error:
            lists.problems.append(Problem.of(file, error))
    return lists


def _read_config(state: State, lists: Lists) -> None:
    for path, entry in _members(state.config_values, "projects"):
        lists.add(path, "config")
        lists.values.extend(value for value in _absolute_paths(entry) if value != path)
    for repository, listed in _members(state.config_values, "githubRepoPaths"):
        lists.repositories[repository] = tuple(_absolute_paths(listed))
        for path in lists.repositories[repository]:
            lists.add(path, "repository")


def _read_history(state: State, lists: Lists) -> None:
    for path, (number, _) in state.prompts.items():
        lists.add(path, "prompts", number)


def _read_plugins(state: State, lists: Lists) -> None:
    for _, installs in _members(_parsed(state.layout.plugins), "plugins"):
        for install in installs if isinstance(installs, list) else ():
            if isinstance(path := get(install, "projectPath"), str):
                lists.add(path, "plugins")


def _read_job(file: Path, _: State, lists: Lists) -> None:
    record = _parsed(file)
    folders = [get(record, key) for key in ("cwd", "originCwd", "worktreePath")]
    for folder in dict.fromkeys(_absolute_paths(folders)):
        lists.add(folder, "jobs")


def _parsed(file: Path) -> Any:
    document = read_document(file)
    return loads(document.text) if document is not None else None


def _members(record: object, key: str) -> list[tuple[str, Any]]:
    value = get(record, key)
    return list(value.items()) if isinstance(value, dict) else []


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
