"""How good the forecasts are: calibrated or not, better than another's or not."""

from adabypass.evaluate.calibration import PitHistogram, Reliability, coverage_over_time, pit_histogram, reliability
from adabypass.evaluate.compare import Difference, difference
from adabypass.evaluate.prequential import Comparison, Evaluation, compare, evaluate

__all__ = [
    "Comparison",
    "Difference",
    "Evaluation",
    "PitHistogram",
    "Reliability",
    "compare",
    "coverage_over_time",
    "difference",
    "evaluate",
    "pit_histogram",
    "reliability",
]
