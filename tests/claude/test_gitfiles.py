"""What is read from git's own files."""

from pathlib import Path

from ccmove.claude.gitfiles import small_text


def test_what_is_no_small_file_holds_nothing(tmp_path: Path) -> None:
    file = tmp_path / "config"
    assert small_text(file) == ""
    file.write_bytes(b" a\xff\r\n")
    assert small_text(file) == "a\udcff"
    assert small_text(tmp_path) == ""
    assert small_text("a\0b") == ""
