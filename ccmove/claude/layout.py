"""Where Claude Code keeps what, for one config directory."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ccmove.claude.reading import is_there
from ccmove.hints import as_typed
from ccmove.system import desktop_data

USER_SETTINGS = ("settings.json", "settings.local.json")  # in the config directory
# The client's files in a project's own folder that may hold paths.
PROJECT_FILES = (".claude/settings.json", ".claude/settings.local.json", ".mcp.json")
SETTINGS_NAMES = {os.path.basename(file) for file in PROJECT_FILES}


class _Inside:
    """A file or directory inside of the config directory."""

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def __get__(self, layout: "Layout", _: object) -> Path:
        return layout.config_dir.joinpath(*self._parts)


@dataclass(frozen=True)
class Layout:
    """The places of one state. `config_dir` is real; the config file may be a link."""

    config_dir: Path
    config_file: Path  # as the client composes it; its lock is beside this
    home: Path
    given: str | None = None  # as `--config-dir` names it, for commands to type

    history = _Inside("history.jsonl")
    sessions = _Inside("sessions")
    jobs = _Inside("jobs")
    plugins = _Inside("plugins", "installed_plugins.json")
    daemon_lock = _Inside("daemon.lock")
    # All that is ccmove's.
    ccmove = _Inside("ccmove")
    lock = _Inside("ccmove", "lock")
    backups = _Inside("ccmove", "backups")
    # What pruned backups told of whose sessions are.
    ledger = _Inside("ccmove", "ledger.json")
    run_dir = _Inside("ccmove", "run")  # of a run under way, which becomes its backup
    unfinished = _Inside("ccmove", "unfinished")  # what was set aside of such runs

    @cached_property
    def projects(self) -> Path:
        """The directory of all projects; it may be a link to what is the user's own."""
        return _real(self.config_dir / "projects")

    @property
    def real_config_file(self) -> Path:
        """The file behind the link, which is the one to replace:
        the link stays a link.
        """
        return _real(self.config_file)

    @property
    def client_locks(self) -> tuple[Path, ...]:
        """The client's locks, beside the history and beside the config file,
        or the link to it.
        """
        files = (self.history, self.config_file)
        return tuple(path.with_name(f"{path.name}.lock") for path in files)

    def command(self, *words: str) -> str:
        """A command of ours, as it has to be typed for this state."""
        return as_typed(["ccmove", *words], self.given)

    @property
    def desktop_sessions(self) -> Path:
        base = desktop_data(self.home, os.environ)
        return _real(base / "Claude" / "claude-code-sessions")


def find_layout(config_dir: str | None, environ: Mapping[str, str]) -> Layout:
    """The layout for `--config-dir`, else `$CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    home = _real(Path.home())
    usual = _real(home / ".claude")
    chosen = config_dir or environ.get("CLAUDE_CONFIG_DIR")
    directory = _real(chosen or usual)
    config_file = directory / ".config.json"  # of old installs
    if size_of(config_file) == 0:
        config_file = directory / ".claude.json"
        is_usual = directory == usual and not is_there(config_file)
        if is_usual or not chosen:
            config_file = home / ".claude.json"
    return Layout(directory, config_file, home, config_dir)


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))


def size_of(path: Path) -> int:
    """How large a file is; 0 where that can't be told: whoever reads it will say."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def are_settings(files: Iterable[str]) -> bool:
    """Whether these are files that people write, and there are any."""
    names = {os.path.basename(file) for file in files}
    return bool(names) and names <= SETTINGS_NAMES
