"""The house rules: imports point one way, one module changes the disk, nothing is
clever.
"""

import ast
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ccmove.claude import live
from tests.support.run import run_child
from tests.support.state import StateBuilder

PACKAGE = Path(__file__).parents[1] / "ccmove"

# From the bottom up: a module imports only from its own room and from those before it.
ROOMS = ("system", "text", "hints", "errors", "rewrite", "claude", "plan", "run", "transfer",
         "inspect", "report", "commands", "api", "inside", "cli")  # fmt: skip
LAZY = {"rich", "deepdiff", "psutil"}  # heavy, and mostly not needed
# A preview takes no lock; the name of the machine is asked for on Windows alone.
NOT_FOR_A_PREVIEW = {"filelock", "socket"}
# Most moves name both paths, and few end in a bug; most folders have sessions.
LATER = {"ccmove.cli.find", "importlib.metadata", "ccmove.inside.renamed"}
# What a move of two paths has no use for: doctor, list, the search for lost folders.
NOT_FOR_A_MOVE = {
    *LAZY,
    *LATER,
    "ccmove.cli.demo",
    "ccmove.cli.doctor",
    "ccmove.cli.listing",
    "ccmove.cli.past",
    "ccmove.inspect.findings",
    "ccmove.inspect.lost",
    "ccmove.inspect.survey",
    "ccmove.run.undo",
}
TRICKS = (
    "os.fork",
    "os._exit",
    "gc.disable",
    "ThreadPoolExecutor",
)  # Ctrl-C may hang the last

MUTATING = {
    "rename", "renames", "replace", "remove", "unlink", "rmdir", "removedirs", "mkdir", "makedirs",
    "link", "symlink", "truncate", "ftruncate", "write", "pwrite", "writev", "utime", "chmod",
    "fchmod", "chown", "fchown", "lchown", "mknod", "mkfifo", "write_text", "write_bytes", "touch",
    "symlink_to", "hardlink_to", "copyfile", "copy2", "copytree", "rmtree", "move", "mkdtemp",
    "mkstemp", "NamedTemporaryFile", "TemporaryDirectory", "sendfile", "copy_file_range",
}  # fmt: skip


TO_A_STREAM = re.compile(r"os\.write\([12], ")  # of our own, and not to a disk
OPENING = ("open", "read_text", "read_bytes")


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


MODULES = sorted(PACKAGE.rglob("*.py"))
TREES = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported, with its package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "ccmove":
            for alias in node.names:
                if alias.name.islower():
                    yield f"ccmove.{alias.name}"
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def rooms_above(name: str, tree: ast.AST) -> set[str]:
    """The rooms that this module imports from and must not."""
    room = name.partition("/")[0].removesuffix(".py")
    if room not in ROOMS:  # the package itself
        return set()
    allowed = {*ROOMS[: ROOMS.index(room) + 1], "__version__"}
    ours = [module for module in imports(tree) if module.startswith("ccmove.")]
    return {module.split(".")[1] for module in ours} - allowed


def test_imports_point_one_way() -> None:
    for name, tree in TREES.items():
        assert not rooms_above(name, tree), name


def test_imports_stand_at_the_top() -> None:
    for name, tree in TREES.items():
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                modules = set(imports(function)) - LATER
                libraries = {module.split(".")[0] for module in modules}
                assert libraries <= LAZY | NOT_FOR_A_PREVIEW, name


def test_there_are_no_tricks() -> None:
    for name, tree in TREES.items():
        text = ast.unparse(tree)
        for trick in TRICKS:
            assert f"{trick}(" not in text, name


def test_a_library_is_known_in_one_room() -> None:
    for name, tree in TREES.items():
        packages = {module.split(".")[0] for module in imports(tree)}
        assert "rich" not in packages or name.startswith("report/"), name
        assert "click" not in packages or name.startswith("cli/"), name


def test_few_modules_ask_which_system_it_is() -> None:
    sources = {name_of(path): path.read_text(encoding="utf-8") for path in MODULES}
    asking = r"sys\.platform|os\.name\b|\bWINDOWS\b|\bMAC\b"
    assert {name for name, text in sources.items() if re.search(asking, text)} == {
        "system.py",  # the flags, and what takes more than a line
        "text.py",  # words for a shell
        "claude/reading.py",  # how a directory is reached
        "claude/live.py",  # how processes are seen
        "run/disk.py",  # modes, dates, and a rename that never replaces
    }


