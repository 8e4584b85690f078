"""What a model says about the next observation before it is seen.

A predictive may hold one forecast (numbers) or a whole trace of them (arrays): every method takes and gives either.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from adabypass.distributions.component import COMPONENT, Components
from adabypass.distributions.empirical import Empirical
from adabypass.distributions.extras import MixtureExtras, join_extras
from adabypass.distributions.mixture import Insensitive, Mixture
from adabypass.distributions.normal import Normal
from adabypass.distributions.point import Point
from adabypass.distributions.protocol import Number, Predictive
from adabypass.distributions.student import StudentT
from adabypass.errors import ParameterError
from adabypass.numerics.noise import Family
from adabypass.validation import Floats

__all__ = [
    "Empirical",
    "Insensitive",
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
    """Return many forecasts in the family in which their model forecasts one step ahead.

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
    if components.shape[1] == 1 and (first["family"] == Family.GAUSSIAN).all():
        return Normal(first["mean"].copy(), first["signal_var"] + first["noise_scale"] ** 2)
    return Mixture.made(np.ascontiguousarray(components))


def concatenate(forecasts: Sequence[Predictive]) -> Predictive:
    """Return many forecasts made of several, each of them one forecast or many.

    Of one kind they keep it; a normal beside a mixture becomes a mixture of one component. Points go with points alone,
    and draws with as many draws.
    """
    if points := _all_of(Point, forecasts):
        return Point(_joined([each.mean for each in points]), points[0]._model)
    if students := _all_of(StudentT, forecasts):
        return _join_students(students)
    if alike := _all_of(Insensitive, forecasts):
        first = alike[0]
        if all((each.noise_scale, each.epsilon) == (first.noise_scale, first.epsilon) for each in alike):
            mean, signal_var = _joined([each.mean for each in alike]), _joined([each.signal_var for each in alike])
            return Insensitive(mean, signal_var, first.noise_scale, first.epsilon)
    drawn = _all_of(Empirical, forecasts)
    if len({len(each.draws) for each in drawn}) == 1:
        return Empirical(np.concatenate([each.draws for each in drawn], axis=1))
    return _join_mixtures(forecasts)


def _join_students(forecasts: Sequence[StudentT]) -> StudentT:
    parts = ([each.mean for each in forecasts], [each.scale for each in forecasts], [each.dof for each in forecasts])
    return StudentT(*(_joined(part) for part in parts))


def _join_mixtures(forecasts: Sequence[Predictive]) -> Normal | Mixture:
    """Return the normals as one, or one mixture of normals and mixtures."""
    if normals := _all_of(Normal, forecasts):
        return Normal(_joined([each.mean for each in normals]), _joined([each.var for each in normals]))
    if not forecasts or not all(isinstance(each, Normal | Mixture) for each in forecasts):
        kinds = ", ".join(sorted({type(each).__name__ for each in forecasts})) or "none"
        raise ParameterError(
            f"the forecasts are of the kinds {kinds}, which cannot be joined: normals go with mixtures, points with "
            "points, draws with as many draws."
        )
    if packed := _join_packed(forecasts):
        return packed
    tables = [_table(each) for each in forecasts]
    width = max(table.shape[1] for table in tables)
    components = np.concatenate([_widened(table, width) for table in tables])
    extras = [each.extras if isinstance(each, Mixture) else None for each in forecasts]
    if any(each is not None for each in extras):
        filled = zip(extras, tables, strict=True)
        own = [MixtureExtras(np.zeros(len(table))) if each is None else each for each, table in filled]
        return Mixture.with_extras(components, join_extras(own))
    mean, var = _joined([each.mean for each in forecasts]), _joined([each.var for each in forecasts])
    return Mixture.unchecked(components, mean, var)


def _join_packed(forecasts: Sequence[Predictive]) -> Mixture | None:
    """Return the forecasts as one, if all are records of one layout."""
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


def _all_of(kind: type[Kind], forecasts: Sequence[Predictive]) -> list[Kind]:
    """Return the forecasts if all are of one kind, otherwise nothing."""
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
    """Return the components with more of them, which have no weight."""
    more = np.repeat(table[:, -1:], width - table.shape[1], axis=1)
    more["weight"] = 0.0
    return np.concatenate([table, more], axis=1)
