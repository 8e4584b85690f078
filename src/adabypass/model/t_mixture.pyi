from typing import Any

from adabypass.validation import Floats

Flags = Any

def cdf(
    share: Floats, location: Floats, scale: Floats, dof: Floats, is_log: Flags, y: Floats, upper: bool
) -> Floats: ...
def cdf_table(
    share: Floats, location: Floats, scale: Floats, dof: Floats, is_log: Flags, y: Floats, is_rough: bool
) -> Floats: ...
def logpdf(share: Floats, location: Floats, scale: Floats, dof: Floats, is_log: Flags, y: Floats) -> Floats: ...
def quantile(share: Floats, location: Floats, scale: Floats, dof: Floats, is_log: Flags, q: Floats) -> Floats: ...
