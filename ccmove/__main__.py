"""`python -m ccmove` is the same program."""

from ccmove.cli.main import main

if __name__ == "__main__":
    main()
