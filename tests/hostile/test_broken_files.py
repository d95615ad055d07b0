"""Garbage, wrong encodings, things that are not files: moved around, or refused and
left alone.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.attack import Target
from tests.shapes.bench import in_json
from tests.systems import windows

Break = Callable[[Target], object]
DEEP = b"[" * 100_000 + b"]" * 100_000


def config(change: Callable[[bytes], bytes]) -> Break:
    def write(target: Target) -> None:
        file = target.state.config_file
        file.write_bytes(change(file.read_bytes()))

    return write


def fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    windows.make_pipe(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def file(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    path.write_bytes(b"x")


def other_index(data: bytes) -> Break:
    def write(target: Target) -> None:
        target.target.mkdir()
        (target.target / "sessions-index.json").write_bytes(data)

    return write


REFUSED: dict[str, Break] = {
    "a config file that is cut": config(lambda data: data[:-20]),
    "a config file in UTF-16": config(lambda data: data.decode().encode("utf-16")),
    "a config file of NULs": config(lambda data: b"\0" * len(data)),
    "a config file nested deeply": config(
        lambda data: data[:-1] + b',"x":' + DEEP + b"}"
    ),
    "a config file of garbage": config(lambda _: b"\xff\xfe{"),
    "a pipe as config file": lambda t: fifo(t.state.config_file),
    "a folder as config file": lambda t: folder(t.state.config_file),
    "a pipe as history": lambda t: fifo(t.state.history),
    "a folder as history": lambda t: folder(t.state.history),
    "a file as projects": lambda t: file(t.state.projects),
    "a file as target": lambda t: file(t.target),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_and_left_alone_is(target: Target, what: str) -> None:
    REFUSED[what](target)
    target.remember()
    done = target.move()
    assert done.exit == 4, done
    target.nothing_changed()
    target.nothing_left_over()


MOVED: dict[str, Break] = {
    "an index of garbage to merge with": other_index(b"{"),
    "an empty config file": config(lambda _: b""),
    "a config file that is a list": config(lambda _: b"[1]"),
    "a config file with a byte order mark": config(lambda data: b"\xef\xbb\xbf" + data),
    "a number of 10,000 digits": config(
        lambda data: data[:-1] + b',"x":' + b"9" * 10_000 + b"}"
    ),
    "a pipe among the sessions": lambda t: fifo(
        t.state.config_dir / "sessions" / "1.json"
    ),
    "a folder as a job's state": lambda t: folder(t.job),
    "a pipe as a job's state": lambda t: fifo(t.job),
    "garbage as list of plugins": lambda t: t.plugins.write_bytes(b"\0{"),
    "an index with odd sessions": other_index(
        b'{"version":1,"entries":[{"sessionId":[]},{"sessionId":{}},7,null]}'
    ),
    "an index that is not one": lambda t: t.handle.index.write_bytes(b"[[[" * 1000),
    "an index nested deeply": lambda t: t.handle.index.write_bytes(
        b'{"x":' + DEEP + b"}"
    ),
    "a transcript of garbage": lambda t: t.handle.transcripts[0].write_bytes(
        b'\0"cwd":' + DEEP
    ),
}


@pytest.mark.parametrize("what", MOVED)
def test_what_is_odd_does_not_keep_the_rest_from_moving(
    target: Target, what: str
) -> None:
    MOVED[what](target)
    done = target.move()
    assert done.exit == 0, done
    assert target.target.is_dir()
    assert not target.handle.directory.exists()
    assert target.run("restore").exit == 0
    assert target.handle.directory.is_dir()


def test_deep_and_odd_lines_of_the_history_are_rewritten_or_kept(
    target: Target,
) -> None:
    """NULs and a line of 100,000 brackets stay, a number of 10,000 digits is only a
    number.
    """
    line = b'{"project":' + json.dumps(str(target.old)).encode() + b',"x":%s}\n'
    kept, moved = b"\0" * 100_000 + b"\n" + line % DEEP, line % (b"9" * 10_000)
    target.state.history.write_bytes(kept + moved)
    assert target.move().exit == 0
    expected = moved.replace(
        in_json(str(target.old)).encode(), in_json(str(target.new)).encode()
    )
    assert target.state.history.read_bytes() == kept + expected


def test_a_second_name_of_the_history_keeps_the_old_bytes(target: Target) -> None:
    second = target.state.home / "second-name"
    os.link(target.state.history, second)
    before = second.read_bytes()
    assert target.move().exit == 0
    assert second.read_bytes() == before
    assert target.state.history.read_bytes() != before
    assert target.run("restore").exit == 0
    assert target.state.history.read_bytes() == before
