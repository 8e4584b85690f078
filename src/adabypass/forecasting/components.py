"""What the structures say of a series: level, slope and season, with intervals, and the shares of each."""

from typing import Any, NamedTuple

import numpy as np

from adabypass.data import frames
from adabypass.distributions.base import check_level, interval_tails
from adabypass.distributions.component import UNBOUNDED
from adabypass.distributions.mixture import Mixture
from adabypass.errors import NotReadyError
from adabypass.kernels.structure import StructureRunner
from adabypass.numerics.limits import MAX_VALUE
from adabypass.state.structure_forecasts import students
from adabypass.state.structure_row import LAYOUT, StructureSpec
from adabypass.state.structures import Structure
from adabypass.validation import Floats

MAX_SHOWN_STEPS = 1000
"""Steps of a season that are listed, at most."""


class Estimate(NamedTuple):
    """A number, or an array of them, with its central interval."""

    median: Any
    lower: Any
    upper: Any


class Explanation(NamedTuple):
    """Which structures carry a forecast, and what they say of the series now."""

    shares: dict[str, float]
    """Share of each structure, and one step ahead of each AutoBypass model, in the forecast, the largest first."""
    kinds: dict[str, float]
    """Share of what has a slope, a season, lags, and is of the log; they overlap."""
    level: Estimate
    """Of the series without its season, in its units; of the structures without lags."""
    slope: Estimate
    """Change of the level in the next step."""
    season: Estimate
    """What the season adds at each step of the longest period, from the next one on; empty without a season."""
    period: str
    """Which periods the season has, and why."""

    def __repr__(self) -> str:
        rows = [f"{share:>6.1%}  {name}" for name, share in list(self.shares.items())[:8]]
        more = len(self.shares) - len(rows)
        rows += [f"        and {more} more"] if more > 0 else []
        rows.append(f"period {self.period}")
        for name in ("level", "slope"):
            each = getattr(self, name)
            rows.append(f"{name:<6} {each.median:.6g}, from {each.lower:.6g} to {each.upper:.6g}")
        return "\n".join(rows)

    def to_frame(self, backend: frames.Backend = "pandas") -> Any:
        """Return the shares as a data frame, one row for each structure.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"
        """
        return frames.make(
            {"structure": np.array(list(self.shares)), "share": np.array(list(self.shares.values()))}, backend
        )


def explain(bank: StructureRunner, level: float, step: int, pool: dict[str, float], period: str) -> Explanation:
    """Return what the structures of a bank say, with their shares at a step ahead.

    Parameters
    ----------
    pool
        Share of the structures together, then of each regression, by name.
    period
        Which periods the season has, and why.
    """
    level = check_level(level)
    if not bank.is_scaled:
        raise NotReadyError("there is nothing to explain yet: the series has not moved; update with more first.")
    spec, row = bank.spec, bank.row
    share = bank.shares_ahead(step)
    of_structures, *of_regressions = (float(each) for each in pool.values())
    named = {_name(each): of_structures * float(own) for each, own in zip(spec.structures, share, strict=True)}
    named |= dict(zip(list(pool)[1:], of_regressions, strict=True))
    named = {name: named[name] for name in sorted(named, key=lambda name: -named[name]) if named[name] > 0.0}
    kinds = {
        "slope": of_structures * _total(spec, share, lambda each: each.slope != "none"),
        "season": of_structures * _total(spec, share, lambda each: each.has_season),
        "lags": of_structures * _total(spec, share, lambda each: bool(each.lags)) + sum(of_regressions),
        "log": of_structures * _total(spec, share, lambda each: each.is_log),
    }
    states = [(k, *_state(spec, row, k)) for k in range(len(share)) if share[k] > 0.0 and not spec.structures[k].lags]
    now = _estimate(spec, row, share, states, lambda structure: _level_row(spec, structure), level)
    n_steps = min(int(np.ceil(max(spec.periods))), MAX_SHOWN_STEPS) if spec.periods else 0
    season = [
        _estimate(spec, row, share, states, _season_row(spec, row, step), level, now.median) for step in range(n_steps)
    ]
    slope = _estimate(spec, row, share, states, lambda structure: _slope_row(spec, structure), level, now.median)
    pattern = np.array(season).reshape(-1, 3).T
    return Explanation(named, kinds, now, slope, Estimate(*pattern), period)


