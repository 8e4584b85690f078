"""The compiled structures against their reference, and on whatever may come in."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass.kernels.structure import StructureRunner
from adabypass.reference import profile as profiles
from adabypass.reference import shares as sharing
from adabypass.reference import structure as reference
from adabypass.reference import structure_horizons as horizons
from adabypass.state import structures as design
from adabypass.state.structure_forecasts import read_records
from adabypass.state.structure_row import LAYOUT, N_PROFILE_VALUES, StructureSpec

ROUNDING: dict[str, Any] = dict(rtol=1e-7, atol=1e-9)  # some thousand double-precision operations
PERIODS = [(), (2,), (4,), (12,), (5, 11.5), (4, 20)]


@st.composite
def series(draw: st.DrawFn) -> tuple[StructureSpec, np.ndarray, np.ndarray]:
    """Draw a spec, a series of 12 observations or more with no missing one among the first, exogenous columns."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    spec = StructureSpec(draw(st.sampled_from(PERIODS)), draw(st.integers(0, 2)))
    n = draw(st.integers(design.N_START, 40))
    y = draw(st.sampled_from([0.0, 30.0])) + rng.normal(size=n).cumsum() * draw(st.sampled_from([0.3, 2.0]))
    for at in draw(st.lists(st.integers(0, n - 1), max_size=3)):  # gross errors, or changes where they are neighbours
        y[at] += rng.choice([30.0, -20.0])
    if draw(st.booleans()):
        y[design.N_START + 1 :: 7] = np.nan
    return spec, y, rng.normal(size=(n, spec.n_exog))


