"""Slow scores of many forecasts can be stopped."""

import subprocess
import sys
import textwrap

import pytest


@pytest.mark.parametrize("score", ["crps(np.zeros(100_000))", "entropy()"])
def test_ctrl_c_stops_scores_within_a_second(score: str) -> None:
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
