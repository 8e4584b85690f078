"""The belief of a model about the next observations: a mixture of linear models with drifting weights."""

from math import isnan
from typing import Any, NamedTuple

import numpy as np

from adabypass.errors import ShapeError
from adabypass.numerics import noise
from adabypass.numerics.noise import Family
from adabypass.state.bank_table import Constants
from adabypass.validation import Floats, Integers, check_array

MAX_LEVEL_DISTANCE, LEVEL_FLOOR = Constants.max_level_distance, Constants.level_floor


NO_SEASON = np.zeros(1)
NO_COMPONENT = np.zeros(0)


class LinearMixture(NamedTuple):
    """A mixture of linear models in the user's units, each a Gaussian over weights that drift, plus noise.

    Component k says y = y_center + w'r + noise, where r is (x - x_center), after a 1 if there is an intercept.
    """

    share: Floats
    """Weight of each component, shape (n_components,)."""
    mean: Floats
    """Mean of the weights, (n_components, n_weights)."""
    cov: Floats
    """Covariance of the weights after the last observation, (n_components, n_weights, n_weights)."""
    drift: Floats
    """Covariance that a step of time adds to `cov`."""
    noise_scale: Floats
    """Noise scale where it does not follow the level, (n_components,); nan where a model forecasts a point."""
    epsilon: Floats
    """Half-width of the noise's flat top in units of that scale; 0 unless the noise is insensitive."""
    family: Integers
    """Family of the noise: `noise.Family`."""
    fading: Floats
    """Part of the log of `noise_scale` that fades as time passes."""
    fade: Floats
    """Fraction of `fading` that is left one step later."""
    level_slope: Floats
    """Slope of the log of the noise scale, or of the scale itself, in (forecast - level_center) / level_unit."""
    level_center: float
    """Level of the forecast at which the noise scale is `noise_scale`."""
    level_unit: float
    """Unit in which the distance of a forecast from `level_center` is measured."""
    x_center: Floats
    y_center: float
    intercept: bool
    level_linear: Floats = NO_COMPONENT
    """1 for components of which the noise's scale, not its log, is linear in the level, else 0; empty for none."""
    normal_shares: Floats = noise.FLEXIBLE_NORMALS.start
    """Shares of the normals of flexible noise."""
    differenced: Floats = NO_COMPONENT
    """1 for components whose weights move until they explain each observation, else 0; empty if there are none."""
    feature_size: Floats = NO_COMPONENT
    """Root mean square of each feature, used by differenced components without an intercept."""
    min_mean_square: float = 0.0
    """Minimum mean square of the features over `feature_size`; below it the weights move by less."""
    season_logs: Floats = NO_SEASON
    """What the season adds to the log of the noise's scale, from this step on, over one period."""

    @property
    def is_known(self) -> bool:
        """Whether anything is known about the next observations."""
        return not isnan(self.y_center)

    @property
    def unit_var(self) -> Floats:
        """Variance of the noise, in units of its scale squared."""
        return noise.family_var(self.family, self.epsilon, self.normal_shares)

    def scale_at(self, mean: Floats, chosen: Any = slice(None)) -> Floats:
        """Return the scale of the noise where the weights of the chosen components explain `mean`."""
        with np.errstate(over="ignore"):
            level = np.clip((mean - self.level_center) / self.level_unit, -MAX_LEVEL_DISTANCE, MAX_LEVEL_DISTANCE)
        along = self.level_slope[chosen] * level
        rises = np.exp(along)
        if len(self.level_linear):
            proportional = np.hypot(1.0 + along, LEVEL_FLOOR) / np.hypot(1.0, LEVEL_FLOOR)
            rises = np.where(self.level_linear[chosen] > 0, proportional, rises)
        return np.asarray(self.noise_scale[chosen] * rises * np.exp(self.season_logs[0]))  # (H.30), (H.37)

    def regressors(self, x: Floats) -> Floats:
        """Return what the weights multiply, for features (..., n_features)."""
        x = check_array(x, "x")
        if x.ndim == 0 or x.shape[-1] != len(self.x_center):
            raise ShapeError(f"x has shape {x.shape}, but must have shape (..., {len(self.x_center)}).")
        r = x - self.x_center
        return np.concatenate([np.ones((*r.shape[:-1], 1)), r], axis=-1) if self.intercept else r

    def direction(self, r: Floats) -> Floats:
        """Return how an error moves the weights that are to explain it, for regressors (..., n_weights)."""
        if self.intercept:
            return np.broadcast_to(np.eye(r.shape[-1])[0], r.shape)
        with np.errstate(divide="ignore"):
            size = np.where(self.feature_size > 0, 1 / self.feature_size, 0.0)
        along = r * size
        total = np.sum(along**2, axis=-1, keepdims=True)
        return np.asarray(along * size / np.maximum(total, self.min_mean_square * r.shape[-1]))  # (H.14)

    def advance(self) -> "LinearMixture":
        """Return the belief a step of time later, without an observation."""
        settled = self.noise_scale * np.exp((self.fade - 1.0) * self.fading)
        return self._replace(
            cov=self.cov + self.drift,
            noise_scale=settled,
            fading=self.fade * self.fading,
            season_logs=np.roll(self.season_logs, -1),
        )


def single(
    mean: Floats,
    cov: Floats,
    drift_var: float,
    noise_scale: float,
    *,
    family: Family = Family.GAUSSIAN,
    epsilon: float = 0.0,
    noise_mean: float = 0.0,
) -> LinearMixture:
    """Return the belief of a model that is no mixture: weights that drift independently, features as they are."""
    n = len(mean)
    return LinearMixture(
        share=np.ones(1),
        mean=mean[None],
        cov=cov[None],
        drift=drift_var * np.eye(n)[None],
        noise_scale=np.array([noise_scale]),
        epsilon=np.array([epsilon]),
        family=np.array([family], dtype=np.int64),
        fading=np.zeros(1),
        fade=np.zeros(1),
        level_slope=np.zeros(1),
        level_center=0.0,
        level_unit=1.0,
        x_center=np.zeros(n),
        y_center=noise_mean,
        intercept=False,
    )