def _name(structure: Structure) -> str:
    gain = f" (gain {structure.gain:g})" if not structure.lags else ""
    return structure.kind + gain


def _total(spec: StructureSpec, share: Floats, is_of: Any) -> float:
    return float(sum(each for each, structure in zip(share, spec.structures, strict=True) if is_of(structure)))


def _state(spec: StructureSpec, row: Floats, k: int) -> tuple[Floats, Floats, float, float]:
    """Return mean and covariance of a structure's state, the squared scale and its degrees of freedom."""
    dof = float(spec.view(row, "dof")[k])
    return *spec.belief(row, k), float(spec.view(row, "square_sum")[k]) / dof, dof


def _level_row(spec: StructureSpec, structure: Structure) -> tuple[Floats, bool]:
    """Return the regressors of the level, and whether it is to be added to the center."""
    x = np.zeros(spec.n_states(structure))
    x[0] = 1.0
    return x, True


def _slope_row(spec: StructureSpec, structure: Structure) -> tuple[Floats, bool]:
    x = np.zeros(spec.n_states(structure))
    if structure.slope != "none":
        x[1] = 0.9 if structure.slope == "damped" else 1.0
    return x, False


def _season_row(spec: StructureSpec, row: Floats, step: int) -> Any:
    """Return the function that makes the regressors of the season at a number of steps after the next one."""
    t = LAYOUT.scalar(row, "n_steps") + step
    waves: list[float] = []
    for wave in spec.harmonics:
        turn = 2 * np.pi * (wave.order * (t % wave.period) % wave.period) / wave.period
        waves += [np.sqrt(2) * np.cos(turn), np.sqrt(2) * np.sin(turn)] if wave.has_sine else [np.cos(turn)]

    def regressors(structure: Structure) -> tuple[Floats, bool]:
        x = np.zeros(spec.n_states(structure))
        if structure.has_season:
            first = 1 + (structure.slope != "none")
            x[first : first + spec.n_waves(structure)] = waves[spec.season(structure)]
        return x, False

    return regressors


def _estimate(
    spec: StructureSpec, row: Floats, share: Floats, states: Any, regressors: Any, level: float, size: float = 1.0
) -> Estimate:
    """Return the estimate of a linear function of the state, mixed over structures.

    What is added to a log is multiplied by `size`, the level, to be in the units of the series.
    """
    unit, log_unit = LAYOUT.scalar(row, "unit"), LAYOUT.scalar(row, "log_unit")
    weight, location, scale, dof, is_log = [], [], [], [], []
    for k, mean, cov, scale_var, n in states:
        structure = spec.structures[k]
        x, is_level = regressors(structure)
        at, spread = x @ mean, np.sqrt(max(scale_var * (x @ cov @ x), 0.0))
        own = log_unit if structure.is_log else unit
        factor = own if is_level or not structure.is_log else own * abs(size)
        center = LAYOUT.scalar(row, "log_center" if structure.is_log else "center") if is_level else 0.0
        weight.append(share[k])
        location.append(np.clip(center + factor * at, -MAX_VALUE, MAX_VALUE))
        scale.append(max(factor * spread, 1e-12 * abs(factor) + 1e-300))
        dof.append(n)
        is_log.append(structure.is_log and is_level)
    total = np.array(weight) / sum(weight)
    parts = students(total, np.array(location), np.array(scale), np.array(dof), is_log)
    found = Mixture.bounded(parts, 0.0, UNBOUNDED).quantile(np.array([0.5, *interval_tails(level)]))
    return Estimate(*(float(each) for each in found))
