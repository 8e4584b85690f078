"""Full and diagonal covariances of the weights, and the layout of a diagonal one: equation (M.3)."""

from functools import lru_cache
from typing import Literal, get_args

from adabypass.errors import ParameterError
from adabypass.state.layout import Field, Layout, vectors
from adabypass.validation import shown

Covariance = Literal["auto", "full", "diagonal"]

MAX_EXPLAINED = 1.0 - 1e-9
"""Maximum of 1 - r in (M.6): the fraction of a weight's variance that an observation may explain."""
MAX_FULL_FEATURES = 2000
"""Maximum number of features with which covariance="auto" means a full one: such a row takes 16 MB."""


def check_covariance(value: object) -> None:
    """Validate the argument `covariance`."""
    if not isinstance(value, str) or value not in get_args(Covariance):
        raise ParameterError(f"covariance is {shown(value)}, but must be 'auto', 'full' or 'diagonal'.")


@lru_cache(maxsize=8)
def diagonal_layout(fields: tuple[Field, ...]) -> Layout:
    """Return the layout of a row with these fields and a diagonal covariance."""
    return Layout((*fields, *vectors("var"), Field("common_var", lambda **_: (1,))))


@lru_cache(maxsize=8)
def with_gradient(layout: Layout) -> Layout:
    """Return the layout of a row that also has the gradients of ADA-BYPASS: equations (M.14)-(M.16)."""
    return Layout((*layout.fields, *vectors("var_gradient")))
