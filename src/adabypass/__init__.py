"""Online Bayesian passive-aggressive regression: a forecast before every observation, one update after it."""

from typing import Any

from adabypass.datasets import load_dataset
from adabypass.distributions.component import Target
from adabypass.distributions.predictive import (
    Mixture,
    Normal,
    Point,
    Predictive,
    StudentT,
)
from adabypass.evaluation import compare, evaluate
from adabypass.forecasting import Baseline, Drift, Forecaster, Naive, SeasonalNaive
from adabypass.numerics.config import show_config
from adabypass.numerics.noise import Family
from adabypass.panel.explanations import explain
from adabypass.panel.forecasts import forecast
from adabypass.panel.panel import Panel
from adabypass.regressors import (
    AdaBypass,
    AutoBypass,
    Bypass,
    EvidenceBypass,
    PassiveAggressive,
    Regressor,
    SequentialKalman,
)
from adabypass.results.changes import Change, ChangeMonitor
from adabypass.results.explanation import Explanation
from adabypass.results.forecast import Forecast
from adabypass.results.trace import Scores, Trace
from adabypass.saved import from_bytes, load
from adabypass.streaming.stream import Stream

__all__ = [
    "AdaBypass",
    "AutoBypass",
    "Baseline",
    "Bypass",
    "Change",
    "ChangeMonitor",
    "Drift",
    "EvidenceBypass",
    "Explanation",
    "Family",
    "Forecast",
    "Forecaster",
    "Mixture",
    "Naive",
    "Normal",
    "Panel",
    "PassiveAggressive",
    "Point",
    "Predictive",
    "Regressor",
    "Scores",
    "SeasonalNaive",
    "SequentialKalman",
    "Stream",
    "StudentT",
    "Target",
    "Trace",
    "compare",
    "evaluate",
    "explain",
    "forecast",
    "from_bytes",
    "load",
    "load_dataset",
    "show_config",
]


def __getattr__(name: str) -> Any:
    if name == "plots":
        import importlib  # noqa: PLC0415

        return importlib.import_module("adabypass.plots")  # needs matplotlib, and takes a second
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415  (rarely asked for, and not free)

        return version("adabypass")
    raise AttributeError(f"module 'adabypass' has no attribute {name!r}")
