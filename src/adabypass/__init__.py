"""Online Bayesian passive-aggressive regression: a forecast before every observation, one update after it."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what type checkers and editors see; `_PLACES` says the same to Python
    from adabypass import plots as plots
    from adabypass.datasets import load_dataset
    from adabypass.distributions.component import Target
    from adabypass.distributions.predictive import Mixture, Normal, Point, Predictive, StudentT
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

    __version__: str

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

# Where each name is. A name is imported when it is first asked for: `import adabypass` takes no time to speak of, and
# AutoBypass does not wait for panels and SQLite.
_PLACES = {
    "AdaBypass": "regressors",
    "AutoBypass": "regressors",
    "Baseline": "forecasting",
    "Bypass": "regressors",
    "Change": "results.changes",
    "ChangeMonitor": "results.changes",
    "Drift": "forecasting",
    "EvidenceBypass": "regressors",
    "Explanation": "results.explanation",
    "Family": "numerics.noise",
    "Forecast": "results.forecast",
    "Forecaster": "forecasting",
    "Mixture": "distributions.predictive",
    "Naive": "forecasting",
    "Normal": "distributions.predictive",
    "Panel": "panel.panel",
    "PassiveAggressive": "regressors",
    "Point": "distributions.predictive",
    "Predictive": "distributions.predictive",
    "Regressor": "regressors",
    "Scores": "results.trace",
    "SeasonalNaive": "forecasting",
    "SequentialKalman": "regressors",
    "Stream": "streaming.stream",
    "StudentT": "distributions.predictive",
    "Target": "distributions.component",
    "Trace": "results.trace",
    "compare": "evaluation",
    "evaluate": "evaluation",
    "explain": "panel.explanations",
    "forecast": "panel.forecasts",
    "from_bytes": "saved",
    "load": "saved",
    "load_dataset": "datasets",
    "show_config": "numerics.config",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "plots", "__version__"})


if not TYPE_CHECKING:  # type checkers take every name for one that is there, if they see this function

    def __getattr__(name: str) -> object:
        """Import a public name, or a package such as `plots`, when it is first asked for."""
        if name in _PLACES:
            value = getattr(importlib.import_module(f"adabypass.{_PLACES[name]}"), name)
        elif name == "__version__":
            value = importlib.import_module("importlib.metadata").version("adabypass")
        else:
            value = _package(name)
        globals()[name] = value
        return value


def _package(name: str) -> object:
    """Import `adabypass.NAME`; an AttributeError says that there is no such thing."""
    full = f"adabypass.{name}"
    if not name.startswith("_"):
        try:
            return importlib.import_module(full)
        except ModuleNotFoundError as missing:
            if missing.name != full:
                raise
    raise AttributeError(f"module 'adabypass' has no attribute {name!r}")
