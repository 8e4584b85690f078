"""`explain`: estimates of every part of a forecast now, and what each adds at every time, past and ahead."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from adabypass.data.cells import Array
from adabypass.data.cycles import cycle_between, positions_in, unit_between
from adabypass.distributions.component import UNBOUNDED
from adabypass.distributions.mixture import Mixture
from adabypass.errors import NotReadyError
from adabypass.forecasting.components import (
    LEVEL,
    SLOPE,
    WAVES,
    States,
    in_data_units,
    wave_columns,
    waves_at,
    weights_of,
)
from adabypass.forecasting.question import Question
from adabypass.forecasting.smoothing import in_structure_units, smooth, zero_shares
from adabypass.kernels.structure import StructureRunner
from adabypass.results.explanation import Contributions, Effect, Estimate, Explanation, Season, in_days, in_words
from adabypass.state.structure_forecasts import students
from adabypass.state.structure_row import LAYOUT, StructureSpec
from adabypass.state.structures import FARTHEST, Structure
from adabypass.validation import Floats, Integers

MAX_POSITIONS = 1000
"""Positions of a season that are looked at, at most."""
MAX_UNIT = 1000.0
"""Of a column that moves by more than this, a unit alone would be lost in rounding."""
MAX_PAST = 5000
"""The newest observations whose contributions are computed, at most."""
MOVES = {0.05: "hardly moves", 0.2: "moves slowly", 0.5: "moves quickly", 1.0: "is that of the last value"}
"""How the level of a structure moves, by its gain."""
MIN_SMOOTHED_SHARE = 1e-4
"""Share from which on a structure is heard about the past."""


class SeasonPart(NamedTuple):
    """The season of one period."""

    period: float
    cycle: str | None
    """The cycle of the calendar that is as long, if there is one."""
    columns: Integers
    """Which numbers of a padded state are the weights of its waves."""


def explain(
    bank: StructureRunner, question: Question, pool: dict[str, float], period: str, forecast_mean: Floats
) -> Explanation:
    """Return what the structures of a bank say.

    Parameters
    ----------
    pool
        Share of the structures together, then of each regression, by name.
    period
        Which periods the season has, and why.
    forecast_mean : array (horizon,)
        What the contributions ahead add up to.
    """
    if not bank.is_scaled:
        raise NotReadyError("there is nothing to explain yet: the series has not moved; update with more first.")
    return _Explainer(bank, question).explanation(pool, period, forecast_mean)


class _Explainer:
    """What every part of an explanation needs."""

    def __init__(self, bank: StructureRunner, question: Question) -> None:
        self.bank, self.question = bank, question
        self.spec: StructureSpec = bank.spec
        self.step = max(question.horizon, 1)
        self.states = States.of(bank, self.step)
        self.first_exog = WAVES + self.spec.n_season
        self.n_states = self.first_exog + self.spec.n_exog
        self.exog_center, self.exog_unit = (self.spec.view(bank.row, f"exog_{name}") for name in ("center", "unit"))
        self.exog = np.concatenate([question.exog, question.exog_ahead])
        is_switch = np.isin(self.exog, (0.0, 1.0)).all(axis=0) & (len(self.exog) > 0)
        self.is_switch = np.asarray(is_switch)
        usual = question.exog.mean(axis=0) if len(question.exog) else self.exog_center
        self.baseline = np.where(self.is_switch, 0.0, usual)
        self.level_row = np.zeros(self.n_states)
        self.level_row[LEVEL] = 1.0
        self.level_row[self.first_exog :] = self._in_units(self.baseline)
        self.seasons = self._named_seasons()

    def explanation(self, pool: dict[str, float], period: str, forecast_mean: Floats) -> Explanation:
        question = self.question
        named, kinds = shares_of(self.spec, self.bank.shares_ahead(self.step), pool)
        slope = np.zeros((1, self.n_states))
        slope[0, SLOPE] = 1.0
        now = self._time(np.array([-1]))
        return Explanation(
            named,
            kinds,
            self.states.level(self.level_row, question.level),
            Estimate(*(float(each[0]) for each in self._effect(slope))),
            self._seasons(),
            {name: self._column(i) for i, name in enumerate(question.columns)},
            self._contributions(forecast_mean),
            period,
            question.level,
            in_words(now[0]) if now.dtype.kind == "M" else "",
            (unit_between(*self._time(np.array([-1, 0]))) if now.dtype.kind == "M" else None) or "step",
        )

    def _time(self, offset: Array) -> Array:
        return in_days(self.question.time(offset))

    def _effect(self, x: Floats) -> Estimate:
        return self.states.effect(x, self.question.level, self.level_row)

    def _named_seasons(self) -> dict[str, SeasonPart]:
        """Return the season of each period by its name: that of a cycle of the calendar, or else its length."""
        found: dict[str, SeasonPart] = {}
        for period in self.spec.periods:
            columns = wave_columns(self.spec, period)
            start, end = self._time(np.array([0, round(period)]))
            cycle = cycle_between(start, end) if isinstance(start, np.datetime64) else None
            if f"season_{cycle}" in found:
                cycle = None
            if len(columns):  # a shorter period may have all of its waves
                found[f"season_{cycle or format(period, 'g')}"] = SeasonPart(period, cycle, columns)
        return found

    def _seasons(self) -> dict[str, Season]:
        found = {}
        for name, (period, cycle, columns) in self.seasons.items():
            offsets = _spread(int(np.ceil(period)), cycle is None)
            x = np.zeros((len(offsets), self.n_states))
            x[:, columns] = self._waves(offsets)[:, columns - WAVES]
            found[name] = self._season(x, offsets, cycle)
        return found

    def _season(self, x: Floats, offsets: Array, cycle: str | None) -> Season:
        """Return the effects of regressors at steps ahead, in the mean of each position of a cycle."""
        if cycle is None:
            return Season([str(1 + offset) for offset in offsets], self._effect(x))
        index, names = positions_in(self._time(offsets), cycle)
        means = np.array([x[index == i].mean(axis=0) for i in range(len(names))])
        return Season(names, self._effect(means))

    def _column(self, column: int) -> Effect:
        x, size = np.zeros((1, self.n_states)), float(self.exog_unit[column])
        change = size if size > MAX_UNIT else 1.0
        x[0, self.first_exog + column] = change / size
        per_unit = Estimate(*(float(each[0]) / change for each in self._effect(x)))
        is_switch = bool(self.is_switch[column])
        offsets = np.arange(len(self.exog)) - len(self.question.exog)
        on = self._time(offsets[self.exog[:, column] == 1.0]) if is_switch else self._time(offsets[:0])
        return Effect(per_unit, float(self.baseline[column]), is_switch, on)

    def _contributions(self, forecast_mean: Floats) -> Contributions | None:
        question = self.question
        n_past, n_ahead = min(_n_since_first(question.y), MAX_PAST), len(forecast_mean)
        if n_past + n_ahead == 0:
            return None
        past, past_zero = self._past(n_past)
        ahead, zero = self._ahead(n_ahead) if n_ahead else (past[:, :0], 0.0)
        parts = dict(zip(self._names(), np.concatenate([past, ahead], axis=1), strict=True))
        zeros = np.concatenate([past_zero, np.full(n_ahead, zero)])
        explained = sum(parts.values())
        if zeros.any():
            parts["zeros"] = -zeros * explained
            explained = (1.0 - zeros) * explained
        if n_ahead:
            parts["other"] = np.concatenate([np.zeros(n_past), forecast_mean - explained[n_past:]])
        mean = np.concatenate([explained[:n_past], forecast_mean])
        y = np.concatenate([question.y[len(question.y) - n_past :], np.full(n_ahead, np.nan)])
        time = self._time(np.arange(-n_past, n_ahead))
        return Contributions(time, time, question.time_name, question.target_name, y, mean, parts, n_ahead)

    def _names(self) -> list[str]:
        return ["level", "slope", *self.seasons, *self.question.columns]

    def _past(self, n: int) -> tuple[Floats, Floats]:
        """Return the contributions at the last n times, (n_parts, n), and the probability of 0 then."""
        question = self.question
        if n == 0:
            return np.empty((len(self._names()), 0)), np.empty(0)
        zero = zero_shares(question.y)[-n:]
        y = question.y[-n:]
        states = self._heard()
        x = self._regressors(np.arange(-n, 0), question.exog[-n:])
        z = in_structure_units(states, np.where((y == 0.0) & (zero > 0.0), np.nan, y))
        raw = x.copy()
        raw[:, LEVEL] = 1.0
        raw[:, self.first_exog :] += self.level_row[self.first_exog :]
        found = smooth(states, z, raw, is_whole=n == _n_since_first(question.y))
        level = found @ self.level_row
        units = in_data_units(states, level, self._parts(np.zeros_like(level), found, x))
        _, dof, _, scale = (each[:, states.at] for each in self.bank.ahead(self.baseline[None]))
        weight = states.share * self._mean_ratio(states, scale, dof)[0]
        return np.einsum("pkn,k->pn", units, weight), zero  # (N.41)

    def _heard(self) -> States:
        """Return the states of the structures whose share counts."""
        heard = self.states.share >= MIN_SMOOTHED_SHARE * self.states.share.max()
        kept = {name: values[heard] for name, values in self.states._asdict().items() if name != "spec"}
        kept["share"] = kept["share"] / kept["share"].sum()
        return self.states._replace(**kept)

    def _ahead(self, n: int) -> tuple[Floats, float]:
        """Return the contributions at the next n times, (n_parts, n), and the probability of 0 then."""
        known = self.question.exog_ahead
        states, x = self.states, self._regressors(np.arange(n), known)
        slope = states.mean[:, SLOPE, None] * np.cumsum(states.damping[:, None] ** np.arange(n), axis=1)  # (N.2)
        state = np.broadcast_to(states.mean[:, None], (len(states.at), n, self.n_states))
        level = np.repeat((states.mean @ self.level_row)[:, None], n, axis=1)
        units = in_data_units(states, level, self._parts(slope, state, x))
        share, dof, _, scale = (each[:, states.at] for each in self.bank.ahead(known))
        weight = weights_of(self.spec, self.bank.row, states.at, share) * self._mean_ratio(states, scale, dof)
        return np.einsum("pkn,nk->pn", units, weight), float(self.bank.zero_share)  # (N.41)

    def _mean_ratio(self, states: States, scale: Floats, dof: Floats) -> Floats:
        """Return the mean of each forecast over its median, (n, n_structures): above 1 for those of a log."""
        zeros = np.zeros((scale.size, 1))
        parts = students(1.0 + zeros, zeros, scale.reshape(-1, 1), dof.reshape(-1, 1), True)
        ratio = np.asarray(Mixture.bounded(parts, zeros[:, 0], UNBOUNDED).mean).reshape(scale.shape)
        return np.where(states.is_log, ratio, 1.0)

    def _regressors(self, offsets: Array, exog: Floats) -> Floats:
        """Return what states are multiplied with at some steps; exogenous columns less their baseline."""
        x = np.zeros((len(offsets), self.n_states))
        x[:, WAVES : self.first_exog] = self._waves(offsets)
        x[:, self.first_exog :] = self._in_units(exog) - self.level_row[self.first_exog :]
        return x

    def _waves(self, offsets: Array) -> Floats:
        return waves_at(self.spec, LAYOUT.scalar(self.bank.row, "n_steps") + offsets)

    def _in_units(self, exog: Floats) -> Floats:
        """Return exogenous values in the units of their columns, within the bounds of the forecaster."""
        found: Floats = np.clip((exog - self.exog_center) / self.exog_unit, -FARTHEST, FARTHEST)
        return found

    def _parts(self, slope: Floats, state: Floats, x: Floats) -> Floats:
        """Return slope, seasons and exogenous parts of states, (n_parts, n_structures, n)."""
        groups = [season.columns for season in self.seasons.values()]
        groups += [np.array([self.first_exog + i]) for i in range(self.spec.n_exog)]
        return np.array([slope, *(np.einsum("kni,ni->kn", state[:, :, group], x[:, group]) for group in groups)])


def shares_of(spec: StructureSpec, share: Floats, pool: dict[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the shares of structures, with their twins, and regressions by name, the largest first; and of kinds."""
    of_structures, *of_regressions = (float(each) for each in pool.values())
    named = dict.fromkeys(map(_name, spec.structures), 0.0)
    for each, own in zip(spec.structures, share, strict=True):
        named[_name(each)] += of_structures * float(own)
    named |= dict(zip(list(pool)[1:], of_regressions, strict=True))
    named = {name: named[name] for name in sorted(named, key=lambda name: -named[name]) if named[name] > 0.0}

    def total(is_of: Callable[[Structure], bool]) -> float:
        return of_structures * float(sum(own for own, each in zip(share, spec.structures, strict=True) if is_of(each)))

    kinds = {
        "slope": total(lambda each: each.slope != "none"),
        "season": total(lambda each: each.has_season or each.profile is not None),
        "lags": total(lambda each: bool(each.lags)) + sum(of_regressions),
        "log": total(lambda each: each.is_log),
    }
    return named, kinds