class Judge:
    """The reference's structures, after the units are known."""

    def __init__(self, spec: StructureSpec, y: np.ndarray, exog: np.ndarray) -> None:
        first = y[: design.N_START]
        self.spec, self.is_positive = spec, bool((first > 0).all())
        self.center, self.unit = first[0], np.abs(np.diff(first)).mean()
        if self.is_positive:
            self.log_center, self.log_unit = np.log(first[0]), np.abs(np.diff(np.log(first))).mean()
        start = exog[: design.N_START]
        self.exog_center = start.mean(axis=0)
        self.exog_unit = np.abs(start - self.exog_center).mean(axis=0)
        self.beliefs = [reference.prior(each, spec.n_waves(each), spec.n_exog) for each in spec.structures]
        self.evidence, self.n_shocks = np.zeros(len(spec.structures)), np.zeros(len(spec.structures), int)
        self.shapes = {each: profiles.flat(each[0]) for each in spec.profiles}
        self.values: dict[Any, list[float]] = {False: [], True: []} | {each: [] for each in spec.profiles}
        self.n_missing = self.n_steps = 0
        for each, known in zip(y, exog, strict=True):
            self.step(each, (known - self.exog_center) / self.exog_unit)

    def step(self, y: float, exog: np.ndarray) -> None:
        self.is_positive = self.is_positive and not y <= 0
        season = reference.waves(self.spec.harmonics, self.n_steps)
        scores = np.full(len(self.beliefs), np.nan)
        guesses: dict[bool, list[Any]] = {False: [], True: []}
        for k, structure in enumerate(self.spec.structures):
            past, added = self.past(structure), self.added(structure, self.n_steps)
            dynamics = reference.dynamics(structure, self.spec.n_waves(structure), self.spec.n_exog)
            self.beliefs[k] = belief = reference.advance(self.beliefs[k], *dynamics[:2])
            if not structure.lags:
                x = reference.regressors(structure, season[self.spec.season(structure)], exog, past)
                guesses[structure.is_log].append((self.evidence[k], x @ belief.mean))
            asleep = structure.lags and (len(past) < structure.n_values or self.n_missing)
            if structure.profile:
                n_learned = self.shapes[structure.profile, structure.is_log].n_learned
                asleep = asleep or n_learned < design.SEASON_FROM * structure.profile.length
            if np.isnan(y) or asleep or (structure.is_log and not self.is_positive):
                continue
            x = reference.regressors(structure, season[self.spec.season(structure)], exog, past)
            expected = reference.forecast(belief, x, past[0] if structure.difference else 0.0, dynamics[2])
            z, slope = self.in_units(y, structure.is_log)
            z -= added
            scores[k] = reference.log_density(belief, expected, z) + slope
            if structure.shock != "follows":
                following = self.beliefs[self.spec.structures.index(structure._replace(shock="follows"))]
                self.beliefs[k], self.n_shocks[k] = reference.update_with_shocks(
                    structure, belief, following, self.n_shocks[k], x, expected, z
                )
            else:
                self.beliefs[k] = reference.update(belief, x, expected, z)
        if not np.isnan(y) and len(self.values[False]) >= design.N_UNCOUNTED:
            self.evidence = sharing.add_log_scores(
                self.evidence, scores, design.EVIDENCE_DISCOUNT, design.EVIDENCE_POWER
            )
        for is_log in (False, True):
            evidence, means = np.array(guesses[is_log]).T
            z = sharing.shares(evidence) @ means if np.isnan(y) else 0.0
            if not np.isnan(y) and (self.is_positive or not is_log):
                z = self.in_units(y, is_log)[0]
            self.values[is_log].append(z)
            for (profile, of_log), shape in self.shapes.items():
                if of_log != is_log:
                    continue
                self.values[profile, of_log].append(z - profiles.value(shape, self.n_steps))
                if not np.isnan(y) and (self.is_positive or not is_log):
                    self.shapes[profile, of_log] = profiles.update(profile, shape, self.n_steps, z)
        self.n_missing = self.n_missing + 1 if np.isnan(y) else 0
        self.n_steps += 1

    def past(self, structure: design.Structure) -> np.ndarray:
        """Return the values that a structure's lags reach, newest first."""
        key = (structure.profile, structure.is_log) if structure.profile else structure.is_log
        return np.array(self.values[key][::-1])

    def added(self, structure: design.Structure, t: int) -> float:
        """Return what its profile adds to a structure at time t."""
        if structure.profile is None:
            return 0.0
        return profiles.value(self.shapes[structure.profile, structure.is_log], t)

    def in_units(self, y: float, is_log: bool) -> tuple[float, float]:
        """Return y in units, and the log of the derivative by y in units of the series."""
        if not is_log:
            return (y - self.center) / self.unit, 0.0
        return (np.log(y) - self.log_center) / self.log_unit, np.log(self.unit / (y * self.log_unit))


def limits(judge: Judge, y: np.ndarray, is_log: bool) -> tuple[float, float]:
    """Return the limits of a structure's means, in units."""
    if is_log:
        low, high = reference.log_limits(y.min(), y.max(), y[y > 0].min())
        return (low - judge.log_center) / judge.log_unit, (high - judge.log_center) / judge.log_unit
    low, high = reference.limits(y.min(), y.max())
    return (low - judge.center) / judge.unit, (high - judge.center) / judge.unit


def states(runner: StructureRunner) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return mean and covariance of every structure's state."""
    return [runner.spec.belief(runner.row, k) for k in range(len(runner.spec.sizes))]


def trained(spec: StructureSpec, y: np.ndarray, exog: np.ndarray | None = None) -> StructureRunner:
    runner = StructureRunner(spec, spec.new_row())
    runner.run(np.empty((len(y), 0)) if exog is None else exog, y, False, False)
    return runner


def compare_profiles(runner: StructureRunner, judge: Judge) -> None:
    starts = runner.spec.profile_starts
    for i, ((profile, is_log), shape) in enumerate(judge.shapes.items()):
        if is_log and not judge.is_positive:
            continue
        found = runner.spec.view(runner.row, "profiles")[starts[i] : starts[i + 1]]
        head = [shape.level, shape.square_sum, shape.dof, float(shape.n_learned)]
        left = judge.values[profile, is_log][: -N_PROFILE_VALUES - 1 : -1]
        np.testing.assert_allclose(found, np.concatenate([head, left, *shape.tables]), **ROUNDING)


