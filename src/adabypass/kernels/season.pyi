from collections.abc import Callable

from adabypass.kernels.runner import Runner
from adabypass.state.pool import PoolState
from adabypass.state.season import SeasonSpec
from adabypass.validation import Floats

class SeasonRunner(Runner):
    spec: SeasonSpec
    def __init__(self, spec: SeasonSpec, row: Floats, check: Callable[[object, int], Floats] | None = None) -> None: ...
    @property
    def period(self) -> int: ...
    def freeze(self, exog: object) -> PoolState: ...
