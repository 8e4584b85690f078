from adabypass.distributions.predictive import Predictive
from adabypass.kernels.running import Running
from adabypass.kernels.step import Kernel
from adabypass.state.spec import Spec
from adabypass.validation import Floats, Integers

class SparseCell(Running):
    row: Floats
    n_features: int
    spec: Spec
    def __init__(self, kernel: Kernel, spec: Spec, row: Floats, n_features: int) -> None: ...
    def predict(self, indices: Integers, values: Floats) -> Predictive: ...
    def update(self, indices: Integers, values: Floats, y: object) -> None: ...
    def step(self, indices: Integers, values: Floats, y: object, want_forecast: bool = ...) -> Predictive: ...
    def run(
        self, begin: Integers, indices: Integers, values: Floats, y: Floats, keep_records: bool
    ) -> tuple[Floats, Floats]: ...