def _name(structure: Structure) -> str:
    """Return what a structure assumes of the series, in words."""
    if structure.lags:
        changes = "changes" if structure.difference else "values"
        parts = [f"regression on the {changes} {', '.join(map(str, structure.lags))} steps before"]
        if structure.profile:
            parts.append(f"profile of {' and '.join(map(str, structure.profile.periods))} steps")
    else:
        parts = [f"level that {MOVES.get(structure.gain, f'moves by {structure.gain:g} of a surprise')}"]
        parts += {"none": [], "steady": ["trend"], "damped": ["fading trend"]}[structure.slope]
    parts += {"none": [], "full": ["season"], "short": ["shortest season"]}.get(structure.season, ["smooth season"])
    return ", ".join([*parts, *(["in percent"] if structure.is_log else [])])


def _n_since_first(y: Floats) -> int:
    """Count the values from the first on that is not missing: a forecaster does not know of those before."""
    return len(y) - int(np.argmax(~np.isnan(y))) if len(y) else 0


def _spread(n: int, is_listed: bool) -> Array:
    """Return the steps of a period of n that are looked at: the first ones where each is listed, otherwise a choice."""
    if n <= MAX_POSITIONS or is_listed:
        return np.arange(min(n, MAX_POSITIONS))
    return np.unique(np.linspace(0, n - 1, MAX_POSITIONS).round().astype(np.int64))
