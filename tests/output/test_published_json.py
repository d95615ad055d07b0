"""The published form of `--json`: the schema, its page, and that tests hold to it."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ccmove.cli.main import COMMANDS, command_named
from ccmove.cli.options import JSON
from tests.inspect.conftest import make_repo
from tests.output.golden import UPDATE
from tests.output.inprocess import Run
from tests.support.packed import archive
from tests.support.published import SCHEMA, check_json, closed, problems
from tests.support.run import run_ccmove
from tests.support.state import StateBuilder, encoded_name

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
SCHEMA_RECORD = json.loads(SCHEMA.read_text(encoding="utf-8"))
WIDE = 100
HOME = "/home/me"
FRAGMENT = re.compile(r"^(    ccmove (.*)\n\n)```json\n((?:.*\n)*?)```$", re.M)


def example(state: StateBuilder) -> None:
    """Two projects of a home that were renamed: `shop` is `store` now, `blog` is
    `journal`.
    """
    code = state.home / "code"
    notes = {"MEMORY.md": "- prices are in euro\n"}
    state.project(code / "shop", sessions=1, prompts=1, memory=notes)
    (code / "store").mkdir(parents=True)
    blog = state.project(code / "blog", sessions=1, prompts=0, repo="me/blog")
    used = int(blog.transcripts[0].stat().st_mtime)
    make_repo(code / "journal", "me/blog", at=used + 1)
    (state.home / "laptop.tar.gz").write_bytes(of_laptop())


def of_laptop() -> bytes:
    """An archive of a project that was packed in another home."""
    session = "8c4d3df5-889f-434c-ba1c-22f23fd7cb1b"
    path = "/home/me-too/code/store"
    turn = {"type": "user", "cwd": path, "sessionId": session}
    prompt = {"display": "hello", "project": path, "sessionId": session}
    rows: list[tuple[str, str, dict[str, Any], int]] = [
        ("transcript", f"projects/1/sessions/{session}.jsonl", turn, 10**18),
        ("history", "projects/1/history.jsonl", prompt, 0),
        ("config", "projects/1/config.json", {"hasTrustDialogAccepted": True}, 0),
    ]
    git = {"root": None, "remote": None}
    return archive(
        [(role, name, line(data), date) for role, name, data, date in rows],
        [{"path": path, "git": git}],
        "/home/me-too",
    )


def line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def normalised(text: str, state: StateBuilder) -> Any:
    """The same wherever and whenever it ran."""
    for place, stands_for in (
        (str(state.home), HOME),
        (str(state.home).replace("/", "~1"), HOME.replace("/", "~1")),
        (encoded_name(str(state.home)), encoded_name(HOME)),
    ):
        text = text.replace(place, stands_for)
    text = re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{4}", "20261118T101500Z-3f9c", text)
    text = re.sub(r'"(bytes|size)": [1-9]\d*', r'"\1": 4096', text)
    text = re.sub(r"\b[\d.]+ kB\b", "4.1 kB", text)  # paths are part of it
    return json.loads(text)


def written(value: Any, indent: int = 0, room: int = WIDE) -> str:
    """JSON that takes a line for what fits in one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= room or not isinstance(value, list | dict):
        return line
    inner = " " * (indent + 2)
    if isinstance(value, list):
        rows = [written(part, indent + 2) for part in value]
    else:
        rows = [
            f"{json.dumps(name)}: {written(part, indent + 2, room - len(name) - 4)}"
            for name, part in value.items()
        ]
    start, end = json.dumps(type(value)())
    body = f",\n{inner}".join(rows)
    return f"{start}\n{inner}{body}\n{' ' * indent}{end}"


def examples(page: str) -> Iterator[tuple[str, Any]]:
    for _, line, text in FRAGMENT.findall(page):
        yield line, json.loads(text)


