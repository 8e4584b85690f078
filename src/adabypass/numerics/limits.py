"""The range of every number the library keeps, so that any finite input gives a finite answer.

Reference and kernel read these from here: each is typed once. Why they are needed: docs/decisions/0001.
"""

from math import log

LARGEST = 1e300
"""Forecasts, errors, variances and log scores are kept within plus or minus this."""

LARGEST_LOG = 300 * log(10)
"""The log of that."""

SMALLEST_PREC = 1e-100
LARGEST_PREC = 1e100
"""Range of `drift_prec` (α), and so of the drift's variance."""

LARGEST_HYPERPARAMETER = 1e100
"""Upper end of a, b, epsilon and C: given by the user or adapted."""

SMALLEST_RHO = 1e-300
"""Lower end of ρ, the expected squared residual of equation (22): keeps β finite."""

LARGE_FEATURE = 1e30
"""Features beyond this are divided by a power of two, so that their squares cannot overflow."""

LARGEST_WEIGHT = LARGEST / LARGE_FEATURE
"""Weights are kept within plus or minus this, so that their products with features cannot overflow."""

ROUNDING = 2.0**-53
"""Half a unit in the last place of 1.0."""

CONVERGENCE_CAP = 1000
"""Sweeps after which a fixed point that has not converged is taken as it is."""

NEGLIGIBLE_GRADIENT = 1e-200
"""Gradients of ADA-BYPASS below this are taken as 0."""

LARGEST_SLOPE = 1e100
"""Bound of the right derivatives by the hyperparameters (erratum E5)."""

LARGEST_DISTANCE = 1e100
"""Upper end of |d|, an error in units of the noise's scale."""

SMALLEST_SIGNAL = 1e-200
"""Lower end of v, the variance of x'w in units of the noise's scale squared; the upper end is its inverse."""

LARGEST_LOG_SCALE = 100.0
"""Range of the log of AutoBypass's noise scale, in standard units."""

RESOLUTION = 2.0**-50
"""Numbers that differ by less than this share of their size, four units in the last place, do not differ."""

LARGEST_UNIT = 1e100
"""Upper end of the scale of y over that of a feature, in which AutoBypass's weights are told."""

KNOWS_NOTHING = 1e4
"""A forecast whose variance is this many times the square of the largest value so far says less than the past does."""

LARGEST_RESPONSE = 1e100
"""Bound of an impulse response that is followed many steps ahead."""

MOST_UNKNOWN = 256
"""Missing values among the lags whose covariance is kept; beyond it the oldest are taken as known, as forecast."""

LARGEST_COUNT = 2.0**53
"""Upper end of a count of observations: beyond it float64 no longer counts by ones."""

LARGEST_LOG_VAR = 1.0
"""Variance of a log that a mean is computed with, at most: a wider lognormal has its mean where hardly a value is."""

MAX_SPREAD = 10.0
"""Standard deviations of the likeliest part of a forecast, beyond which no other part counts as farther from it, or as
wider, in the mean and the variance: a part of hardly any share may be anywhere."""

LEAST_DOF = 2.5
"""Degrees of freedom that a variance of Student's t is computed with, at least: with 2 or fewer there is none."""

LARGEST_SHIFT = 1e100
"""Bound of what a season adds to a forecast of AutoBypass, in standard units."""
