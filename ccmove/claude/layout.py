"""Where Claude Code keeps what, for one config directory."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ccmove.claude.reading import is_there
from ccmove.system import desktop_data

# The client's files in a project's own folder that may hold paths.
PROJECT_FILES = (".claude/settings.json", ".claude/settings.local.json", ".mcp.json")


class _Place:
    """A file or directory inside of the config directory."""

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def __get__(self, layout: "Layout", _: object) -> Path:
        return layout.config_dir.joinpath(*self._parts)


@dataclass(frozen=True)
class Layout:
    """The places of one state. `config_dir` is real;
    the config file may be a link elsewhere.
    """

    config_dir: Path
    config_file: Path  # as the client composes it; its lock is beside this
    home: Path
    given: str | None = None  # as `--config-dir` names it, for commands to type

    history = _Place("history.jsonl")
    sessions = _Place("sessions")
    jobs = _Place("jobs")
    plugins = _Place("plugins", "installed_plugins.json")
    daemon_lock = _Place("daemon.lock")
    # All that is ccmove's.
    own = _Place("ccmove")
    lock = _Place("ccmove", "lock")
    journal = _Place("ccmove", "journal.json")
    backups = _Place("ccmove", "backups")
    ledger = _Place(
        "ccmove", "ledger.json"
    )  # what pruned backups told of whose sessions are
    run = _Place("ccmove", "run")  # of a run under way, which becomes its backup
    unfinished = _Place("ccmove", "unfinished")  # runs that could not be rolled back

    @cached_property
    def projects(self) -> Path:
        """The directory of all projects; it may be a link to what is the user's own."""
        return Path(os.path.realpath(self.config_dir / "projects"))

    @property
    def real_config_file(self) -> Path:
        """The file behind the link, which is the one to replace:
        the link stays a link.
        """
        return Path(os.path.realpath(self.config_file))

    @property
    def client_locks(self) -> tuple[Path, ...]:
        """The client's locks, beside the history and beside the config file,
        or the link to it.
        """
        files = (self.history, self.config_file)
        return tuple(path.with_name(f"{path.name}.lock") for path in files)

    @property
    def desktop_sessions(self) -> Path:
        base = desktop_data(self.home, os.environ)
        return Path(os.path.realpath(base / "Claude" / "claude-code-sessions"))


def find_layout(config_dir: str | None, environ: Mapping[str, str]) -> Layout:
    """The layout for `--config-dir`, else `$CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    home = Path(os.path.realpath(os.path.expanduser("~")))
    chosen = config_dir or environ.get("CLAUDE_CONFIG_DIR") or ""
    usual = Path(os.path.realpath(home / ".claude"))
    directory = Path(os.path.realpath(chosen)) if chosen else usual
    legacy, inside = directory / ".config.json", directory / ".claude.json"
    config_file = home / ".claude.json"
    if size_of(legacy) > 0:
        config_file = legacy
    elif chosen and (directory != usual or is_there(inside)):
        config_file = inside
    return Layout(directory, config_file, home, config_dir)


def size_of(path: Path) -> int:
    """How large a file is; 0 where that can't be told,
    which whoever reads it will say.
    """
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
