"""Wheels as archives: read, and written so that the same files give the same bytes."""

import base64
import hashlib
import os
import time
import zipfile
from pathlib import Path

Files = dict[str, tuple[bytes, int]]
"""Content and permissions of each file."""
EARLIEST = 315532800  # 1980, before which zip knows no time


def read(path: Path) -> Files:
    """Return the files of a wheel."""
    with zipfile.ZipFile(path) as archive:
        infos = [each for each in archive.infolist() if not each.is_dir()]
        return {each.filename: (archive.read(each), (each.external_attr >> 16) & 0o777) for each in infos}


def dist_info(files: Files) -> str:
    """Return the name of the folder of metadata."""
    (folder,) = {name.split("/")[0] for name in files if name.split("/")[0].endswith(".dist-info")}
    return folder


def write(path: Path, files: Files) -> None:
    """Write a wheel with a new RECORD: names in order, one time, from SOURCE_DATE_EPOCH."""
    info = dist_info(files)
    files = {name: value for name, value in files.items() if name != f"{info}/RECORD"}
    files = dict(sorted(files.items(), key=lambda item: (item[0].startswith(info), item[0])))
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, (content, _) in files.items())
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST)), EARLIEST))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (content, mode) in files.items():
            entry = zipfile.ZipInfo(name, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, on every system, so that permissions are kept
            entry.external_attr = (0o100000 | (0o755 if mode & 0o100 else 0o644)) << 16
            archive.writestr(entry, content)


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
