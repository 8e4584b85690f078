"""Every form in which a model or a forecaster can be: of each class, with each covariance, fresh and trained."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from adabypass import (
    AdaBypass,
    AutoBypass,
    Bypass,
    EvidenceBypass,
    Forecaster,
    Naive,
    PassiveAggressive,
    Regressor,
    SequentialKalman,
)

Make = Callable[[], Any]
N_FEATURES = 3

MODELS: dict[str, Make] = {
    "PassiveAggressive": PassiveAggressive,
    "SequentialKalman": SequentialKalman,
    "Bypass, diagonal": lambda: Bypass(covariance="diagonal"),
    "EvidenceBypass, diagonal": lambda: EvidenceBypass(covariance="diagonal"),
    "AdaBypass": AdaBypass,
    "AdaBypass, full": lambda: AdaBypass(covariance="full"),
    "AdaBypass, diagonal, sized": lambda: AdaBypass(covariance="diagonal", n_features=N_FEATURES),
    "AutoBypass": AutoBypass,
    "AutoBypass, sized": lambda: AutoBypass(n_features=N_FEATURES),
    "AutoBypass, full": lambda: AutoBypass(covariance="full"),
    "AutoBypass, diagonal": lambda: AutoBypass(covariance="diagonal"),
    "AutoBypass, sparse": lambda: AutoBypass(sparse=True),
    "AutoBypass, sparse, sized": lambda: AutoBypass(sparse=True, n_features=N_FEATURES),
}
FORECASTERS: dict[str, Make] = {
    "Forecaster, lags": lambda: Forecaster(lags=2),
    "Forecaster, exog": lambda: Forecaster(AdaBypass(), lags=1, exog=["a"], missing="mean"),
    "Forecaster, no lags": lambda: Forecaster(lags=0, exog=["a", "b"]),
    "Forecaster, automatic": Forecaster,
    "Forecaster, automatic, exog": lambda: Forecaster(exog=["a", "b"], missing="last"),
    "Forecaster, automatic, period": lambda: Forecaster(period=4),
    "Naive": Naive,
}


def trained(made: Any, n: int = 20) -> Any:
    """Let a model or a forecaster learn a few observations."""
    rng = np.random.default_rng(5)
    y = rng.normal(10.0, 1.0, n)
    if isinstance(made, Regressor):
        made.run(rng.normal(size=(n, N_FEATURES)), y)
    else:
        made.run(y, rng.normal(size=(n, len(made.exog))) if getattr(made, "exog", None) else None)
    return made


def forms(made: dict[str, Make]) -> Any:
    """Return the parameters of a test that is run on each form."""
    fresh = {f"{name}, fresh": make for name, make in made.items()}
    old = {f"{name}, trained": lambda make=make: trained(make()) for name, make in made.items()}
    every = fresh | old
    return pytest.mark.parametrize("make", every.values(), ids=every.keys())


every_model = forms(MODELS)
every_forecaster = forms(FORECASTERS)
every_form = forms(MODELS | FORECASTERS)


def tampered(kind: str = "csr", field: str = "indptr", value: Any = -(2**30), n_rows: int = 4) -> Any:
    """Return a sparse matrix with a number in one of its arrays that does not belong there."""
    whole: Any = sparse.csr_array(np.arange(1.0, 1.0 + n_rows * N_FEATURES).reshape(n_rows, N_FEATURES))
    matrix = whole.asformat(kind)
    array = np.array(getattr(matrix, field))
    array[len(array) // 2] = value
    setattr(matrix, field, array)
    return matrix
