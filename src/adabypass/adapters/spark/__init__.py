"""Forecasts on Spark: every group of a table, and every key of a stream, with the numbers of a `Forecaster`."""

from importlib import import_module

from adabypass.errors import MissingExtraError

# Without protobuf Spark's stateful operators end with "driver worker exited unexpectedly", and no more is said.
for _module, _name in (
    ("pyspark.sql", "pyspark"), ("pandas", "pandas"), ("pyarrow", "pyarrow"), ("google.protobuf", "protobuf"),
):  # fmt: skip
    try:
        import_module(_module)
    except ImportError as missing:
        raise MissingExtraError(
            f"adabypass.adapters.spark needs {_name}; install it with: pip install 'adabypass[spark]'"
        ) from missing

from adabypass.adapters.spark.groups import evaluate_groups, forecast_groups  # noqa: E402
from adabypass.adapters.spark.session import local_session  # noqa: E402
from adabypass.adapters.spark.streams import forecast_stream  # noqa: E402

__all__ = ["evaluate_groups", "forecast_groups", "forecast_stream", "local_session"]
