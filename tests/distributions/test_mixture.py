"""Work on many forecasts can be stopped, and arguments outside their domain are refused."""

import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from adabypass import AutoBypass, EvidenceBypass, Forecaster, Mixture
from adabypass.errors import ParameterError
from tests.mixtures import insensitive


@pytest.mark.parametrize("score", ["crps(np.zeros(40_000))", "entropy()", "quantile(np.linspace(0.01, 0.99, 25))"])
def test_ctrl_c_stops_work_on_many_forecasts_within_a_second(score: str) -> None:
    script = f"""
    import os, signal, threading, time
    import numpy as np
    from adabypass import Mixture

    weight = np.full((40_000, 55), 1 / 55)
    mean = np.random.default_rng(0).normal(size=(40_000, 55))
    forecasts = Mixture.of(weight=weight, mean=mean, signal_var=1.0, noise_scale=0.5, epsilon=0.5, family=0)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.perf_counter()
    try:
        forecasts.{score}
    except KeyboardInterrupt:
        print(time.perf_counter() - begun - 0.5)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert float(done.stdout) < 1.0, done.stderr


@pytest.mark.parametrize(
    ("signal_var", "noise_scale", "epsilon"),
    [(-1.0, 1.0, 1.0), (np.array([1.0, np.nan]), 1.0, 1.0), (1.0, np.inf, 1.0), (1.0, 1.0, -0.1)],
)
def test_noise_outside_its_domain_is_refused(signal_var: float, noise_scale: float, epsilon: float) -> None:
    with pytest.raises(ParameterError, match=r"but must (be finite|not be below 0)"):
        insensitive(np.zeros(np.shape(signal_var)), signal_var, noise_scale, epsilon)


def test_quantiles_of_many_forecasts_are_those_of_each_alone() -> None:
    y = np.random.default_rng(1).normal(size=300).cumsum()
    packed: Any = Forecaster(lags=1).run(y).predictive[20:]
    plain = insensitive(mean=y, signal_var=np.abs(y), noise_scale=0.5, epsilon=1.25)
    for many in (packed, plain):
        found = many.quantile_each([0.05, 0.5, 0.99])
        assert found.tolist() == [[many[i].quantile(q) for i in range(len(many.mean))] for q in (0.05, 0.5, 0.99)]
    with pytest.raises(ParameterError, match="probability of a quantile"):
        packed.quantile_each([0.5, 1.5])


def _forecasts() -> dict[str, Callable[[], Mixture]]:
    """Ways to come by a mixture."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X.sum(axis=1) + 5.0

    def model() -> AutoBypass:
        made = AutoBypass()
        made.run(X, y)
        return made

    def one() -> Mixture:
        return Mixture.of(weight=[0.5, 0.5], mean=[0.0, 5.0], signal_var=[1.0, 4.0])

    def many() -> Mixture:
        return Mixture.of(weight=[[0.5, 0.5]] * 3, mean=[[0.0, 5.0]] * 3, signal_var=1.0)

    def ahead() -> Any:
        forecaster = Forecaster(lags=1)
        forecaster.run(y)
        return forecaster.forecast(4).predictive

    return {
        "of": one,
        "many": many,
        "one of many": lambda: many()[1],
        "some of many": lambda: many()[1:],
        "pickled": lambda: pickle.loads(pickle.dumps(one())),
        "predict": lambda: model().predict([1.0, 2.0]),
        "step": lambda: model().step([1.0, 2.0], 3.0),
        "of a run": lambda: model().run(X, y).predictive[3],
        "ahead": ahead,
        "constructor": lambda: Mixture(np.array(many().components)),
        "EvidenceBypass": lambda: EvidenceBypass().predict([1.0]),
    }


@pytest.mark.parametrize("make", _forecasts().values(), ids=_forecasts().keys())
def test_nobody_writes_to_the_components_that_compiled_code_reads(make: Callable[[], Mixture]) -> None:
    """Nor after the flag was set, nor through the array's base: compiled code takes them as they were checked."""
    forecast = make()
    y = 0.0 if isinstance(forecast.mean, float) else np.zeros(len(forecast.mean))
    before = forecast.cdf(y)
    array: Any = forecast.components
    while isinstance(array, np.ndarray):
        with suppress(ValueError):
            array.flags.writeable = True
        with suppress(ValueError):
            array["target"][...] = 10**6
            array["mean"][...] = 3.0
        array = array.base
    assert np.array_equal(forecast.cdf(y), before)
    assert not (forecast.components["target"] == 10**6).any()


def test_what_is_written_to_an_array_after_a_mixture_was_made_of_it_is_not_seen() -> None:
    components = np.array(Mixture.of(weight=[0.5, 0.5], mean=[0.0, 5.0], signal_var=[1.0, 4.0]).components)
    forecast = Mixture(components)
    components["target"], components["family"] = 10**6, 10**6
    assert forecast.cdf(0.0) == Mixture.of(weight=[0.5, 0.5], mean=[0.0, 5.0], signal_var=[1.0, 4.0]).cdf(0.0)
