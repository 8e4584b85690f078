"""What all tests share: the setting of property-based ones, where files are written, and that Ctrl-C is heard.

Property-based tests have fixed seeds and no clock. Their examples still depend on which modules are loaded: hypothesis
tries the constants that it finds in them.
"""

import os
import shutil
import signal
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fixed", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fixed")

IN_MEMORY, ENOUGH_BYTES = Path("/dev/shm"), 2**30

if "TMPDIR" not in os.environ and IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > ENOUGH_BYTES:
    # A kill leaves what was written, in memory as on a disk: only the wait for each fsync differs.
    os.environ["TMPDIR"] = str(IN_MEMORY)
    tempfile.tempdir = None  # to be asked for anew

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background, whose children would ignore Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
