"""Hostile, broken and strange input: nothing outside is touched, nothing is lost, no
traceback.
"""
