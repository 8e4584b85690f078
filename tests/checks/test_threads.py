"""Several threads, and objects that call back, neither corrupt a model nor lose what it learned silently."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from adabypass import AdaBypass, AutoBypass, EvidenceBypass, Forecaster, PassiveAggressive, Regressor, SequentialKalman
from adabypass.errors import AdabypassError, ConcurrentUseError, NotFiniteError, ShapeError
from adabypass.validation import Floats

MODELS: list[Callable[[], Regressor]] = [AutoBypass, AdaBypass, EvidenceBypass, SequentialKalman, PassiveAggressive]
every_model = pytest.mark.parametrize("make", MODELS)


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def stream(n: int, k: int, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k))
    return X, X.sum(axis=1) + rng.normal(size=n)


class Lazy:
    """Becomes an array only when asked, and calls back on the way."""

    def __init__(self, array: Floats, callback: Callable[[], Any]) -> None:
        self.array, self.callback = array, callback

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        self.callback()
        return self.array


@every_model
def test_meeting_other_features_while_a_table_is_converted_does_no_harm(make: Callable[[], Regressor]) -> None:
    model = make()
    X, y = stream(300, 40)
    with pytest.raises(ShapeError, match="this model has 1 feature"):
        model.run(Lazy(X, lambda: model.predict([1.0])), y)
    assert model.n_features == 1


@every_model
def test_an_update_of_a_model_that_grows_meanwhile_is_refused(make: Callable[[], Regressor]) -> None:
    model = make()
    model.run(*stream(30, 2))
    with pytest.raises(ConcurrentUseError, match="call it again"):  # else it would be lost
        model.update(Lazy(np.ones(2), lambda: model.add_features(50)), 1.0)
    assert (model.n_features, model.n_seen) == (52, 30)
    assert np.isfinite(model.predict(np.ones(52)).mean)


@every_model
def test_numbers_that_change_after_the_check_are_never_seen(make: Callable[[], Regressor]) -> None:
    """The stream was copied before it was checked, so what another thread writes into it comes too late."""
    X, y = stream(60_000 if make is not AutoBypass else 6_000, 2)
    expected = make()
    expected.run(X, y, keep_predictive=False)
    model = make()

    def run() -> None:
        with suppress(NotFiniteError):  # if the nan came before the copy
            model.run(X, y, keep_predictive=False)

    running = threading.Thread(target=run)
    running.start()
    while running.is_alive():
        time.sleep(0.001)
        X[-100:], y[-100:] = np.nan, np.inf
    running.join()
    if model.n_seen:
        np.testing.assert_array_equal(model.weights.mean, expected.weights.mean)


@every_model
def test_what_would_overtake_a_run_is_refused(make: Callable[[], Regressor]) -> None:
    X, y = stream(400_000 if make is not AutoBypass else 30_000, 2)
    model = make()
    model.run(X[:10], y[:10])
    before = model.predict(X[0]).mean
    running = threading.Thread(target=lambda: model.run(X, y, keep_predictive=False))
    running.start()
    while running.is_alive() and not model._runner.is_running:  # type: ignore[union-attr]
        time.sleep(0.0005)
    calls: list[Callable[[], Any]] = [
        lambda: model.update(X[0], 1.0),
        lambda: model.step(X[0], 1.0),
        lambda: model.run(X[:5], y[:5]),
        lambda: model.add_features(1),
        model.reset,
    ]
    refused = 0
    for call in calls:
        if not running.is_alive():
            break
        if model._runner is not None and model._runner.is_running:
            assert model.predict(X[0]).mean == before
            try:
                call()
            except ConcurrentUseError:
                refused += 1
    running.join()
    assert refused >= 1
    assert model.n_seen >= 10


@every_model
def test_two_streams_of_different_width_on_a_fresh_model_do_no_harm(make: Callable[[], Regressor]) -> None:
    narrow, wide = stream(100, 1), stream(100, 30)
    for _ in range(10):
        model, barrier = make(), threading.Barrier(2)

        def run(data: tuple[Floats, Floats], model: Regressor = model, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            with suppress(ConcurrentUseError, ShapeError):
                model.run(*data)

        threads = [threading.Thread(target=run, args=(data,)) for data in (narrow, wide)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert model.n_features in (1, 30)
        assert model.n_seen == 100
        assert np.isfinite(model.predict(np.ones(model.n_features)).mean)


@every_model
def test_updates_from_eight_threads_are_all_learned(make: Callable[[], Regressor]) -> None:
    model = make()
    model.predict([1.0, 2.0])

    def learn(seed: int) -> None:
        X, y = stream(100, 2, seed)
        for x, target in zip(X, y, strict=True):
            model.update(x, target)
            model.predict(x)

    threads = [threading.Thread(target=learn, args=(seed,)) for seed in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert model.n_seen == 800
    assert np.isfinite(model.weights.mean).all()


def test_a_forecaster_used_by_eight_threads_stays_whole() -> None:
    forecaster = Forecaster(lags=[1, 3], missing="last")
    forecaster.run(np.sin(np.arange(50.0)))
    errors: list[BaseException] = []

    def use(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(60):
            try:
                match int(rng.integers(5)):
                    case 0:
                        forecaster.update(rng.normal())
                    case 1:
                        forecaster.run(np.where(rng.random(200) < 0.3, np.nan, rng.normal(size=200)))
                    case 2:
                        forecaster.forecast(3)
                    case 3:
                        forecaster.copy().reset()
                    case _:
                        forecaster.step(np.nan)
            except AdabypassError:
                pass
            except BaseException as error:
                errors.append(error)
                raise

    threads = [threading.Thread(target=use, args=(seed,)) for seed in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors
    assert np.isfinite(forecaster.forecast(5).mean).all()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX signals")
@pytest.mark.parametrize("what", ["AutoBypass.run", "AdaBypass.run", "Forecaster.run"])
def test_ctrl_c_stops_a_run_within_a_second_and_changes_nothing(what: str) -> None:
    X, y = stream(3_000_000, 2)
    model: Any = {"AutoBypass.run": AutoBypass, "AdaBypass.run": AdaBypass, "Forecaster.run": Forecaster}[what]()
    first = (y[:50],) if what == "Forecaster.run" else (X[:50], y[:50])
    rest = (y,) if what == "Forecaster.run" else (X, y)
    model.run(*first)
    before, sent = model.n_seen, []

    def interrupt(*_: Any) -> None:
        sent.append(time.perf_counter())
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.run(*rest, keep_predictive=False)
        assert time.perf_counter() - sent[0] < 1.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert model.n_seen == before
    model.update(*(first[0][:1] if what == "Forecaster.run" else (X[0], 1.0)))  # and it can be used again
    assert model.n_seen == before + 1


@pytest.mark.parametrize("make", [AutoBypass, AdaBypass, Forecaster, lambda: Forecaster(support="positive")])
def test_numpy_asks_no_enum_for_attributes_in_a_run(make: Callable[[], Any]) -> None:
    """Such a question may run Python code, and NumPy takes every error from it, a Ctrl-C too, for a no."""
    X, y = stream(20_000, 2)
    asked = []

    def profile(frame: Any, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "__getattr__":
            asked.append((frame.f_back.f_code.co_filename, frame.f_back.f_lineno))

    model = make()
    old = sys.getprofile()
    sys.setprofile(profile)
    try:
        model.run(*((np.abs(y),) if isinstance(model, Forecaster) else (X, y)), keep_predictive=False)
    finally:
        sys.setprofile(old)
    assert asked == []


FRESH: dict[str, tuple[Callable[[], Any], Callable[[Any, int], object], int]] = {
    "AutoBypass": (AutoBypass, lambda model, i: model.update([1.0, i], float(i)), 0),
    "AutoBypass, step": (AutoBypass, lambda model, i: model.step(np.array([1.0, i]), float(i)), 0),
    "AutoBypass, dicts": (lambda: AutoBypass(n_features=5), lambda model, i: model.update({i % 5: 1.0}, float(i)), 0),
    "AutoBypass, 300 features": (AutoBypass, lambda model, i: model.update(np.ones(300), float(i)), 0),
    "AdaBypass": (AdaBypass, lambda model, i: model.update([1.0, i], float(i)), 0),
    "AdaBypass, diagonal": (
        lambda: AdaBypass(covariance="diagonal"),
        lambda model, i: model.update([1.0, i], float(i)),
        0,
    ),
    "Forecaster": (lambda: Forecaster(lags=1), lambda model, i: model.update(float(i)), 1),
    "Forecaster, exog": (lambda: Forecaster(lags=1), lambda model, i: model.step(float(i), [1.0]), 1),
    "Forecaster, automatic": (Forecaster, lambda model, i: model.update(float(i)), 0),
}


@pytest.mark.parametrize(("make", "learn", "n_lags"), FRESH.values(), ids=FRESH.keys())
def test_no_update_is_lost_when_threads_meet_a_fresh_model(
    make: Callable[[], Any], learn: Callable[[Any, int], object], n_lags: int
) -> None:
    for _ in range(15):
        model, gate = make(), threading.Barrier(4)

        def work(model: Any = model, gate: threading.Barrier = gate) -> None:
            gate.wait()
            for i in range(10):
                learn(model, i)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert model.n_seen == 40 - n_lags


def test_what_threads_tell_of_exogenous_columns_is_all_learned() -> None:
    forecaster, gate = Forecaster(exog=["a"], missing="mean"), threading.Barrier(4)

    def work() -> None:
        gate.wait()
        for i in range(50):
            forecaster.update(float(i), [np.nan if i % 2 else 1.0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    runner: Any = forecaster._runner
    spec, row = runner.spec.current(runner.row)
    assert spec.structures.view(row, "exog_count") == [100.0]


@pytest.mark.parametrize("make", [AutoBypass, AdaBypass, lambda: Forecaster(lags=1), Forecaster])
def test_updates_beside_runs_are_learned_or_refused(make: Callable[[], Any]) -> None:
    """An update that reaches a model just as a run ends must not go to the memory that the run has replaced."""
    model = make()
    is_series = isinstance(model, Forecaster)
    X, y = stream(40, 2)
    model.run(*((y,) if is_series else (X, y)))
    start, learned, n_runs = model.n_seen, [], 0

    def update() -> None:
        n_done = 0
        while n_runs < 20:
            with suppress(ConcurrentUseError):
                model.update(*((1.0,) if is_series else ([1.0, 2.0], 1.0)))
                n_done += 1
        learned.append(n_done)

    threads = [threading.Thread(target=update) for _ in range(3)]
    for each in threads:
        each.start()
    while n_runs < 20:
        model.run(*((y,) if is_series else (X, y)))
        n_runs += 1
    for each in threads:
        each.join()
    assert model.n_seen == start + 20 * 40 + sum(learned)
