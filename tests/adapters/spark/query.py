"""A query over written arrivals: `python -m tests.adapters.spark.query FOLDER` runs it, to be killed."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.errors import StreamingQueryException

from adabypass.adapters.spark import forecast_stream, local_session

LEVELS = (0.5, 0.9)
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""Java compiles little: a test is over before more of it would pay."""
SETTINGS = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": JAVA}
OPTIONS: dict[str, Any] = {"lags": 2}


def run(spark: Any, folder: Path) -> None:
    """Answer all files of `folder`/in, one a batch, from where the checkpoint is on."""
    source = spark.readStream.schema("key string, step long, y double").option("maxFilesPerTrigger", 1)
    rows = source.parquet(str(folder / "in"))
    finish(forecast_stream(rows, "key", "step", "y", LEVELS, **OPTIONS), folder)


def finish(frame: Any, folder: Path) -> None:
    """Write all answers of a stream to `folder`/out."""
    sink = frame.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    sink = sink.option("path", str(folder / "out")).trigger(availableNow=True)
    try_again(lambda: sink.start().awaitTermination())


def try_again(run: Callable[[], Any]) -> Any:
    """Run a query.

    Spark gives a worker ten seconds to start, which cannot be set. A machine that is too busy for it gets another try.
    """
    for is_last in (False, False, True):
        try:
            return run()
        except StreamingQueryException as error:
            if is_last or "failed to connect back" not in str(error):
                raise
    raise AssertionError("the last try has returned or raised")


def table(spark: Any, folder: Path) -> pd.DataFrame:
    """Return the output table, in the order of keys and times; what only counts dropped rows comes behind its row."""
    frame = spark.read.parquet(str(folder / "out")).toPandas()
    return frame.sort_values(["key", "step", "mean", "y", "n_late", "n_duplicate"], ignore_index=True)


def answers(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table that answer rows, without those that only count."""
    return found.drop_duplicates(["key", "step"])


if __name__ == "__main__":
    place = Path(sys.argv[1])
    temporary = place / "temporary"
    temporary.mkdir(exist_ok=True)
    settings = SETTINGS | {
        "spark.local.dir": str(temporary),
        "spark.driver.extraJavaOptions": f"{JAVA} -Djava.io.tmpdir={temporary}",
    }
    session = local_session(cores=2, config=settings)
    session.sparkContext.setLogLevel("OFF")
    run(session, place)
