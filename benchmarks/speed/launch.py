"""Run a command on one core; print its times and its peak memory in bytes as JSON: `python launch.py IN OUT CMD ...`.

A small process must do this: Linux counts a parent's memory into the peak of a process that it starts.
"""

import json
import os
import resource
import subprocess
import sys
import time

if __name__ == "__main__":
    source, sink, *command = sys.argv[1:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with open(source, "rb") as rows, open(sink, "wb") as answers:
        start = time.perf_counter()
        subprocess.run(command, stdin=rows, stdout=answers, check=True)
        elapsed = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({"seconds": used.ru_utime + used.ru_stime, "elapsed": elapsed, "peak": peak}))
