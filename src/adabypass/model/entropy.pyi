from adabypass.model.component import Components
from adabypass.validation import Floats

def entropy(forecasts: Components) -> Floats: ...
