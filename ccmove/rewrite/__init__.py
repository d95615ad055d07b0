"""Texts in, texts out: which values of a document change. Touches no disk."""
