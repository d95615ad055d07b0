"""`scripts/shape` sees what asks too much of a reader; `make check` holds us to it."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "shape"


@pytest.fixture(scope="module")
def shape() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("shape", str(SCRIPT))
    spec = importlib.util.spec_from_loader("shape", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["shape"] = module  # where dataclasses look for it
    loader.exec_module(module)
    return module


DENSE = """
def dense(a, b):
    '''Says what it does.'''
    x = [i for row in a for i in row]
    y = (1 if a else 2) + (3 if b else 4)
    return x, y
"""
BRANCHING = "def branching(a):\n" + "    if a:\n        a += 1\n" * 13
WIDE = "x = 1  # " + "x" * 88


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        (DENSE, ["2 conditional expressions", "2 loops in a comprehension"]),
        (BRANCHING, ["13 decisions", "13 decisions and no docstring"]),
        (WIDE, ["97 characters"]),
        ("def plain(a):\n    return a\n", []),
    ],
)
def test_it_sees_what_is_too_much(
    shape: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    complaints: list[str],
) -> None:
    monkeypatch.setattr(shape, "ROOT", tmp_path)
    module = tmp_path / "module.py"
    module.write_text(text, encoding="utf-8")
    _, found = shape.measure(module)
    reasons = sorted(
        complaint.why.partition(": ")[2] or complaint.why for complaint in found
    )
    assert len(reasons) == len(complaints)
    assert all(
        r.startswith(c) for r, c in zip(reasons, sorted(complaints), strict=True)
    )
