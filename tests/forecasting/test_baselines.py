"""The baselines forecast what their models say, by textbook formulas and by brute force."""

import copy
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pytest import approx
from scipy import stats

import adabypass
from adabypass import Baseline, Drift, Naive, SeasonalNaive, StudentT, compare, evaluate
from adabypass.errors import NotEnoughDataError, NotReadyError, ParameterError, StateError
from adabypass.validation import Floats

RNG = np.random.default_rng(5)
SERIES = 20.0 + RNG.normal(0.3, 1.0, 40).cumsum()
ROUNDING = 1e-9  # relative: a few hundred operations


def learned(model: Baseline, y: Floats = SERIES) -> Baseline:
    for value in y:
        model.update(value)
    return model


def with_gaps() -> Floats:
    y = SERIES.copy()
    y[[0, 7, 8, 20, 39]] = np.nan
    return y


def test_naive_repeats_the_last_value_and_widens_with_the_root_of_the_step() -> None:
    ahead = learned(Naive()).forecast(5).predictive
    assert isinstance(ahead, StudentT)
    changes = np.diff(SERIES)
    assert ahead.mean == approx(SERIES[-1])
    assert ahead.scale == approx(np.sqrt(np.mean(changes**2) * np.arange(1, 6)), rel=ROUNDING)
    assert ahead.dof == approx(len(changes))


def test_seasonal_naive_repeats_the_last_season_and_widens_from_season_to_season() -> None:
    ahead = learned(SeasonalNaive(12)).forecast(30).predictive
    assert isinstance(ahead, StudentT)
    changes = SERIES[12:] - SERIES[:-12]
    assert ahead.mean == approx(np.tile(SERIES[-12:], 3)[:30])
    seasons = np.repeat([1, 2, 3], 12)[:30]
    assert ahead.scale == approx(np.sqrt(np.mean(changes**2) * seasons), rel=ROUNDING)
    assert ahead.dof == approx(len(changes))


def test_drift_goes_on_at_the_mean_change_with_the_textbook_s_spread() -> None:
    """Hyndman and Athanasopoulos, Forecasting: Principles and Practice: s √(h (1 + h / (T - 1)))."""
    ahead = learned(Drift()).forecast(6).predictive
    assert isinstance(ahead, StudentT)
    changes, h = np.diff(SERIES), np.arange(1, 7)
    assert ahead.mean == approx(SERIES[-1] + h * (SERIES[-1] - SERIES[0]) / (len(SERIES) - 1), rel=ROUNDING)
    assert ahead.scale == approx(changes.std(ddof=1) * np.sqrt(h * (1 + h / len(changes))), rel=ROUNDING)
    assert ahead.dof == approx(len(changes) - 1)


def posterior_by_regression(y: Floats, horizon: int, has_drift: bool) -> tuple[Floats, Floats, int]:
    """Return mean, scale and degrees of freedom by generalised least squares on the changes between seen values."""
    seen = np.flatnonzero(~np.isnan(y))
    gaps, changes = np.diff(seen).astype(float), np.diff(y[seen])
    design = gaps[:, None] / np.sqrt(gaps)[:, None]
    target = changes / np.sqrt(gaps)
    ages = len(y) - 1 - seen[-1] + np.arange(1, horizon + 1)
    if not has_drift:
        return np.full(horizon, y[seen[-1]]), np.sqrt(np.mean(target**2) * ages), len(target)
    slope, residual = np.linalg.lstsq(design, target, rcond=None)[:2]
    dof = len(target) - 1
    var = residual[0] / dof * (ages + ages**2 / float((design**2).sum()))
    return y[seen[-1]] + slope[0] * ages, np.sqrt(var), dof


@pytest.mark.parametrize("model", [Naive, Drift])
def test_gaps_are_changes_over_several_steps(model: Any) -> None:
    y = with_gaps()
    ahead = learned(model(), y).forecast(4).predictive
    mean, scale, dof = posterior_by_regression(y, 4, model is Drift)
    assert isinstance(ahead, StudentT)
    assert ahead.mean == approx(mean, rel=ROUNDING)
    assert ahead.scale == approx(scale, rel=ROUNDING)
    assert ahead.dof == approx(dof)


