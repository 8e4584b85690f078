"""The compiled pool against its reference, with structures and regressions that were run apart from it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabypass.kernels.auto_bypass import KERNEL
from adabypass.kernels.pool import PoolRunner
from adabypass.kernels.series import SeriesRunner
from adabypass.kernels.structure import StructureRunner
from adabypass.reference import shares as reference
from adabypass.state.pool import PoolSpec, pool_spec
from tests.distributions.test_students import students

ROUNDING: dict[str, Any] = dict(rtol=1e-8, atol=1e-9)  # some thousand double-precision operations
PERIODS = [(), (4,), (7,), (2, 11.5), (3, 12)]


@st.composite
def series(draw: st.DrawFn) -> tuple[PoolSpec, np.ndarray, np.ndarray]:
    """Draw a spec, a series with or without gaps and zeros, and exogenous columns."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    spec = pool_spec(draw(st.sampled_from(PERIODS)), draw(st.integers(0, 2)))
    n = draw(st.integers(1, 90))
    y = draw(st.sampled_from([0.0, 30.0])) + rng.normal(size=n).cumsum() * draw(st.sampled_from([0.3, 2.0]))
    if draw(st.booleans()):
        y[draw(st.integers(1, 30)) :: 7] = np.nan
    if draw(st.booleans()):
        y[draw(st.integers(20, 50)) :: 3] = 0.0
    return spec, y, rng.normal(size=(n, spec.n_exog))


def judge(spec: PoolSpec, y: np.ndarray, exog: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares before each observation, and the evidence after the last."""
    runner = StructureRunner(spec.structures, spec.structures.new_row())
    regressions = [SeriesRunner(KERNEL, each, each.new_row(spec.n_exog), spec.n_exog) for each in spec.regressions]
    evidence, found = np.zeros(1 + len(regressions)), []
    is_log = np.array([each.is_log for each in spec.structures.structures])
    n_start = 0  # observations since the first that is no zero apart
    for value, known in zip(y, exog, strict=True):
        counts = n_start >= 12 and runner.is_scaled and runner.zero_share == 0.0
        scores = np.full(len(evidence), np.nan)
        if counts and not np.isnan(value):
            forecast = students(*runner.components(known), is_log)
            scores[0] = forecast.logpdf(float(value))
        runner.update(known, float(value))
        awake = np.ones(len(evidence), dtype=bool)
        for k, (each, fewest) in enumerate(zip(regressions, spec.min_seen, strict=True)):
            n_seen = each.row[-spec.regressions[k].model.row_size(each.n_features)]
            awake[1 + k] = each.is_ready and n_seen >= fewest
            before = each.step(known, float(value))
            if awake[1 + k] and before is not None and not np.isnan(value):
                scores[1 + k] = before.logpdf(float(value))
        found.append(reference.shares(evidence, awake) if counts else np.eye(len(evidence))[0])
        if runner.zero_share > 0.0:
            scores[0] = np.nan
        evidence = reference.add_pool_scores(evidence, scores)
        is_apart = value == 0.0 and runner.zero_share > 0.0
        n_start += n_start > 0 or not (np.isnan(value) or is_apart)
    return np.array(found), evidence


def shares_of(spec: PoolSpec, records: np.ndarray) -> np.ndarray:
    """Return the shares of the structures together and of each regression."""
    start = spec.structures.n_record
    found: np.ndarray = records[:, start : start + 1 + len(spec.regressions)]
    return found


@settings(max_examples=25, deadline=None)
@given(series())
def test_the_kernel_matches_the_reference(given_series: tuple[PoolSpec, np.ndarray, np.ndarray]) -> None:
    spec, y, exog = given_series
    runner = PoolRunner(spec, spec.new_row())
    first, *_, records = runner.run(exog, y, False, True)
    share = shares_of(spec, records)
    expected, evidence = judge(spec, y, exog)
    np.testing.assert_allclose(share, expected[first:], **ROUNDING)
    np.testing.assert_allclose(runner.row[spec.evidence], evidence, **ROUNDING)


@settings(max_examples=10, deadline=None)
@given(series())
def test_a_run_equals_single_steps_bit_for_bit(given_series: tuple[PoolSpec, np.ndarray, np.ndarray]) -> None:
    spec, y, exog = given_series
    whole, single = PoolRunner(spec, spec.new_row()), PoolRunner(spec, spec.new_row())
    first, *_, records = whole.run(exog, y, False, True)
    for t, (value, known) in enumerate(zip(y, exog, strict=True)):
        record = single.freeze(known).record
        if t < first:
            assert record is None
        else:
            np.testing.assert_array_equal(record, records[t - first])
        single.update(known, value)
    np.testing.assert_array_equal(whole.row, single.row)
    np.testing.assert_array_equal(whole.shares, single.shares)


def test_the_row_is_the_whole_memory() -> None:
    rng = np.random.default_rng(1)
    y, nothing = rng.normal(size=150).cumsum(), np.empty((150, 0))
    spec = pool_spec((12,), 0)
    runner = PoolRunner(spec, spec.new_row())
    runner.run(nothing[:100], y[:100], False, False)
    twin = PoolRunner(spec, runner.row.copy())
    for each in (runner, twin):
        each.run(nothing[100:], y[100:], False, False)
    np.testing.assert_array_equal(runner.row, twin.row)


@pytest.mark.parametrize("size", [1e300, 1e-300, 1e12])
def test_any_finite_series_has_finite_shares(size: float) -> None:
    y = size * np.sign(np.random.default_rng(2).normal(size=120))
    y[60:] *= 1e-9
    spec = pool_spec((), 0)
    runner = PoolRunner(spec, spec.new_row())
    *_, records = runner.run(np.empty((len(y), 0)), y, False, True)
    share = shares_of(spec, records)
    assert np.isfinite(share).all()
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    assert np.isfinite(runner.row[spec.evidence]).all()


def test_wrong_arrays_are_refused() -> None:
    spec = pool_spec((), 1)
    with pytest.raises(ValueError, match="needs"):
        PoolRunner(spec, np.zeros(spec.row_size + 1))
    runner = PoolRunner(spec, spec.new_row())
    with pytest.raises(ValueError, match="inputs"):
        runner.run(np.zeros((3, 2)), np.zeros(3), False, False)
