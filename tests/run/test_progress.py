"""The record of progress: what each one says, and which ones are refused."""

import os
from pathlib import Path

import pytest

from ccmove.errors import RefusedError
from ccmove.run import progress
from ccmove.run.progress import Reached, Record

NOT_BEGUN = Reached(0, has_begun=False)
RECORDS = {
    "empty": (b"", NOT_BEGUN),
    "at the commit point": (b"+0\n", Reached(0)),
    "some are done": (b"+0\n+1\n+2\n+3\n", Reached(3)),
    "all are done": (b"+0\n+9\n", Reached(9)),
    "the last line has no newline": (b"+0\n+1\n+2", Reached(1)),
    "the only line has no newline": (b"+", NOT_BEGUN),
    "zeros, as some disks have them after a power cut": (b"+0\n\0\0\0", Reached(0)),
    "a line that was cut off, and found": (b"+0\n+1?\n-1\n", Reached(1, True)),
    "on the way back": (b"+0\n+1\n+2\n+3\n-3\n-2\n", Reached(2, True)),
    "all the way back": (b"+0\n+1\n-1\n-0\n", Reached(0, True)),
    "torn on the way back": (b"+0\n+1\n+2\n-2\n-", Reached(2, True)),
}
REFUSED = {
    "words": b"+0\nhello\n",
    "a number without a sign": b"3\n",
    "a line that is empty": b"+0\n\n",
    "garbage before a line that is right": b"\0\0\0\n+1\n",
    "more operations than there are": b"+0\n+10\n",
    "a very long number": b"+" + b"1" * 5000 + b"\n",
    "a sign too many": b"+-1\n",
    "digits of another script": "+\u0663\n".encode(),
    "a line of another system": b"+1\r\n",
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_says_how_far_a_run_came(name: str, run: Path) -> None:
    text, meaning = RECORDS[name]
    (run / progress.NAME).write_bytes(text)
    assert progress.read(run, 9) == meaning


@pytest.mark.parametrize("name", REFUSED)
def test_a_record_that_no_run_writes_is_refused_and_kept(name: str, run: Path) -> None:
    file = run / progress.NAME
    file.write_bytes(REFUSED[name])
    with pytest.raises(RefusedError) as refused:
        progress.read(run, 9)
    assert str(file) in str(refused.value)
    assert file.read_bytes() == REFUSED[name]


def test_a_record_that_is_gone_is_refused(run: Path) -> None:
    with pytest.raises(RefusedError, match="gone"):
        progress.read(run, 9)


def test_lines_are_read_as_they_were_written(run: Path) -> None:
    progress.make(run)
    assert progress.read(run, 9) == NOT_BEGUN
    with Record(run) as record:
        for number in range(4):
            record.done(number)
            assert progress.read(run, 9) == Reached(number)
    with Record(run) as record:
        for number in (3, 2, 1, 0):
            record.left(number)
            assert progress.read(run, 9) == Reached(number, goes_back=True)


@pytest.mark.parametrize("torn", [b"+", b"+1", b"\0\0"])
def test_a_line_that_was_cut_off_does_not_become_another_one(
    torn: bytes, run: Path
) -> None:
    (run / progress.NAME).write_bytes(b"+0\n" + torn)
    with Record(run):
        assert progress.read(run, 9) == Reached(0)
    with Record(run) as record:
        record.left(2)
    assert progress.read(run, 9) == Reached(2, goes_back=True)


def test_each_line_is_flushed(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    monkeypatch.setattr("ccmove.run.disk.fsync", flushed.append)
    progress.make(run)
    with Record(run) as record:
        flushed.clear()
        record.done(0)
        record.done(1)
        record.left(1)
    assert len(flushed) == 3
