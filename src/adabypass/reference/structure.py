"""Structures, one at a time, with every covariance in full.

Equations (N.1)-(N.9), (N.12), (N.13) and (N.42)-(N.45).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adabypass.reference import shares
from adabypass.state import structures as design
from adabypass.state.structures import Harmonic, Structure
from adabypass.validation import Floats, Integers


class Belief(NamedTuple):
    """What a structure has learned, in the units of the series or of its log."""

    mean: Floats
    """Level, slope, weights of the season, of the exogenous columns, of the lags."""
    cov: Floats
    """Covariance of the state, over the squared scale of the noise."""
    square_sum: float
    dof: float
    """The squared scale is `square_sum / dof`, known with `dof` degrees of freedom."""


class Expected(NamedTuple):
    """The next value, before it is seen: Student's t."""

    mean: float
    var: float
    """Over the squared scale of the noise."""


def waves(harmonics: tuple[Harmonic, ...], t: float) -> Floats:
    """Return the regressors of the season at time t."""
    found: list[float] = []
    for wave in harmonics:
        turn = 2 * np.pi * wave.order * t / wave.period
        found += [np.sqrt(2) * np.cos(turn), np.sqrt(2) * np.sin(turn)] if wave.has_sine else [np.cos(turn)]
    return np.array(found)


def regressors(structure: Structure, season: Floats, exog: Floats, values: Floats) -> Floats:
    """Return x, with the next value = base + x @ state + noise, from past values, newest first."""
    lags = [values[lag - 1] - (values[lag] if structure.difference else 0.0) for lag in structure.lags]
    slope = [0.0] if structure.slope != "none" else []
    return np.concatenate([[1.0], slope, season if structure.has_season else [], exog, lags])  # (N.1)


def _group_sizes(structure: Structure, n_season: int, n_exog: int) -> list[int]:
    """Count the numbers of the state by what they are: level, slope, season, exogenous columns, lags."""
    return [1, int(structure.slope != "none"), n_season * structure.has_season, n_exog, len(structure.lags)]


def prior(structure: Structure, n_season: int, n_exog: int) -> Belief:
    """Return what is believed before anything is seen."""
    sizes = _group_sizes(structure, n_season, n_exog)
    variances = (
        design.LEVEL_PRIOR_VAR, design.SLOPE_PRIOR_VAR, design.SEASON_PRIOR_VAR, design.EXOG_PRIOR_VAR,
        design.LAG_PRIOR_VAR,
    )  # fmt: skip
    mean = np.concatenate([np.zeros(sum(sizes) - sizes[-1]), structure.lag_prior])
    return Belief(mean, np.diag(np.repeat(variances, sizes)), design.PRIOR_DOF, design.PRIOR_DOF)


def dynamics(structure: Structure, n_season: int, n_exog: int) -> tuple[Floats, Floats, float]:
    """Return the transition T of the state, the covariance Q of its steps, and the variance R of the noise."""
    sizes, gain, least = _group_sizes(structure, n_season, n_exog), structure.gain, design.MIN_DRIFT_SHARE
    transition = np.eye(sum(sizes))
    slope = least * design.SLOPE_PRIOR_VAR
    if structure.slope != "none":
        damping = design.DAMPING if structure.slope == "damped" else 1.0
        transition[0, 1] = transition[1, 1] = damping  # (N.2)
    if structure.slope == "damped":
        slope = (design.DAMPED_SLOPE_GAIN * gain) ** 2
    if structure.lags:
        level, season, noise = design.LAG_LEVEL_VAR, least * design.SEASON_PRIOR_VAR, 1.0
    else:
        level, season, noise = gain**2, design.SEASON_STEP**2, max(1.0 - gain, design.MIN_NOISE)
    steps = (level, slope, season, design.EXOG_STEP_VAR, design.LAG_WEIGHT_VAR)
    return transition, np.diag(np.repeat(steps, sizes)), noise


def advance(belief: Belief, transition: Floats, step_cov: Floats) -> Belief:
    """Carry the state a step on."""
    mean = transition @ belief.mean
    return belief._replace(mean=mean, cov=transition @ belief.cov @ transition.T + step_cov)  # (N.3)


def forecast(belief: Belief, x: Floats, base: float, noise_var: float) -> Expected:
    """Forecast the next value, of a state that has been carried on to its time."""
    return Expected(float(base + x @ belief.mean), float(x @ belief.cov @ x + noise_var))  # (N.4)


def log_density(belief: Belief, expected: Expected, z: float) -> float:
    """Return the log density of Student's t at z."""
    scale = belief.square_sum / belief.dof  # (N.5)
    return float(shares.log_density(z - expected.mean, scale * expected.var, belief.dof))  # (N.6)


def update(belief: Belief, x: Floats, expected: Expected, z: float) -> Belief:
    """Condition the belief on having seen z."""
    gain, error = belief.cov @ x / expected.var, z - expected.mean
    scale = belief.square_sum / belief.dof
    square = min(error**2 / expected.var, design.MAX_SURPRISE * scale)
    return Belief(
        mean=belief.mean + gain * error,  # (N.7)
        cov=belief.cov - expected.var * np.outer(gain, gain),  # (N.8)
        square_sum=design.SCALE_DISCOUNT * belief.square_sum + square,  # (N.9)
        dof=design.SCALE_DISCOUNT * belief.dof + 1,
    )


