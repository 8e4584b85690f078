"""All kinds of forecasts, and how several are joined into one.

A predictive holds one forecast (numbers) or many (arrays); every method accepts and returns either.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from adabypass.distributions.base import Number, Predictive
from adabypass.distributions.component import COMPONENT, Components, MixtureExtras
from adabypass.distributions.empirical import Empirical
from adabypass.distributions.mixture import Mixture
from adabypass.distributions.normal import Normal, StudentT
from adabypass.distributions.point import Point
from adabypass.errors import ParameterError
from adabypass.numerics.noise import Family
from adabypass.validation import Floats, Integers

__all__ = [
    "Empirical",
    "Mixture",
    "Normal",
    "Number",
    "Point",
    "Predictive",
    "StudentT",
    "concatenate",
    "from_components",
]

Kind = TypeVar("Kind")


def from_components(components: Components, model: str) -> Predictive:
    """Return many forecasts of the class of their model's one-step forecasts.

    Parameters
    ----------
    components : array of `COMPONENT` (n, n_components)
        A noise scale of nan means that the model forecasts points.
    model
        Its name, for messages.
    """
    first = components[:, 0]
    if np.isnan(components["noise_scale"]).any():
        return Point(first["mean"].copy(), model)
    if components.shape[1] == 1 and (first["family"] == Family.GAUSSIAN.value).all():
        return Normal(first["mean"].copy(), first["signal_var"] + first["noise_scale"] ** 2)
    return Mixture.made(np.ascontiguousarray(components))


def concatenate(forecasts: Sequence[Predictive]) -> Predictive:
    """Join forecasts, each of them one forecast or many, into one object.

    Forecasts of one class keep it; a normal joined with mixtures becomes a mixture of one component. Points are joined
    with points only, and empirical forecasts only with those of the same number of draws.
    """
    if points := _all_of(Point, forecasts):
        return Point(_joined([each.mean for each in points]), points[0]._model)
    if students := _all_of(StudentT, forecasts):
        return StudentT(*(_joined([getattr(each, name) for each in students]) for name in ("mean", "scale", "dof")))
    drawn = _all_of(Empirical, forecasts)
    if len({len(each.draws) for each in drawn}) == 1:
        return Empirical(np.concatenate([each.draws for each in drawn], axis=1))
    return _join_mixtures(forecasts)


def _join_mixtures(forecasts: Sequence[Predictive]) -> Normal | Mixture:
    """Join normals to one normal, or normals and mixtures to one mixture."""
    if normals := _all_of(Normal, forecasts):
        return Normal(_joined([each.mean for each in normals]), _joined([each.var for each in normals]))
    if not forecasts or not all(isinstance(each, Normal | Mixture) for each in forecasts):
        kinds = ", ".join(sorted({type(each).__name__ for each in forecasts})) or "none"
        raise ParameterError(
            f"the forecasts are of the classes {kinds}, which cannot be joined; join normals with mixtures, points "
            "with points, and empirical forecasts with those of the same number of draws."
        )
    if packed := _join_records(forecasts):
        return packed
    tables = [_table(each) for each in forecasts]
    width = max(table.shape[1] for table in tables)
    components = np.concatenate([_widened(table, width) for table in tables])
    extras = [each.extras if isinstance(each, Mixture) else None for each in forecasts]
    if any(each is not None for each in extras):
        filled = zip(extras, tables, strict=True)
        own = [MixtureExtras(np.zeros(len(table))) if each is None else each for each, table in filled]
        return Mixture.with_extras(components, _join_extras(own))
    mean, var = _joined([each.mean for each in forecasts]), _joined([each.var for each in forecasts])
    return Mixture.unchecked(components, mean, var)


def _join_records(forecasts: Sequence[Predictive]) -> Mixture | None:
    """Join mixtures that are records of one layout; return None for others."""
    mixtures = _all_of(Mixture, forecasts)
    layouts = [each.record_layout for each in mixtures if each.record_layout is not None]
    if not layouts or len(layouts) < len(mixtures):
        return None
    layout = max(layouts, key=lambda each: each.size)
    if any(each not in (layout, layout.own) for each in layouts):
        return None
    found = [np.atleast_2d(each.record) for each in mixtures if each.record is not None]
    records = np.concatenate([each if layout.of(each) is layout else layout.widened(each) for each in found])
    return Mixture.from_record(
        records, layout, _joined([each.mean for each in mixtures]), _joined([each.var for each in mixtures])
    )


def _join_extras(every: Sequence[MixtureExtras]) -> MixtureExtras:
    """Join the extras of several mixtures."""
    if len({each.support for each in every}) > 1:
        raise ParameterError("the forecasts cannot be joined: their supports differ.")
    zero_share, pools = np.concatenate([each.zero_share for each in every]), [each for each in every if each.is_pool]
    reserve = np.concatenate([each.reserves for each in every]) if any(e.reserve is not None for e in every) else None
    if not pools:
        return MixtureExtras(zero_share, every[0].support, reserve=reserve)
    width = max(len(each.parts) for each in pools)
    pools = [_with_parts(each, width) for each in pools]
    at, start = [], 0
    for each in every:
        at.append(_moved(each.pooled_at, len(each.zero_share), start))
        start += 0 if each.share is None else len(each.share)
    parts = tuple(_join_parts([each.parts[k] for each in pools]) for k in range(width))
    share = np.concatenate([each.share for each in pools if each.share is not None])
    return MixtureExtras(zero_share, every[0].support, share, np.concatenate(at), parts, reserve)


def _with_parts(pool: MixtureExtras, n: int) -> MixtureExtras:
    """Return a pool of n models: those that it lacks have no share, whatever they forecast."""
    lacking = n - len(pool.parts)
    if not lacking or pool.share is None:
        return pool
    share = np.pad(pool.share, ((0, 0), (0, lacking)))
    return pool._replace(share=share, parts=pool.parts + (pool.parts[0],) * lacking)


def _moved(pooled_at: Integers | None, n: int, start: int) -> Integers:
    """Return the rows of a pool after `start` other rows were put before them."""
    if pooled_at is None:
        return np.full(n, -1)
    return np.where(pooled_at >= 0, pooled_at + start, -1)


def _join_parts(forecasts: Sequence[Mixture]) -> Mixture:
    first = forecasts[0]
    if first.record_layout is None or any(each.record_layout != first.record_layout for each in forecasts):
        raise ParameterError("the forecasts cannot be joined: they pool models of different classes.")
    mean, var, record = (
        np.concatenate([getattr(each, name) for each in forecasts]) for name in ("mean", "var", "record")
    )
    return first.from_record(record, first.record_layout, mean, var)


def _all_of(kind: type[Kind], forecasts: Sequence[Predictive]) -> list[Kind]:
    """Return the forecasts if all are of one class, otherwise an empty list."""
    chosen: list[Kind] = [each for each in forecasts if isinstance(each, kind)]
    return chosen if len(chosen) == len(forecasts) else []


def _joined(values: Sequence[object]) -> Floats:
    return np.concatenate([np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in values])


def _table(forecast: Predictive) -> Components:
    """Return the components of one forecast or many, shape (n, n_components)."""
    if isinstance(forecast, Mixture):
        return np.atleast_2d(forecast.components)
    table = np.zeros((np.size(forecast.mean), 1), COMPONENT)
    table["weight"], table["family"] = 1.0, Family.GAUSSIAN
    table["mean"][:, 0], table["signal_var"][:, 0] = forecast.mean, forecast.var
    return table


def _widened(table: Components, width: int) -> Components:
    """Add components of weight 0, up to `width` of them."""
    more = np.repeat(table[:, -1:], width - table.shape[1], axis=1)
    more["weight"] = 0.0
    return np.concatenate([table, more], axis=1)
