"""Which forms the covariance of the weights can have, and where a row keeps a diagonal one: equation (172)."""

from functools import lru_cache
from typing import Literal, get_args

from adabypass.errors import ParameterError
from adabypass.state.layout import Field, Layout, vectors
from adabypass.validation import shown

Covariance = Literal["auto", "full", "diagonal"]

MOST_EXPLAINED = 1.0 - 1e-9
"""Upper end of 1 - r in (182): the share of a weight's variance that observations may explain."""
MOST_FULL = 2000
"""Features up to which a covariance is full, if it is not said what it is to be: such a row has 16 MB."""


def check_covariance(value: object) -> None:
    """Check the form of a covariance that was asked for."""
    if not isinstance(value, str) or value not in get_args(Covariance):
        raise ParameterError(f"covariance is {shown(value)}, but must be 'auto', 'full' or 'diagonal'.")


@lru_cache(maxsize=8)
def diagonal_layout(fields: tuple[Field, ...]) -> Layout:
    """Return the layout of a row whose covariance is diagonal: one for each kind of model."""
    return Layout((*fields, *vectors("var"), Field("common_var", lambda **_: (1,))))


@lru_cache(maxsize=8)
def with_gradient(layout: Layout) -> Layout:
    """Return the layout of a row that keeps ADA-BYPASS's gradients too: equations (210)-(212)."""
    return Layout((*layout.fields, *vectors("var_gradient")))
