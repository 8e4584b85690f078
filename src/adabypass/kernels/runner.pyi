from collections.abc import Callable
from typing import Any, TypeVar

from adabypass.kernels.step import Kernel
from adabypass.validation import Floats

Answer = TypeVar("Answer")

class Runner:
    row: Floats
    spec: Any
    row_size: int
    n_inputs: int
    n_features: int
    n_record: int
    n_components: int
    @property
    def is_running(self) -> bool: ...
    def predict(self, inputs: object) -> Any: ...
    def update(self, inputs: object, y: object) -> None: ...
    def step(self, inputs: object, y: object) -> Any: ...
    def run(
        self, inputs: Any, y: Floats, keep_weights: bool, keep_records: bool
    ) -> tuple[int, Floats, Floats, Floats]: ...

class DenseRunner(Runner):
    def __init__(self, kernel: Kernel, spec: Any, row: Floats, n_features: int) -> None: ...

class RunGuard:
    is_running: bool
    def run(self, model: Any, work: Callable[[Any], tuple[Any, Answer]]) -> Answer: ...
    def meet(
        self, model: Any, choose: Callable[[Any], Any], act: Callable[[Any], Answer], changes: bool = ...
    ) -> Answer: ...
    def put(self, model: Any, runner: Runner | None) -> None: ...

def hold(lock: Any, work: Callable[[], Answer]) -> Answer: ...
