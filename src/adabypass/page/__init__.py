"""The live page: static files without a build step, and one file that holds them all.

uPlot 1.6.32 draws the axes; its licence is in `static/uPlot-LICENSE.txt`.
"""

from functools import cache
from importlib.resources import files
from types import MappingProxyType

from adabypass.errors import UnknownNameError

TYPES = MappingProxyType(
    {
        ".html": "text/html; charset=utf-8",
        ".css": "text/css; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".svg": "image/svg+xml",
        ".txt": "text/plain; charset=utf-8",
    }
)


@cache
def _contents() -> MappingProxyType[str, tuple[bytes, str]]:
    folder = files(__package__).joinpath("static")
    found = {}
    for each in folder.iterdir():
        kind = TYPES.get(f".{each.name.rpartition('.')[2]}")
        if kind is not None:
            found[each.name] = (each.read_bytes(), kind)
    return MappingProxyType(found)


def assets() -> list[str]:
    """Return the names of all files of the page."""
    return sorted(_contents())


def asset(name: str) -> tuple[bytes, str]:
    """Return the content of a file of the page, and its media type."""
    try:
        return _contents()[name]
    except KeyError:
        raise UnknownNameError(f"the page has no file {name!r}.") from None
