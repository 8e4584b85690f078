"""Text from files and frames, made fit to be shown."""

import unicodedata

HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that a terminal obeys instead of showing: control and format characters, lone surrogates and
separators of lines."""


def printable(text: object) -> str:
    r"""Return text in which every character that cannot be seen is replaced by its escape, such as \x1b or \n.

    Examples
    --------
    >>> print(printable("a\x1b[31m\nb"))
    a\x1b[31m\nb
    """
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in HIDDEN else char for char in plain
    )