def test_each_example_is_what_the_command_prints(state: StateBuilder) -> None:
    example(state)
    page = PAGE.read_text(encoding="utf-8")
    printed = {}
    for line, _ in examples(page):
        words = [word.replace("~", str(state.home)) for word in line.split()]
        printed[line] = normalised(run_ccmove(*words, state=state).out, state)
    if os.environ.get(UPDATE):
        page = FRAGMENT.sub(
            lambda part: f"{part[1]}```json\n{written(printed[part[2]])}\n```", page
        )
        PAGE.write_text(page, encoding="utf-8")
    assert len(printed) > 8
    for line, record in examples(page):
        assert record == printed[line], f"{line}: {UPDATE}=1 rewrites {PAGE}"


def test_each_example_is_as_published() -> None:
    for line, record in examples(PAGE.read_text(encoding="utf-8")):
        assert not [*problems(record)], line


def test_each_command_with_json_has_an_example() -> None:
    lines = [line for line, _ in examples(PAGE.read_text(encoding="utf-8"))]
    for name in COMMANDS:
        if JSON in command_named(name).params and name != "move":
            assert any(line.startswith(f"{name} ") for line in lines), name
    assert any(line.startswith("~") for line in lines)  # a move


def test_each_object_of_the_schema_is_on_the_page() -> None:
    records = [record for _, record in examples(PAGE.read_text(encoding="utf-8"))]
    for choice in SCHEMA_RECORD["anyOf"]:
        alone = closed({**SCHEMA_RECORD, "anyOf": [choice]})
        validator = Draft202012Validator(alone)
        assert any(validator.is_valid(record) for record in records), choice


def test_programs_must_take_what_is_added() -> None:
    """The promise of stability: no key is closed to whoever reads."""
    assert '"additionalProperties": false' not in SCHEMA.read_text(encoding="utf-8")
    for _, record in examples(PAGE.read_text(encoding="utf-8")):
        with_more = {**record, "of tomorrow": 1}
        assert Draft202012Validator(SCHEMA_RECORD).is_valid(with_more)
        assert [*problems(with_more)]


WRONG = {
    "a key that is not published": {"more": 1},
    "a status that is not published": {"status": "listed"},
    "a count that is a text": {"projects": [{"sessions": "2"}]},
    "another version": {"schema": 2},
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_output_fails(what: str, state: StateBuilder) -> None:
    """The control of all other tests: what they print is held against the schema."""
    record = run_ccmove("list", "--json", state=state).json()
    check_json(["list", "--json"], 0, json.dumps(record))
    with pytest.raises(AssertionError, match="ccmove list"):
        check_json(["list", "--json"], 0, json.dumps({**record, **WRONG[what]}))


def test_an_exit_code_that_the_page_does_not_have_fails(state: StateBuilder) -> None:
    out = run_ccmove("list", "--json", state=state).out
    check_json(["list", "--json"], 0, out)
    with pytest.raises(AssertionError, match="no ok with 3"):
        check_json(["list", "--json"], 3, out)


def test_an_output_that_is_no_json_fails() -> None:
    check_json(["list"], 0, "FOLDER")
    check_json(["list", "--", "--json"], 0, "FOLDER")
    for text in ("FOLDER", "{}\n{}"):
        with pytest.raises(ValueError, match=r"Expecting|Extra data"):
            check_json(["list", "--json"], 0, text)


@pytest.mark.parametrize("words", [("list", "--json"), ("where", "--json", "/x")])
def test_a_program_that_prints_something_else_is_noticed(
    words: tuple[str, ...], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(*words)
    monkeypatch.setattr("ccmove.report.json.SCHEMA", 2)
    with pytest.raises(AssertionError, match=r"\$\.schema"):
        run(*words)


def test_a_child_that_prints_something_else_is_noticed(
    state: StateBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same of the ways in which most tests run it."""
    for alone in (False, True):
        run_ccmove("list", "--json", state=state, alone=alone)
    monkeypatch.setattr("tests.support.published.problems", lambda _: ["something"])
    for alone in (False, True):
        with pytest.raises(AssertionError, match="something"):
            run_ccmove("list", "--json", state=state, alone=alone)
