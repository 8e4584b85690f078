"""Check that this Python and this machine can build the library; say in one sentence what is missing.

Make runs it before anything else, with the Python that it was given. It runs on every Python from 3.8, so that one
that is too old gets this message and not a syntax error.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from typing import Callable, Mapping  # noqa: UP035  (Python 3.8 cannot subscript those of collections.abc)

OLDEST = (3, 11)
COMPILERS = ("cc", "gcc", "clang", "icx")
INSTALL_COMPILER = "install one (Debian, Ubuntu: apt-get install gcc libc6-dev), or set CC to its path."
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


def missing_version(version: tuple[int, ...]) -> str | None:
    """Return what to do about a Python that is too old, None if it is not."""
    if version >= OLDEST:
        return None
    return (
        f"{sys.executable} is Python {version[0]}.{version[1]}, but adabypass needs Python {OLDEST[0]}.{OLDEST[1]} or "
        "newer; install one, and name it: make PYTHON=/path/to/python3.12"
    )


def missing_venv(find: Callable[[str], object] = importlib.util.find_spec) -> str | None:
    """Return what to do about a Python without its venv module, None if it is there."""
    absent = [name for name in ("venv", "ensurepip") if find(name) is None]
    if not absent:
        return None
    return (
        f"{sys.executable} has no module {absent[0]}, which virtual environments need; install it (Debian, Ubuntu: "
        f"apt-get install python{VERSION}-venv)."
    )


def missing_compiler(environ: Mapping[str, str]) -> str | None:
    """Return what to do about a C compiler that is absent or cannot compile, None if it can."""
    named = environ.get("CC", "")
    candidates = [shlex.split(named)] if named else [[name] for name in COMPILERS]
    found = [command for command in candidates if shutil.which(command[0], path=environ.get("PATH", ""))]
    if not found:
        return f"there is no C compiler ({named or ' or '.join(COMPILERS)}); {INSTALL_COMPILER}"
    command = [*found[0], "-x", "c", "-fsyntax-only", "-"]
    done = subprocess.run(command, input=b"#include <math.h>\n", capture_output=True, env=environ, check=False)
    if done.returncode == 0:
        return None
    return f"the C compiler {' '.join(found[0])} cannot compile a program with <math.h>; {INSTALL_COMPILER}"


def missing_headers(folder: str) -> str | None:
    """Return what to do about absent headers of Python, None if they are there."""
    header = os.path.join(folder, "Python.h")
    if os.path.exists(header):
        return None
    return (
        f"{sys.executable} has no headers ({header}); install them (Debian, Ubuntu: apt-get install "
        f"python{VERSION}-dev)."
    )


def first_problem() -> str | None:
    """Return what to do about the first thing that is missing, None if nothing is."""
    return (
        missing_version(sys.version_info[:2])
        or missing_venv()
        or missing_compiler(os.environ)
        or missing_headers(sysconfig.get_path("include"))
    )


if __name__ == "__main__":
    problem = first_problem()
    if problem:
        sys.exit(f"adabypass cannot be built: {problem}")
