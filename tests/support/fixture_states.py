"""Makes the trees under `fixtures/states`; run as a module, it rewrites them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.support.state import StateBuilder

STATES = Path(__file__).parents[2] / "fixtures" / "states"


def plain(root: Path) -> StateBuilder:
    """A project with index and memory, one nested in it, a sibling whose name starts the same."""
    state = StateBuilder(root, spelled_home="/home/dev")
    memory = {"MEMORY.md": "- the menu is in menu.txt\n", "style.md": "Short sentences.\n"}
    state.project("/home/dev/code/my-app", index=True, memory=memory, repo="acme/my-app")
    state.project("/home/dev/code/my-app/packages/core", sessions=1, prompts=1, subagents=False)
    state.project("/home/dev/code/my-app-docker", sessions=1, prompts=2, index=True)
    return state


BUILDERS: dict[str, Callable[[Path], StateBuilder]] = {"plain": plain}


def write_all(target: Path) -> None:
    """Replace each state's tree below `target` by a freshly built one."""
    for name, build in BUILDERS.items():
        with tempfile.TemporaryDirectory() as temporary:
            home = build(Path(temporary)).home
            shutil.rmtree(target / name, ignore_errors=True)
            shutil.copytree(home, target / name / "home")


if __name__ == "__main__":
    write_all(STATES)
