from adabypass.inference.kernel.step import Kernel
from adabypass.model.component import Components
from adabypass.model.predictive import Predictive
from adabypass.model.series_spec import SeriesSpec
from adabypass.validation import Floats

class SeriesCell:
    row: Floats
    n_features: int
    n_exog: int
    is_ready: bool
    is_running: bool
    def __init__(self, kernel: Kernel, spec: SeriesSpec, row: Floats, n_exog: int) -> None: ...
    def start_run(self) -> Floats: ...
    def end_run(self) -> None: ...
    def predict(self, exog: object, is_checked: bool = ...) -> Predictive | None: ...
    def step(self, y: object, exog: object, is_checked: bool = ..., want_forecast: bool = ...) -> Predictive | None: ...
    def run(
        self, y: Floats, exog: Floats, keep_weights: bool, keep_components: bool
    ) -> tuple[int, Floats, Floats, Components]: ...
