"""How it looks. Every function draws on the Axes it is given, or on new ones, and returns them.

The only package that imports matplotlib. `time` may be numbers or dates; of a long trace, some 1,500 moments are drawn.
"""

from adabypass.plots.calibration import calibration, coverage, pit, reliability
from adabypass.plots.canvas import label, mark_span, save
from adabypass.plots.components import components
from adabypass.plots.forecasts import fan, history, predictions
from adabypass.plots.learned import changes, parameters, weights
from adabypass.plots.scores import scores_by_step

__all__ = [
    "calibration",
    "changes",
    "components",
    "coverage",
    "fan",
    "history",
    "label",
    "mark_span",
    "parameters",
    "pit",
    "predictions",
    "reliability",
    "save",
    "scores_by_step",
    "weights",
]
