"""Test the adapter of Spark in an environment of its own: the end of `make test`, and `make test-spark`.

The environment, build/hosts/spark, holds Spark and takes all else from the one that this runs in. Where there is no
Java that Spark runs on, one line says that nothing was tested.
"""

import sys
import sysconfig
import venv
from pathlib import Path

from tools.test_hosts import FOLDER, requirements, run

from adabypass.adapters.java import check_java
from adabypass.errors import MissingExtraError

ENVIRONMENT = FOLDER / "spark"
TESTS = "tests/adapters/spark"
GUIDE = "tests/test_docs.py::test_examples_print_what_they_say[docs/guides/spark.md]"
IGNORED = ("FutureWarning", "DeprecationWarning", "ResourceWarning")
"""Warnings of Spark about itself and pandas."""
DOCTESTS = "src/adabypass/adapters/spark"


def make_environment() -> Path:
    """Make the environment if it is not there, or was made for other requirements; return its Python."""
    python = ENVIRONMENT / "bin" / "python"
    wanted = [each for each in requirements("spark") if each.startswith(("pyspark", "protobuf"))]
    made = ENVIRONMENT / "requirements.txt"
    if not made.exists() or made.read_text().split() != wanted:
        print("Spark: installing (some 450 MB the first time) ...", flush=True)
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted)
        packages = sysconfig.get_path("purelib")
        site = next((ENVIRONMENT / "lib").glob("python*/site-packages"))
        (site / "library.pth").write_text(f"{packages}\n")  # pytest, pandas, and the library itself
        made.write_text("\n".join(wanted))
    return python


def main(*options: str) -> None:
    """Run the tests with these options of pytest."""
    try:
        check_java()
    except MissingExtraError as reason:
        print(f"Spark: NOT TESTED. {reason}")
        return
    python = make_environment()
    print("Spark: testing ...", flush=True)
    run(
        python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", FOLDER / "spark-tests",
        *(word for kind in IGNORED for word in ("-W", f"ignore::{kind}")), *options, TESTS, GUIDE, DOCTESTS,
        ADABYPASS_SPARK_TESTS="1",
    )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
