"""The models by short names: the one list, for the command line and for adapters of other libraries."""

from collections.abc import Callable, Mapping
from functools import partial

from adabypass.regressors.auto import AutoBypass
from adabypass.regressors.base import Regressor
from adabypass.regressors.evidence import EvidenceBypass
from adabypass.regressors.paper import AdaBypass, Bypass, PassiveAggressive, SequentialKalman

MODELS: Mapping[str, Callable[..., Regressor]] = {
    "auto": AutoBypass,
    "ada": AdaBypass,
    "bypass": Bypass,
    "evidence": EvidenceBypass,
    # Who chooses by a name knows no variance of the noise, so it is learned.
    "skf": partial(SequentialKalman, adapt_noise=True),
    "pa": partial(PassiveAggressive, "PA"),
    "pa1": partial(PassiveAggressive, "PA-I"),
    "pa2": partial(PassiveAggressive, "PA-II"),
}
