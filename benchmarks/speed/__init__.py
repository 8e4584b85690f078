"""Speed beside other libraries, older builds and BLAS, as ratios in one run: `make bench`.

Everything is timed on one thread, so that a library that starts several is compared core for core. The limit must be
set before NumPy loads its BLAS, hence here.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(variable, "1")
