"""One module a command; each takes explicit arguments and returns a frozen result."""
