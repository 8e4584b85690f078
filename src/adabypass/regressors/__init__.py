"""The models: objects that remember, each in one row of numbers.

All of them obey one protocol. `predict(x)` says what the next observation will be, `update(x, y)` learns from it, and
`run(X, y)` does both for a whole stream in compiled code, with the same answers to the last bit.

`MODELS` is the one list of them: commands, saved files, the checklist and the golden files follow it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from adabypass.regressors.auto import AutoBypass
from adabypass.regressors.base import Regressor, Weights
from adabypass.regressors.paper import AdaBypass, Bypass, EvidenceBypass, PassiveAggressive, SequentialKalman


class NamedModel(NamedTuple):
    """A model that a command line can name."""

    kind: type[Regressor]
    description: str
    hyperparameters: Mapping[str, Any] = {}

    def make(self) -> Regressor:
        """Return a new model."""
        return self.kind(**self.hyperparameters)


MODELS: Mapping[str, NamedModel] = {
    "auto": NamedModel(AutoBypass, "AutoBypass"),
    "ada": NamedModel(AdaBypass, "the paper's ADA-BYPASS"),
    "bypass": NamedModel(Bypass, "the paper's BYPASS"),
    "evidence": NamedModel(EvidenceBypass, "EvidenceBypass"),
    # Users of short names do not know the variance of the noise, so it is learned.
    "skf": NamedModel(SequentialKalman, "a Kalman filter", {"adapt_noise": True}),
    "pa": NamedModel(PassiveAggressive, "passive-aggressive regression, without intervals", {"variant": "PA"}),
    "pa1": NamedModel(PassiveAggressive, "the same, variant PA-I", {"variant": "PA-I"}),
    "pa2": NamedModel(PassiveAggressive, "the same, variant PA-II", {"variant": "PA-II"}),
}
"""Every model, by short names."""

KINDS: dict[str, type[Regressor]] = {each.kind.__name__: each.kind for each in MODELS.values()}
"""The classes of models, by the name under which they are saved."""

__all__ = [
    "KINDS",
    "MODELS",
    "AdaBypass",
    "AutoBypass",
    "Bypass",
    "EvidenceBypass",
    "NamedModel",
    "PassiveAggressive",
    "Regressor",
    "SequentialKalman",
    "Weights",
]
