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

import adabypass

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "release"
FOLDER = ROOT / "build" / "arm"
COMPILER = "aarch64-linux-gnu-gcc"
HERE, THERE = "x86_64-linux-gnu", "aarch64-linux-gnu"
PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64")
TOOLS = ("pytest", "hypothesis", "mpmath", "pandas")
TESTS = ("tests/numerics", "tests/kernels", "tests/state", "tests/snapshots/test_golden.py")

OUR_FUNCTIONS = {"AutoBypass", "EvidenceBypass", "SequentialKalman"}
"""Models that call no function of the C library or of SciPy whose last bit differs between processors."""
STREAMS = """
import sys
import numpy as np
streams = {}
for n in [1, 2, 5, 7, 8, 9, 16, 21, 31, 64, 101]:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(40, n)) * 10.0 ** rng.uniform(-1, 1, n)
    y = X @ rng.normal(size=n) + rng.standard_t(3, 40)
    y[7], X[11] = np.nan, X[11] * 1e40
    streams |= {f"X{n}": X, f"y{n}": y}
np.savez(sys.argv[1], **streams)
"""
"""Written here and read there: NumPy's own functions differ in their last bits."""
LEARN = """
import hashlib, json, sys
import numpy as np
from adabypass import AdaBypass, AutoBypass, Bypass, EvidenceBypass, SequentialKalman
streams = np.load(sys.argv[1])
digests = {}
for kind in (AdaBypass, AutoBypass, Bypass, EvidenceBypass, SequentialKalman):
    digest = hashlib.sha256()
    for name in [each[1:] for each in streams if each.startswith("X")]:
        model = kind()
        trace = model.run(streams["X" + name], streams["y" + name])
        for array in (trace.mean, trace.var, model.__getstate__()["row"]):
            digest.update(np.ascontiguousarray(array).tobytes())
    digests[kind.__name__] = digest.hexdigest()
print(json.dumps(digests))
"""


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
    """Print which models learn the same bits here and there; return whether all do that must."""
    streams = root / "srv" / "streams.npz"
    subprocess.run([sys.executable, "-c", STREAMS, str(streams)], check=True)
    here = learned([sys.executable], str(streams))
    are_same = True
    for name, what in (("plain", "without vectors"), ("baseline", "NEON")):
        there = learned(["chroot", str(root), *environment_of(name), "python3"], "/srv/streams.npz")
        same = {kind for kind, digest in here.items() if there[kind] == digest}
        print(f"arm64, {what}: the same bits as here: {', '.join(sorted(same))}; others: {sorted({*here} - same)}")
        are_same &= same >= OUR_FUNCTIONS
    return are_same


def learned(python: list[str], streams: str) -> dict[str, str]:
    """Return a digest of what each kind of model has learned and forecast."""
    done = subprocess.run([*python, "-c", LEARN, streams], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    digests: dict[str, str] = json.loads(done.stdout)
    return digests


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
