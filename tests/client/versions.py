"""Which clients are tested, where each is installed, and how they differ."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("versions.txt")


# Where scripts/install-clients puts the clients, outside the repository.
# Read once, on import: later on every test has a throw-away HOME.
_CACHES = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
CACHE = Path(os.environ.get("CCMOVE_CLIENT_CACHE") or Path(_CACHES, "ccmove-clients"))


class ClientMissingError(Exception):
    """A client cannot be had here; the message says what to do."""


@dataclass(frozen=True)
class Client:
    """One version of the client, installed or not. The name is its number, or `latest`."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def directory(self) -> Path:
        return (
            CACHE / self.name
        ).resolve()  # `latest` is a link to the version that it was

    @property
    def number(self) -> tuple[int, ...]:
        """For comparing; a `latest` that is not installed counts as newer than all
        others.
        """
        parts = self.directory.name.split(".")
        return (
            tuple(map(int, parts))
            if all(part.isdecimal() for part in parts)
            else (9999,)
        )

    def command(self) -> list[str]:
        """What starts it: a native program, or a script for node; else
        ClientMissingError.
        """
        packages = self.directory / "node_modules" / "@anthropic-ai"
        for program in sorted(packages.glob("claude-code-*/claude")):
            return [str(program)]
        script = packages / "claude-code" / "cli.js"
        if not script.is_file():
            raise ClientMissingError(
                f"Claude Code {self} is not in {CACHE}: run scripts/install-clients {self}"
            )
        node = shutil.which("node")
        if node is None:
            raise ClientMissingError(
                f"Claude Code {self} needs node, which is not on PATH"
            )
        return [node, str(script)]

    @property
    def stands_for_all(self) -> bool:
        """The newest: for what only ccmove decides, one client is as good a witness as
        four.
        """
        newest = max(CLIENTS, key=lambda client: client.number)
        return self == newest and not self.is_of_the_older_form

    # -- how versions differ; all of it seen with the versions of the list

    @property
    def is_of_the_index_era(self) -> bool:
        """Writes sessions-index.json and no live-session file; never cuts a long name."""
        return self.number <= (2, 1, 23)

    @property
    def is_of_the_older_form(self) -> bool:
        """Composes accents (NFC) before it encodes a path; has no `claude purge`; run
        by node.

        The others find `--resume ID` in whatever project directory it is (that alone
        proves little), note in their live-session file on which machine, in which
        namespace their pid counts, and tell a resumed session again what it was told in
        its first folder.
        """
        return self.number <= (2, 1, 92)

    @property
    def continues_print_mode_sessions(self) -> bool:
        """2.1.92 passes over what `claude -p` began, moved or not."""
        return self.number != (2, 1, 92)


def pinned() -> list[str]:
    """The versions of the list, in its order."""
    lines = (line.partition("#")[0].strip() for line in LIST.read_text().splitlines())
    return [line for line in lines if line]


# $CLIENT, a version or `latest`, stands in for the list.
CLIENTS = [Client(name) for name in os.environ.get("CLIENT", "").split() or pinned()]
