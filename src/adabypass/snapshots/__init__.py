"""The format of saved models: a checked header of JSON and named arrays, in a file that holds nothing but data.

`container` writes and reads the bytes, `header` checks what a header says, `versions` knows the formats, and `savable`
is what every object that can be saved has in common. Nothing here knows of models.
"""
