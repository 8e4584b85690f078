"""The models with hyperparameters by short names, as other libraries' users choose among them."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Literal

from adabypass.errors import ParameterError
from adabypass.regressors import AdaBypass, Bypass, EvidenceBypass, PassiveAggressive, Regressor, SequentialKalman
from adabypass.validation import shown

ModelName = Literal["ada", "bypass", "evidence", "skf", "pa", "pa1", "pa2"]

MODELS: dict[ModelName, Callable[..., Regressor]] = {
    "ada": AdaBypass,
    "bypass": Bypass,
    "evidence": EvidenceBypass,
    "skf": SequentialKalman,
    "pa": partial(PassiveAggressive, "PA"),
    "pa1": partial(PassiveAggressive, "PA-I"),
    "pa2": partial(PassiveAggressive, "PA-II"),
}


def new_model(model: ModelName, **hyperparameters: object) -> Regressor:
    """Return a model that has seen nothing.

    Parameters
    ----------
    model
        Its short name.
    hyperparameters
        Those that are None keep the model's own default.

    Examples
    --------
    >>> new_model("bypass", epsilon=2.0, a=None)
    Bypass(epsilon=2)
    """
    if not isinstance(model, str) or model not in MODELS:
        raise ParameterError(f"model is {shown(model)}, but must be one of {', '.join(map(repr, MODELS))}.")
    make = MODELS[model]
    known = [name for name in signature(make).parameters if name != "n_features"]
    given = {name: value for name, value in hyperparameters.items() if value is not None}
    for name in given:
        if name not in known:
            raise ParameterError(f"the model {model!r} has no hyperparameter {name!r}; it has {', '.join(known)}.")
    return make(**given)
