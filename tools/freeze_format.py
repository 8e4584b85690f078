"""Freeze the newest format of saved models: from now on its golden files stay as they are, and must load for ever.

    .venv/bin/python tools/freeze_format.py 0.2.0        # or: make freeze VERSION=0.2.0

Gives the library this version wherever it is named, writes the golden files once more, and adds their checksums to
tests/golden/frozen.sha256, which the tests compare with the files. A frozen format is not frozen again.
"""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.snapshots import golden

from adabypass.snapshots.versions import FORMAT

ROOT = Path(__file__).parents[1]
PLACES = {
    "meson.build": r"(?m)(^  version : ')[^']*(',)",
    "CITATION.cff": r"(?m)(^version: ).*()$",
    "README.md": r"(\n  version = \{)[^}]*(\})",
    "CHANGELOG.md": r"(\n## )Unreleased()\n",
}
"""Files that name the version, and what stands before and after it."""


def main() -> None:
    """Freeze the format, as the version of the command line."""
    version = sys.argv[1]
    if f"format-{FORMAT}/" in golden.FROZEN.read_text():
        raise SystemExit(f"format {FORMAT} is frozen already; a change of it needs format {FORMAT + 1} and an upgrade.")
    for name, pattern in PLACES.items():
        name_version(ROOT / name, pattern, version)
    for command in ("make setup", f"{sys.executable} tools/make_golden.py"):  # which hold the version
        subprocess.run(command, shell=True, cwd=ROOT, check=True)
    with golden.FROZEN.open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in checksums(golden.FOLDER / f"format-{FORMAT}"))
    print(f"format {FORMAT} is frozen, by adabypass {version}; commit tests/golden and the files that name the version")


def name_version(path: Path, pattern: str, version: str) -> None:
    """Replace the version that a file names; it must be there once."""
    text, n = re.subn(pattern, rf"\g<1>{version}\g<2>" + ("\n" if pattern.endswith(r"\n") else ""), path.read_text())
    if n != 1:
        raise SystemExit(f"{path.name} names the version {n} times instead of once")
    path.write_text(text)


def checksums(folder: Path) -> list[str]:
    """Return the lines that `sha256sum` prints of the files of a folder, seen from the folder of all."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(golden.FOLDER)}" for path in files]


if __name__ == "__main__":
    main()
