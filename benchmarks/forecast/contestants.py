"""Who takes part, in the order of the tables."""

from adabypass import Baseline, Drift, Forecaster, Naive, SeasonalNaive
from benchmarks.forecast import awen, flair
from benchmarks.forecast.problems import Problem
from benchmarks.forecast.rivals import Rival, auto_arima, one_by_one, ours, short_period, statsforecast

MEDIAN = "median of these four"
COMBINED = ("AutoETS", "AutoARIMA", "AutoTheta", "AutoCES")
STATSFORECAST = "statsforecast"


SEVERAL_PERIODS: dict[tuple[str, int], list[float]] = {
    ("hourly", 24): [24, 168],
    ("hourly", 48): [48, 336],
    ("half-hourly", 48): [48, 336],
    ("5 minutes", 169): [169, 845],
    ("daily", 7): [7, 365.25],
    ("10 minutes", 1): [144],
}
"""What a column of times says of a series, where that is more than the one period that others can use."""


def automatic(problem: Problem) -> Forecaster:
    """Return the forecaster that chooses by itself; it knows of the season what a column of times would say."""
    key = (problem.frequency, problem.period)
    return Forecaster(period=SEVERAL_PERIODS.get(key, [problem.period]))


def by_hand(problem: Problem) -> Forecaster:
    """Return the autoregression that one would choose who knows the period."""
    n, period = len(problem.train), problem.period
    return Forecaster(lags=[1, period, period + 1] if 1 < period < n // 3 else 2)


def seasonal_naive(problem: Problem) -> Baseline:
    """Return the seasonal baseline, or the naive one where the series has no three differences of a season."""
    return SeasonalNaive(problem.period) if len(problem.train) >= problem.period + 3 else Naive()


RIVALS = (
    Rival("Forecaster()", ours(automatic)),
    Rival("Forecaster, lags by hand", ours(by_hand)),
    Rival("Naive (ours)", ours(lambda problem: Naive())),
    Rival("SeasonalNaive (ours)", ours(seasonal_naive)),
    Rival("Drift (ours)", ours(lambda problem: Drift())),
    Rival("AutoETS", statsforecast(lambda models, p: models.AutoETS(season_length=short_period(p))), STATSFORECAST),
    Rival("AutoARIMA", statsforecast(auto_arima), STATSFORECAST),
    Rival("AutoTheta", statsforecast(lambda models, p: models.AutoTheta(season_length=p.period)), STATSFORECAST),
    Rival("AutoCES", statsforecast(lambda models, p: models.AutoCES(season_length=p.period)), STATSFORECAST),
    Rival("SeasonalNaive", statsforecast(lambda models, p: models.SeasonalNaive(p.period)), STATSFORECAST),
    Rival("awen-dlmax", awen.run, "awen-dlmax"),
    Rival("FLAIR", one_by_one(flair.forecast), "flaircast"),
)
OURS = ("Forecaster()", "Forecaster, lags by hand")
