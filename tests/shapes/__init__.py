"""Every shape a move can have, end to end: the exact tree after it, and after its
undoing.
"""
