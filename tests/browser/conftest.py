"""Tests in Chromium are run by `make test-browser`, not by `make test`."""

import os

collect_ignore_glob = [] if os.environ.get("BROWSER_TESTS") else ["*.py"]
