"""How good the forecasts are: calibrated or not, better than another's or not."""

from adabypass.evaluation.comparison import Comparison, compare
from adabypass.evaluation.diebold_mariano import Difference, difference
from adabypass.evaluation.evaluation import Evaluation, evaluate
from adabypass.results.calibration import PitHistogram, Reliability, coverage_over_time, pit_histogram, reliability

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
