"""Print the requirements of the named groups of pyproject.toml, one per line, for pip.

`build` is what the library is built with, `run` what it needs at run time; other names are its extras, and the
dependency groups, which are for its developers.
"""

import sys
import tomllib
from pathlib import Path

if __name__ == "__main__":
    pyproject = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    project = pyproject["project"]
    groups = {
        "build": pyproject["build-system"]["requires"],
        "run": project["dependencies"],
        **project["optional-dependencies"],
        **pyproject["dependency-groups"],
    }
    for name in sys.argv[1:]:
        print(*(line.replace(" ", "") for line in groups[name] if not line.startswith("adabypass")), sep="\n")
