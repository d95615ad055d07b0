"""Fuzzing of what reads bytes that others chose; see README.md here."""
