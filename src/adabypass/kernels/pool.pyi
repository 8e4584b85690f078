from collections.abc import Callable

from adabypass.kernels.runner import Runner
from adabypass.kernels.structure import StructureRunner
from adabypass.state.pool import PoolSpec, PoolState
from adabypass.validation import Floats

class PoolRunner(Runner):
    spec: PoolSpec
    structures: StructureRunner
    def __init__(self, spec: PoolSpec, row: Floats, check: Callable[[object, int], Floats] | None = None) -> None: ...
    @property
    def shares(self) -> Floats: ...
    def freeze(self, exog: object) -> PoolState: ...
