"""Run the tests with other versions than those of the environment, in an environment of their own in build/versions.

`oldest` tests, with the oldest versions that pyproject.toml allows, the library as it was built with the newest ones,
as a wheel is used. `core` builds the library for the Python that runs this, and leaves out what no wheel is there for:
new Pythons, other systems.
"""

import argparse
import ast
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "versions"
OLDEST = ROOT / "tools" / "constraints" / "oldest.txt"
EXTRAS = ("holidays", "kafka", "parquet", "plot", "sklearn")
TOOLS = ("hypothesis", "mpmath", "pandas", "polars", "pytest", "pytest-xdist", "safetensors")
OPTIONAL = ("pandas", "polars", "pyarrow", "matplotlib", "sklearn", "safetensors", "holidays", "confluent_kafka")
"""Modules without which a file of tests is left out; a test that needs one only here and there asks for it itself."""


def main() -> None:
    """Make the environment, and run the tests in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=("oldest", "core"))
    parser.add_argument("tests", nargs="*", help="arguments for pytest instead of all tests")
    options = parser.parse_args()
    name = options.which if options.which == "oldest" else f"core-{sys.implementation.cache_tag}{sys.abiflags}"
    python = make(FOLDER / name)
    if options.which == "oldest":
        install_oldest(python)
        left_out: list[str] = []
    else:
        install_core(python)
        left_out = files_without(missing(python))
    tests = options.tests or ["-n", os.environ.get("JOBS", "auto"), "--dist", "loadgroup", "-m", "not slow", "tests"]
    ignored = [f"--ignore={each}" for each in left_out]
    raise SystemExit(subprocess.call([python, "-m", "pytest", "-q", *ignored, *tests], cwd=ROOT))


def make(folder: Path) -> str:
    """Make an environment if it is not there; return its Python."""
    if not (folder / "pyvenv.cfg").exists():
        venv.create(folder, with_pip=True)
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def install_oldest(python: str) -> None:
    """Install the oldest versions, and the library as the Makefile has built it with the newest."""
    pip(python, "--constraint", str(OLDEST), *requirements("run", *EXTRAS), *TOOLS)
    wheels = FOLDER / "wheel"
    built = "--config-settings=build-dir=build/release"
    for each in wheels.glob("*.whl"):
        each.unlink()
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", built, "--wheel-dir",
        str(wheels), ".")  # fmt: skip
    (wheel,) = wheels.glob("*.whl")
    pip(python, "--no-deps", "--force-reinstall", str(wheel))


def install_core(python: str) -> None:
    """Install the library, and of the tools those that can be had for this Python."""
    pip(python, ".", "pytest", "pytest-xdist", "hypothesis", "mpmath")
    for each in (*requirements(*EXTRAS), "pandas", "polars", "safetensors"):
        command = [python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", each]
        if subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode:
            print(f"{each} has no wheel for this Python: the tests that need it are left out", file=sys.stderr)


def missing(python: str) -> set[str]:
    """Return the optional modules that are not in an environment."""
    code = f"import importlib.util as u; print([n for n in {OPTIONAL} if u.find_spec(n) is None])"
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return set(ast.literal_eval(done.stdout))


def files_without(modules: set[str]) -> list[str]:
    """Return the files of tests that import one of these modules before anything else."""
    return [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if modules & set(top_imports(ast.parse(path.read_text(encoding="utf-8"))))
    ]


def top_imports(tree: ast.Module) -> list[str]:
    """Return the packages that a module imports when it is imported itself."""
    names = [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
    return [name.partition(".")[0] for name in names]


def requirements(*groups: str) -> list[str]:
    """Return the requirements of groups of pyproject.toml."""
    command = [sys.executable, str(ROOT / "tools" / "requirements.py"), *groups]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def pip(python: str, *arguments: str) -> None:
    """Install with the pip of an environment."""
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)


def run(*command: str) -> None:
    """Run a command in the repository, and end with its exit code if it fails."""
    code = subprocess.call(command, cwd=ROOT)
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
