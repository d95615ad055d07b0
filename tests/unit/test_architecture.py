"""The shape of the package: imports point one way, and only `files` changes the disk."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.run import clean_environment
from tests.support.state import StateBuilder

PACKAGE = Path(__file__).parents[2] / "ccmove"

# From the bottom up: a module may import only what stands before it. The commands, and what they
# show and find, come above all of these and are free among themselves.
ORDER = [
    *("lighttyping", "printable", "shell", "errors", "typed", "nofollow", "layout", "opening"),
    *("background", "otherprocess", "ahead"),
    *("encoding", "pathmap"),
    *(
        "jsonspan",
        "edits",
        "rewriter",
        "alike",
        "history",
        "config",
        "state",
        "bothends",
        "firstlook",
        "live",
    ),
    *("plan", "future", "ownership", "drafts", "placing", "arrange", "relocate", "places"),
    *("worktrees", "mentions", "manifest", "folders", "planner", "files", "journal", "backup"),
    *("wayback", "history_back", "retreat", "reversal", "verifier", "locks", "preflight"),
    *("interrupts", "staging", "settling", "transaction"),
]

MUTATING = {
    "rename", "renames", "replace", "remove", "unlink", "rmdir", "removedirs", "mkdir", "makedirs",
    "link", "symlink", "truncate", "ftruncate", "write", "pwrite", "writev", "utime", "chmod",
    "fchmod", "chown", "fchown", "lchown", "mknod", "mkfifo", "write_text", "write_bytes", "touch",
    "symlink_to", "hardlink_to", "copyfile", "copy2", "copytree", "rmtree", "move", "mkdtemp",
    "mkstemp", "NamedTemporaryFile", "TemporaryDirectory", "sendfile", "copy_file_range",
}  # fmt: skip


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "ccmove":
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ccmove."):
            names.add((node.module or "").split(".")[1])
    return names


@pytest.mark.parametrize("name", ORDER)
def test_imports_point_one_way(name: str) -> None:
    tree = ast.parse((PACKAGE / f"{name}.py").read_text())
    below = set(ORDER[: ORDER.index(name)])
    assert imported(tree) <= below, f"{name} imports {imported(tree) - below}, which is above it"


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.name)
def test_named_tuples_find_their_fields(path: Path) -> None:
    """Python 3.14 keeps annotations elsewhere, unless they are left unevaluated."""
    text = path.read_text()
    if "(NamedTuple" in text and path.name != "lighttyping.py":
        assert "from __future__ import annotations\n" in text


def mutating_calls(tree: ast.AST) -> set[str]:
    """Calls that change a disk: `os.x`, `shutil.x`, `path.x`, and `open` for writing."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr in MUTATING:
            owner = ast.unparse(node.func.value)
            if owner in ("os", "shutil", "tempfile") or node.func.attr in (
                "write_text", "write_bytes", "touch", "symlink_to", "hardlink_to",
            ):  # fmt: skip
                found.add(f"{owner}.{node.func.attr}")
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            if ast.unparse(node.args[0]) == "os.devnull":
                continue
            mode = node.args[1] if len(node.args) > 1 else None
            text = mode.value if isinstance(mode, ast.Constant) else "r"
            if set(str(text)) & set("wax+"):
                found.add("open for writing")
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_only_files_changes_the_disk(path: Path) -> None:
    allowed = {
        "files.py",  # the one
        "demo_state.py",  # makes up a state in a temporary directory
        "demo.py",
    }
    if path.name not in allowed:
        assert mutating_calls(ast.parse(path.read_text())) == set()


def test_the_check_sees_a_mutation() -> None:
    assert mutating_calls(ast.parse("import os\nos.unlink('x')")) == {"os.unlink"}
    assert mutating_calls(ast.parse("open('x', 'wb')")) == {"open for writing"}
    assert mutating_calls(ast.parse("p.write_text('x')")) == {"p.write_text"}
    assert mutating_calls(ast.parse("out.write('x'); ', '.join(y)")) == set()


def loaded_by(*arguments: str, state: StateBuilder | None = None) -> set[str]:
    """Modules that a run of the command line loads."""
    script = (
        "import sys\nfrom ccmove.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write('LOADED ' + ' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=clean_environment(state, {"PYTHONPATH": str(PACKAGE.parent)}) if state else None,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.rpartition("LOADED ")[2].split())


def test_help_and_version_load_nothing_heavy() -> None:
    for argument in ("--help", "--version"):
        heavy = {"rich", "deepdiff", "psutil", "filelock", "ccmove.run.transaction"}
        assert not loaded_by(argument) & heavy


def test_a_plain_move_loads_nothing_that_it_does_not_need(state: StateBuilder) -> None:
    """Each of these takes milliseconds to load, of which a small move has not many."""
    needless = {"click", "typing", "inspect", "dataclasses", "filelock"}
    needless |= {"deepdiff", "psutil", "rich"}
    old, new = state.project("my-app").path, state.code / "new-app"
    new.mkdir(parents=True)
    loaded = loaded_by(old, str(new), state=state)
    assert "ccmove.run.transaction" in loaded
    assert not loaded & needless
    assert (state.config_dir / "ccmove" / "backups").is_dir()


def test_a_piped_refusal_does_not_load_rich() -> None:
    assert "rich" not in loaded_by("/no/such/old", "/no/such/new")
