"""Where Claude Code keeps what, for one config directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ccmove.claude.reading import is_there

# The client's files in a project's own folder that may hold paths.
PROJECT_FILES = (".claude/settings.json", ".claude/settings.local.json", ".mcp.json")


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of one state. `config_dir` is real; the config file may be a link elsewhere."""

    config_dir: Path
    config_file: Path  # as the client composes it; its lock lies beside this
    home: Path

    @property
    def projects(self) -> Path:
        return self.config_dir / "projects"

    @property
    def history(self) -> Path:
        return self.config_dir / "history.jsonl"

    @property
    def sessions(self) -> Path:
        return self.config_dir / "sessions"

    @property
    def jobs(self) -> Path:
        return self.config_dir / "jobs"

    @property
    def plugins(self) -> Path:
        return self.config_dir / "plugins" / "installed_plugins.json"

    @property
    def daemon_lock(self) -> Path:
        return self.config_dir / "daemon.lock"

    @property
    def own(self) -> Path:
        """All that is ccmove's: lock, journal, backups, and the work of a run under way."""
        return self.config_dir / "ccmove"

    @property
    def lock(self) -> Path:
        return self.own / "lock"

    @property
    def journal(self) -> Path:
        return self.own / "journal.json"

    @property
    def backups(self) -> Path:
        return self.own / "backups"

    @property
    def run(self) -> Path:
        """The directory of a run under way, which becomes its backup."""
        return self.own / "run"

    @property
    def unfinished(self) -> Path:
        """Runs that could not be rolled back and were set aside."""
        return self.own / "unfinished"

    @property
    def real_config_file(self) -> Path:
        """The file behind the link, which is the one to replace: the link stays a link."""
        return Path(os.path.realpath(self.config_file))

    @property
    def client_locks(self) -> tuple[Path, Path]:
        """The client's locks: history's beside the real file, the config's beside the link."""
        real = Path(os.path.realpath(self.history))
        history = real if real.is_relative_to(self.config_dir) else self.history
        return (_beside(history, ".lock"), _beside(self.config_file, ".lock"))

    @property
    def desktop_sessions(self) -> Path:
        """Where the desktop app keeps its `local_*.json`."""
        if sys.platform == "darwin":
            base = self.home / "Library" / "Application Support"
        elif sys.platform == "win32":
            base = Path(os.environ.get("APPDATA", self.home / "AppData" / "Roaming"))
        else:
            base = self.home / ".config"
        return Path(os.path.realpath(base / "Claude" / "claude-code-sessions"))


def find_layout(config_dir: str | None, environ: Mapping[str, str]) -> Layout:
    """The layout for `--config-dir`, else `$CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    home = Path(os.path.realpath(os.path.expanduser("~")))
    chosen = config_dir or environ.get("CLAUDE_CONFIG_DIR") or ""
    directory = Path(os.path.realpath(chosen or home / ".claude"))
    return Layout(directory, _config_file(directory, home, bool(chosen)), home)


def _config_file(directory: Path, home: Path, chosen: bool) -> Path:
    legacy = directory / ".config.json"
    if size_of(legacy) > 0:
        return legacy
    inside = directory / ".claude.json"
    is_default = directory == Path(os.path.realpath(home / ".claude"))
    if chosen and (not is_default or is_there(inside)):
        return inside
    return home / ".claude.json"


def size_of(path: Path) -> int:
    """How large a file is; 0 where that can't be told, which whoever reads it will say."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
