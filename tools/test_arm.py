"""Compile the library for arm64 and run the tests of its kernels under QEMU, beside the same numbers of this machine.

As root, with debootstrap, qemu-user-static (and its binfmt) and gcc-aarch64-linux-gnu from Debian. The C code that
Cython wrote for this machine is compiled by the cross-compiler, with the same flags but those of instruction sets that
arm64 has not; it runs in a Debian of its own in build/arm/root, with NumPy and SciPy from PyPI.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from tests.numerics.learned import EVERY_MODEL, MANY_FEATURES

import adabypass

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "release"
FOLDER = ROOT / "build" / "arm"
COMPILER = "aarch64-linux-gnu-gcc"
HERE, THERE = "x86_64-linux-gnu", "aarch64-linux-gnu"
PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64")
TOOLS = ("pytest", "hypothesis", "mpmath", "pandas")
TESTS = ("tests/numerics", "tests/kernels", "tests/state", "tests/snapshots/test_golden.py")


class Unit(NamedTuple):
    """A C file and how it is compiled."""

    command: list[str]
    object: Path
    target: str
    """The library it belongs to, such as src/adabypass/bank.cpython-311-x86_64-linux-gnu.so."""


def main() -> None:
    """Make the root, compile, compare, and run the tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=FOLDER / "root", help="a Debian for arm64 that has Python")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("tests", nargs="*", default=TESTS)
    options = parser.parse_args()
    if not (options.root / "usr" / "bin" / "python3").exists():
        debootstrap(options.root)
    place = options.root / "srv" / "adabypass"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "tests", place / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    install_packages(options.root)
    compile_all(options.root, place / "adabypass", options.jobs)
    is_same = compare(options.root)
    print(f"{adabypass.__name__} on arm64: running {' '.join(options.tests)}", flush=True)
    code = inside(options.root, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *options.tests)
    raise SystemExit(code.returncode or not is_same)


def debootstrap(root: Path) -> None:
    """Install the Debian whose Python has the version of ours."""
    packages = "--include=ca-certificates,python3,python3-dev"
    run(
        "debootstrap",
        "--arch=arm64",
        "--variant=minbase",
        packages,
        "bookworm",
        str(root),
        "http://deb.debian.org/debian",
    )


def install_packages(root: Path) -> None:
    """Install what the library needs, in the versions of this environment where it is NumPy or SciPy."""
    needed = [f"{name}=={version(name)}" for name in ("numpy", "scipy")]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--only-binary=:all:"]
    command += [f"--platform={each}" for each in PLATFORMS] + ["--target", str(root / "srv" / "site")]
    if not (root / "srv" / "site" / "numpy").exists():
        run(*command, "narwhals", "click", "rich", *needed, *TOOLS)


def compile_all(root: Path, package: Path, jobs: int) -> None:
    """Compile and link every extension module into a copy of the installed package."""
    installed = Path(adabypass.__file__).parent
    shutil.copytree(installed, package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    (metadata,) = installed.parent.glob("adabypass-*.dist-info")
    shutil.copytree(metadata, package.parent / metadata.name)
    units = [unit for unit in map(unit_of, entries) if unit is not None]
    headers = headers_of(root)
    with ThreadPoolExecutor(jobs) as threads:
        list(threads.map(lambda unit: compile_one(unit, headers), units))
    libraries = [str(unit.object) for unit in units if not unit.target.endswith(".so")]
    for built in sorted(installed.rglob("*.so")):
        place = built.relative_to(installed)
        objects = [str(unit.object) for unit in units if Path(unit.target).name == built.name]
        extra = libraries if built.name.startswith("dispatch.") else []
        out = package / place.with_name(place.name.replace(HERE, THERE))
        run(COMPILER, "-shared", "-o", str(out), *objects, *extra, "-lm")


def unit_of(entry: dict[str, str]) -> Unit | None:
    """Read an entry of compile_commands.json; None if it is Cython's, or for instructions that arm64 has not."""
    words = shlex.split(entry["command"])
    if not entry["output"].endswith(".o"):
        return None
    target = Path(entry["output"]).parent.as_posix().removesuffix(".p")
    if any(word in ("-mavx2", "-mavx512f") for word in words):
        return None
    out = FOLDER / "objects" / entry["output"]
    kept = [word for word in words[1:] if not word.startswith(("-DHAVE_AVX", "-M"))]
    kept = [word for i, word in enumerate(kept) if word != entry["output"] and kept[i - 1] not in ("-MQ", "-MF", "-o")]
    return Unit([word for word in kept if word != "-o" and not word.endswith(".o.d")], out, target)


def headers_of(root: Path) -> Path:
    """Return a folder with the headers of the root's Python, and none of its C library's."""
    name = f"python{sysconfig.get_python_version()}"
    folder = FOLDER / "include"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root / "usr" / "include" / name, folder)
    shutil.copytree(root / "usr" / "include" / THERE / name, folder / THERE / name)
    return folder


def compile_one(unit: Unit, headers: Path) -> None:
    """Compile a C file with the headers of the other Python instead of ours."""
    ours = sysconfig.get_path("include")
    command = [
        word
        for word in unit.command
        if word != f"-I{ours}" and not word.endswith(f"python{sysconfig.get_python_version()}")
    ]
    unit.object.parent.mkdir(parents=True, exist_ok=True)
    run(COMPILER, "-w", f"-I{headers}", *command, "-o", str(unit.object), at=BUILD)


def compare(root: Path) -> bool:
    """Print whether models learn the same bits here and there, with each instruction set of both."""
    here = learned([sys.executable], os.environ)
    there = {name: learned_inside(root, name) for name in ("plain", "baseline")}
    for name, lines in there.items():
        same = sum(a == b for a, b in zip(here, lines, strict=True))
        what = "NEON" if name == "baseline" else "no vectors"
        print(f"arm64, {what}: {same} of {len(here)} digests of trained models are those of this machine")
    return all(lines == here for lines in there.values())


def learned(python: list[str], environment: "os._Environ[str] | dict[str, str]") -> list[str]:
    """Return what models have learned, as digests."""
    done = [subprocess.run([*python, "-c", script], env=environment, capture_output=True, text=True, check=False)
            for script in (MANY_FEATURES, EVERY_MODEL)]  # fmt: skip
    for each in done:
        if each.returncode:
            raise SystemExit(each.stderr)
    return "".join(each.stdout for each in done).splitlines()


def learned_inside(root: Path, instruction_set: str) -> list[str]:
    """Return what models have learned in the root."""
    return learned(["chroot", str(root), *environment_of(instruction_set), "python3"], dict(os.environ))


def environment_of(instruction_set: str = "") -> list[str]:
    """Return the command that sets the variables of the root's Python."""
    chosen = [f"ADABYPASS_SIMD={instruction_set}"] if instruction_set else []
    return [
        "env",
        "-C",
        "/srv/adabypass",
        "PYTHONPATH=/srv/adabypass:/srv/site",
        "HYPOTHESIS_STORAGE_DIRECTORY=/tmp/h",
        *chosen,
    ]


def inside(root: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    """Run the root's Python."""
    return subprocess.run(["chroot", str(root), *environment_of(), "python3", *arguments], check=False)


def run(*command: str, at: Path = ROOT) -> None:
    """Run a command, and end with its exit code if it fails."""
    code = subprocess.call(command, cwd=at)
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
