"""The kernel obeys the reference: over random hyperparameters, dimensions, outliers and gaps."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from adabypass.distributions.predictive import Predictive
from adabypass.kernels import bypass as bypass_kernel
from adabypass.kernels.evidence_filter import KERNEL as EVIDENCE_FILTER
from adabypass.kernels.kalman import KERNEL as KALMAN
from adabypass.kernels.passive_aggressive import KERNEL as PASSIVE_AGGRESSIVE
from adabypass.kernels.runner import DenseRunner
from adabypass.kernels.step import Kernel
from adabypass.numerics import noise
from adabypass.reference import bypass, evidence, exact_gradient, kalman, passive_aggressive
from adabypass.reference.linear_gaussian import Weights
from adabypass.state.layout import pack
from adabypass.state.paper import (
    AdaBypassSpec,
    BypassSpec,
    EvidenceBypassSpec,
    PassiveAggressiveSpec,
    SequentialKalmanSpec,
)
from adabypass.state.spec import Spec
from adabypass.validation import Floats
from tests.strategies import (
    Stream,
    bypass_cases,
    examples,
    powers,
    streams,
)

RELATIVE = 1e-9
ROUNDING = 1e-13  # a few hundred units in the last place of the numbers that were subtracted from each other

passive_aggressive_specs = st.builds(
    PassiveAggressiveSpec,
    variant=st.sampled_from(["PA", "PA-I", "PA-II"]),
    C=powers(-3, 3),
    epsilon=st.one_of(st.just(0.0), powers(-3, 1)),
)
evidence_specs = st.builds(
    EvidenceBypassSpec, drift=powers(-6, 1), noise_scale=powers(-2, 2), epsilon=powers(-2, 1.5), prior_var=powers(-2, 3)
)
kalman_specs = st.builds(SequentialKalmanSpec, noise_var=powers(-3, 3), adapt_noise=st.booleans())


def close(ours: Floats, theirs: Floats, cancelled: float = 1e-12) -> bool:
    """Whether arrays agree, relative to their largest entry; `cancelled` is the size of what cancelled to give them."""
    return bool(np.abs(ours - theirs).max() <= max(RELATIVE * np.abs(theirs).max(), ROUNDING * cancelled))


def new_runner(kernel: Kernel, spec: Spec, n_features: int) -> DenseRunner:
    return DenseRunner(kernel, spec, spec.new_row(n_features), n_features)


def moments(forecast: Predictive) -> tuple[float, float]:
    return forecast.mean, forecast.var


def blocks(row: Floats, sizes: list[int]) -> list[Floats]:
    return np.split(row, np.cumsum(sizes)[:-1])


@given(streams(), passive_aggressive_specs)
def test_passive_aggressive_kernel_equals_reference(stream: Stream, spec: PassiveAggressiveSpec) -> None:
    model = new_runner(PASSIVE_AGGRESSIVE, spec, stream.X.shape[1])
    weights = np.zeros(stream.X.shape[1])
    for x, y in zip(stream.X, stream.y, strict=True):
        assert model.predict(x).mean == approx(passive_aggressive.predict(weights, x), rel=RELATIVE, abs=RELATIVE)
        model.update(x, y)
        weights = passive_aggressive.update(weights, x, y, spec)
        assert close(model.row[1:], weights)


@given(streams(), kalman_specs)
def test_kalman_kernel_equals_reference(stream: Stream, spec: SequentialKalmanSpec) -> None:
    n = stream.X.shape[1]
    model = new_runner(KALMAN, spec, n)
    for x, y in zip(stream.X, stream.y, strict=True):
        n_seen, drift_var, noise_var, *_ = model.row
        cov = spec.layout.matrix(model.row, "cov", n_features=n)
        belief = kalman.Belief(
            Weights(spec.layout.view(model.row, "mean", n_features=n).copy(), cov), drift_var, noise_var, int(n_seen)
        )
        assert moments(model.predict(x)) == approx(kalman.predict(belief, x), rel=RELATIVE)
        model.update(x, y)
        belief = kalman.update(belief, x, y, spec)
        assert model.row[1:3] == approx([belief.drift_var, belief.noise_var], rel=RELATIVE, abs=1e-300)
        assert close(model.row[3 : 3 + n], belief.weights.mean)
        assert close(model.row[3 + n :], pack(belief.weights.cov), cancelled=cov.max() + belief.drift_var)


def bypass_belief(model: DenseRunner, spec: BypassSpec) -> bypass.Belief:
    row, layout, n = model.row, spec.layout, model.n_features
    gradient = bypass.Gradient(np.zeros(n), np.eye(n))
    if isinstance(spec, AdaBypassSpec):
        gradient = bypass.Gradient(
            layout.view(row, "mean_gradient", n_features=n).copy(), layout.matrix(row, "cov_gradient", n_features=n)
        )
    return bypass.Belief(
        Weights(layout.view(row, "mean", n_features=n).copy(), layout.matrix(row, "cov", n_features=n)),
        bypass.Theta(*(float(v) for v in row[1:5])),
        bypass.Omega(*(float(v) for v in row[5:8])),
        gradient,
    )


def moves_on(before: bypass.Belief, x: Floats, y: float, after: bypass.Belief, spec: BypassSpec) -> bool:
    """Return whether sweeps that were to converge have not: one more would still move them.

    Where the fixed point repels, sweeps are chaotic: differences of 1e-16 double every other sweep, and before the cap
    of 1000 they are as large as the numbers themselves.
    """
    if spec.max_sweeps is not None or np.isnan(y):
        return False
    m, S = before.weights
    u = S @ x
    s, n, k, e = (float(value) for value in (x @ u, x @ x, u @ u, y - x @ m))
    seen = bypass.SweepInputs(max(s, 0.0), n, k, e, n_features=len(x))
    again = bypass.sweep(after.theta, after.omega, seen, spec.corrections)
    return bypass.change(after.theta, again, after.omega.epsilon) > RELATIVE


def check_bypass(kernel: Kernel, stream: Stream, spec: BypassSpec) -> None:
    """Compare every step, each from the kernel's own belief: chaos, where there is any, cannot hide or fake a fault."""
    model = new_runner(kernel, spec, stream.X.shape[1])
    for x, y in zip(stream.X, stream.y, strict=True):
        belief = bypass_belief(model, spec)
        assert moments(model.predict(x)) == approx(bypass.predict(belief, x), rel=RELATIVE, abs=1e-12)
        model.update(x, y)
        expected, got = bypass.update(belief, x, y, spec), bypass_belief(model, spec)
        if moves_on(belief, x, y, expected, spec):  # rounding alone decides where the sweeps are when they are stopped
            assert moves_on(belief, x, y, got, spec)
            continue
        assert got.omega == approx(expected.omega, rel=RELATIVE)
        assert got.theta[:2] == approx(expected.theta[:2], rel=RELATIVE)
        assert got.theta.noise_mean == approx(expected.theta.noise_mean, abs=RELATIVE * expected.omega.epsilon)
        assert got.theta.noise_mean_var == approx(expected.theta.noise_mean_var, rel=RELATIVE)
        gain = expected.theta.noise_prec * expected.weights.cov @ x
        assert close(got.weights.mean, expected.weights.mean, cancelled=np.abs(gain).max() * expected.omega.epsilon)
        prior_var = belief.weights.cov.max() + 1 / expected.theta.drift_prec
        assert close(got.weights.cov, expected.weights.cov, cancelled=prior_var)
        pull = expected.theta.noise_prec * (expected.omega.epsilon + abs(y - x @ belief.weights.mean))
        pulled = max(np.abs(belief.gradient.mean).max(), pull * np.abs(belief.gradient.cov @ x).max())
        assert close(got.gradient.mean, expected.gradient.mean, cancelled=pulled)
        assert close(got.gradient.cov, expected.gradient.cov, cancelled=np.abs(belief.gradient.cov).max())


