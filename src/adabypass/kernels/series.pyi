from collections.abc import Callable

from adabypass.distributions.component import Components
from adabypass.kernels.runner import Runner
from adabypass.kernels.step import Kernel
from adabypass.state.series import SeriesSpec
from adabypass.validation import Floats

class SeriesRunner(Runner):
    is_ready: bool
    def __init__(
        self,
        kernel: Kernel,
        spec: SeriesSpec,
        row: Floats,
        n_exog: int,
        check: Callable[[object, int], Floats] | None = None,
    ) -> None: ...
    def step_shares(self, step: int) -> Floats: ...
    def stable_weights(self, n_steps: int) -> tuple[Floats, Floats]: ...
    def forecast_steps(self, exog: Floats) -> Components: ...
