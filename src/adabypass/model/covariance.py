"""Where a row keeps a covariance that is not full: diagonal (172), or diagonal less one of low rank (173)."""

from functools import lru_cache

import numpy as np

from adabypass.errors import StateError
from adabypass.model.row import Field, Layout, check_count, vectors
from adabypass.validation import Floats

MOST_EXPLAINED = 1.0 - 1e-9
"""Upper end of λ in (176), and of 1 - r in (182): the share of a direction's variance that observations may explain."""
MOST_FULL = 2000
"""Features up to which a covariance is full, if it is not said what it is to be: such a row has 16 MB."""
LARGEST_RANK = 64
SMALLEST_BUFFER = 4096


def n_columns(rank: int) -> int:
    """Count the sparse columns after which the covariance is made short again."""
    return 4 * rank


def n_buffered(n_features: int) -> int:
    """Count the numbers of those columns that a row has room for."""
    return max(n_features, SMALLEST_BUFFER)


@lru_cache(maxsize=8)
def diagonal_layout(fields: tuple[Field, ...]) -> Layout:
    """Return the layout of a row whose covariance is diagonal: one for each kind of model."""
    return Layout((*fields, *vectors("var"), Field("common_var", lambda **_: (1,))))


@lru_cache(maxsize=64)
def low_rank_layout(kept: tuple[Field, ...], rank: int) -> Layout:
    """Return the layout of a row with a covariance of this rank: one for each kind of model.

    Parameters
    ----------
    kept
        The fields before it: those of a model with another covariance.
    rank
        Number of dense columns.
    """
    most, all_columns = n_columns(rank), rank + n_columns(rank)
    return Layout(
        (
            *kept,
            *vectors("var"),
            Field("common_var", lambda **_: (1,)),
            Field("factors", lambda n_features, **_: (n_features, rank)),  # the dense columns of B
            Field("n_columns", lambda **_: (1,)),  # of the sparse ones, which follow
            Field("roots", lambda **_: (all_columns, all_columns)),  # M = roots' roots
            Field("gram", lambda **_: (all_columns, all_columns)),  # B'B
            Field("shift", lambda **_: (all_columns,)),  # b
            Field("begin", lambda **_: (most + 1,)),  # of each sparse column among the following
            Field("indices", lambda n_features, **_: (n_buffered(n_features),)),
            Field("values", lambda n_features, **_: (n_buffered(n_features),)),
        )
    )


@lru_cache(maxsize=64)
def with_gradient(layout: Layout) -> Layout:
    """Return the layout of a row that keeps ADA-BYPASS's gradients too: equations (210)-(213)."""
    more = [Field("gradient_shift", field.shape) for field in layout.fields if field.name == "shift"]
    return Layout((*layout.fields, *vectors("var_gradient"), *more))


def start_low_rank(layout: Layout, row: Floats, n_features: int) -> None:
    """Fill in what is not 0 of a row that has seen nothing: M is the identity, as far as columns are dense."""
    factors = layout.view(row, "factors", n_features=n_features)
    rank = factors.shape[1]
    layout.view(row, "roots", n_features=n_features)[range(rank), range(rank)] = 1.0


def check_columns(layout: Layout, row: Floats, n_features: int) -> None:
    """Check the counts and indices of a row that was saved: compiled code goes through memory with them."""
    begin, indices = (layout.view(row, name, n_features=n_features) for name in ("begin", "indices"))
    count = layout.view(row, "n_columns", n_features=n_features)[0]
    check_count(float(count), "n_columns", len(begin) - 2)
    for at in begin[: int(count) + 1]:
        check_count(float(at), "begin", len(indices))
    used = int(begin[int(count)])
    is_index = (indices[:used] >= 0) & (indices[:used] < n_features) & (indices[:used] == np.floor(indices[:used]))
    if begin[0] != 0 or (np.diff(begin[: int(count) + 1]) < 0).any() or not is_index.all():
        raise StateError("the row holds columns of features that do not exist.")


def moments(layout: Layout, row: Floats, n_features: int) -> tuple[Floats, Floats]:
    """Return the mean and the variance of each weight."""

    def field(name: str) -> Floats:
        return layout.view(row, name, n_features=n_features)

    count, factors = int(field("n_columns")[0]), field("factors")
    used = factors.shape[1] + count
    roots, shift = field("roots")[:used, :used], field("shift")[:used]
    begin = field("begin")[: count + 1].astype(np.intp)
    indices, values = field("indices")[: begin[-1]].astype(np.intp), field("values")
    mean = field("mean") + factors @ shift[: factors.shape[1]]
    product = factors @ roots[:, : factors.shape[1]].T  # B roots', whose rows' squares are what was explained
    for each in range(count):
        at = slice(begin[each], begin[each + 1])
        mean[indices[at]] += values[at] * shift[factors.shape[1] + each]
        product[indices[at]] += np.outer(values[at], roots[:, factors.shape[1] + each])
    var = field("var") + field("common_var") - (product**2).sum(axis=1)
    return mean, np.maximum(var, 0.0)
