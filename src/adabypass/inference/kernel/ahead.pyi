from adabypass.model.past import Design

class Horizon:
    n_steps: int
    def __init__(
        self, design: Design, n_linears: int, n_components: int, n_features: int, intercept: bool, n_steps: int
    ) -> None: ...
