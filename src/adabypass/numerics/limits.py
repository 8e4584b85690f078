"""Limits of every number that the library keeps, so that any finite input gives a finite result.

Reference and kernels read them from here: each is typed once. docs/decisions/0001 explains why they are needed.
"""

from math import log

MAX_VALUE = 1e300
"""Upper end of the absolute value of forecasts, errors, variances and log scores."""

LOG_MAX_VALUE = 300 * log(10)
"""Natural logarithm of `MAX_VALUE`."""

MIN_PREC = 1e-100
"""Lower end of `drift_prec` (α), and of the drift's variance."""

MAX_PREC = 1e100
"""Upper end of `drift_prec` (α), and of the drift's variance."""

MAX_HYPERPARAMETER = 1e100
"""Upper end of the hyperparameters a, b, epsilon and C, given by the user or adapted."""

MIN_RHO = 1e-300
"""Lower end of ρ, the expected squared residual of equation (C.17), which keeps β finite."""

LARGE_FEATURE = 1e30
"""Absolute value above which features are divided by a power of two, so that their squares cannot overflow."""

MAX_WEIGHT = MAX_VALUE / LARGE_FEATURE
"""Upper end of the absolute value of weights, so that their products with features cannot overflow."""

MAX_EXPLAINED = 1.0 - 1e-9
"""Maximum of 1 - r in (M.6): the fraction of a weight's variance that an observation may explain."""

ROUNDING = 2.0**-53
"""Half a unit in the last place of 1.0."""

CONVERGENCE_CAP = 1000
"""Maximum number of sweeps of a fixed-point iteration."""

NEGLIGIBLE_GRADIENT = 1e-200
"""Absolute value below which gradients of ADA-BYPASS are set to 0."""

MAX_SLOPE = 1e100
"""Upper end of the absolute value of the corrected hyperparameter gradients (erratum E5)."""

MAX_DISTANCE = 1e100
"""Upper end of |d|, the error in units of the noise scale."""

MIN_SIGNAL = 1e-200
"""Lower end of v, the variance of x'w over the squared noise scale; the upper end is its inverse."""

MAX_LOG_NOISE_SCALE = 100.0
"""Upper end of the absolute value of the log of AutoBypass's noise scale, in standard units."""

RESOLUTION = 2.0**-50
"""Relative difference, four units in the last place, below which numbers count as equal."""

MAX_UNIT = 1e100
"""Upper end of the scale of y over that of a feature: the unit of AutoBypass's weights."""

KNOWS_NOTHING = 1e4
"""Variance over the squared largest value so far, above which a forecast carries no information."""

MAX_RESPONSE = 1e100
"""Upper end of the absolute value of an impulse response, over many steps ahead."""

MAX_UNKNOWN = 256
"""Maximum number of missing lags whose covariance is kept; older ones count as observed at their forecasts."""

MAX_COUNT = 2.0**53
"""Upper end of a count of observations: float64 holds every integer up to it."""

MAX_LOG_VAR = 1.0
"""Maximum variance of log y in the computation of a mean: that of a wider lognormal lies far in its tail."""

MAX_SPREAD = 10.0
"""Maximum distance from the likeliest component of a forecast, and maximum width, in its standard deviations, at which
another component enters mean and variance: one of negligible share may lie anywhere."""

MIN_DOF = 2.5
"""Minimum degrees of freedom in the computation of a variance of Student's t, which is infinite up to 2."""

MAX_SHIFT = 1e100
"""Upper end of the absolute value of AutoBypass's seasonal effect, in standard units."""
