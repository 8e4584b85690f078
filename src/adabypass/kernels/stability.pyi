from collections.abc import Sequence

from adabypass.validation import Floats

def damping(weights: Floats, lags: Sequence[int], n_steps: int) -> Floats: ...
