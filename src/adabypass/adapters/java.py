"""The Java that Spark runs on; nothing of Spark is imported."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from adabypass.errors import MissingExtraError

OLDEST_JAVA = 17
"""That Spark 4 runs on."""


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
