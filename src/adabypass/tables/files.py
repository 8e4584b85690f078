"""Files that appear when they are complete."""

import os
import shutil
from pathlib import Path


def replace_file(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write a file beside its place, then move it there in one step; folders are made as needed.

    Nothing half-written is left behind, and an older file stays until the new one is complete. A symbolic link stays
    one, and a replaced file keeps its permissions.
    """
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():  # a device or a pipe, which cannot be replaced
        place.write_bytes(content)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".{place.name[:100]}.{os.getpid()}.part")
    try:
        draft.write_bytes(content)
        if place.exists():
            shutil.copymode(place, draft)
        draft.replace(place)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from error  # the name given, not the draft's
    finally:
        draft.unlink(missing_ok=True)
