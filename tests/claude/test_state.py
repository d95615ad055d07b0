"""The one look at the state: odd entries, closed directories, paths far down in a
transcript.
"""

import json
import os
from pathlib import Path

import pytest

from ccmove.claude.layout import Layout, find_layout
from ccmove.claude.state import State
from tests.support.state import StateBuilder
from tests.systems import windows


@pytest.fixture
def layout(state: StateBuilder) -> Layout:
    return find_layout(str(state.config_dir), {})


def test_odd_entries_are_listed_and_name_nothing(
    state: StateBuilder, layout: Layout
) -> None:
    handle = state.project("app", sessions=3, subagents=False, index=True)
    directory = handle.directory
    (directory / "empty.jsonl").touch()
    (directory / "folder.jsonl").mkdir()
    (directory / "torn.jsonl").write_bytes(b'{"cwd":"/x')
    (directory / "link.jsonl").symlink_to(directory / "empty.jsonl")
    windows.make_pipe(directory / "pipe.jsonl")
    (directory / "caf\udce9.txt").touch()
    found = State(layout).directory(handle.name)
    assert [item.name for item in found.items] == sorted(os.listdir(directory))
    assert [item.path for item in found.items if item.path] == [handle.path] * 3
    assert found.named_paths() == {handle.path}
    assert found.index_paths == {handle.path}


def test_a_transcript_that_can_t_be_read_is_told_by_its_full_path(
    state: StateBuilder, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = state.project("app", sessions=1)
    opened = os.open

    def closed(path: str | Path, flags: int, mode: int = 0o777, **more: int) -> int:
        if str(path).endswith(".jsonl"):
            raise PermissionError(13, "closed", path)
        return opened(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", closed)
    with pytest.raises(PermissionError) as caught:
        State(layout).directory(handle.name)
    assert caught.value.filename == str(handle.transcripts[0])


def test_the_path_behind_a_long_first_prompt_is_found(
    state: StateBuilder, layout: Layout
) -> None:
    directory = state.projects / "-x"
    directory.mkdir()
    record = {"message": {"content": "x" * 300_000}, "cwd": "/x"}
    (directory / "a.jsonl").write_text(json.dumps(record) + "\n")
    assert State(layout).directory("-x").items[0].path == "/x"


PROMPT = (
    '{"display":"%s","pastedContents":{},"timestamp":%s,"project":"%s","sessionId":"s"}'
)
ODD_LINES = [
    PROMPT % ("plain", 1794788328138, "/a"),
    PROMPT % ("older", 1794788328137, "/a"),
    PROMPT % (r"\" , \\ \n \u00e9 é", 1, "/b"),
    PROMPT % ("a tab\tis no JSON", 2, "/not"),
    PROMPT % (r"\x", 2, "/not"),
    PROMPT % ('" , "', 2, "/not"),
    PROMPT % ("leading zero", "01", "/not"),
    PROMPT % ("a fraction", "1.5", "/c"),
    PROMPT % ("too late", 10**15, "/c"),
    PROMPT % ("escaped", 3, r"/d\u0065"),
    '{"project":"/e"}',
    '{"project":"/first","display":"x","project":"/f","timestamp":4}\r',
    '{"display":"torn","pastedContents":{},"timesta' + PROMPT % ("x", 5, "/not"),
    '{"display":"x","pastedContents":{"1":{"project":"/not"}},"timestamp":5,"project":"/g"}',
    "[]",
    "",
    PROMPT % ("without an end", 6, "/a"),
]


@pytest.mark.parametrize("junk", [b"", b"\xff\n"], ids=["utf-8", "not all of it utf-8"])
def test_prompts_are_counted_as_a_parser_would(
    state: StateBuilder, junk: bytes
) -> None:
    """Most lines are checked by a pattern that is quicker than parsing: with the same
    result.
    """
    state.history.write_bytes(junk + "\n".join(ODD_LINES).encode())
    expected: dict[str, tuple[int, int]] = {}
    for line in ODD_LINES:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            number, last = expected.get(record["project"], (0, 0))
            time = int(record.get("timestamp", 0)) % 10**15
            expected[record["project"]] = number + 1, max(last, time * 1_000_000)
    layout = find_layout(str(state.config_dir), {"HOME": str(state.home)})
    assert State(layout).prompts == expected
    assert "/not" not in expected
