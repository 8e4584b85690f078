"""The models: objects that remember, each in one row of numbers.

All of them obey one protocol. `predict(x)` says what the next observation will be, `update(x, y)` learns from it, and
`run(X, y)` does both for a whole stream in compiled code, with the same answers to the last bit.
"""

from adabypass.regressors.auto import AutoBypass
from adabypass.regressors.base import Regressor, Weights
from adabypass.regressors.evidence import EvidenceBypass
from adabypass.regressors.paper import AdaBypass, Bypass, PassiveAggressive, SequentialKalman

KINDS: dict[str, type[Regressor]] = {
    kind.__name__: kind for kind in (AdaBypass, AutoBypass, Bypass, EvidenceBypass, PassiveAggressive, SequentialKalman)
}
"""The models by the name under which they are saved."""

__all__ = [
    "KINDS",
    "AdaBypass",
    "AutoBypass",
    "Bypass",
    "EvidenceBypass",
    "PassiveAggressive",
    "Regressor",
    "SequentialKalman",
    "Weights",
]
