from adabypass.inference.kernel.running import Running
from adabypass.inference.kernel.step import Kernel
from adabypass.model.predictive import Predictive
from adabypass.model.spec import Spec
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
