"""The rivals, each at its best reasonable settings. Those that look ahead are called cheaters, and marked so.

Every rival that is not free of units gets features and y standardised by the first twenty observations; scores are in
the original units.
"""

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from adabypass import AdaBypass, AutoBypass, Normal, SequentialKalman
from adabypass.validation import Floats
from benchmarks.accuracy import dynamic_linear
from benchmarks.accuracy.records import (
    LEVELS,
    WARM_UP,
    Record,
    Units,
    normal_record,
    standardise,
    student_record,
    total_score,
)
from benchmarks.accuracy.streams import Stream


class Rival(NamedTuple):
    """A way to forecast a stream."""

    name: str
    run: Callable[[Stream], Record | None]
    is_cheater: bool = False


def auto_bypass(stream: Stream) -> Record:
    """Forecast with AutoBypass, as it comes; it is told of a season."""
    trace = AutoBypass(period=stream.period).run(stream.X, stream.y)
    intervals = {level: trace.predictive.interval(level) for level in LEVELS}
    median = trace.predictive.quantile(0.5)
    return Record(trace.mean, trace.log_score, trace.predictive.crps(stream.y), intervals, median)


def ours(make: Callable[[], Any]) -> Callable[[Stream], Record]:
    """Forecast with a model of the paper."""

    def run(stream: Stream) -> Record:
        units = standardise(stream)
        trace = make().run(units.X, units.y)
        return normal_record(trace.mean, trace.var, units)

    return run


def river_bayesian(smoothing: float | None) -> Callable[[Stream], Record]:
    """Forecast with River's Bayesian linear regression, with the noise's precision that proves best in hindsight."""

    def run(stream: Stream) -> Record:
        records = [with_precision(stream, beta) for beta in (1.0, 10.0, 100.0, 1000.0)]
        return max(records, key=lambda record: total_score(record, stream))

    def with_precision(stream: Stream, beta: float) -> Record:
        from river import linear_model  # noqa: PLC0415  (an extra)

        units = standardise(stream)
        model: Any = linear_model.BayesianLinearRegression(smoothing=smoothing, beta=beta)
        mean, var = np.zeros(len(units.y)), np.ones(len(units.y))
        for t, (x, y) in enumerate(zip(units.X.tolist(), units.y.tolist(), strict=True)):
            features = dict(enumerate(x))
            forecast = model.predict_one(features, with_dist=True)
            mean[t], var[t] = forecast.mu, max(forecast.sigma, 1e-6) ** 2
            if y == y:  # noqa: PLR0124  (not nan)
                model.learn_one(features, y)
        return normal_record(mean, var, units)

    return run


def river_jackknife(stream: Stream) -> Record:
    """Forecast with River's passive-aggressive regression, and intervals by the jackknife."""
    from river import conf, linear_model  # noqa: PLC0415  (an extra)

    units = standardise(stream)
    linear: Any = linear_model
    model: Any = conf.RegressionJackknife(linear.PARegressor(C=0.1, mode=1), confidence_level=0.9)
    mean, low, high = (np.zeros(len(units.y)) for _ in range(3))
    for t, (x, y) in enumerate(zip(units.X.tolist(), units.y.tolist(), strict=True)):
        features = dict(enumerate(x))
        interval = model.predict_one(features, with_interval=True)
        mean[t], low[t], high[t] = interval.center, interval.lower, interval.upper
        if y == y:  # noqa: PLR0124  (not nan)
            model.learn_one(features, y)
    back = [units.center + units.scale * part for part in (mean, low, high)]
    return Record(back[0], None, None, {0.9: (back[1], back[2])})


def conformal_sgd(stream: Stream) -> Record:
    """Forecast with scikit-learn's passive-aggressive SGD, and adaptive conformal intervals (Gibbs and Candes)."""
    from sklearn.linear_model import SGDRegressor  # noqa: PLC0415  (an extra)

    units = standardise(stream)
    model = SGDRegressor(
        loss="epsilon_insensitive", epsilon=0.1, penalty=None, learning_rate="pa1", eta0=0.1, fit_intercept=False
    )
    n = len(units.y)
    mean, reach, errors, miss = np.zeros(n), np.full(n, 10.0), [1.0], 0.1
    for t, (x, y) in enumerate(zip(units.X, units.y, strict=True)):
        mean[t] = model.predict(x[None])[0] if t > 0 else 0.0
        reach[t] = np.quantile(errors[-500:], min(max(1 - miss, 0.0), 1.0))
        if y == y:  # noqa: PLR0124  (not nan)
            error = abs(y - mean[t])
            miss += 0.005 * (0.1 - float(error > reach[t]))
            errors.append(error)
            model.partial_fit(x[None], [y])
    low, high = mean - reach, mean + reach
    back = [units.center + units.scale * part for part in (mean, low, high)]
    return Record(back[0], None, None, {0.9: (back[1], back[2])})


