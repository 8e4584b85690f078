"""Finish a wheel: give it the tag of the systems it runs on, strip its symbols, add its bill of materials.

    python -m tools.release.finish WHEEL FOLDER

A wheel of Linux is repaired by auditwheel; cibuildwheel calls this for every system.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.release import sbom, wheel


def finish(path: Path, folder: Path) -> Path:
    """Write the finished wheel into a folder; return its path."""
    with tempfile.TemporaryDirectory() as name:
        if "-linux_" in path.name:
            path = _repaired(path, Path(name))
        files = wheel.read(path)
        info = wheel.dist_info(files)
        files[f"{info}/sboms/adabypass.cdx.json"] = (sbom.of_wheel(files), 0o644)
        folder.mkdir(parents=True, exist_ok=True)
        wheel.write(folder / path.name, files)
    return folder / path.name


def _repaired(path: Path, folder: Path) -> Path:
    """Return a copy without symbols that names the oldest Linux it runs on."""
    command = [sys.executable, "-m", "auditwheel", "repair", "--strip", "--wheel-dir", str(folder), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"auditwheel failed:\n{done.stdout}{done.stderr}")
    (repaired,) = folder.glob("*.whl")
    return repaired


if __name__ == "__main__":
    print(finish(Path(sys.argv[1]), Path(sys.argv[2])))
