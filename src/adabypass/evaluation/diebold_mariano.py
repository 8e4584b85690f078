"""Whether one model forecasts better than another, or was only lucky."""

from math import inf
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from adabypass.errors import NotEnoughDataError, NotFiniteError, ShapeError
from adabypass.numerics import long_run
from adabypass.validation import Floats, check_array, check_int

MIN_PAIRS = 8


class Difference(NamedTuple):
    """How much two series of losses differ, and whether chance explains it."""

    mean: float
    """Mean of loss_a - loss_b: below 0 where a is better."""
    standard_error: float
    """Of that mean, corrected for small samples: `statistic` is `mean` in its units."""
    statistic: float
    """Diebold and Mariano's, as Harvey, Leybourne and Newbold correct it."""
    p_value: float
    """Probability of a statistic so far from 0, on either side, if neither model is better."""
    n: int
    """Number of pairs."""


def difference(loss_a: object, loss_b: object, horizon: int = 1) -> Difference:
    """Compare two models by their losses on the same observations: the Diebold-Mariano test.

    The variance of the mean difference allows for autocorrelation (Newey and West): Bartlett's weights, over as many
    lags as Andrews' rule asks for (see `long_run.bandwidth`), at least horizon - 1. The statistic is corrected as
    Harvey, Leybourne and Newbold (1997) do it, and held to Student's t with n - 1 degrees of freedom.

    Parameters
    ----------
    loss_a, loss_b : arrays (n,)
        Losses, smaller is better: squared errors, CRPS, negative log scores. Pairs with a nan are left out, and their
        neighbours close up.
    horizon : whole number from 1 to half the number of pairs
        How many steps ahead was forecast: errors of such forecasts are correlated up to the lag horizon - 1.

    Examples
    --------
    >>> from adabypass import AdaBypass, AutoBypass, load_dataset
    >>> level = load_dataset("nile").y
    >>> level = level - level.mean()
    >>> auto, ada = (model.run(level[:-1, None], level[1:]) for model in (AutoBypass(), AdaBypass()))
    >>> result = difference(-auto.log_score[20:], -ada.log_score[20:])
    >>> round(result.mean, 2), round(result.standard_error, 2), result.p_value < 0.001
    (-0.21, 0.02, True)
    """
    a, b = _losses(loss_a, "loss_a"), _losses(loss_b, "loss_b")
    if len(a) != len(b):
        raise ShapeError(
            f"loss_a has {len(a)} values and loss_b has {len(b)}; pass the losses of the same observations."
        )
    pairs = (a - b)[~np.isnan(a - b)]
    n = len(pairs)
    if n < MIN_PAIRS:
        raise NotEnoughDataError(
            f"there are {n} pairs of losses without a nan, but a comparison needs at least {MIN_PAIRS}; "
            "compare over a longer stream."
        )
    horizon = check_int(horizon, "horizon", minimum=1, maximum=n // 2)
    largest = float(np.abs(pairs).max())
    if largest == 0.0:
        return Difference(0.0, 0.0, 0.0, 1.0, n)
    scaled = pairs / largest  # so that squares of huge losses stay finite
    mean, var = float(scaled.mean()), long_run.mean_var(scaled, min_lags=horizon - 1)
    standard_error = (var * n**2 / ((n - horizon) * (n - horizon + 1))) ** 0.5
    statistic = mean / standard_error if standard_error > 0 else float(np.copysign(inf, mean))
    p_value = 2 * float(stdtr(n - 1, -abs(statistic)))
    return Difference(mean * largest, standard_error * largest, statistic, p_value, n)


def _losses(value: object, name: str) -> Floats:
    losses = check_array(value, name)
    if losses.ndim != 1:
        raise ShapeError(f"{name} has shape {losses.shape}, but must be (n,), one loss for each observation.")
    if np.isinf(losses).any():
        at = int(np.flatnonzero(np.isinf(losses))[0])
        raise NotFiniteError(f"{name}[{at}] is {losses[at]}, but a loss must be finite, or nan if there is none.")
    return losses
