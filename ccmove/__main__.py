"""The program: `ccmove`, and `python -m ccmove`."""

import sys


def is_hook(words: list[str]) -> bool:
    """Whether Claude Code runs us: then only what that needs is loaded."""
    if words[:1] != ["hook"]:
        return False
    options = words[1:]
    if not options:
        return True
    return len(options) == 2 and options[0] == "--config-dir"


try:
    if is_hook(sys.argv[1:]):
        from ccmove.inside.hook import run_by_client as main
    else:
        from ccmove.cli.main import main
except (
    KeyboardInterrupt
):  # while Python was still loading; later ones end in the boundary
    if is_hook(sys.argv[1:]):
        sys.exit(0)  # anything else is an error on the screen
    sys.stderr.write("ccmove: interrupted; nothing was done\n")
    sys.exit(130)

if __name__ == "__main__":
    main()
