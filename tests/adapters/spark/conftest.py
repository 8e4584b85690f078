"""One Spark for all tests, in a process of its own: `tools/test_spark.py` runs them, no other run collects them."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

if "ADABYPASS_SPARK_TESTS" not in os.environ:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from adabypass.adapters.spark import local_session  # noqa: PLC0415
    from tests.adapters.spark.query import SETTINGS  # noqa: PLC0415

    session = local_session(cores=2, config=SETTINGS)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
