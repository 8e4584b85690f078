"""How good the forecasts are: calibrated or not, better than another's or not."""

from adabypass.evaluate.calibration import PitHistogram, Reliability, coverage_over_time, pit_histogram, reliability
from adabypass.evaluate.compare import Difference, difference

__all__ = [
    "Difference",
    "PitHistogram",
    "Reliability",
    "coverage_over_time",
    "difference",
    "pit_histogram",
    "reliability",
]
