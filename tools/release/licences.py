"""Which licence each file of the package is under, as REUSE.toml says."""

import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
CODE = (".py", ".pyi", ".pyx", ".pxd", ".c", ".h", ".so", ".pyd", ".build", ".typed")
"""Files of these kinds are written here, or compiled from what is."""


class Licence(NamedTuple):
    """What REUSE.toml says of a file."""

    path: str
    """The pattern that named it."""
    expression: str
    """SPDX expression, such as "BSD-3-Clause"."""
    copyright: str

    @property
    def identifiers(self) -> list[str]:
        """The licences of the expression, each with a text in LICENSES."""
        return [word for word in self.expression.replace("(", " ").replace(")", " ").split() if word not in OPERATORS]


OPERATORS = ("AND", "OR", "WITH")


def annotations(root: Path = ROOT) -> list[Licence]:
    """Return what REUSE.toml says, in its order."""
    table = tomllib.loads((root / "REUSE.toml").read_text(encoding="utf-8"))
    return [
        Licence(each["path"], each["SPDX-License-Identifier"], each["SPDX-FileCopyrightText"])
        for each in table["annotations"]
    ]


def of_file(path: str, known: Iterable[Licence]) -> Licence | None:
    """Return the licence of a file that is not code; None if it has no entry of its own."""
    found = [each for each in known if each.path != "**" and fnmatchcase(path, each.path)]
    return found[-1] if found else None


def not_code(paths: Iterable[str]) -> list[str]:
    """Select the files that need an entry of their own."""
    return [path for path in paths if not path.endswith(CODE)]


def problems(paths: Iterable[str], texts: Iterable[str], known: Iterable[Licence]) -> list[str]:
    """Say which files (named as in the source) have no entry, and which licences have no text."""
    known, texts, said = list(known), set(texts), []
    for path in not_code(paths):
        licence = of_file(path, known)
        if licence is None:
            said.append(f"{path} has no entry in REUSE.toml; add its licence and copyright there.")
            continue
        said += [
            f"{path} is under {name}, whose text LICENSES/{name}.txt is missing."
            for name in licence.identifiers
            if f"{name}.txt" not in texts
        ]
    return said
