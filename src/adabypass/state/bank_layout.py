"""Where each number of an AutoBypass model is in its row: of every form that its covariances and targets can have."""

from collections.abc import Iterator

from adabypass.state.bank_design import DRIFT_LOGS
from adabypass.state.bank_table import Row, Scratch, entries
from adabypass.state.layout import Field, Layout, Shape, scalars, vectors

DRIFT_SHARES = tuple(f"drift_share_{index}" for index in range(len(DRIFT_LOGS)))
LEARNED = ("noise_scale", "epsilon", "drift", *DRIFT_SHARES)
"""The scalars that say what was learned."""


def _fields(table: type) -> Iterator[Field]:
    """Yield the fields of a table; the shares of the drift rates are scalars, so that a trace keeps them."""
    for name, size in entries(table).items():
        if name == "drift_share":
            yield from scalars(*DRIFT_SHARES)
        else:
            yield Field(name, None if size == "1" else _shape(size))


def _shape(size: str) -> Shape:
    """Return the shape that a size such as `n_weights * n_walks` says."""
    factors = size.split(" * ")
    return lambda **dims: tuple(int(each) if each.isdigit() else dims[each] for each in factors)


BANK_LAYOUT = Layout(tuple(_fields(Row)))
"""Fields of the row of a bank: `Row` says what each is."""
SCRATCH_LAYOUT = Layout(tuple(_fields(Scratch)))
"""Parts of the memory that a bank needs during a step: `Scratch` says what each is."""

N_TARGETS = 3
"""y itself, its log and its root."""
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
"""That of the bank of y itself, then the evidence for y, its log and its root, and the units of y and of every feature:
(218). The unit of y is 0 before its first value, and -1 once a value was not positive, that of a feature 0 if it is not
transformed, as once it has not kept its sign. Then come the rows of the other two banks, with what aligns them before
each."""

SPARSE_LAYOUT = Layout(
    (
        *BANK_LAYOUT.fields,
        Field("new_log", lambda **_: (2,)),
        *vectors("slope_scale", "slope_count", "slope_square", size="n_slopes"),
        *vectors("drift_sum", size="n_walks"),
        Field("slope_mean", lambda n_slopes, n_walks, **_: (n_slopes, n_walks)),
        Field("slope_var", lambda n_slopes, n_walks, **_: (n_slopes, n_walks)),
    )
)
"""That of a bank without features, whose weights are the intercept's alone, and then the slopes: (183)-(189).

`new_log` is the log of the deviation of new slopes, over that of (183), and how much was seen of it."""
