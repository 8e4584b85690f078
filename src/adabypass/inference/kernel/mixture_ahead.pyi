from adabypass.inference.kernel.ahead import Horizon
from adabypass.model.component import Components
from adabypass.model.linear_mixture import LinearMixture
from adabypass.model.past import Past
from adabypass.validation import Floats

def moments(ahead: Horizon, mixture: LinearMixture, past: Past, exog: Floats) -> Components: ...
