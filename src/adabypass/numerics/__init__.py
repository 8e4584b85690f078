"""Numerical limits, special functions, noise families, and the C loops for each instruction set."""
