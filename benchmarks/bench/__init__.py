"""The benchmark: makes its data, runs everything interleaved, and prints tables of
medians.
"""
