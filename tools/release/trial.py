"""Try the wheel of build/dist where nothing is but a fresh Debian: `make test-root`, as root, with debootstrap.

The Debian is made in build/root, without a compiler; in it the wheel is installed with Debian's own Python and pip, the
examples of README are run with their shell lines, and, if the command has it, the page of `adabypass watch` is fetched.
"""

import argparse
import os
import shutil
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = "--include=ca-certificates,python3,python3-venv"
PYTHON = "/srv/env/bin/python"
HERE = "/srv/trial"
PAGE = """
import subprocess, sys, time, urllib.request
watch = subprocess.Popen(["/srv/env/bin/adabypass", "watch", "--replay", "50", "nile", "--port", "8799"])
for _ in range(100):
    time.sleep(0.3)
    try:
        page = urllib.request.urlopen("http://127.0.0.1:8799/").read().decode()
        break
    except OSError:
        page = ""
watch.terminate()
watch.wait()
sys.exit(0 if "<html" in page.lower() else "adabypass watch has served no page")
"""


def main() -> None:
    """Make the root, install the wheel, and use it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT / "build" / "root")
    parser.add_argument("--suite", default="bookworm")
    options = parser.parse_args()
    (wheel,) = (ROOT / "build" / "dist").glob("*.whl")
    if not (options.root / "usr" / "bin" / "python3").exists():
        run(
            "debootstrap",
            "--variant=minbase",
            PACKAGES,
            options.suite,
            str(options.root),
            "http://deb.debian.org/debian",
        )
    prepare(options.root, wheel)
    inside = ["chroot", str(options.root), "env", "-C", HERE, "HOME=/root", "PATH=/srv/env/bin:/usr/bin:/bin"]
    if (
        subprocess.run(
            [*inside, "sh", "-c", "command -v cc gcc clang"], stdout=subprocess.DEVNULL, check=False
        ).returncode
        == 0
    ):
        raise SystemExit("there is a compiler in the root: nothing would be shown")
    run(*inside, "/usr/bin/python3", "-m", "venv", "--clear", "/srv/env")
    run(*inside, PYTHON, "-m", "pip", "--version")
    start = time.perf_counter()
    run(
        *inside,
        PYTHON,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--only-binary=:all:",
        f"{HERE}/{wheel.name}",
        "pandas",
        "matplotlib",
    )
    print(f"installed in {time.perf_counter() - start:.0f} s")
    run(*inside, PYTHON, "readme.py", "README.md")
    commands = subprocess.run([*inside, "adabypass", "--help"], capture_output=True, text=True, check=True).stdout
    if "\n  watch " in commands:
        run(*inside, PYTHON, "-c", PAGE)
        print("adabypass watch: its page is served")
    else:
        print("adabypass watch: this version has no such command")


def prepare(root: Path, wheel: Path) -> None:
    """Put into the root what is tried there, and how this machine reaches the package index."""
    place = root / HERE.removeprefix("/")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for each in (wheel, ROOT / "README.md", Path(__file__).with_name("readme.py")):
        shutil.copy(each, place)
    for name in ("etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"):
        if Path("/", name).exists():
            shutil.copyfile(Path("/", name), root / name)
    if not os.path.ismount(root / "proc"):
        run("mount", "-t", "proc", "proc", str(root / "proc"))


def run(*command: str) -> None:
    """Run a command, and end with its exit code if it fails."""
    code = subprocess.call(command)
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