@settings(max_examples=40, deadline=None)
@given(series())
def test_the_kernel_matches_the_reference(given_series: tuple[StructureSpec, np.ndarray, np.ndarray]) -> None:
    spec, y, exog = given_series
    runner, judge = trained(spec, y, exog), Judge(spec, y, exog)
    compare_profiles(runner, judge)
    for (mean, cov), belief, structure in zip(states(runner), judge.beliefs, spec.structures, strict=True):
        if structure.is_log and not judge.is_positive:
            continue
        np.testing.assert_allclose(mean, belief.mean, **ROUNDING)
        np.testing.assert_allclose(cov, belief.cov, **ROUNDING)
    dof = spec.view(runner.row, "dof")
    kept = [k for k, each in enumerate(spec.structures) if judge.is_positive or not each.is_log]
    np.testing.assert_allclose(dof[kept], [judge.beliefs[k].dof for k in kept], **ROUNDING)
    squares = spec.view(runner.row, "square_sum")[kept]
    np.testing.assert_allclose(squares, [judge.beliefs[k].square_sum for k in kept], **ROUNDING)
    assert spec.view(runner.row, "n_shocks")[kept].tolist() == judge.n_shocks[kept].tolist()
    evidence = spec.view(runner.row, "evidence")[kept]
    np.testing.assert_allclose(evidence - evidence.max(), judge.evidence[kept] - judge.evidence[kept].max(), **ROUNDING)


@settings(max_examples=40, deadline=None)
@given(series(), st.floats(-40.0, 40.0))
def test_lags_have_no_share_while_the_newest_value_is_doubted(
    given_series: tuple[StructureSpec, np.ndarray, np.ndarray], newest: float
) -> None:
    spec, y, exog = given_series
    y[-1] = y[~np.isnan(y)][-1] + newest
    runner, judge = trained(spec, y, exog), Judge(spec, y, exog)
    is_awake = [judge.is_positive or not each.is_log for each in spec.structures]
    evidence = np.where(is_awake, judge.evidence, np.nan)
    of_lags = sum(share for share, each in zip(runner.shares_ahead(1), spec.structures, strict=True) if each.lags)
    assert (of_lags == 0.0) == reference.is_doubted(spec.structures, evidence, judge.n_shocks)


