from adabypass.distributions.component import Components
from adabypass.validation import Floats

def moments(forecasts: Components) -> tuple[Floats, Floats]: ...