def update_with_shocks(
    structure: Structure, belief: Belief, following: Belief, n_shocks: int, x: Floats, expected: Expected, z: float
) -> tuple[Belief, int]:
    """Condition the belief of a robust or jumping structure on z, and count gross errors in succession.

    Parameters
    ----------
    following : Belief
        Of the twin that learns gross errors as any other value, after it has learned z.
    n_shocks : int
        Gross errors since the last value that was none, before z.
    """
    learned, error, scale = update(belief, x, expected, z), z - expected.mean, belief.square_sum / belief.dof
    if belief.dof < design.MIN_SHOCK_DOF or error**2 <= design.GROSS_ERROR**2 * scale * expected.var:
        return learned, 0
    if n_shocks > 0:
        return following._replace(cov=learned.cov), 0  # (N.44)
    jump = error * (np.arange(len(x)) == 0) * (structure.shock == "jumps")
    return belief._replace(mean=belief.mean + jump, cov=learned.cov), 1  # (N.42), (N.43)


def is_doubted(structures: Sequence[Structure], evidence: Floats, n_shocks: Integers) -> bool:
    """Return whether the newest value is a gross error to the likeliest structure that doubts any.

    The evidence of a structure that is asleep is nan.
    """
    doubts = np.array([each.shock != "follows" for each in structures]) & ~np.isnan(evidence)
    return bool(doubts.any() and n_shocks[np.argmax(np.where(doubts, evidence, -np.inf))] > 0)  # (N.45)


def limits(lowest: float, highest: float) -> tuple[float, float]:
    """Return the limits of a structure's means, from the lowest and the highest value seen."""
    beyond = design.RANGES_BEYOND * (highest - lowest)
    return lowest - beyond, highest + beyond  # (N.14)


def log_limits(lowest: float, highest: float, least: float) -> tuple[float, float]:
    """Return those of the log's means; `least` is the least value above 0."""
    beyond = design.RANGES_BEYOND * (np.log(highest) - np.log(least))
    return float(np.log(least) - beyond), float(np.log(limits(lowest, highest)[1]))  # (N.14)


def ahead(
    structure: Structure,
    belief: Belief,
    season: Floats,
    exog: Floats,
    values: Floats,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    max_var: float = np.inf,
    profile: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return means and variances, over the squared scale, of the values at each step ahead.

    Parameters
    ----------
    season, exog : arrays (horizon, n_season) and (horizon, n_exog)
        Regressors to come.
    values : array
        Past ones, newest first, as many as the structure needs. Its lag weights let nothing explode.
    bounds : pair of numbers
        Limits of the means, in units.
    max_var : number
        The square of `RANGES_BEYOND` ranges of the values seen, in units, over the squared scale of the noise.
    profile : array (horizon,), optional
        What is added to forecasts; it is not in the past values.
    """
    horizon, n, known = len(season), len(belief.mean), values[: structure.n_values][::-1]
    added = np.zeros(horizon) if profile is None else profile
    transition, step_cov, noise_var = dynamics(structure, season.shape[1], exog.shape[1])
    # The joint Gaussian of the state and all values, oldest first.
    mean = np.concatenate([belief.mean, known, np.zeros(horizon)])
    cov = np.zeros((len(mean), len(mean)))
    cov[:n, :n] = belief.cov
    variances, reach = np.empty(horizon), 0.0
    for step in range(horizon):
        at = n + len(known) + step
        cov[:n] = transition @ cov[:n]
        cov[:, :n] = cov[:, :n] @ transition.T
        cov[:n, :n] += step_cov
        mean[:n] = transition @ mean[:n]
        past = mean[n:at][::-1]
        x = regressors(structure, season[step], exog[step], past)
        slopes = np.zeros(len(mean))  # of the next value by each number of the joint vector
        slopes[:n] = x
        loads = np.zeros((n, len(mean)))  # of the regressors by the values
        first = n - len(structure.lags)
        for i, lag in enumerate(structure.lags):
            loads[first + i, at - lag] += 1.0
            if structure.difference:
                loads[first + i, at - lag - 1] -= 1.0
        slopes += mean[:n] @ loads
        if structure.difference:
            slopes[at - 1] += 1.0
        base = past[0] if structure.difference else 0.0
        variances[step] = slopes @ cov @ slopes + noise_var  # (N.12)
        if structure.lags and step > 0:
            most = max(design.MAX_LAG_SPREAD**2 * (step + 1) * variances[0], max_var) + noise_var
            variances[step] = min(variances[step], most)  # (N.15)
        along = cov @ slopes
        of_exog = slice(first - exog.shape[1], first)
        reach = max(reach, abs(mean[of_exog] @ exog[step]))
        low, high = bounds[0] - reach - added[step], bounds[1] + reach - added[step]
        mean[at] = np.clip(base + mean[:n] @ x, low, high)  # (N.13), (N.14)
        cov[at], cov[:, at] = along, along
        cov[at, at] = variances[step]
    return mean[n + len(known) :] + added, variances