@settings(max_examples=25, deadline=None)
@given(series(), st.sampled_from([1, 2, 8, 100]))
def test_many_steps_ahead_match_the_reference(
    given_series: tuple[StructureSpec, np.ndarray, np.ndarray], horizon: int
) -> None:
    spec, y, exog = given_series
    y = y[~np.isnan(y)]
    exog = exog[: len(y)]
    runner, judge = trained(spec, y, exog), Judge(spec, y, exog)
    known = np.zeros((horizon, spec.n_exog))
    share = runner.shares_ahead(1)
    means, variances = runner.moments_ahead(known)
    season = np.array([reference.waves(spec.harmonics, len(y) + h) for h in range(horizon)])
    for k, structure in enumerate(spec.structures):
        if share[k] == 0.0 or structure.lags:  # damped lag weights are tested below
            continue
        past = np.array(judge.values[structure.is_log][::-1])
        units = (known - judge.exog_center) / judge.exog_unit
        waves, bounds = season[:, spec.season(structure)], limits(judge, y, structure.is_log)
        mean, var = reference.ahead(structure, judge.beliefs[k], waves, units, past, bounds)
        np.testing.assert_allclose(means[k], mean, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(variances[k], var, rtol=1e-6)


@pytest.mark.parametrize("periods", [(), (4,), (4, 20)])
def test_regressions_on_lags_ahead_match_the_reference(periods: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    spec, y = StructureSpec(periods), np.empty(80)
    y[:2] = 50.0
    for t in range(2, 80):  # far from exploding, so that no weight is damped
        y[t] = 50.0 + 0.5 * (y[t - 1] - 50.0) - 0.3 * (y[t - 2] - 50.0) + rng.normal()
    runner, judge = trained(spec, y), Judge(spec, y, np.empty((80, 0)))
    share = runner.shares_ahead(1)
    means, variances = runner.moments_ahead(np.empty((30, 0)))
    season = np.array([reference.waves(spec.harmonics, 80 + h) for h in range(30)])
    compared = 0
    for k, structure in enumerate(spec.structures):
        if not structure.lags or share[k] == 0.0 or np.abs(judge.beliefs[k].mean[-len(structure.lags) :]).sum() > 1:
            continue
        past, added = judge.past(structure), np.array([judge.added(structure, 80 + h) for h in range(30)])
        bounds = limits(judge, y, structure.is_log)
        mean, var = reference.ahead(
            structure,
            judge.beliefs[k],
            season[:, spec.season(structure)],
            np.empty((30, 0)),
            past,
            bounds,
            profile=added,
        )
        np.testing.assert_allclose(means[k], mean, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(variances[k], var, rtol=1e-6)
        compared += 1
    assert compared >= 4


def test_forecasts_at_their_limits_match_the_reference() -> None:
    """A trend runs into the limit of the means, hardly known lags into that of the variance."""
    y = np.array([1.0, 1.3, 2.0, 2.6, 4.1, 5.0, 8.2, 10.9, 16.0, 22.0, 33.0, 44.0, 65.0, 90.0])
    spec = StructureSpec()
    runner, judge = trained(spec, y), Judge(spec, y, np.empty((len(y), 0)))
    share, horizon = runner.shares_ahead(1), 60
    means, variances = runner.moments_ahead(np.empty((horizon, 0)))
    at_limit = 0
    for k, structure in enumerate(spec.structures):
        stable = np.abs(judge.beliefs[k].mean[-len(structure.lags) :]).sum() <= 1 if structure.lags else True
        if share[k] == 0.0 or not stable:
            continue
        belief, bounds = judge.beliefs[k], limits(judge, y, structure.is_log)
        span = np.log(y.max() / y.min()) / judge.log_unit if structure.is_log else np.ptp(y) / judge.unit
        most = (design.RANGES_BEYOND * span) ** 2 / (belief.square_sum / belief.dof)
        past, nothing = np.array(judge.values[structure.is_log][::-1]), np.empty((horizon, 0))
        mean, var = reference.ahead(structure, belief, nothing, nothing, past, bounds, most)
        np.testing.assert_allclose(means[k], mean, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(variances[k], var, rtol=1e-6)
        at_limit += int(mean[-1] == bounds[1])
    assert at_limit >= 4


def test_run_equals_updates_bit_for_bit() -> None:
    rng = np.random.default_rng(4)
    spec = StructureSpec((7,), 1)
    y, exog = rng.normal(size=60).cumsum(), rng.normal(size=(60, 1))
    y[[0, 5, 30, 31]] = np.nan
    whole, single = trained(spec, y, exog), StructureRunner(spec, spec.new_row())
    for each, known in zip(y, exog, strict=True):
        single.update(known, each)
    assert whole.row.tobytes() == single.row.tobytes()


def test_the_forecast_of_one_step_is_the_first_of_many() -> None:
    rng = np.random.default_rng(5)
    runner = trained(StructureSpec((4,)), 20.0 + rng.normal(size=50))
    found = read_records(runner.spec, runner.predict(None)[None])
    share, mean, scale, dof = (each[0] for each in found[:4])
    shares, dofs, means, scales = runner.ahead(np.empty((1, 0)))
    kept = [k for k, each in enumerate(runner.spec.structures) if not each.lags]  # others may be damped
    np.testing.assert_allclose(mean[kept], means[0, kept], rtol=1e-12)
    np.testing.assert_allclose(scale[kept], scales[0, kept], rtol=1e-12)
    assert (share == shares[0]).all()
    assert (dof == dofs[0]).all()


class HorizonJudge:
    """The reference's evidence many steps ahead, of the forecasts that a runner makes."""

    def __init__(self, runner: StructureRunner) -> None:
        self.runner, self.spec = runner, runner.spec
        self.horizons = [sharing.new_horizon(len(runner.spec.structures)) for _ in design.HORIZONS]
        self.pending: list[horizons.Pending | None] = [None] * len(design.HORIZONS)
        self.is_log = np.array([each.is_log for each in runner.spec.structures])
        self.lags = np.array([bool(each.lags) for each in runner.spec.structures])

    def step(self, y: float) -> None:
        """Judge what has come, let the runner learn it, and take its forecasts of what is to come."""
        spec, runner = self.spec, self.runner
        was_missing = LAYOUT.scalar(runner.row, "n_missing") > 0
        dof = spec.view(runner.row, "dof").copy()
        scale_var = spec.view(runner.row, "square_sum") / dof
        runner.update(None, y)
        t = int(LAYOUT.scalar(runner.row, "n_steps"))
        is_positive = LAYOUT.scalar(runner.row, "is_positive") == 1
        for j, h in enumerate(design.HORIZONS):
            if t % h:
                continue
            pending = self.pending[j]
            if pending is not None and not np.isnan(y):
                z, slope = self.in_units(y, is_positive)
                z = np.where(self.lags & was_missing, np.nan, z)
                self.horizons[j] = horizons.judge(self.horizons[j], pending, scale_var, dof, z, slope)
            means, variances = runner.moments_ahead(np.empty((h, 0)))
            known = runner.shares_ahead(1) > 0
            self.pending[j] = horizons.Pending(np.where(known, means[:, -1], np.nan), variances[:, -1].copy())

    def in_units(self, y: float, is_positive: bool) -> tuple[np.ndarray, np.ndarray]:
        of = {name: LAYOUT.scalar(self.runner.row, name) for name in ("center", "unit", "log_center", "log_unit")}
        z = np.full(len(self.is_log), (y - of["center"]) / of["unit"])
        slope = np.zeros(len(z))
        if is_positive:
            z[self.is_log] = (np.log(y) - of["log_center"]) / of["log_unit"]
            slope[self.is_log] = np.log(of["unit"] / (y * of["log_unit"]))
        else:
            z[self.is_log] = np.nan
        return z, slope


@pytest.mark.parametrize(("periods", "offset", "gap"), [((), 0.0, False), ((12,), 60.0, False), ((5, 11.5), 9.0, True)])
def test_evidence_many_steps_ahead_matches_the_reference(periods: tuple[float, ...], offset: float, gap: bool) -> None:
    rng = np.random.default_rng(11)
    spec, y = StructureSpec(periods), offset + rng.normal(size=150).cumsum() + rng.normal(size=150)
    if gap:
        y[[40, 41, 64, 96]] = np.nan
    runner = trained(spec, y[: design.N_START])
    spec.view(runner.row, "horizon_count")[:] = spec.view(runner.row, "horizon_dof")[:] = 0.0
    for name in ("horizon_evidence", "horizon_square_sum", "pending_var"):
        spec.view(runner.row, name)[:] = 0.0  # the judge begins here too
    judge = HorizonJudge(runner)
    for each in y[design.N_START :]:
        judge.step(each)
    n = len(spec.structures)
    for j, expected in enumerate(judge.horizons):
        assert expected.n_judged > 2
        assert spec.view(runner.row, "horizon_count")[j] == pytest.approx(expected.n_judged, rel=1e-12)
        for name in ("evidence", "square_sum"):
            found = spec.view(runner.row, f"horizon_{name}").reshape(-1, n)[j]
            np.testing.assert_allclose(found, getattr(expected, name), rtol=1e-6, atol=1e-7)
    evidence = sharing.evidence_table(judge.horizons, spec.view(runner.row, "evidence"))
    dof = spec.view(runner.row, "dof")
    scale_var = spec.view(runner.row, "square_sum") / dof
    scales = [(scale_var, dof), *(horizons.scale(each, scale_var, dof) for each in judge.horizons)]
    logs, dofs = np.log([each for each, _ in scales]), np.array([each for _, each in scales])
    noise_vars, noise_dofs = runner.scales_ahead(50)
    awake = runner.shares_ahead(1) > 0
    for step in (1, 2, 3, 7, 24, 32, 50):
        share = sharing.shares(np.where(awake, sharing.at_step(evidence, design.HORIZONS, step), -np.inf))
        np.testing.assert_allclose(runner.shares_ahead(step), share, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(
            np.log(noise_vars[step - 1]), sharing.at_step(logs, design.HORIZONS, step), rtol=1e-6, atol=1e-7
        )
        np.testing.assert_allclose(noise_dofs[step - 1], sharing.at_step(dofs, design.HORIZONS, step), rtol=1e-9)


def test_with_exogenous_columns_shares_are_those_of_one_step() -> None:
    rng = np.random.default_rng(12)
    runner = trained(StructureSpec((), 1), rng.normal(size=200), rng.normal(size=(200, 1)))
    assert (runner.shares_ahead(1) == runner.shares_ahead(30)).all()


def test_many_steps_ahead_the_shares_follow_what_forecasts_so_far_ahead_were_worth() -> None:
    rng = np.random.default_rng(13)
    y = np.zeros(3000)
    for t in range(1, 3000):  # one step ahead all but a random walk; far ahead it returns to its mean
        y[t] = 0.97 * y[t - 1] + rng.normal()
    runner = trained(StructureSpec(), y)
    walks = [k for k, each in enumerate(runner.spec.structures) if each.gain == 1.0 and not each.is_log]
    assert runner.shares_ahead(32)[walks].sum() < 0.7 * runner.shares_ahead(1)[walks].sum()


wild = st.floats(allow_nan=True, allow_infinity=False, width=64)


@settings(max_examples=150, deadline=None)
@given(st.lists(wild, min_size=1, max_size=40), st.sampled_from(PERIODS))
def test_any_finite_input_gives_finite_answers(values: list[float], periods: tuple[float, ...]) -> None:
    runner = trained(StructureSpec(periods), np.array(values))
    assert np.isfinite(runner.row[np.r_[: LAYOUT.position("n_counted") + 1]]).all()
    for name in (
        "evidence",
        "square_sum",
        "dof",
        "mean",
        "cov",
        "values",
        "horizon_evidence",
        "horizon_square_sum",
        "pending_mean",
    ):
        assert np.isfinite(runner.spec.view(runner.row, name)).all(), name
    for table in runner.ahead(np.empty((20, 0))):
        assert np.isfinite(table).all()


def test_covariances_stay_positive_over_many_steps() -> None:
    rng = np.random.default_rng(6)
    n = 100_000
    y = 10.0 * np.sin(2 * np.pi * np.arange(n) / 12) + rng.normal(size=n).cumsum()
    y[50_000:60_000] = np.nan
    runner = trained(StructureSpec((12,)), y)
    for _, cov in states(runner):
        values = np.linalg.eigvalsh(cov)
        assert values[0] > -1e-10 * values[-1]
    assert np.isfinite(runner.row[np.isfinite(runner.row)]).all()


def test_a_far_value_starts_the_units_anew() -> None:
    rng = np.random.default_rng(7)
    y = np.concatenate([5.0 + 1e-9 * rng.normal(size=30), 1000.0 + rng.normal(size=40)])
    runner = trained(StructureSpec(), y)
    assert LAYOUT.scalar(runner.row, "unit") > 0.1
    found = read_records(runner.spec, runner.predict(None)[None])
    share, mean = found.share[0], found.mean[0]
    is_log = np.array([each.is_log for each in runner.spec.structures])
    assert share @ np.where(is_log, np.exp(np.where(is_log, mean, 0.0)), mean) == pytest.approx(1000.0, abs=3.0)


def test_rows_of_another_size_are_refused() -> None:
    spec = StructureSpec()
    with pytest.raises(ValueError, match="row has"):
        StructureRunner(spec, np.zeros(spec.row_size + 1))
    runner = StructureRunner(spec, spec.new_row())
    with pytest.raises(ValueError, match="inputs"):
        runner.update(np.zeros(1), 1.0)
