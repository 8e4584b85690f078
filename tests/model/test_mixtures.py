"""Work on many forecasts can be stopped, and arguments outside their domain are refused."""

import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

from adabypass import Forecaster, Insensitive
from adabypass.errors import ParameterError


@pytest.mark.parametrize("score", ["crps(np.zeros(100_000))", "entropy()", "quantile([0.1, 0.2, 0.3, 0.4, 0.6])"])
def test_ctrl_c_stops_work_on_many_forecasts_within_a_second(score: str) -> None:
    script = f"""
    import os, signal, threading, time
    import numpy as np
    from adabypass import Mixture

    weight = np.full((100_000, 55), 1 / 55)
    mean = np.random.default_rng(0).normal(size=(100_000, 55))
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
    [(-1.0, 1.0, 1.0), (np.array([1.0, np.nan]), 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, np.inf, 1.0), (1.0, 1.0, -0.1)],
)
def test_noise_outside_its_domain_is_refused(signal_var: float, noise_scale: float, epsilon: float) -> None:
    with pytest.raises(ParameterError, match="noise_scale must be above 0, the others not below 0"):
        Insensitive(np.zeros(np.shape(signal_var)), signal_var, noise_scale, epsilon)


def test_quantiles_of_many_forecasts_are_those_of_each_alone() -> None:
    y = np.random.default_rng(1).normal(size=300).cumsum()
    packed: Any = Forecaster(lags=1).run(y).predictive[20:]
    plain = Insensitive(mean=y, signal_var=np.abs(y), noise_scale=0.5, epsilon=1.25)
    for many in (packed, plain):
        found = many.quantile_each([0.05, 0.5, 0.99])
        assert found.tolist() == [[many[i].quantile(q) for i in range(len(many.mean))] for q in (0.05, 0.5, 0.99)]
    with pytest.raises(ParameterError, match="probability of a quantile"):
        packed.quantile_each([0.5, 1.5])
