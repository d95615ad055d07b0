"""The laws of not losing, one by one, through the command line.

Each comes from a way in which data was really lost or mixed up in a trial. Where a kill
is part of the story, it is told again for every point at which the names on disk
change, in the scenarios that are most telling; tests/crash/test_world.py has all of
them (marked `exhaustive`).
"""
