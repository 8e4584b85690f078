"""The structures without lags, and what they say of a series: level, slope, seasons, exogenous columns."""

from typing import NamedTuple, Self

import numpy as np

from adabypass.distributions.base import interval_tails
from adabypass.distributions.component import UNBOUNDED
from adabypass.distributions.mixture import Mixture
from adabypass.kernels.structure import StructureRunner
from adabypass.numerics.limits import LOG_MAX_VALUE, MAX_VALUE
from adabypass.results.explanation import Estimate
from adabypass.state import structures as design
from adabypass.state.structure_forecasts import students
from adabypass.state.structure_row import LAYOUT, SETTINGS, StructureSpec
from adabypass.validation import Floats, Integers

LEVEL, SLOPE, WAVES = 0, 1, 2
"""Where the parts of a padded state begin; behind the waves of every period stand the exogenous columns."""
SMALL = 1e-12
"""Scale of an estimate that is certain, over its unit."""


ROUNDING = 1e-9
"""Effects below this, over the level, are 0 but for rounding."""


class States(NamedTuple):
    """States of the structures without lags, all of one length: 0 where a structure has no such part.

    The slope is the change of the level in the next step.
    """

    spec: StructureSpec
    at: Integers
    """Which structures they are, (n,)."""
    share: Floats
    """Of each at the step explained; they add up to 1, (n,)."""
    mean: Floats
    """(n, n_states)."""
    cov: Floats
    """With the scale of the noise in it, (n, n_states, n_states)."""
    dof: Floats
    damping: Floats
    """Share of the slope that is left a step later, (n,)."""
    is_log: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
    center: Floats
    unit: Floats
    """Of the series, or of its log, (n,)."""

    @classmethod
    def of(cls, bank: StructureRunner, step: int) -> Self:
        """Return the states now, with their shares `step` steps ahead."""
        spec, row = bank.spec, bank.row
        at = np.array([k for k, each in enumerate(spec.structures) if not each.lags], dtype=np.int64)
        share = weights_of(spec, row, at, bank.shares_ahead(step)[at])
        n, n_waves = WAVES + spec.n_season + spec.n_exog, spec.n_season
        mean, cov = np.zeros((len(at), n)), np.zeros((len(at), n, n))
        damping = spec.settings[at, SETTINGS.index("damping")]
        for i, k in enumerate(at.tolist()):
            structure = spec.structures[k]
            known = np.zeros(n, dtype=np.bool_)
            known[LEVEL], known[SLOPE] = True, structure.slope != "none"
            known[WAVES : WAVES + n_waves][spec.season(structure)] = known[WAVES + n_waves :] = True
            own_mean, own_cov = spec.belief(row, k)
            mean[i, known], cov[i][np.ix_(known, known)] = own_mean, own_cov
        mean[:, SLOPE] *= damping
        cov[:, SLOPE] *= damping[:, None]
        cov[:, :, SLOPE] *= damping[:, None]
        dof = spec.view(row, "dof")[at]
        cov *= (spec.view(row, "square_sum")[at] / dof)[:, None, None]
        is_log = np.array([spec.structures[k].is_log for k in at])
        center, unit = (
            np.where(is_log, LAYOUT.scalar(row, f"log_{name}"), LAYOUT.scalar(row, name)) for name in ("center", "unit")
        )
        return cls(spec, at, share, mean, cov, dof, damping, is_log, center, unit)

    def level(self, x: Floats, probability: float) -> Estimate:
        """Return the estimate of the level: of the state times x, (n_states,), and the center."""
        found = self._quantiles(x[None], probability, self.center)
        return Estimate(*(float(each[0]) for each in found))

    def effect(self, x: Floats, probability: float, level: Floats) -> Estimate:
        """Return the estimates of what is added to a level, of the state times x, (n_points, n_states).

        Parameters
        ----------
        level : array (n_states,)
            Regressors of the level: what is added to its log is a factor of it.
        """
        logs = self.is_log & (self.share > 0.0)
        base = 0.0
        if logs.any():
            share = self.share[logs] / self.share[logs].sum()
            base = float(_exp(share @ (self.center + self.unit * (self.mean @ level))[logs]))
        center = np.where(self.is_log, np.log(base) if base > 0.0 else 0.0, base)
        found = self._quantiles(x, probability, center) - base
        return Estimate(*np.where(np.abs(found) < ROUNDING * (np.abs(base) + self.unit.min()), 0.0, found))

    def _quantiles(self, x: Floats, probability: float, center: Floats) -> Floats:
        """Return the median and the bounds of center + unit * state times x, mixed over structures: (3, n_points)."""
        location = np.clip(center + self.unit * (x @ self.mean.T), -MAX_VALUE, MAX_VALUE)
        spread = np.sqrt(np.maximum(np.einsum("pi,kij,pj->pk", x, self.cov, x, optimize=True), 0.0))
        scale = np.maximum(self.unit * spread, SMALL * self.unit)
        parts = students(self.share, location, scale, np.maximum(self.dof, 1.0), self.is_log)
        mixed = Mixture.bounded(parts, np.zeros(len(x)), UNBOUNDED)
        return np.asarray(mixed.quantile(np.array([0.5, *interval_tails(probability)])))


