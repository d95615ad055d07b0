"""docs/proofs.md names tests: each exists, and every promise of SAFETY.md has some."""

import re
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
PROMISES = (REPO / "SAFETY.md").read_text(encoding="utf-8")
DOCUMENT = (REPO / "docs/proofs.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", DOCUMENT)


@pytest.mark.parametrize(
    ("file", "name"), NAMED, ids=lambda part: part.rpartition("/")[2]
)
def test_a_test_that_is_named_exists(file: str, name: str) -> None:
    assert (REPO / file).is_file(), f"{file} is gone"
    assert re.search(
        rf"^ *def {name}\(", (REPO / file).read_text(encoding="utf-8"), re.MULTILINE
    )


def test_every_promise_names_a_test() -> None:
    sections = re.split(r"^## ", DOCUMENT, flags=re.MULTILINE)[1:]
    assert len(sections) >= 10
    for section in sections:
        title, _, body = section.partition("\n")
        if not title.startswith("What does not hold"):
            assert "::test_" in body, title


def test_every_test_that_looks_named_is_checked() -> None:
    assert len(NAMED) == DOCUMENT.count("::test_")


def test_what_is_expected_to_fail_is_admitted() -> None:
    """A promise whose test carries the mark is not proven: its file is listed, and no
    other is.
    """
    admitted = DOCUMENT.partition("(xfail)")[2].partition("What it is about")[0]
    listed = set(re.findall(r"`(tests/[\w/]+\.py)`", admitted))
    marked = {
        file for file, _ in NAMED if "mark.xfail" in (REPO / file).read_text("utf-8")
    }
    assert listed == marked


def test_the_promises_are_one_page_and_each_is_proven() -> None:
    assert len(PROMISES.splitlines()) <= 120
    promised = re.findall(r"^### (.*)$", PROMISES, re.MULTILINE)
    assert len(promised) >= 9
    proven = re.findall(r"^## (.*)$", DOCUMENT, re.MULTILINE)
    for title in promised:
        assert title in proven
