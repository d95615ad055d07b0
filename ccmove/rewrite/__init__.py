"""Texts in, texts out: which values of a document change, and nothing else. Touches no disk."""
