"""awen-dlmax, loaded so that it ends."""

import os
from importlib import import_module
from typing import Any


def load() -> Any:
    """Return the package; ImportError if it is not installed.

    JAX starts as many threads as there are processors, and with two the filters of this package come to wait for each
    other for good. How many it starts is settled when it is first imported.
    """
    os.environ.setdefault("NPROC", "16")
    package = import_module("DLMAX")
    package.enable_x64()
    return package
