"""Run the examples of a README, Python and shell, with the library that is installed: `python readme.py README.md`.

Needs nothing but the library and what the examples import, so that it runs where nothing else is.
"""

import doctest
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from adabypass import load_dataset
from adabypass.data import write_table


def main() -> None:
    """Run all, and say how many."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README", sys.argv[1], 0)
    results = doctest.DocTestRunner().run(test)
    lines = [line.strip() for line in text.splitlines() if re.match(r" {4}(.*\| )?adabypass ", line)]
    failed = run_shell(lines)
    print(f"README: {results.attempted} examples, {results.failed} failed; {len(lines)} shell lines, {failed} failed")
    raise SystemExit(bool(results.failed or failed or not lines))


def run_shell(lines: list[str]) -> int:
    """Run lines one after another beside the files they read; return how many fail."""
    minima = load_dataset("nile").y
    with tempfile.TemporaryDirectory() as name:
        days = np.datetime64("2024-01-01") + np.arange(60)
        write_table({"day": days, "sold": minima[:60]}, Path(name, "sales.csv"))
        Path(name, "log.csv").write_text("load\n" + "".join(f"{y}\n" for y in minima[:30]), encoding="utf-8")
        failed = 0
        for line in lines:
            ends = re.sub(r"(tail.*) -f ", r"\1 ", line)  # or it would wait for ever
            done = subprocess.run(ends, shell=True, cwd=name, capture_output=True, text=True, check=False)
            if done.returncode:
                failed += 1
                print(f"{line}\n{done.stderr}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    main()
