"""Fixtures of these tests: ccmove in this process, and the stage of a situation."""

from tests.output.inprocess import run
from tests.output.situations import stage

__all__ = ["run", "stage"]
