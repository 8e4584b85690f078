from collections.abc import Sequence
from typing import Any

from adabypass.model.component import Components
from adabypass.model.noise import Family
from adabypass.validation import Floats

class Packing:
    families: tuple[Family, ...]
    n_linears: int
    n_signals: int
    n_flexible: int
    n_components: int
    size: int
    def __init__(self, families: Sequence[Family], n_signals: int | None = None) -> None: ...
    def expand(self, records: Floats) -> Components: ...
    def signal_var(self, records: Floats) -> Any: ...

def packing_of(families: tuple[Family, ...], n_signals: int) -> Packing: ...
