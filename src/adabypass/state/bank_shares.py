"""Prior shares of the bank's filters that were learned from other series."""

from functools import lru_cache
from math import isfinite
from numbers import Real
from typing import Any

from adabypass.errors import ParameterError
from adabypass.state.bank_table import Setting
from adabypass.validation import as_tuple


@lru_cache(maxsize=8)
def shared(filters: tuple[Setting, ...], shares: tuple[float, ...]) -> tuple[Setting, ...]:
    """Return the settings of every filter with its prior share replaced."""
    return tuple(each._replace(prior_share=share) for each, share in zip(filters, shares, strict=True))


def check_shares(shares: Any, n_filters: int) -> tuple[float, ...]:
    """Check prior shares, and normalise them to the sum 1."""
    given = as_tuple(shares)
    if given is None or len(given) != n_filters or not all(_is_positive(each) for each in given):
        raise ParameterError(f"prior_shares must be {n_filters} numbers above 0, one for each filter.")
    total = sum(float(each) for each in given)
    if not isfinite(total):
        raise ParameterError("prior_shares must be finite.")
    is_normal = abs(total - 1.0) < 1e-12  # so that saved shares are restored exactly
    return tuple(float(each) if is_normal else float(each) / total for each in given)


def _is_positive(share: Any) -> bool:
    return isinstance(share, Real) and not isinstance(share, bool) and bool(float(share) > 0.0)
