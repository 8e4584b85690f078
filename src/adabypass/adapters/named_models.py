"""The models with hyperparameters by short names, as other libraries' users choose among them."""

from inspect import signature
from typing import Literal, get_args

from adabypass.errors import ParameterError
from adabypass.regressors import Regressor
from adabypass.regressors.names import MODELS
from adabypass.validation import shown

ModelName = Literal["ada", "bypass", "evidence", "skf", "pa", "pa1", "pa2"]


def new_model(model: ModelName, **hyperparameters: object) -> Regressor:
    """Return a model that has seen nothing.

    Parameters
    ----------
    model
        Its short name.
    hyperparameters
        Those that are None keep the default of `MODELS`.

    Examples
    --------
    >>> new_model("bypass", epsilon=2.0, a=None)
    Bypass(epsilon=2)
    """
    if not isinstance(model, str) or model not in get_args(ModelName):
        names = ", ".join(map(repr, get_args(ModelName)))
        raise ParameterError(f"model is {shown(model)}, but must be one of {names}.")
    make = MODELS[model]
    known = [name for name in signature(make).parameters if name != "n_features"]
    given = {name: value for name, value in hyperparameters.items() if value is not None}
    for name in given:
        if name not in known:
            raise ParameterError(f"the model {model!r} has no hyperparameter {name!r}; it has {', '.join(known)}.")
    return make(**given)
