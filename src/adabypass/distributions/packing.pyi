from collections.abc import Sequence
from typing import Any

from adabypass.distributions.component import Components
from adabypass.numerics.noise import Family
from adabypass.validation import Floats

class Packing:
    families: tuple[Family, ...]
    transformed: Packing | None
    own: Packing
    n_own: int
    n_linears: int
    n_signals: int
    n_flexible: int
    n_components: int
    size: int
    def __init__(
        self, families: Sequence[Family], n_signals: int | None = None, transformed: Packing | None = None
    ) -> None: ...
    def of(self, records: Floats) -> Packing: ...
    def widened(self, records: Floats) -> Floats: ...
    def is_transformed(self, records: Floats) -> bool: ...
    def expand(self, records: Floats) -> Components: ...
    def signal_var(self, records: Floats) -> Any: ...

def packing_of(families: tuple[Family, ...], n_signals: int, transformed: Packing | None) -> Packing: ...