def test_a_season_is_as_many_walks_as_it_has_phases() -> None:
    """The mean of each phase is that of a naive forecast of that phase alone; the squares of all are pooled."""
    y, period = with_gaps(), 4
    ahead = learned(SeasonalNaive(period), y).forecast(8).predictive
    phases = [y[phase::period] for phase in range(period)]
    alone = [posterior_by_regression(each, 2, False) for each in phases]
    pooled = np.sqrt(
        sum(scale[0] ** 2 / _age(each) * dof for each, (_, scale, dof) in zip(phases, alone, strict=True))
        / sum(dof for _, _, dof in alone)
    )
    assert isinstance(ahead, StudentT)
    assert ahead.mean == approx(np.tile([mean[0] for mean, _, _ in alone], 2))
    ages = np.concatenate([[_age(each) + k for each in phases] for k in (0, 1)])
    assert ahead.scale == approx(pooled * np.sqrt(ages), rel=ROUNDING)


def _age(y: Floats) -> int:
    return len(y) - int(np.flatnonzero(~np.isnan(y))[-1])


@pytest.mark.parametrize("make", [Naive, Drift, lambda: SeasonalNaive(3)])
def test_run_equals_stepping(make: Any) -> None:
    y = with_gaps()
    model, stepped = make(), make()
    trace = model.run(y)
    forecasts = [stepped.step(value) for value in y]
    assert [each is None for each in forecasts] == [t < trace.first for t in range(len(y))]
    assert trace.mean.tolist() == approx([each.mean for each in forecasts if each is not None], rel=0, nan_ok=True)
    assert trace.var.tolist() == [each.var for each in forecasts if each is not None]
    assert model.predict().mean == stepped.predict().mean
    assert model.forecast(1).mean[0] == model.predict().mean


@pytest.mark.parametrize("make", [Naive, Drift, lambda: SeasonalNaive(3)])
def test_paths_have_the_exact_distribution(make: Any) -> None:
    model = learned(make(), with_gaps())
    exact, drawn = model.forecast(7), model.forecast(7, method="paths", n_paths=20_000, rng=0)
    assert drawn.paths is not None
    for step in range(7):
        pit = exact.predictive[step].cdf(drawn.paths[:, step])
        assert stats.kstest(pit, "uniform").pvalue > 1e-4
    if isinstance(model, Naive):  # the increments after the first are independent of the value before
        first, second = np.diff(drawn.paths[:, :3]).T
        assert abs(np.corrcoef(first, second).flat[1]) < 0.05


@pytest.mark.parametrize(("make", "drift"), [(Naive, 0.0), (Drift, 0.2)])
def test_intervals_hold_what_they_say_under_the_model(make: Any, drift: float) -> None:
    """Exact for every length of the past, also short ones: 4,000 walks of 8 values, scored 1 and 5 steps ahead."""
    rng, held = np.random.default_rng(1), np.zeros(2)
    for _ in range(4000):
        y = rng.normal(drift, 2.0, 13).cumsum()
        low, high = learned(make(), y[:8]).forecast(5).interval(0.9)
        held += [low[0] <= y[8] <= high[0], low[4] <= y[12] <= high[4]]
    assert held / 4000 == approx(0.9, abs=4 * np.sqrt(0.09 / 4000))


def test_forecasts_begin_when_the_variance_is_finite() -> None:
    for model, n in ((Naive(), 4), (Drift(), 5), (SeasonalNaive(3), 6)):
        learned(model, SERIES[: n - 1])
        assert not model.is_ready
        with pytest.raises(NotReadyError, match="update with more"):
            model.predict()
        with pytest.raises(NotEnoughDataError, match="longer series"):
            model.copy().run([np.nan])
        model.update(SERIES[n])
        assert model.is_ready
        assert np.isfinite(model.predict().var)


def test_a_phase_that_was_never_seen_is_not_known() -> None:
    y = np.tile([1.0, np.nan, 3.0], 5) + np.arange(15.0)
    forecast = learned(SeasonalNaive(3), y).forecast(3)
    assert forecast.is_known.tolist() == [True, False, True]


@pytest.mark.parametrize("y", [np.full(9, 7.0), np.zeros(9), np.array([1e300, -1e300] * 5), 1e-300 * SERIES])
def test_any_finite_series_gives_a_finite_forecast(y: Floats) -> None:
    for model in (Naive(), Drift(), SeasonalNaive(2)):
        ahead = learned(model, y).forecast(3)
        assert np.isfinite(ahead.mean).all()
        assert (ahead.var > 0).all()
        assert np.isfinite(ahead.var).all()
        assert np.isfinite(ahead.predictive.logpdf(np.zeros(3))).all()
        assert np.isfinite(model.forecast(3, method="paths", n_paths=5, rng=0).mean).all()


