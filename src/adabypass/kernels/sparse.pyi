from collections.abc import Callable
from typing import Any

from adabypass.kernels.runner import Runner
from adabypass.kernels.step import Kernel
from adabypass.validation import Floats, Integers

class SparseRunner(Runner):
    def __init__(
        self,
        kernel: Kernel,
        spec: Any,
        row: Floats,
        n_features: int,
        check: Callable[[object, int], tuple[Integers, Floats]],
    ) -> None: ...

class SparseBankRunner(SparseRunner): ...
