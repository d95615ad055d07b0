"""The program: `ccmove`, and `python -m ccmove`."""

import sys

try:
    from ccmove.cli.main import main
except (
    KeyboardInterrupt
):  # while Python was still loading; later ones end in the boundary
    sys.stderr.write("ccmove: interrupted; nothing was done\n")
    sys.exit(130)

if __name__ == "__main__":
    main()
