"""The specification of the kernels: pure NumPy functions that cite the numbers of docs/equations.md.

They are written for clarity, not speed, and expect numbers whose squares are finite; only the kernels handle extreme
magnitudes (docs/decisions/0001).
"""
