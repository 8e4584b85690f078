"""Without Spark, the adapter says what to install; these tests need neither Spark nor Java."""

import importlib
import sys

import pytest

from adabypass.errors import MissingExtraError


@pytest.mark.parametrize("module", ["pyspark.sql", "pandas", "pyarrow", "google.protobuf"])
def test_a_missing_library_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    for name in ("pyspark.sql", "pandas", "pyarrow", "google.protobuf"):
        monkeypatch.setitem(sys.modules, name, sys)  # taken for installed
    monkeypatch.setitem(sys.modules, module, None)
    for name in [each for each in sys.modules if each.startswith("adabypass.adapters.spark")]:
        monkeypatch.delitem(sys.modules, name)
    library = module.removesuffix(".sql").removeprefix("google.")
    with pytest.raises(MissingExtraError, match=rf"needs {library}; install it with: pip install 'adabypass\[spark\]'"):
        importlib.import_module("adabypass.adapters.spark")
