from adabypass.validation import Floats

def places(
    constants: Floats, row: Floats, n_features: int, is_full: bool
) -> tuple[list[int], tuple[int, int, int]]: ...
