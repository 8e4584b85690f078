from adabypass.distributions.component import Components
from adabypass.kernels.runner import Runner
from adabypass.validation import Floats, Integers

class RowStore:
    row_size: int
    stride: int
    rows_per_block: int
    n_rows: int
    block_size: int
    capacity: int
    def __init__(self, row_size: int, rows_per_block: int, aligned_at: int = ...) -> None: ...
    def add_block(self, block: Floats) -> None: ...
    def append(self, row: Floats, n: int) -> int: ...
    def row(self, index: int) -> Floats: ...

def step_rows(
    runner: Runner,
    rows: RowStore,
    which: Integers,
    begin: Integers,
    order: Integers,
    y: Floats,
    X: Floats,
    seen: Floats,
    records: Floats,
    n_forecast: Integers,
    watched: Integers,
    learned: Floats,
) -> None: ...
def forecast_rows(
    runner: Runner, rows: RowStore, which: Integers, X: Floats, seen: Floats, records: Floats
) -> None: ...
def forecast_rows_ahead(runner: Runner, rows: RowStore, which: Integers, X: Floats, parts: Components) -> None: ...
