from adabypass.distributions.component import Components
from adabypass.distributions.predictive import Predictive
from adabypass.kernels.row_cell import RowCell
from adabypass.kernels.step import Kernel
from adabypass.state.series import SeriesSpec
from adabypass.validation import Floats

class SeriesCell(RowCell):
    row: Floats
    n_features: int
    n_exog: int
    is_ready: bool
    def __init__(self, kernel: Kernel, spec: SeriesSpec, row: Floats, n_exog: int) -> None: ...
    def step_shares(self, step: int) -> Floats: ...
    def forecast_steps(self, exog: Floats) -> Components: ...
    def predict(self, exog: object, is_checked: bool = ...) -> Predictive | None: ...
    def step(self, y: object, exog: object, is_checked: bool = ..., want_forecast: bool = ...) -> Predictive | None: ...
    def run(
        self, y: Floats, exog: Floats, keep_weights: bool, keep_records: bool
    ) -> tuple[int, Floats, Floats, Floats]: ...
