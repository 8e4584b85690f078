"""Build the source distribution and a wheel into build/dist, and check both: `make dist`.

The wheel is built from the source distribution, not from the folder. Files carry the time of the last commit, or
SOURCE_DATE_EPOCH if it is set: the same source gives the same bytes, which `--twice` checks by building it all again.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.release import contents
from tools.release.finish import finish

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "dist"


def main() -> None:
    """Build, check, and list what there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--twice", action="store_true", help="build everything a second time, and compare the bytes")
    options = parser.parse_args()
    os.environ.setdefault("SOURCE_DATE_EPOCH", run("git", "log", "-1", "--format=%ct").strip())
    if run("git", "status", "--porcelain", "--untracked-files=no"):
        print("What is not committed is not in these files: git has uncommitted changes.", file=sys.stderr)
    shutil.rmtree(FOLDER, ignore_errors=True)
    files = build(FOLDER)
    check(files)
    if options.twice:
        compare(files)
    for each in files:
        print(f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.stat().st_size:>9,} bytes  {each.name}")


def build(folder: Path) -> list[Path]:
    """Build the source distribution, the wheel from it, and finish the wheel."""
    with tempfile.TemporaryDirectory() as name:
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", name, str(ROOT))
        (wheel,), (sdist,) = Path(name).glob("*.whl"), Path(name).glob("*.tar.gz")
        folder.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copy(sdist, folder)), finish(wheel, folder)]


def check(files: list[Path]) -> None:
    """Stop with sentences if something is wrong with the files."""
    sdist, wheel = files
    run(sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel))
    run(sys.executable, "-m", "check_wheel_contents", str(wheel))
    said = [f"{sdist.name}: {each}" for each in contents.problems_of_sdist(sdist)]
    said += [f"{wheel.name}: {each}" for each in contents.problems_of_wheel(wheel)]
    if said:
        raise SystemExit("\n".join(said))
    print("twine, check-wheel-contents, licences, bill of materials: nothing is wrong")


def compare(files: list[Path]) -> None:
    """Build again in another place; stop if a file differs."""
    with tempfile.TemporaryDirectory() as name:
        differ = [
            first.name
            for first, second in zip(files, build(Path(name)), strict=True)
            if first.name != second.name or first.read_bytes() != second.read_bytes()
        ]
    if differ:
        raise SystemExit(f"built twice, these differ: {', '.join(differ)}")
    print("built twice: the same bytes")


def run(*command: str) -> str:
    """Run a command in the repository and return what it prints; show it all if it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
