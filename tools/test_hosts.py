"""Test the adapters of libraries that cannot share the environment of the other tests: `make test-hosts`.

Each gets an environment of its own in build/hosts. The library itself is installed beside them, once.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "hosts"
TOOLS = ("pytest>=8", "hypothesis>=6.100", "pandas>=2.2")


class Host(NamedTuple):
    """An environment, and the tests that are run in it."""

    requirements: tuple[str, ...]
    tests: tuple[str, ...]
    guides: tuple[str, ...]


HOSTS = {
    "scikit-learn of the minor version before": Host(
        ("scikit-learn==1.8.*",), ("tests/adapters/test_sklearn.py", "tests/adapters/test_sklearn_use.py"),
        ("scikit-learn.md",),
    ),
    "sktime and skpro": Host(
        ("sktime>=1.0", "skpro>=2.16"), ("tests/adapters/test_sktime.py", "tests/adapters/test_skpro.py"),
        ("sktime.md", "skpro.md"),
    ),
    "statsforecast": Host(("statsforecast>=2.0",), ("tests/adapters/test_statsforecast.py",), ("statsforecast.md",)),
}  # fmt: skip


def run(*command: str | Path, **environment: str) -> None:
    """Run a command in the repository, and end with its exit code if it fails."""
    done = subprocess.run([str(each) for each in command], cwd=ROOT, env=os.environ | environment, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)


def requirements(*groups: str) -> list[str]:
    """Return the requirements of groups of pyproject.toml."""
    command = [sys.executable, str(ROOT / "tools" / "requirements.py"), *groups]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test(name: str, host: Host, site: Path) -> None:
    """Make the environment of a host if it is not there, and run its tests."""
    folder = FOLDER / host.guides[0].removesuffix(".md")
    python = folder / "bin" / "python"
    print(f"{name}: installing ...", flush=True)
    if not python.exists():
        venv.create(folder, with_pip=True)
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, *requirements("run"), *TOOLS, *host.requirements)
    guides = [f"tests/test_docs.py::test_examples_print_what_they_say[docs/guides/{guide}]" for guide in host.guides]
    # scikit-learn 1.8 gives pytest an iterator, which pytest 9 warns of.
    run(
        python,
        "-m",
        "pytest",
        "-q",
        "-W",
        "ignore::pytest.PytestRemovedIn10Warning",
        *host.tests,
        *guides,
        PYTHONPATH=str(site),
    )


if __name__ == "__main__":
    site = FOLDER / "site"
    install = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade")
    build = ("--no-build-isolation", "--no-deps", "--config-settings=build-dir=build/release", "--target", site, ".")
    run(*install, *build)
    for name, host in HOSTS.items():
        test(name, host, site)
