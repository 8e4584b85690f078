"""Write the lock files, so that an environment a year from now is the same: `make lock`.

`development.txt` is for `make LOCKED=1 setup`: every tool of the environment and what it needs, for every Python and
system. `cibuildwheel.txt` is what the workflows build wheels with; its versions have checksums, and pip refuses others.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = Path("tools", "constraints")
GROUPS = ("build", "run", "plot", "sklearn", "river", "kafka", "holidays", "dev", "release")
"""What the Makefile installs."""


def main() -> None:
    """Write both."""
    wanted = [sys.executable, "tools/requirements.py", *GROUPS]
    tools = subprocess.run(wanted, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    compile_lock(tools, FOLDER / "development.txt", "make lock; make LOCKED=1 setup")
    compile_lock("cibuildwheel\n", FOLDER / "cibuildwheel.txt", "make lock", "--generate-hashes")


def compile_lock(requirements: str, out: Path, command: str, *options: str) -> None:
    """Resolve requirements into a lock file, whose first line names the command that wrote it."""
    settled = ["--universal", "--python-version", "3.11", "--no-annotate", "--quiet", "--upgrade"]
    subprocess.run(
        [sys.executable, "-m", "uv", "pip", "compile", "-", *settled, *options, "--output-file", str(out)],
        input=requirements, text=True, cwd=ROOT, check=True,
        env=os.environ | {"UV_CUSTOM_COMPILE_COMMAND": command},
    )  # fmt: skip


if __name__ == "__main__":
    main()
