"""The pages, the picture, the manual page, --help and --version say what is true today."""

import contextlib
import html
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from ccmove import TESTED_WITH, __version__
from ccmove.claude.layout import PROJECT_FILES, Layout
from ccmove.claude.state import ALIASES, INDEX, MEMORY
from ccmove.cli.boundary import TextWanted
from ccmove.cli.main import ALIASES as OTHER_NAMES
from ccmove.cli.main import COMMANDS, app, command_named, with_command
from ccmove.plan.files import PLACES
from tests.client.versions import pinned
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder
from tests.test_architecture import MODULES, ROOMS

REPO = Path(__file__).parents[2]


def output_of_make(*words: str | Path) -> str:
    """What man/make.py prints; it finds ccmove also where that is not installed."""
    command = [sys.executable, REPO / "man" / "make.py", *words]
    paths = [str(REPO), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", check=True, env=environment
    ).stdout


def words(svg: str) -> list[str]:
    """What a picture says, line by line; how it is drawn is rich's business."""
    rows: dict[str, str] = {}
    for at, text in re.findall(r'<text [^>]*?y="([\d.]+)"[^>]*>(.*?)</text>', svg):
        rows[at] = rows.get(at, "") + html.unescape(text).replace("\xa0", " ")
    return [row.rstrip() for row in rows.values()]


@pytest.mark.parametrize("name", ["move.svg", "demo.svg"])
def test_the_picture_shows_what_the_demo_prints_today(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/tmp")
    monkeypatch.setattr("tempfile.tempdir", None)
    drawn = words(runpy.run_path(str(REPO / "docs/picture.py"))["draw"](name))
    shown = words((REPO / "docs" / name).read_text(encoding="utf-8"))
    assert len(shown) > 10
    assert shown == drawn, "make picture"


def test_the_manual_page_is_what_the_program_says_today() -> None:
    made = output_of_make()
    page = (REPO / "man" / "ccmove.1").read_text(encoding="utf-8")
    assert page == made, "make man"
    for name in COMMANDS:
        assert f"ccmove {name}" in page


def test_version_names_the_clients_that_the_tests_drive(state: StateBuilder) -> None:
    assert tuple(pinned()) == TESTED_WITH
    assert run_ccmove("--version", state=state).out.splitlines() == [
        f"ccmove {__version__}",
        "tested with Claude Code 2.1.327, 2.1.326, 2.1.92, 2.1.23",
    ]


def tree_of(page: str) -> dict[str, list[str]]:
    """The modules of each room in the tree of the page; the package's own under ''."""
    block = page.partition("```\nccmove/\n")[2].partition("```")[0]
    rooms: dict[str, list[str]] = {"": []}
    room = ""
    for line in block.splitlines():
        words = line.split()
        if words[0].endswith("/"):
            room = words[0]
            rooms[room] = []  # the rest of the line says what it is for
        elif line.startswith("     "):
            rooms[room] += words
        else:
            rooms[""] += words
    return rooms


def test_the_architecture_page_names_every_module_and_the_rooms_in_their_order() -> (
    None
):
    rooms = tree_of((REPO / "docs" / "architecture.md").read_text(encoding="utf-8"))
    named = {f"{room}{name}.py" for room, names in rooms.items() for name in names}
    modules = {path.relative_to(REPO / "ccmove").as_posix() for path in MODULES}
    assert named == {name for name in modules if "__init__" not in name}
    packages = tuple(room.rstrip("/") for room in rooms if room)
    assert packages == tuple(room for room in ROOMS if room in packages)


def test_the_tree_of_the_architecture_page_fits_on_a_screen() -> None:
    page = (REPO / "docs" / "architecture.md").read_text(encoding="utf-8")
    block = page.partition("```\nccmove/\n")[2].partition("```")[0]
    assert len(block.splitlines()) < 40


def test_the_architecture_page_names_no_file_that_is_gone() -> None:
    page = (REPO / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(
        re.findall(
            r"`((?:rewrite|claude|plan|run|transfer|inspect|report|commands|inside|cli)"
            r"/\w+)(?:\.py)?`",
            page,
        )
    )
    assert len(named) > 30
    for name in named - {"run/files"}:
        assert (REPO / "ccmove" / f"{name}.py").is_file(), name


def test_every_place_that_is_rewritten_is_in_the_table() -> None:
    text = (REPO / "docs/claude-state.md").read_text(encoding="utf-8")
    for place in PLACES:
        assert f"`$C/{place.pattern}`" in text
    for name in PROJECT_FILES:
        spelled = re.sub("settings.*json", "settings*.json", name)
        assert f"`<repo>/{spelled}`" in text


def test_the_commands_in_the_readme_are_those_of_the_help(tmp_path: Path) -> None:
    page = (REPO / "README.md").read_text(encoding="utf-8")
    copy = tmp_path / "README.md"
    # The control: what is missing, or said otherwise, is written again.
    row = "    ccmove doctor      Find lost projects"
    for text in (page, page.replace(row, "    ccmove doctor      Cure")):
        copy.write_text(text, encoding="utf-8")
        assert output_of_make(copy) == page, "make man"
    assert row in page
    for name in set(COMMANDS) - {"move", "verify"}:
        assert f"\n    ccmove {name} " in page


def test_the_places_in_the_readme_are_those_that_are_rewritten() -> None:
    page = (REPO / "README.md").read_text(encoding="utf-8")
    table = page.partition("\n## What is moved\n")[2].partition("\n## ")[0]
    layout = Layout(Path("$C"), Path("~/.claude.json"), Path("~"))
    for place in (layout.history, layout.config_file):
        assert f"`{place.as_posix()}`" in table
    for name in (INDEX, ALIASES, f"{MEMORY}/", *PROJECT_FILES):
        spelled = re.sub("settings.*json", "settings*.json", name)
        assert f"{spelled}`" in table
    in_words = {"plugins": "plugins", "jobs": "background jobs"}
    for place in PLACES:
        folder, *_ = place.pattern.split("/")
        name = f"`{Path(place.pattern).name}`"
        assert in_words.get(folder, name) in table


def test_the_readme_is_short() -> None:
    assert len((REPO / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_every_command_in_the_readme_is_one() -> None:
    page = (REPO / "README.md").read_text(encoding="utf-8")
    page = re.sub(r"<!-- from .*?<!-- end -->", "", page, flags=re.DOTALL)
    typed = re.findall(r"`ccmove ([^`]+)`", page) + re.findall(
        r"^    ccmove (.+?)  ", page, re.M
    )
    assert len(typed) > 15
    for line in typed:
        if re.match("[a-z]", line):
            assert line.split()[0] in {*COMMANDS, *OTHER_NAMES}
        ours, _, _ = line.partition(" \\| ")  # in a table a pipe is written so
        name, *rest = with_command(ours.split())
        command = command_named(name) if name in COMMANDS else app
        with contextlib.suppress(TextWanted):
            command.make_context(name, rest)


@pytest.mark.parametrize(
    "page", [*REPO.glob("*.md"), *REPO.glob("docs/*.md")], ids=lambda p: p.name
)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    for target in re.findall(
        r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")
    ):
        assert (page.parent / target).exists(), target
