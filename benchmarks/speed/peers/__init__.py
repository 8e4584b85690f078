"""The other libraries, one file each, at their best reasonable settings; each is imported only when it is timed."""

from benchmarks.speed.peers import (
    c_kalman,
    filterpy,
    pykalman,
    river,
    scikit_learn,
    statsmodels,
    viking,
    vowpal_wabbit,
)

CONTESTANTS = (
    *river.CONTESTANTS,
    *scikit_learn.CONTESTANTS,
    *vowpal_wabbit.CONTESTANTS,
    *filterpy.CONTESTANTS,
    *pykalman.CONTESTANTS,
    *statsmodels.CONTESTANTS,
    *viking.CONTESTANTS,
    *c_kalman.CONTESTANTS,
)

DISTRIBUTIONS = ("river", "scikit-learn", "vowpalwabbit", "filterpy", "pykalman", "statsmodels", "viking_kalman")
"""What to install for them; the C filter needs a compiler."""