@pytest.mark.parametrize("make", [Naive, Drift, lambda: SeasonalNaive(7)])
def test_what_was_saved_goes_on_the_same(make: Any, tmp_path: Any) -> None:
    model = learned(make(), with_gaps())
    model.save(tmp_path / "baseline.safetensors")
    loaded = adabypass.load(tmp_path / "baseline.safetensors")
    assert type(loaded) is type(model)
    for twin in (loaded, adabypass.from_bytes(model.to_bytes()), pickle.loads(pickle.dumps(model)),
                 copy.deepcopy(model), model.copy()):  # fmt: skip
        assert isinstance(twin, Baseline)
        twin.update(3.0)
        again = learned(make(), np.append(with_gaps(), 3.0))
        assert twin.forecast(9).mean.tolist() == again.forecast(9).mean.tolist()
        assert twin.forecast(9).var.tolist() == again.forecast(9).var.tolist()
    with pytest.raises(StateError, match=r"use adabypass\.load"):
        (Drift if isinstance(model, Naive) else Naive).from_bytes(model.to_bytes())


def test_a_damaged_row_is_refused() -> None:
    header, arrays = learned(Naive())._snapshot()
    arrays["row"][4] = -1.0
    with pytest.raises(StateError, match="negative sum of squares"):
        Naive.__new__(Naive).__setstate__({"header": header, "row": arrays["row"]})


def test_they_can_be_evaluated_and_compared_with_others() -> None:
    rng = np.random.default_rng(0)
    walk = rng.normal(size=300).cumsum()
    found = evaluate(walk, Naive(), horizon=4)
    assert found.scores(4)["coverage_90"] == approx(0.9, abs=0.06)
    assert found.scores(4)["rmse"] == approx(2.0, rel=0.2)
    table = compare(walk, [adabypass.AutoBypass(), Naive(), Drift(), SeasonalNaive(5)], exog=rng.normal(size=300))
    assert [line.name for line in table.lines] == ["AutoBypass", "Naive", "Drift", "SeasonalNaive"]
    assert all(line.difference is not None for line in table.lines[1:])
    frame = adabypass.forecast({"y": walk}, 3, Naive())
    assert frame["mean"] == approx(walk[-1])


@pytest.mark.parametrize("period", [0, 2.5, True, "12", -1])
def test_a_period_that_is_none_is_refused(period: Any) -> None:
    with pytest.raises(ParameterError, match="period is"):
        SeasonalNaive(period)


def test_reset_forgets() -> None:
    model = learned(Naive())
    model.reset()
    assert model.n_seen == 0
    assert not model.is_ready
    assert repr(learned(SeasonalNaive(4))) == "SeasonalNaive(period=4, n_seen=36)"


class Stopped(BaseException):
    """Raised in the middle of a call, as Ctrl-C is."""


def stop_after(n_opcodes: int, work: Callable[[], object]) -> bool:
    """Do some work, and stop it before one of its bytecodes; return whether it came to its end."""
    left = n_opcodes

    def trace(frame: Any, event: str, argument: object) -> Any:
        nonlocal left
        frame.f_trace_opcodes = "adabypass" in frame.f_code.co_filename
        if event == "opcode":
            left -= 1
            if left < 0:
                raise Stopped
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except Stopped:
        return False
    finally:
        sys.settrace(before)
    return True


@pytest.mark.parametrize("name", ["update", "step", "run", "reset"])
def test_a_call_that_is_stopped_anywhere_leaves_no_lock_and_nothing_half_learned(name: str) -> None:
    fresh, given = Drift(), {"update": (5.0,), "step": (5.0,), "run": ([5.0, 6.0, 4.0],), "reset": ()}[name]
    fresh.run([1.0, 2.5, 3.0, 4.5, 5.0, 7.0])
    whole = fresh.copy()
    getattr(whole, name)(*given)
    for n_opcodes in range(100_000):
        model = fresh.copy()
        is_done = stop_after(n_opcodes, lambda model=model: getattr(model, name)(*given))  # type: ignore[misc]
        assert model.to_bytes() in (fresh.to_bytes(), whole.to_bytes())
        assert not model._lock.locked()
        if is_done:
            break
    assert n_opcodes > 20
