"""The sample state is what it claims to be; nothing here imports ccmove."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.oddlines import OddLine, kind_names, stringify
from tests.support.state import StateBuilder, encoded_name
from tests.support.tree import diff, snapshot

FACTS = Path(__file__).parent.parent / "fixtures" / "facts"
SLUGS = json.loads((FACTS / "slugs.json").read_bytes())
NAMED = [(pair["path"], pair["name"]) for pair in SLUGS["names"]]


@pytest.mark.parametrize(("path", "name"), NAMED, ids=range(len(NAMED)))
def test_the_encoded_name_is_the_one_the_real_client_wrote(path: str, name: str) -> None:
    assert encoded_name(path) == name


def test_the_facts_hold_names_of_every_sort() -> None:
    assert len(NAMED) >= 25
    assert any(len(name) > 200 for _, name in NAMED)


def test_the_same_calls_give_the_same_bytes_and_times(tmp_path: Path) -> None:
    trees = []
    for copy in ("one", "two"):
        state = StateBuilder(tmp_path / copy, spelled_home="/home/dev")
        state.project("/home/dev/code/app", index=True, memory={"MEMORY.md": "x\n"})
        state.odd_history("/home/dev/code/app", 100)
        trees.append(snapshot(state.root))
    assert diff(*trees, mtimes="transcripts", inodes="none") == []


def test_a_project_has_everything_the_client_keeps_about_it(state: StateBuilder) -> None:
    app = state.project(
        "my-app", sessions=3, index=True, memory={"MEMORY.md": "hi"}, make_folder=True, repo="a/b"
    )
    assert app.path == str(state.code / "my-app")
    assert Path(app.path).is_dir()
    assert app.directory == state.projects / encoded_name(app.path)
    assert len(set(app.sessions)) == 3
    for session, transcript in zip(app.sessions, app.transcripts, strict=True):
        assert _cwds(transcript) == {app.path}
        assert len(list((app.directory / session / "subagents").glob("agent-*.jsonl"))) == 1
        assert len(list((app.directory / session / "tool-results").glob("*.txt"))) == 1
    assert (app.memory / "MEMORY.md").read_text() == "hi"
    assert [line["project"] for line in _lines(state.history)] == [app.path] * 3
    assert state.config()["projects"][app.path]["hasTrustDialogAccepted"] is True
    assert state.config()["githubRepoPaths"] == {"a/b": [app.path]}


def test_what_is_not_asked_for_is_not_made(state: StateBuilder) -> None:
    app = state.project("bare", sessions=1, config=None, prompts=0, subagents=False)
    assert [file.name for file in app.directory.iterdir()] == [f"{app.sessions[0]}.jsonl"]
    assert state.history.read_bytes() == b""
    assert state.config()["projects"] == {}
    assert not (state.code / "bare").exists()


def test_name_and_cwd_can_differ_from_the_path(state: StateBuilder) -> None:
    app = state.project("here", name="-other-name", cwd="/long/ago")
    assert app.directory.name == "-other-name"
    assert _cwds(app.transcripts[0]) == {"/long/ago"}


def test_the_records_of_a_transcript_form_one_chain(state: StateBuilder) -> None:
    records = _lines(state.project("app").transcripts[0])[1:]
    parents = [record["parentUuid"] for record in records]
    assert parents == [None, *(record["uuid"] for record in records[:-1])]
    assert [record["timestamp"] for record in records] == sorted(r["timestamp"] for r in records)


def test_transcripts_are_of_the_past_with_nanoseconds_and_are_private(state: StateBuilder) -> None:
    statuses = [file.stat() for file in state.project("app", sessions=3).transcripts]
    assert len({status.st_mtime_ns for status in statuses}) == 3
    assert all(status.st_mtime_ns % 1000 for status in statuses)
    assert {status.st_mode & 0o777 for status in statuses} == {0o600}


def test_the_index_has_the_form_the_real_client_gave_it(state: StateBuilder) -> None:
    real_bytes = (FACTS / "client-2.1.23" / "sessions-index.json").read_bytes()
    app = state.project("app", sessions=2, index=True)
    made_bytes = app.index.read_bytes()
    real, made = json.loads(real_bytes), json.loads(made_bytes)
    assert _shape(made) == _shape(real)
    for data, document in ((real_bytes, real), (made_bytes, made)):
        assert stringify(document, 2) == data
    assert [entry["fullPath"] for entry in made["entries"]] == list(map(str, app.transcripts))
    mtimes = [file.stat().st_mtime_ns // 10**6 for file in app.transcripts]
    assert [entry["fileMtime"] for entry in made["entries"]] == mtimes


def test_projects_that_share_a_directory_share_its_index(state: StateBuilder) -> None:
    first = state.project("my_app", sessions=1, index=True)
    second = state.project("my-app", sessions=2, index=True)
    assert first.directory == second.directory
    index = json.loads(first.index.read_bytes())
    assert [entry["projectPath"] for entry in index["entries"]] == [first.path] + [second.path] * 2


@pytest.mark.parametrize("version", ["client-2.1.23", "client-2.1.325"])
def test_a_prompt_has_the_form_the_real_client_gave_it(state: StateBuilder, version: str) -> None:
    real = (FACTS / version / "history.jsonl").read_bytes().splitlines(keepends=True)
    state.add_prompt("app", "prompt: fix the café menu")
    made = state.history.read_bytes()
    assert _shape(json.loads(made)) == _shape(json.loads(real[0]))
    for line in (*real, made):
        assert stringify(json.loads(line)) + b"\n" == line
    assert state.history.stat().st_mode & 0o777 == 0o600


def test_the_config_file_has_the_form_the_real_client_gave_it(state: StateBuilder) -> None:
    real = (FACTS / "client-2.1.325" / "dot-claude.json").read_bytes()
    assert stringify(json.loads(real), 2) == real
    state.project("app")
    made = state.config_file.read_bytes()
    assert stringify(json.loads(made), 2) == made
    assert list(json.loads(made)) == list(json.loads(real))


def test_a_running_session_is_recorded_as_the_real_client_does(state: StateBuilder) -> None:
    real = (FACTS / "client-2.1.325" / "sessions-PID.json").read_bytes()
    facts = json.loads(real)
    file = state.session_file(4711, facts["cwd"], "183203", facts["sessionId"])
    made = json.loads(file.read_bytes())
    assert file == state.config_dir / "sessions" / "4711.json"
    assert _shape(made) == _shape(facts)
    assert (made["pid"], made["procStart"], made["cwd"]) == (4711, "183203", facts["cwd"])


class TestOddHistory:
    OLD, NEW = "/home/dev/code/café", '/srv/new "home"/café\\'

    @pytest.fixture
    def odd(self, state: StateBuilder) -> list[OddLine]:
        return state.odd_history(self.OLD, len(kind_names()) + 1)

    def test_every_kind_is_there_and_the_file_is_the_lines_joined(
        self, state: StateBuilder, odd: list[OddLine]
    ) -> None:
        assert [line.kind for line in odd[:-1]] == kind_names()
        assert state.history.read_bytes() == b"".join(line.raw for line in odd)
        assert all(line.raw.endswith(b"\n") and line.raw.count(b"\n") == 1 for line in odd[:-1])
        assert b"\n" not in odd[-1].raw

    def test_the_expected_line_is_the_one_a_full_parse_gives(self, odd: list[OddLine]) -> None:
        for line in odd:
            before, after = _strict(line.raw), _strict(line.expected(self.OLD, self.NEW))
            assert after == self._parsed_and_moved(before), line.kind

    def test_a_line_that_does_not_count_stays_byte_for_byte(self, odd: list[OddLine]) -> None:
        stays = [
            line for line in odd if _strict(line.raw) == self._parsed_and_moved(_strict(line.raw))
        ]
        moves = [line for line in odd if line not in stays]
        assert len(stays) >= 20
        assert len(moves) >= 20
        assert all(line.expected(self.OLD, self.NEW) == line.raw for line in stays)
        assert all(line.expected(self.OLD, self.NEW) != line.raw for line in moves)

    def test_the_moved_value_is_spelled_as_the_client_spells_it(self, odd: list[OddLine]) -> None:
        escaped = next(line for line in odd if line.kind == "all escaped")
        assert rb'"\u002f\u0068' in escaped.raw
        moved = escaped.expected(self.OLD, self.NEW)
        assert '"project":"/srv/new \\"home\\"/café\\\\",'.encode() in moved

    def test_a_second_batch_is_refused_because_it_would_be_glued_on(
        self, state: StateBuilder, odd: list[OddLine]
    ) -> None:
        with pytest.raises(ValueError, match="final newline"):
            state.odd_history(self.OLD, 1)

    def _parsed_and_moved(self, value: Any) -> Any:
        """The rule of a move on a parsed line: of its pairs, the last `project` counts."""
        if not (isinstance(value, list) and value and isinstance(value[0], tuple)):
            return value
        keys = [key for key, _ in value]
        if "project" not in keys:
            return value
        at = len(keys) - 1 - keys[::-1].index("project")
        project = value[at][1]
        if isinstance(project, str) and (project + "/").startswith(self.OLD + "/"):
            moved = self.NEW + project.removeprefix(self.OLD)
            return [*value[:at], ("project", moved), *value[at + 1 :]]
        return value


def _strict(line: bytes) -> Any:
    """Objects as lists of (key, value) pairs, numbers as spelled; what is not JSON is itself."""
    try:
        return json.loads(
            line.decode("utf-8"),
            object_pairs_hook=list,
            parse_float=str,
            parse_int=str,
            parse_constant=_refuse,
        )
    except ValueError:
        return line


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_bytes().split(b"\n")[:-1]]


def _cwds(transcript: Path) -> set[str]:
    return {record["cwd"] for record in _lines(transcript) if "cwd" in record}


def _shape(value: Any) -> Any:
    """Keys in order, and types: what two documents of one form have in common."""
    if isinstance(value, dict):
        return [(key, _shape(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [_shape(item) for item in value[:1]]
    return type(value).__name__
