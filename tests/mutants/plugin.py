"""Makes the tests fit for mutation testing: repeatable, and quick also where they fail."""

import os
import sys

import hypothesis
import pytest


def pytest_configure() -> None:
    os.environ["CCMOVE_TEST_DEPTH"] = "20000"  # every call takes much longer here
    hypothesis.settings.register_profile(
        "mutants",
        deadline=None,
        derandomize=True,
        database=None,
        max_examples=50,
        phases=[
            hypothesis.Phase.explicit,
            hypothesis.Phase.generate,
        ],  # any failure will do
    )
    hypothesis.settings.load_profile("mutants")
    _forget()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item._nodeid = item.nodeid  # type: ignore[attr-defined]  # mutmut still asks for this


def _forget() -> None:
    """What was computed before the mutant was switched on would hide it."""
    modules = [
        module for name, module in sys.modules.items() if name.startswith("ccmove.")
    ]
    for module in modules:
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()