@examples(50)
@given(bypass_cases(adaptive=False))
def test_bypass_kernel_equals_reference(case: tuple[Stream, BypassSpec]) -> None:
    check_bypass(bypass_kernel.BYPASS, *case)


@examples(50)
@given(bypass_cases(adaptive=True))
def test_ada_bypass_kernel_equals_reference(case: tuple[Stream, BypassSpec]) -> None:
    check_bypass(bypass_kernel.ADA_BYPASS, *case)


@examples(50)
@given(bypass_cases(adaptive=False, corrected=True))
def test_corrected_bypass_kernel_equals_reference(case: tuple[Stream, BypassSpec]) -> None:
    check_bypass(bypass_kernel.CORRECTED_BYPASS, *case)


@examples(50)
@given(bypass_cases(adaptive=True, corrected=True))
def test_corrected_ada_bypass_kernel_equals_reference(case: tuple[Stream, BypassSpec]) -> None:
    check_bypass(bypass_kernel.CORRECTED_ADA_BYPASS, *case)


def exact_slopes(model: DenseRunner, spec: AdaBypassSpec) -> exact_gradient.Slopes:
    row, layout, n = model.row, spec.layout, model.n_features
    return exact_gradient.Slopes(
        layout.view(row, "theta_gradient", n_features=n).copy(),
        layout.view(row, "mean_gradient", n_features=n).copy(),
        layout.matrix(row, "cov_gradient", n_features=n),
    )