def test_the_top_level_is_small() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 7


def test_each_package_says_what_it_is_for_in_one_line() -> None:
    for path in PACKAGE.glob("*/__init__.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) == 1
        assert ast.get_docstring(TREES[name_of(path)])


def mutating_calls(tree: ast.AST) -> set[str]:
    """Calls that change a disk: `os.x`, `shutil.x`, `path.x`, and `open` for writing."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr in MUTATING:
            owner = ast.unparse(node.func.value)
            if TO_A_STREAM.match(ast.unparse(node)):
                continue
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


def test_one_module_changes_the_disk() -> None:
    # The demo writes sample data into a temporary directory of its own.
    for name, tree in TREES.items():
        if name not in ("run/disk.py", "cli/demo.py"):
            assert mutating_calls(tree) == set(), name


def test_these_checks_can_fail() -> None:
    upward = ast.parse("from ccmove.run import disk")
    assert rooms_above("plan/planner.py", upward) == {"run"}
    assert rooms_above("cli/move.py", upward) == set()
    assert mutating_calls(ast.parse("import os\nos.unlink('x')")) == {"os.unlink"}
    assert mutating_calls(ast.parse("import os\nos.write(1, b)")) == set()
    assert mutating_calls(ast.parse("import os\nos.write(fd, b)")) == {"os.write"}
    assert mutating_calls(ast.parse("open('x', 'wb')")) == {"open for writing"}
    assert mutating_calls(ast.parse("p.write_text('x')")) == {"p.write_text"}
    assert mutating_calls(ast.parse("out.write('x'); ', '.join(y)")) == set()


def test_rewriting_never_touches_the_disk() -> None:
    for name, tree in TREES.items():
        if not name.startswith("rewrite/"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                call = ast.unparse(node.func)
                on_text = call.startswith(("os.path.", "os.fs"))
                assert on_text or not call.startswith("os."), f"{name}: {call}"
                assert call.split(".")[-1] not in OPENING, f"{name}: {call}"


def loaded_by(*arguments: str, state: StateBuilder) -> set[str]:
    """Modules that a run of the command line loads."""
    script = (
        "import sys\nfrom ccmove.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write('LOADED ' + ' '.join(sys.modules))"
    )
    words = [sys.executable, "-c", script, *arguments]
    done = run_child(words, state=state, env={"PYTHONPATH": str(PACKAGE.parent)})
    assert done.exit == 0, done
    return set(done.err.rpartition("LOADED ")[2].split())


@pytest.mark.slow
def test_heavy_libraries_are_loaded_only_when_they_are_used(
    state: StateBuilder,
) -> None:
    always = set() if live.HAS_PROC else {"psutil"}  # how processes are seen there
    for arguments in (["--help"], ["/no/such/old", "/no/such/new"]):
        assert not loaded_by(*arguments, state=state) & (LAZY - always)


def test_a_move_loads_only_what_it_uses(state: StateBuilder) -> None:
    always = set() if live.HAS_PROC else {"psutil"}
    old, new = state.project("my-app").path, state.code / "new-app"
    new.mkdir(parents=True)
    assert not loaded_by(old, str(new), state=state) & (NOT_FOR_A_MOVE - always)
    assert (state.config_dir / "ccmove" / "backups").is_dir()


def test_a_preview_loads_no_lock(state: StateBuilder) -> None:
    always = set() if live.HAS_PROC else {"socket"}  # psutil needs it
    old, new = state.project("my-app").path, state.code / "new-app"
    new.mkdir(parents=True)
    modules = loaded_by("-n", old, str(new), state=state)
    assert not modules & (NOT_FOR_A_PREVIEW - always)


def test_what_a_move_does_not_load_is_there() -> None:
    ours = [name for name in NOT_FOR_A_MOVE if name.startswith("ccmove.")]
    for name in ours:
        assert importlib.util.find_spec(name) is not None
