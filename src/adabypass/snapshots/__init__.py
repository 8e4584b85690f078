"""The format of saved models: a JSON header and named arrays, with a checksum; loading a file never runs code from it.

`container` writes and reads the bytes, `header` validates the values of a header, `versions` defines the formats, and
`savable` is the base class of objects that can be saved. This package does not depend on models.
"""
