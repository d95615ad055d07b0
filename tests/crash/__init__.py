"""The proof of "all or nothing": ccmove is killed, or failed, at every call of a run in
turn.
"""
