"""The worked example of this directory's README does what it says."""

import re
from pathlib import Path

import pytest

README = Path(__file__).with_name("README.md")


@pytest.mark.crash
def test_the_example_by_hand_ends_as_it_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert found is not None
    exec(found[1], {})
    expected = re.search(r"# (-9 .*)", found[1])
    assert expected is not None
    assert capsys.readouterr().out == f"{expected[1]}\n"
