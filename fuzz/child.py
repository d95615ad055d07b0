"""The process that fuzzes: `child TARGET PLANTED -option=value… CORPUS…`, the latter
libFuzzer's.

atheris ends the process itself, so all that is wanted of it afterwards is done by its
parent.
"""

from __future__ import annotations

import importlib
import shlex
import sys


def main() -> None:
    import atheris

    target, bug, *options = sys.argv[1:]
    # Only the code under test guides the search: to cover the oracles is nobody's aim.
    with atheris.instrument_imports(include=["ccmove"]):
        check = importlib.import_module(f"fuzz.{target}").check
    if bug != "-":
        from fuzz.planted import BUGS

        BUGS[target][bug](setattr)
    # When it merges, libFuzzer starts itself again, through a shell and by this name.
    command = shlex.join([sys.executable, "-m", "fuzz.child", target, bug])
    atheris.Setup([command, *options], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
