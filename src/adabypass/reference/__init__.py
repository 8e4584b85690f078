"""The specification: pure functions in NumPy, belief in, belief out, each line with its number in docs/equations.md.

Clearer than they are fast, and meant for numbers whose squares are finite: the care that hostile magnitudes need is the
kernel's (docs/decisions/0001).
"""
