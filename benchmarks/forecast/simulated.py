"""Series whose law is known: how far the forecaster's scores are from those of the truth, at 1, 5 and 20 steps."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adabypass.forecasting import Forecaster
from adabypass.validation import Floats, Integers

STEPS = (1, 5, 20)
N_SERIES = 60
N_LEARNED = 400
"""Values that are learned before the first forecast of a series."""
N_ORIGINS = 40
EVERY = 10
"""Forecasts are made so often, and after every so many observations."""
PERIOD = 12


class Law(NamedTuple):
    """A linear law with normal noise: y = x(t)'s + noise, s <- T s + step."""

    transition: Floats
    step_var: Floats
    """Variances of a step of each number of the state."""
    noise_var: float
    start: Floats
    observe: Callable[[int], Floats]
    """Return x(t)."""


def _fixed(x: list[float]) -> Callable[[int], Floats]:
    return lambda _: np.array(x)


def _wave(t: int) -> Floats:
    turn = 2 * np.pi * t / PERIOD
    return np.array([1.0, np.cos(turn), np.sin(turn), np.cos(2 * turn), np.sin(2 * turn)])


LAWS = {
    "level": Law(np.eye(1), np.array([0.1]), 1.0, np.array([50.0]), _fixed([1.0])),
    "trend": Law(
        np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([0.1, 1e-6]), 1.0, np.array([50.0, 0.3]), _fixed([1.0, 0.0])
    ),
    "damped trend": Law(
        np.array([[1.0, 0.9], [0.0, 0.9]]), np.array([0.25, 0.0025]), 0.5, np.array([50.0, 0.5]), _fixed([1.0, 0.0])
    ),
    "season": Law(np.eye(5), np.array([0.1, 1e-3, 1e-3, 1e-3, 1e-3]), 1.0, np.array([50.0, 5.0, 3.0, 2.0, 1.0]), _wave),
    "AR(1)": Law(np.array([[0.8]]), np.array([1.0]), 0.0, np.array([0.0]), _fixed([1.0])),
    "AR(2)": Law(
        np.array([[0.5, 0.3], [1.0, 0.0]]), np.array([1.0, 0.0]), 0.0, np.array([0.0, 0.0]), _fixed([1.0, 0.0])
    ),
}


def draw(law: Law, n: int, rng: np.random.Generator) -> Floats:
    """Draw a series."""
    state, values = law.start.copy(), np.empty(n)
    for t in range(n):
        state = law.transition @ state + np.sqrt(law.step_var) * rng.normal(size=len(state))
        values[t] = law.observe(t) @ state + np.sqrt(law.noise_var) * rng.normal()
    return values


def truth(law: Law, y: Floats, origins: Integers) -> dict[int, Floats]:
    """Return by steps ahead the log score of the exact forecasts, made by one who knows the law and its start."""
    mean, cov = law.start.copy(), np.zeros((len(law.start),) * 2)
    steps = np.diag(law.step_var)
    found: dict[int, list[float]] = {step: [] for step in STEPS}
    wanted = set(origins.tolist())
    for t in range(len(y)):
        if t in wanted:
            ahead, spread = mean, cov
            for step in range(1, max(STEPS) + 1):
                ahead, spread = law.transition @ ahead, law.transition @ spread @ law.transition.T + steps
                if step in found:
                    x = law.observe(t + step - 1)
                    var = x @ spread @ x + law.noise_var
                    error = y[t + step - 1] - x @ ahead
                    found[step].append(float(-0.5 * (np.log(2 * np.pi * var) + error**2 / var)))
        mean, cov = law.transition @ mean, law.transition @ cov @ law.transition.T + steps
        x = law.observe(t)
        gain = cov @ x / (x @ cov @ x + law.noise_var)
        mean, cov = mean + gain * (y[t] - x @ mean), cov - np.outer(gain, x @ cov)
    return {step: np.array(values) for step, values in found.items()}


def measure() -> dict[str, Any]:
    """Return by law and steps ahead: coverage of the 90 % interval, mean log score, that of the truth."""
    found: dict[str, Any] = {}
    origins = N_LEARNED + EVERY * np.arange(N_ORIGINS)
    for number, (name, law) in enumerate(LAWS.items()):
        held: dict[int, list[float]] = {step: [] for step in STEPS}
        ours: dict[int, list[float]] = {step: [] for step in STEPS}
        exact: dict[int, list[float]] = {step: [] for step in STEPS}
        for seed in range(N_SERIES):
            y = draw(law, int(origins[-1]) + max(STEPS), np.random.default_rng([number, seed]))
            forecaster = Forecaster(period=PERIOD if name == "season" else [])
            for start, stop in zip([0, *origins[:-1]], origins, strict=True):
                forecaster.learn(y[start:stop])
                ahead = forecaster.forecast(max(STEPS)).predictive
                for step in STEPS:
                    value = y[stop + step - 1]
                    held[step].append(0.05 <= ahead[step - 1].cdf(value) <= 0.95)
                    ours[step].append(ahead[step - 1].logpdf(value))
            for step, scores in truth(law, y, origins).items():
                exact[step].extend(scores)
        found[name] = {step: tuple(float(np.mean(each[step])) for each in (held, ours, exact)) for step in STEPS}
    return found


def markdown(found: dict[str, Any]) -> str:
    """Return the tables."""
    n = N_SERIES * N_ORIGINS
    parts = [
        "## Simulated series\n\nSeries whose law is known, with normal noise: a moving level; a level with a steady, "
        f"and with a damped slope; a season of {PERIOD}; autoregressions. {N_SERIES} of each, {n} forecasts of each "
        f"after the first {N_LEARNED} values. The truth knows the law and all its numbers. *Behind the truth* is by "
        "how much of the size of its mean log score the forecaster's is lower."
    ]
    for title in ("held by 90 %", "behind the truth"):
        rows = [["", *(f"{step} step{'s' * (step > 1)}" for step in STEPS)], ["---", *["---:"] * len(STEPS)]]
        for name, each in found.items():
            values = [each[step] for step in STEPS]
            if title == "held by 90 %":
                rows.append([name, *(f"{100 * held:.1f} %" for held, _, _ in values)])
            else:
                rows.append([name, *(f"{100 * (exact - ours) / abs(exact):.1f} %" for _, ours, exact in values)])
        parts.append(f"### {title}\n\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(markdown(measure()))