def exact_belief(model: DenseRunner, spec: AdaBypassSpec) -> bypass.Belief:
    row, layout, n = model.row, spec.layout, model.n_features
    weights = Weights(layout.view(row, "mean", n_features=n).copy(), layout.matrix(row, "cov", n_features=n))
    nothing = bypass.Gradient(np.zeros(n), np.eye(n))
    return bypass.Belief(weights, bypass.Theta(*row[1:5].tolist()), bypass.Omega(*row[5:8].tolist()), nothing)


SLOPE_ROUNDING = 1e-6  # the implicit function divides by what is left of 1, and the sweeps end 1e-13 before their end


@examples(50)
@given(
    streams(max_features=6), st.sets(st.sampled_from(["E1", "E2", "E3", "E4", "E8"])), powers(1.5, 3.5), powers(-1, 1),
    powers(-1, 1), powers(-6, -2),
)  # fmt: skip
def test_exact_ada_bypass_kernel_equals_reference(
    stream: Stream, named: set[str], a: float, b: float, epsilon: float, aggressiveness: float
) -> None:
    spec = AdaBypassSpec(a, b, epsilon, tol=1e-13, aggressiveness=aggressiveness, corrections=(*named, "E5"))
    model = new_runner(bypass_kernel.EXACT_ADA_BYPASS, spec, stream.X.shape[1])
    for x, y in zip(stream.X, stream.y, strict=True):
        belief, slopes = exact_belief(model, spec), exact_slopes(model, spec)
        assert moments(model.predict(x)) == approx(bypass.predict(belief, x), rel=RELATIVE, abs=1e-12)
        model.update(x, y)
        expected, expected_slopes = exact_gradient.update(belief, slopes, x, y, spec)
        got, got_slopes = exact_belief(model, spec), exact_slopes(model, spec)
        if moves_on(belief, x, y, expected, spec):
            continue
        assert got.omega == approx(expected.omega, rel=RELATIVE)
        assert got.theta == approx(expected.theta, rel=RELATIVE, abs=RELATIVE * expected.omega.epsilon)
        prior_var = belief.weights.cov.max() + 1 / expected.theta.drift_prec
        assert close(got.weights.cov, expected.weights.cov, cancelled=prior_var)
        for ours, theirs in zip(got_slopes, expected_slopes, strict=True):
            size = np.abs(theirs).max(axis=tuple(range(1, theirs.ndim)), keepdims=True)
            assert (np.abs(ours - theirs) <= SLOPE_ROUNDING * size + 1e-12).all()


@given(streams(), evidence_specs)
def test_evidence_kernel_equals_reference(stream: Stream, spec: EvidenceBypassSpec) -> None:
    n = stream.X.shape[1]
    model = new_runner(EVIDENCE_FILTER, spec, n)
    for x, y in zip(stream.X, stream.y, strict=True):
        belief = Weights(
            spec.layout.view(model.row, "mean", n_features=n).copy(), spec.layout.matrix(model.row, "cov", n_features=n)
        )
        mean, signal_var = evidence.predict(belief, x, spec)
        var = signal_var + spec.noise_scale**2 * noise.var(spec.epsilon)
        forecast: Any = model.predict(x)
        assert moments(forecast) == approx((mean, var), rel=RELATIVE, abs=RELATIVE)
        assert forecast.components["signal_var"][0] == approx(signal_var, rel=RELATIVE, abs=RELATIVE)
        model.update(x, y)
        expected = evidence.update(belief, x, y, spec)
        assert close(model.row[1 : 1 + n], expected.mean, cancelled=float(np.nan_to_num(abs(y))))
        assert close(model.row[1 + n :], pack(expected.cov), cancelled=belief.cov.max())


def follow(update: Callable[..., Any], belief: Any, stream: Stream, spec: Spec) -> Any:
    for x, y in zip(stream.X, stream.y, strict=True):
        belief = update(belief, x, y, spec)
    return belief


@examples(50)
@given(streams(max_features=6, max_length=60))
def test_whole_streams_equal_the_reference_at_the_defaults(stream: Stream) -> None:
    n = stream.X.shape[1]
    spec = AdaBypassSpec()
    model = new_runner(bypass_kernel.ADA_BYPASS, spec, n)
    model.run(stream.X, stream.y, False, False)
    expected = follow(bypass.update, bypass.start(spec, n), stream, spec)
    assert close(bypass_belief(model, spec).weights.mean, expected.weights.mean)
    assert model.row[1:8] == approx([*expected.theta, *expected.omega], rel=RELATIVE, abs=RELATIVE)
