"""A Spark on this machine, with the settings that the adapter needs."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from adabypass.errors import MissingExtraError
from adabypass.validation import check_int

OLDEST_JAVA = 17
"""That Spark 4 runs on."""
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


def check_java() -> None:
    """Check that there is a Java which Spark can be started with."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    remedy = f"install Java {OLDEST_JAVA} or newer (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME"
    if found is None:
        where = f"in JAVA_HOME, {home}" if home else "on the PATH"
        raise MissingExtraError(f"Spark needs Java, but there is no java {where}; {remedy}.")
    told = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', told)
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise MissingExtraError(
            f"Spark needs Java {OLDEST_JAVA} or newer, but {found} is {told.splitlines()[0] if told else 'no Java'}; "
            f"{remedy} to the folder of a newer one."
        )
