"""What must be in the files of a release, and what must not."""

import email
import json
import re
import sys
import tarfile
from pathlib import Path

from tools.release import licences, wheel

MAX_WHEEL = 4_000_000
"""Bytes."""
FORBIDDEN = re.compile(r"(^|/)(tests?|golden|benchmarks|tools|__pycache__)/|\.(c|h|pyx|pxd|pyc|build|o|a)$")
"""What has no place in a wheel."""
PORTABLE = ("manylinux", "musllinux", "macosx", "win", "pyodide", "pyemscripten")
IN_SDIST = ("pyproject.toml", "meson.build", "Makefile", "LICENSE", "REUSE.toml", "README.md", "CHANGELOG.md",
            "tests/conftest.py", "tools/requirements.py", "docs/equations.md")  # fmt: skip


def problems_of_wheel(path: Path) -> list[str]:
    """Say in sentences what is wrong with a wheel."""
    files = wheel.read(path)
    info = wheel.dist_info(files)
    size = path.stat().st_size
    said = [f"{size:,} bytes are more than {MAX_WHEEL:,}."] if size > MAX_WHEEL else []
    said += [f"{name} does not belong in a wheel." for name in files if FORBIDDEN.search(name)]
    platform = path.stem.split("-")[-1]
    if not platform.startswith(PORTABLE):
        said.append(f"its tag is {platform}, so that other machines refuse it.")
    said += [f"{name} has its symbols still." for name, (content, _) in files.items() if _has_symbols(name, content)]
    return said + _problems_of_licences(files, info) + _problems_of_bill(files, info)


def _has_symbols(name: str, content: bytes) -> bool:
    """Whether a shared library of Linux names a table of symbols among its sections."""
    return name.endswith(".so") and content.startswith(b"\x7fELF") and b"\0.symtab\0" in content


def _problems_of_licences(files: wheel.Files, info: str) -> list[str]:
    """Check that every file that is not code has a licence, whose text is there and which the metadata name."""
    known = licences.annotations()
    inside = [f"src/{name}" for name in files if not name.startswith(info)]
    texts = [Path(name).name for name in files if name.startswith(f"{info}/licenses/LICENSES/")]
    said = licences.problems(inside, texts, known)
    said += [f"{name} is missing." for name in (f"{info}/licenses/{each}" for each in ("LICENSE", "REUSE.toml"))
             if name not in files]  # fmt: skip
    expression = email.message_from_bytes(files[f"{info}/METADATA"][0])["License-Expression"] or ""
    found = [licences.of_file(path, known) for path in licences.not_code(inside)]
    wanted = {name for licence in found if licence is not None for name in licence.identifiers}
    return said + [
        f"{name} is not in its License-Expression, {expression}." for name in wanted - set(_words(expression))
    ]


def _words(expression: str) -> list[str]:
    return re.findall(r"[A-Za-z0-9.+-]+", expression)


def _problems_of_bill(files: wheel.Files, info: str) -> list[str]:
    """Check that the bill of materials has every file that is not code."""
    name = f"{info}/sboms/adabypass.cdx.json"
    if name not in files:
        return [f"{name} is missing."]
    contained = json.loads(files[name][0])["metadata"]["component"]["components"]
    listed = {each["name"] for each in contained}
    inside = licences.not_code(each for each in files if not each.startswith(info))
    return [f"{each} is not in {name}." for each in inside if each not in listed]


def problems_of_sdist(path: Path) -> list[str]:
    """Say in sentences what is wrong with a source distribution."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    said = [f"{name} is missing." for name in IN_SDIST if name not in names]
    return said + [f"{name} does not belong there." for name in sorted(names) if name.endswith((".so", ".pyc"))]


def problems_of(path: Path) -> list[str]:
    """Say in sentences what is wrong with a file of a release."""
    return problems_of_wheel(path) if path.suffix == ".whl" else problems_of_sdist(path)


if __name__ == "__main__":
    paths = [Path(each) for each in sys.argv[1:]]
    said = [f"{path.name}: {each}" for path in paths for each in problems_of(path)]
    print("\n".join(said) or f"nothing is wrong with {len(paths)} files")
    raise SystemExit(bool(said or not paths))
