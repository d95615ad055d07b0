"""The Windows client, and a Windows Python with `ccmove` in it, under Wine."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

from tests.client.driver import Desk
from tests.client.loopback import Loopback
from tests.client.screen import Screen
from tests.client.versions import CACHE, Client, ClientMissingError
from tests.client.waiting import seen_within
from tests.support.run import Completed

REPOSITORY = Path(__file__).parents[2]
PYTHON = CACHE / "windows-python"
# A Windows program that starts another one in a folder as it is spelled.
START_IN = (
    "import subprocess, sys; "
    "sys.exit(subprocess.run(sys.argv[2:], cwd=sys.argv[1]).returncode)"
)
# In full, because they are started with an environment of their own.
WINE = shutil.which("wine") or "wine"
WINESERVER = shutil.which("wineserver") or "wineserver"


@dataclass(frozen=True)
class WindowsClient(Client):
    """The client for Windows, of one version."""

    @property
    def directory(self) -> Path:
        return CACHE / f"{self.name}-windows"

    def command(self) -> list[str]:
        program = (
            self.directory
            / "node_modules/@anthropic-ai/claude-code-win32-x64/claude.exe"
        )
        if not os.path.isabs(WINE):
            raise ClientMissingError(
                "the Windows client needs wine, which is not on PATH"
            )
        for needed in (program, PYTHON / "site"):
            if not needed.exists():
                raise ClientMissingError(
                    f"no {needed}: run scripts/install-windows-client {self}"
                )
        return [WINE, str(program)]


def on_drive_z(place: Path | str) -> str:
    """Where Wine shows a place of this machine."""
    return f"Z:{place}".replace("/", "\\")


class WindowsScreen(Screen):
    """The client in a terminal: it takes every key, but of what it draws only words are
    legible.

    Wine's console does not know the control sequences that the client uses on Windows.
    """

    @property
    def _is_ready(self) -> bool:
        return "shift+tab to cycle" in self.text

    def say(self, prompt: str) -> None:
        self._settle()
        self._tmux("send-keys", "-l", prompt)
        self.wait_for(lambda: self._sends(prompt), f"{prompt!r} to be sent")

    def recalls(self, prompt: str, presses: int = 1) -> bool:
        """Whether arrow-up, pressed so often or oftener, offers `prompt`: seen by
        sending it.
        """

        def sends_it() -> bool:
            for _ in range(presses):
                self.press("Up")
            return self._sends(prompt)

        self._settle()
        return seen_within(30, sends_it)

    def _sends(self, prompt: str) -> bool:
        """Press Enter; whether `prompt` is sent by that."""
        before = len(self._api.conversations_with(prompt))
        time.sleep(1)  # keys that arrive together count as pasted text
        self.press("Enter")
        return seen_within(
            5, lambda: len(self._api.conversations_with(prompt)) > before
        )


class WindowsDesk(Desk):
    """A desk whose home and folders are on drive C: of a Wine of its own."""

    kind_of_screen = WindowsScreen

    def __init__(self, root: Path, client: WindowsClient, api: Loopback) -> None:
        home = f"wine/drive_c/users/{pwd.getpwuid(os.getuid()).pw_name}"
        super().__init__(root, client, api, home=home, code="wine/drive_c/work")
        self._drive = self.code.parent
        self._python = [WINE, str(PYTHON / "python" / "python.exe")]

    def boot(self) -> None:
        """Let Wine make its own directories, and add what the client misses there."""
        self._run([WINE, "wineboot", "--init"], self.root)
        library = self.client.directory / "bcryptprimitives.dll"
        shutil.copy(library, self._drive / "windows" / "system32")

    def shut_down(self) -> None:
        for option in ("--kill", "--wait"):
            subprocess.run([WINESERVER, option], env=self.environment())

    def as_typed(self, folder: Path) -> str:
        return str(PureWindowsPath("C:/", folder.relative_to(self._drive)))

    def claude(self, folder: Path | str, *args: str) -> Completed:
        """The client without a terminal; in `folder` as it is spelled, if that is text."""
        if isinstance(folder, Path):
            return super().claude(folder, *args)
        program = on_drive_z(self.client.command()[-1])
        argv = self.api.offline([*self._python, "-c", START_IN, folder, program, *args])
        return self._run(argv, self.root)

    def ccmove(self, *args: str | os.PathLike[str]) -> Completed:
        words = [
            self.as_typed(arg) if isinstance(arg, Path) else os.fspath(arg)
            for arg in args
        ]
        done = self._run([*self._python, "-m", "ccmove", *words], self.root)
        assert "Traceback (most recent call last)" not in done.err, done.err
        return done

    def environment(self) -> dict[str, str]:
        packages = map(on_drive_z, (REPOSITORY, PYTHON / "site"))
        return {
            **super().environment(),
            "PATH": os.defpath,
            "WINEPREFIX": str(self.root / "wine"),
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "mscoree,mshtml=",
            "PYTHONPATH": ";".join(packages),
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }


@contextmanager
def windows_desk(client: WindowsClient, api: Loopback) -> Iterator[WindowsDesk]:
    """A desk on the disk: a Wine of its own has 700 MB, too much for the tests' place
    in memory.
    """
    with tempfile.TemporaryDirectory(prefix="ccmove-wine-", dir="/var/tmp") as root:
        desk = WindowsDesk(Path(root), client, api)
        try:
            desk.boot()
            yield desk
        finally:
            desk.shut_down()
