"""Does what was planned, all or nothing, and undoes it."""
