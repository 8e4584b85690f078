"""Layouts of the row of an AutoBypass model: plain, with transformed targets, and sparse."""

from collections.abc import Iterator

from adabypass.state.bank_design import DRIFT_LOGS
from adabypass.state.bank_table import Row, Scratch, entries
from adabypass.state.layout import Field, Layout, Shape, scalars, vectors

DRIFT_SHARES = tuple(f"drift_share_{index}" for index in range(len(DRIFT_LOGS)))
LEARNED = ("noise_scale", "epsilon", "drift", *DRIFT_SHARES)
"""Scalars of the row that are learned parameters: a trace keeps their history."""


def _fields(table: type) -> Iterator[Field]:
    """Yield the fields of a table; the shares of the drift rates are scalars, so that a trace keeps them."""
    for name, size in entries(table).items():
        if name == "drift_share":
            yield from scalars(*DRIFT_SHARES)
        else:
            yield Field(name, None if size == "1" else _shape(size))


def _shape(size: str) -> Shape:
    """Parse a size such as `n_weights * n_walks` into a function that computes the shape."""
    factors = size.split(" * ")
    return lambda **dims: tuple(int(each) if each.isdigit() else dims[each] for each in factors)


BANK_LAYOUT = Layout(tuple(_fields(Row)))
"""Layout of the row of a bank; `Row` documents each field."""
SCRATCH_LAYOUT = Layout(tuple(_fields(Scratch)))
"""Layout of the scratch memory of a step; `Scratch` documents each part."""

N_TARGETS = 3
"""Number of targets: y itself, its log and its square root."""
TRANSFORMED = ("log_bank", "root_bank")
TRANSFORMED_LAYOUT = Layout(
    (
        *BANK_LAYOUT.fields,
        Field("target_evidence", lambda **_: (N_TARGETS,)),
        Field("target_unit", lambda n_features, **_: (1 + n_features,)),
        *vectors("before_log", size="n_before_log"),
        *vectors("log_bank", size="n_bank"),
        *vectors("before_root", size="n_before_root"),
        *vectors("root_bank", size="n_bank"),
    )
)
"""Layout of the row of a model with transformed targets: the fields of the bank of y, then these.

`target_evidence` is the log evidence for y, its log and its square root. `target_unit` is the unit of y and of every
feature in (J.1): for y it is 0 before the first value, and -1 once a value was not positive; for a feature it is 0 if
the feature is not transformed, as when its sign has changed. `log_bank` and `root_bank` are the rows of the other two
banks, `before_log` and `before_root` the padding that aligns them."""

SPARSE_LAYOUT = Layout(
    (
        *BANK_LAYOUT.fields,
        Field("log_new_slope_sd", lambda **_: (2,)),
        *vectors("slope_scale", "slope_count", "slope_square", size="n_slopes"),
        *vectors("drift_sum", size="n_walks"),
        Field("slope_mean", lambda n_slopes, n_walks, **_: (n_slopes, n_walks)),
        Field("slope_var", lambda n_slopes, n_walks, **_: (n_slopes, n_walks)),
    )
)
"""Layout of the row of a sparse model: a bank whose only weight is the intercept, then the slopes of (M.7)-(M.13).

`log_new_slope_sd` holds the log of the prior standard deviation of new slopes, relative to (M.7), and its precision."""
