"""The trees in `fixtures/` are what their README says."""

import json
from pathlib import Path

import pytest

from tests.support import fixture_states
from tests.support.fixture_states import BUILDERS, STATES
from tests.support.state import encoded_name

PLAIN = STATES / "plain" / "home"
PATHS = [
    "/home/dev/code/my-app",
    "/home/dev/code/my-app/packages/core",
    "/home/dev/code/my-app-docker",
]


def _files(root: Path) -> dict[str, bytes]:
    # Git keeps neither times nor modes, so bytes are all there is to compare.
    return {str(f.relative_to(root)): f.read_bytes() for f in root.rglob("*") if f.is_file()}


@pytest.mark.parametrize("name", BUILDERS)
def test_a_fixture_state_is_what_its_builder_makes(name: str, tmp_path: Path) -> None:
    fixture_states.write_all(tmp_path)
    assert _files(STATES / name) == _files(tmp_path / name)


def test_there_is_no_fixture_state_without_a_builder() -> None:
    assert {folder.name for folder in STATES.iterdir()} == set(BUILDERS)


def test_plain_has_a_project_a_nested_one_and_a_sibling_with_the_same_prefix() -> None:
    directories = {folder.name for folder in (PLAIN / ".claude" / "projects").iterdir()}
    assert directories == {encoded_name(path) for path in PATHS}
    assert list(json.loads((PLAIN / ".claude.json").read_bytes())["projects"]) == PATHS
    history = (PLAIN / ".claude" / "history.jsonl").read_bytes().splitlines()
    projects = [json.loads(line)["project"] for line in history]
    assert [projects.count(path) for path in PATHS] == [3, 1, 2]


def test_the_index_of_plain_names_the_transcripts_beside_it() -> None:
    for path in (PATHS[0], PATHS[2]):
        directory = PLAIN / ".claude" / "projects" / encoded_name(path)
        entries = json.loads((directory / "sessions-index.json").read_bytes())["entries"]
        spelled = {str(Path("/home/dev") / f.relative_to(PLAIN)) for f in directory.glob("*.jsonl")}
        assert {entry["fullPath"] for entry in entries} == spelled
        assert {entry["projectPath"] for entry in entries} == {path}


def test_no_fixture_names_the_machine_it_was_made_on() -> None:
    for name, content in _files(STATES).items():
        for place in (b"/tmp", b"/root", str(STATES.parents[1]).encode()):
            assert place not in content, name
