"""What every peer that must be given its variances is given: those that the streams were made with."""

from benchmarks.speed.streams import NOISE_SD, SIGNAL_SD, STEP_SD

NOISE_VAR = NOISE_SD**2
START_VAR = SIGNAL_SD**2
"""Prior variance of a weight, times the number of features."""
DRIFT_VAR = (SIGNAL_SD * STEP_SD) ** 2
"""Variance of a step of a weight, times the number of features."""
