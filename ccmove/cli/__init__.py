"""The command line: one module a command, one place where errors end."""
