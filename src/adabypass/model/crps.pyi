from adabypass.model.component import Components
from adabypass.validation import Floats

def crps(forecasts: Components, y: Floats) -> Floats: ...
