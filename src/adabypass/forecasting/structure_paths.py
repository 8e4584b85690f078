"""Futures drawn under the automatic forecaster's structures."""

import numpy as np

from adabypass.distributions.mixture import Mixture
from adabypass.kernels.stability import damping
from adabypass.kernels.structure import StructureRunner
from adabypass.numerics.limits import MAX_VALUE
from adabypass.state import structures as design
from adabypass.state.structure_forecasts import StructureForecasts, structure_mixture
from adabypass.state.structure_row import LAYOUT, SETTINGS, StructureSpec
from adabypass.validation import Floats

MAX_DEVIATION = 10.0
"""Standard deviations of a structure's forecast within which its paths stay."""


def mixture_ahead(bank: StructureRunner, exog: Floats, support: tuple[float, float]) -> Mixture:
    """Return the structures' forecasts of a step for each row of `exog`."""
    share, dof, mean, scale = bank.ahead(exog)
    alike = (np.full(len(exog), each) for each in (bank.zero_share, bank.is_scaled, bank.last_value, bank.reserve))
    return structure_mixture(bank.spec, StructureForecasts(share, mean, scale, dof, *alike), support)


def draw_paths(
    bank: StructureRunner, exog: Floats, n_paths: int, rng: np.random.Generator, support: tuple[float, float]
) -> Floats:
    """Draw what may come, shape (n_paths, horizon).

    Each path follows one structure, drawn by its share at the last step: its state and the scale of its noise are
    drawn, then the state drifts as it goes, and a regression's own values are among its lags. Its distance from the
    structure's forecast is then stretched as the scale at that step is. With a probability of its own, a value
    is 0.
    """
    horizon = len(exog)
    if not bank.is_scaled:
        return np.asarray(mixture_ahead(bank, exog, support).sample(rng, n_paths))
    share = bank.shares_ahead(horizon)
    counts = rng.multinomial(n_paths, share / share.sum())
    waves, columns = bank.regressors_ahead(exog)
    season, known = waves[:, : bank.spec.n_season], columns[:, : bank.spec.n_exog]
    center, var = bank.moments_ahead(exog)
    scale_var = bank.scales_ahead(horizon)[0]
    sd = np.sqrt(var * scale_var[0][:, None])
    stretch = np.sqrt(scale_var / scale_var[0])
    drawn = [
        _draw(bank, k, season, known, int(n), rng, center[k], sd[k], stretch[:, k])
        for k, n in enumerate(counts)
        if n > 0
    ]
    paths = np.concatenate(drawn)
    if bank.reserve > 0.0:
        paths = np.maximum(np.ceil(paths - 0.5), float(bank.zero_share > 0.0))  # (G.17)
    paths[rng.uniform(size=paths.shape) < bank.zero_share] = 0.0
    rng.shuffle(paths, axis=0)
    return np.clip(paths.reshape(n_paths, horizon), *support)


def _draw(
    bank: StructureRunner, k: int, season: Floats, exog: Floats, n: int, rng: np.random.Generator,
    center: Floats, sd: Floats, stretch: Floats,
) -> Floats:  # fmt: skip
    """Draw n futures under structure k, shape (n, horizon), in the units of the series.

    Parameters
    ----------
    season, exog : arrays (horizon, n_season) and (horizon, n_exog)
        Regressors to come, in units.
    center, sd, stretch : arrays (horizon,)
        The structure's forecast, in units, and what distances from it are multiplied with. A path strays by at most
        `MAX_DEVIATION` standard deviations, since weights that are drawn may let it explode.
    """
    spec, row, horizon = bank.spec, bank.row, len(season)
    structure, profile = spec.structures[k], bank.profile_ahead(k, horizon)
    of = dict(zip(SETTINGS, spec.settings[k].tolist(), strict=True))
    state, scale = _initial(spec, row, k, n + 1, rng)
    state[0], scale[0] = spec.belief(row, k)[0], 0.0  # the first path is the one that the others stray from
    past = np.repeat(spec.past(row, k)[None, : structure.n_values], n + 1, axis=0)  # newest first
    n_lags, n_slope = len(structure.lags), int(structure.slope != "none")
    if n_lags:
        _stabilise(state, past, structure.lags, structure.difference)
    n_season = spec.n_waves(structure)
    sizes = [1, n_slope, n_season, spec.n_exog, n_lags]
    steps = [of[f"{part}_var"] for part in ("level", "slope", "season", "exog", "lag")]
    step_sd = np.sqrt(np.repeat(steps, sizes))
    lags = np.array(structure.lags, dtype=np.intp)
    paths = np.empty((n + 1, horizon))
    for step in range(horizon):
        if n_slope:
            state[:, 1] *= of["damping"]
            state[:, 0] += state[:, 1]
        state += scale[:, None] * step_sd * rng.normal(size=state.shape)
        reached = past[:, lags - 1] - (past[:, lags] if structure.difference else 0.0) if n_lags else past[:, :0]
        known = np.concatenate([[1.0], [0.0] * n_slope, season[step, spec.season(structure)], exog[step]])
        z = state[:, : len(known)] @ known + np.sum(state[:, len(known) :] * reached, axis=1)
        z += scale * np.sqrt(of["noise_var"]) * rng.normal(size=n + 1)
        z = np.clip(z + (past[:, 0] if structure.difference else 0.0), -design.FARTHEST, design.FARTHEST)
        z = np.clip(z, z[0] - MAX_DEVIATION * sd[step], z[0] + MAX_DEVIATION * sd[step])
        paths[:, step] = z + profile[step]
        past = np.column_stack([z, past[:, :-1]]) if structure.n_values else past
    paths = np.clip(center + stretch * (paths[1:] - paths[0]), -design.FARTHEST, design.FARTHEST)
    return _in_data_units(row, paths, structure.is_log)


def _initial(spec: StructureSpec, row: Floats, k: int, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw scales of the noise, and states given these: (n, n_states) and (n,)."""
    mean, cov = spec.belief(row, k)
    values, vectors = np.linalg.eigh(cov)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    scale = np.sqrt(spec.view(row, "square_sum")[k] / rng.chisquare(spec.view(row, "dof")[k], size=n))
    return mean + scale[:, None] * (rng.normal(size=(n, len(mean))) @ root.T), scale


def _stabilise(state: Floats, past: Floats, lags: tuple[int, ...], is_difference: bool) -> None:
    """Damp lag weights under which the series would explode, about its recent mean: equations (K.9) and (K.10)."""
    weights = state[:, -len(lags) :]
    n_steps = max(design.MIN_IMPULSE_STEPS, design.IMPULSE_STEPS_PER_LAG * lags[-1])
    factor = damping(weights, lags, n_steps)
    recent = (-np.diff(past, axis=1) if is_difference else past).mean(axis=1)
    state[:, 0] += np.sum(weights * (1.0 - factor), axis=1) * recent
    state[:, -len(lags) :] = weights * factor


def _in_data_units(row: Floats, z: Floats, is_log: bool) -> Floats:
    if not is_log:
        return np.asarray(LAYOUT.scalar(row, "center") + LAYOUT.scalar(row, "unit") * z)
    log_y = LAYOUT.scalar(row, "log_center") + LAYOUT.scalar(row, "log_unit") * z
    return np.asarray(np.exp(np.clip(log_y, -np.log(MAX_VALUE), np.log(MAX_VALUE))))