def weights_of(spec: StructureSpec, row: Floats, at: Integers, share: Floats) -> Floats:
    """Return the shares of the structures `at`, (..., n), made to add up to 1.

    Where other structures leave them none that can be told from 0, it is evidence one step ahead that weighs them.
    """
    if not (share.sum(axis=-1) > 0.0).all():
        evidence = spec.view(row, "evidence")[at]
        has_season = LAYOUT.scalar(row, "n_steps") >= design.SEASON_FROM * min(spec.periods, default=0.0)
        has_log = LAYOUT.scalar(row, "is_positive") > 0.0
        structures = [spec.structures[k] for k in at]
        is_awake = np.array([(has_log or not s.is_log) and (has_season or not s.has_season) for s in structures])
        alone = np.where(is_awake, np.exp(np.minimum(evidence - evidence[is_awake].max(), 0.0)), 0.0)
        share = np.where(share.sum(axis=-1, keepdims=True) > 0.0, share, alone)
    total: Floats = share / share.sum(axis=-1, keepdims=True)
    return total


def waves_at(spec: StructureSpec, t: Floats) -> Floats:
    """Return the waves of the season at times counted from the first observation, (n, n_season): equation (N.1)."""
    columns: list[Floats] = []
    for wave in spec.harmonics:
        turn = 2.0 * np.pi * np.fmod(wave.order * np.fmod(t, wave.period), wave.period) / wave.period
        columns += [np.sqrt(2) * np.cos(turn), np.sqrt(2) * np.sin(turn)] if wave.has_sine else [np.cos(turn)]
    return np.column_stack(columns) if columns else np.empty((len(t), 0))


def wave_columns(spec: StructureSpec, period: float) -> Integers:
    """Return which numbers of a padded state belong to the season of a period."""
    of_wave = [wave.period for wave in spec.harmonics for _ in range(1 + wave.has_sine)]
    return WAVES + np.flatnonzero(np.array(of_wave) == period)


def in_data_units(states: States, level: Floats, parts: Floats) -> Floats:
    """Return level and parts in the units of the series: (1 + n_parts, n_structures, n).

    Those of the log multiply: equation (N.40).

    Parameters
    ----------
    level, parts : arrays (n_structures, n) and (n_parts, n_structures, n)
        In the units of the structures, without their center.
    """
    unit, center, is_log = (each[:, None] for each in (states.unit, states.center, states.is_log))
    level, parts = center + unit * level, unit * parts
    total = parts.sum(axis=0)
    log_start = np.clip(np.where(is_log, level, 0.0), -LOG_MAX_VALUE, LOG_MAX_VALUE)
    start, small = np.exp(log_start), np.abs(total) < SMALL
    growth = np.where(small, 1.0, np.expm1(np.where(is_log, np.minimum(total, LOG_MAX_VALUE - log_start), 0.0)))
    rate = np.where(is_log, start * growth / np.where(small, 1.0, total), 1.0)
    return np.concatenate([np.where(is_log, start, level)[None], rate * parts])


def _exp(value: Floats) -> Floats:
    return np.asarray(np.exp(np.clip(value, -LOG_MAX_VALUE, LOG_MAX_VALUE)))
