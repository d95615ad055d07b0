"""Decides what a move does: frozen data out."""
