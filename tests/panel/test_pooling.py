"""New series that start from what others have learned."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from adabypass import AutoBypass, Forecaster, Panel, SequentialKalman, from_bytes
from adabypass.errors import NotReadyError, ParameterError
from adabypass.state.bank import AutoBypassSpec
from adabypass.validation import Floats


def seasons(n_series: int, n: int, seed: int = 0) -> Floats:
    """Return series that hardly drift, with noise of heavy tails."""
    rng = np.random.default_rng(seed)
    y: Floats = 50.0 + 10.0 * rng.normal(size=(n_series, 1)) + rng.standard_t(3, size=(n_series, n))
    return y


def test_short_series_are_forecast_better() -> None:
    panel = Panel(Forecaster(lags=1))
    panel.run(seasons(60, 150))
    short = seasons(300, 15, seed=1)
    alone, together = Panel(Forecaster(lags=1)), Panel(panel.pooled())
    traces = together.run(short), alone.run(short)
    assert traces[0] is not None
    assert traces[1] is not None
    each = (traces[0].log_score[:, 6:] - traces[1].log_score[:, 6:]).mean(axis=1)
    assert each.mean() > 2.0 * each.std() / np.sqrt(len(each))


def test_it_has_seen_nothing_and_leaves_the_panel_as_it_is() -> None:
    panel = Panel(Forecaster(lags=1))
    panel.run(seasons(5, 40))
    before = panel.to_bytes()
    pooled = panel.pooled()
    assert isinstance(pooled, Forecaster)
    assert pooled.n_seen == 0
    assert panel.to_bytes() == before
    assert repr(pooled) == repr(Forecaster(lags=1))


def test_it_is_saved_with_its_shares() -> None:
    panel = Panel(AutoBypass())
    rng = np.random.default_rng(0)
    panel.run(rng.normal(size=(4, 30)), rng.normal(size=(4, 30, 2)))
    model = panel.pooled()
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    trace, again = model.run(X, y), from_bytes(model.to_bytes())
    assert isinstance(again, AutoBypass)
    assert isinstance(model, AutoBypass)
    assert again._spec == model._spec
    again.reset()
    assert_array_equal(again.run(X, y).mean, trace.mean)
    assert not np.array_equal(AutoBypass().run(X, y).mean, trace.mean)


def test_it_needs_series_and_mixture_weights() -> None:
    with pytest.raises(NotReadyError, match="20 observations"):
        Panel(Forecaster(lags=1)).pooled()
    panel = Panel(Forecaster(SequentialKalman(), lags=1))
    panel.run(seasons(2, 40))
    with pytest.raises(ParameterError, match="SequentialKalman"):
        panel.pooled()
    n = AutoBypassSpec().n_filters
    for wrong in ([1.0] * (n - 1), [0.0] * n, "all", [1.0] * (n - 1) + [np.nan], [1e308] * n):
        with pytest.raises(ParameterError, match="prior_shares"):
            AutoBypassSpec(prior_shares=wrong)  # type: ignore[arg-type]
