"""Small faults put into ccmove one at a time: does some test notice each?"""
