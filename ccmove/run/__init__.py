"""Does what was planned, all or nothing, and takes it back."""
