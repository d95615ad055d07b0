"""ccmove in a forked child: under strace, sabotaged, or with something happening
inside.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.forked import ask
from tests.support.run import Completed, clean_environment
from tests.support.state import StateBuilder


@dataclass(frozen=True)
class Ended(Completed):
    """How a child ended, with strace's record."""

    trace: str = field(repr=False)


@dataclass(frozen=True)
class Job:
    """One command line for ccmove, where it runs, and how it is sabotaged.

    `hook` is one of `tests.hostile.hooks` with its arguments: what happens between two
    calls.
    """

    state: StateBuilder
    args: Sequence[str]
    input: str = ""
    sabotage: Sequence[str] = field(default=())
    hook: Sequence[str] = field(default=())
    cwd: Path | None = None

    def run(self, strace: Sequence[str] = ()) -> Ended:
        """Run it in a forked child; with options for strace, under strace."""
        request = {
            "args": list(self.args),
            "input": self.input,
            "cwd": str(self.cwd or self.state.code),
            "env": clean_environment(self.state),
            "strace": list(strace),
            # How many processes run on this machine would shift the count of a run's
            # calls.
            "sabotage": ["without_process_table", *self.sabotage],
            "hook": list(self.hook),
        }
        return Ended(**ask(request))