def viking(stream: Stream) -> Record | None:
    """Forecast with Viking, a Kalman filter that tracks its variances; only streams short enough for it."""
    from viking_kalman import viking as run  # noqa: PLC0415  (an extra)

    if len(stream.y) > 2500 or np.isnan(stream.y).any():
        return None
    units = standardise(stream)
    d = units.X.shape[1]
    np.random.seed(0)
    found = run(
        units.X, units.y, np.zeros(d), np.eye(d), 0.0, 0.1, np.zeros(d), 1e-2 * np.eye(d),
        rho_a=np.exp(-9.0), rho_b=np.exp(-6.0),
    )  # fmt: skip
    mean = (units.X * found["theta_arr"]).sum(axis=1)
    var = np.einsum("ti,tij,tj->t", units.X, found["P_arr"], units.X) + np.exp(found["hata_arr"] + found["s_arr"] / 2)
    return normal_record(mean, np.maximum(var, 1e-12), units)


def fitted_kalman(stream: Stream) -> Record:
    """Fit a random-walk regression with Gaussian noise to the whole stream by maximum likelihood: a cheater."""
    units = standardise(stream)

    def run(parameters: Floats) -> tuple[Floats, Floats]:
        drift_var, noise_var = np.exp(parameters)
        d = units.X.shape[1]
        m, P = np.zeros(d), np.eye(d)
        diagonal = np.einsum("ii->i", P)
        mean, var = np.empty(len(units.y)), np.empty(len(units.y))
        for t, (x, y) in enumerate(zip(units.X, units.y.tolist(), strict=True)):
            diagonal += drift_var
            Px = P @ x
            mean[t], var[t] = x @ m, x @ Px + noise_var
            if y == y:  # noqa: PLR0124  (not nan)
                m += Px * ((y - mean[t]) / var[t])
                P -= np.outer(Px / var[t], Px)
        return mean, var

    def cost(parameters: Floats) -> float:
        mean, var = run(parameters)
        return -float(np.nansum(Normal(mean, var).logpdf(units.y)[WARM_UP:]))

    starts = [np.array([drift, -1.0]) for drift in (-10.0, -4.0)]
    best = min((optimize.minimize(cost, s, method="Nelder-Mead", options={"maxfev": 60}) for s in starts), key=_cost)
    return normal_record(*run(best.x), units)


def _cost(found: Any) -> float:
    return float(found.fun)


def fitted_garch(stream: Stream) -> Record | None:
    """Fit AR(1)-GARCH(1,1)-t (or a regression with such noise) to the whole stream: a cheater."""
    import arch  # noqa: PLC0415  (an extra)

    seen = ~np.isnan(stream.y)
    scale = float(np.std(stream.y[seen]))
    fits = []
    for centred in (0.0, 1.0):  # on price levels now the one converges, now the other
        y = (stream.y[seen] - centred * stream.y[seen].mean()) / scale
        X = (stream.X[seen] - centred * stream.X[seen].mean(axis=0)) / stream.X[seen].std(axis=0)
        model = arch.arch_model(y, x=X, mean="LS", vol="GARCH", p=1, q=1, dist="t", rescale=False)
        fits.append((model.fit(disp="off", show_warning=False, options={"maxiter": 1000}), y, centred))
    fit, y, centred = max(fits, key=lambda each: float(np.nan_to_num(each[0].loglikelihood, nan=-np.inf)))
    center = centred * float(stream.y[seen].mean())
    sd, nu = np.asarray(fit.conditional_volatility), float(fit.params["nu"])
    if not np.isfinite(fit.loglikelihood) or nu <= 2.0:
        return None
    mean, t_scale = y - np.asarray(fit.resid), sd * sqrt((nu - 2) / nu)
    record = student_record(mean, t_scale, np.full(len(y), nu), Units(stream.X[seen], y, center, scale))

    def spread(values: Floats | None) -> Floats:
        full = np.full(len(stream.y), np.nan)
        full[seen] = values
        return full

    intervals = {level: (spread(low), spread(high)) for level, (low, high) in record.intervals.items()}
    return Record(spread(record.mean), spread(record.log_score), spread(record.crps), intervals)


RIVALS = (
    Rival("AutoBypass", auto_bypass),
    Rival("AdaBypass", ours(AdaBypass)),
    Rival("SequentialKalman", ours(lambda: SequentialKalman(adapt_noise=True))),
    Rival("River Bayesian", river_bayesian(None)),
    Rival("River Bayesian 0.99", river_bayesian(0.99)),
    Rival("River Bayesian 0.9", river_bayesian(0.9)),
    Rival("River PA, jackknife", river_jackknife),
    Rival("SGD pa1, conformal", conformal_sgd),
    Rival("Viking", viking),
    Rival("PyBATS, best discount", dynamic_linear.pybats),
    Rival("PyDLM, best discount", dynamic_linear.pydlm),
    Rival("awen-dlmax, best forgetting", dynamic_linear.awen),
    Rival("fitted Kalman (cheats)", fitted_kalman, is_cheater=True),
    Rival("fitted GARCH-t (cheats)", fitted_garch, is_cheater=True),
)
