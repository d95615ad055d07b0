"""The inputs that fuzzing left behind."""
