"""The streams: real ones that come with packages, and simulated ones whose truth is known."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from adabypass import load_dataset
from adabypass.validation import Floats


class Stream(NamedTuple):
    """Features and targets, and what the truth says of each target if it is known."""

    name: str
    X: Floats
    y: Floats
    is_autoregression: bool
    truth_log_score: Floats | None = None
    period: int = 1
    """Of a season that is known to whoever forecasts."""


def autoregression(name: str, values: Any) -> Stream:
    """Explain each value by the one before it; a missing one is replaced by the last that was seen."""
    y = np.asarray(values, dtype=np.float64)
    last = np.maximum.accumulate(np.where(np.isnan(y), 0, np.arange(len(y))))
    return Stream(name, y[last][:-1, None], y[1:], is_autoregression=True)


def real(prices: Path | None) -> Iterator[Stream]:
    """Give the streams that come with this library and others, and GLD and GDX if their prices are given."""
    import arch.data.core_cpi  # noqa: PLC0415  (extras of the benchmark)
    import arch.data.nasdaq  # noqa: PLC0415
    import arch.data.sp500  # noqa: PLC0415
    import arch.data.vix  # noqa: PLC0415
    import arch.data.wti  # noqa: PLC0415
    import statsmodels.api as sm  # noqa: PLC0415
    from river import datasets  # noqa: PLC0415

    river: Any = datasets

    yield autoregression("Nile (cm)", load_dataset("nile").y * 100)
    yield autoregression("wind", load_dataset("wind").y)
    gold = load_dataset("gold_silver")
    assert gold.x is not None
    yield Stream("gold on silver", gold.x, gold.y, is_autoregression=False)
    if prices is not None:
        table = np.genfromtxt(prices, delimiter=",", names=True, dtype=None, encoding="utf-8")
        gld, gdx = table["gld_adj_close"], table["gdx_adj_asof_20150422"]
        yield Stream("GLD on GDX", gdx[:, None], gld, is_autoregression=False)
        yield autoregression("GLD", gld)
    sp500 = arch.data.sp500.load()["Adj Close"].dropna().to_numpy()
    nasdaq = arch.data.nasdaq.load()["Adj Close"].dropna().to_numpy()
    yield autoregression("S&P 500", sp500)
    yield autoregression("S&P 500 returns", 100 * np.diff(np.log(sp500)))
    yield autoregression("NASDAQ returns", 100 * np.diff(np.log(nasdaq)))
    yield autoregression("VIX", arch.data.vix.load().iloc[:, 0].dropna())
    yield autoregression("oil (WTI)", arch.data.wti.load().iloc[:, 0].dropna())
    yield autoregression("core CPI", arch.data.core_cpi.load().iloc[:, 0].dropna())
    yield autoregression("CO2", sm.datasets.co2.load_pandas().data["co2"])
    yield autoregression("sunspots", sm.datasets.sunspots.load_pandas().data["SUNACTIVITY"])
    yield autoregression("El Nino", sm.datasets.elnino.load_pandas().data.drop(columns="YEAR").to_numpy().ravel())
    macro = sm.datasets.macrodata.load_pandas().data
    yield Stream(
        "consumption", macro[["realgdp", "realinv"]].to_numpy(), macro["realcons"].to_numpy(), is_autoregression=False
    )
    polls = [(list(x.values()), y) for x, y in river.TrumpApproval()]
    features, targets = (np.array(part, dtype=np.float64) for part in zip(*polls, strict=True))
    yield Stream("approval polls", features, targets, is_autoregression=False)
    yield autoregression("airline passengers", [y for _, y in river.AirlinePassengers()])
    yield autoregression("water flow", [y for _, y in river.WaterFlow()])
    chicks = [(float(x["time"]), float(y)) for x, y in river.ChickWeights()]
    days, weights = np.array(chicks).T
    yield Stream("chick weights", days[:, None], weights, is_autoregression=False)


def simulated(n: int = 10_000, n_features: int = 5, seed: int = 0) -> Iterator[Stream]:
    """Give streams whose truth is known.

    The truth knows every parameter of the simulation, and static weights; what is drawn on the way (where weights drift
    or jump to, the noise's scale) it infers as well as can be, by the Kalman filter or a particle filter.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    weights, noise = rng.normal(size=n_features), rng.normal(size=n)
    static = X @ weights
    yield Stream("sim: static", X, static + noise, False, stats.norm.logpdf(noise))
    walk = weights + (0.03 * rng.normal(size=(n, n_features))).cumsum(axis=0)
    drifting = (X * walk).sum(axis=1) + noise
    yield Stream("sim: drifting", X, drifting, False, kalman_log_score(X, drifting, weights, np.full(n, 0.03**2)))
    length = n // 5
    jumps = np.repeat(2 * rng.normal(size=(5, n_features)), length, axis=0)
    jumping = (X * jumps).sum(axis=1) + noise
    first = 4.0 * np.eye(1, length)[0]  # weights are drawn anew before the first of each stretch
    known = [
        kalman_log_score(X[at : at + length], jumping[at : at + length], np.zeros(n_features), first)
        for at in range(0, n, length)
    ]
    yield Stream("sim: jumps", X, jumping, False, np.concatenate(known))
    heavy = rng.standard_t(3, n)
    yield Stream("sim: heavy tails", X, static + heavy, False, stats.t.logpdf(heavy, 3))
    log_scale = np.zeros(n)
    for t in range(1, n):
        log_scale[t] = 0.98 * log_scale[t - 1] + 0.15 * rng.normal()
    varying = np.exp(log_scale) * noise
    yield Stream("sim: heteroscedastic", X, static + varying, False, volatility_log_score(varying, rng))


def simulated_noise(n: int = 10_000, seed: int = 7) -> Iterator[Stream]:
    """Give static regressions whose noise is not of one scale, not symmetric, or hardly has a variance."""
    rng = np.random.default_rng(seed)
    X, weights, noise = rng.normal(size=(n, 5)), rng.normal(size=5), rng.normal(size=n)
    static = X @ weights
    level = 20 + 3 * static
    truth = stats.norm.logpdf(noise) - np.log(0.1 * np.abs(level))
    yield Stream("sim: proportional to level", X, level + 0.1 * np.abs(level) * noise, False, truth)
    waves = np.column_stack([np.sin(np.arange(n) / 200), rng.normal(size=n)])
    rate = 20 + 12 * waves[:, 0] + 1.5 * waves[:, 1]
    counts = rng.poisson(rate)
    yield Stream("sim: Poisson", waves, counts.astype(float), False, np.asarray(stats.poisson.logpmf(counts, rate)))
    skewed = rng.gamma(4, size=n)
    yield Stream(
        "sim: skewed", X, static + (skewed - 4) / 2, False, np.asarray(stats.gamma.logpdf(skewed, 4) + np.log(2))
    )
    glitches = rng.standard_t(2, n)
    yield Stream("sim: t(2)", X, static + glitches, False, stats.t.logpdf(glitches, 2))
    sd = np.exp(np.sin(2 * np.pi * np.arange(n) / 24))
    yield Stream("sim: seasonal", X, static + sd * noise, False, stats.norm.logpdf(noise) - np.log(sd), period=24)


def kalman_log_score(X: Floats, y: Floats, start: Floats, drift_var: Floats) -> Floats:
    """Score the Kalman filter that knows the weights' start, their drift before each y, and the noise's variance 1."""
    m, P, scores = start.copy(), np.zeros((len(start), len(start))), np.empty(len(y))
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        P = P + drift_var[t] * np.eye(len(m))
        Px, error = P @ x, target - x @ m
        var = x @ Px + 1.0
        scores[t] = -0.5 * (error**2 / var + np.log(2 * np.pi * var))
        m += Px * (error / var)
        P -= np.outer(Px, Px) / var
    return scores


def volatility_log_score(noise: Floats, rng: np.random.Generator, n_particles: int = 2000) -> Floats:
    """Score the particle filter that knows how the noise's scale moves, but not where it is."""
    log_scale, scores = np.zeros(n_particles), np.empty(len(noise))
    for t, value in enumerate(noise):
        density = np.exp(-0.5 * (value / np.exp(log_scale)) ** 2 - log_scale)
        scores[t] = np.log(density.mean() / np.sqrt(2 * np.pi))
        chosen = rng.choice(n_particles, n_particles, p=density / density.sum())
        log_scale = 0.98 * log_scale[chosen] + 0.15 * rng.normal(size=n_particles)
    return scores
