"""How belief moves: `reference` is the specification in NumPy, `kernel` the same in compiled code, in place on rows."""
