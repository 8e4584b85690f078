"""A Spark on this machine, with the settings that the adapter needs."""

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

from adabypass.adapters.java import check_java
from adabypass.validation import check_int

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
"""The setting of Spark that says where streams keep their state."""


def local_session(cores: int = 2, config: Mapping[str, object] | None = None) -> SparkSession:
    """Return a session of Spark on this machine, for tests and for trying things out.

    On a cluster, make the session as usual; streams need the setting `spark.sql.streaming.stateStore.providerClass`
    as it is here, and this library on every machine.

    Parameters
    ----------
    cores : int
        How many tasks run at a time.
    config : dict, optional
        Further settings, which go before those made here.

    Examples
    --------
    >>> spark = local_session(cores=2)
    >>> spark.range(3).count()
    3
    """
    check_int(cores, "cores", minimum=1, maximum=1024)
    check_java()
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        os.environ.setdefault(name, sys.executable)  # else the workers take whichever Python comes first
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # the machine's name may have no address
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": cores,
        PROVIDER: ROCKSDB,
        **(config or {}),
    }
    builder = SparkSession.builder.master(f"local[{cores}]").appName("adabypass")
    for name, value in settings.items():
        builder = builder.config(name, str(value))
    return builder.getOrCreate()
