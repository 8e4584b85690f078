"""The reference, compiled: in place on rows, safe for any finite input, without the interpreter's lock."""
