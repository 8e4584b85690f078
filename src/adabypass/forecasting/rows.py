"""Rows of forecasters, for those that keep many of them: a stream with many series."""

from adabypass.forecasting.forecaster import Forecaster
from adabypass.state.layout import Layout
from adabypass.validation import Floats


def with_row(template: Forecaster, row: Floats, n_exog: int) -> Forecaster:
    """Return a forecaster with the settings of `template` whose memory is `row`, which was checked."""
    twin = template.copy()
    twin._runner = twin._new_runner(row, n_exog)
    return twin


def learned_positions(template: Forecaster, names: tuple[str, ...], n_exog: int) -> tuple[int, ...]:
    """Return where in the row of a forecaster the numbers are that its model has learned, by name."""
    spec = template._spec
    layout: Layout = spec.model.layout
    start = spec.row_size(n_exog) - spec.model.row_size(spec.n_features(n_exog))
    return tuple(start + layout.position(name) for name in names)
