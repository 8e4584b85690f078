"""Versions and the instruction set in use."""

import platform
from importlib.metadata import version

from adabypass.numerics import dispatch


def show_config() -> None:
    """Print versions, platform and instruction set, for a bug report.

    The fastest instruction set that the machine supports is used; all give the same results, bit for bit. To force
    another, set the environment variable ADABYPASS_SIMD before the import, such as `ADABYPASS_SIMD=baseline`.

    Examples
    --------
    The output looks like this::

        adabypass        0.1.0
        Python           3.11.7, CPython
        NumPy, SciPy     2.1.3, 1.14.1
        platform         Linux-6.1-x86_64
        instruction set  avx2 (also available: plain, baseline)
    """
    others = [name for name in dispatch.available() if name != dispatch.in_use()]
    lines = {
        "adabypass": version("adabypass"),
        "Python": f"{platform.python_version()}, {platform.python_implementation()}",
        "NumPy, SciPy": f"{version('numpy')}, {version('scipy')}",
        "platform": platform.platform(),
        "instruction set": f"{dispatch.in_use()} (also available: {', '.join(others)})",
    }
    for name, value in lines.items():
        print(f"{name:<16} {value}")
