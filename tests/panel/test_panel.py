"""A panel is as many forecasters, or models, to the bit: whatever the order, the threads and the place of its rows."""

import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from adabypass import (
    AdaBypass,
    AutoBypass,
    Bypass,
    EvidenceBypass,
    Forecaster,
    Panel,
    PassiveAggressive,
    Regressor,
    SequentialKalman,
    load,
)
from adabypass.errors import (
    ConcurrentUseError,
    NotFiniteError,
    ParameterError,
    ShapeError,
    StateError,
    UnknownNameError,
)
from adabypass.panel.rows import PanelRows
from adabypass.validation import Floats

N_SERIES, N_STEPS = 7, 60
MODELS = [
    AutoBypass(),
    AutoBypass(intercept=False),
    AdaBypass(),
    Bypass(),
    SequentialKalman(),
    EvidenceBypass(),
    PassiveAggressive(),
]
FORECASTERS = [
    Forecaster(lags=1),
    Forecaster(lags=[1, 3], difference=1),
    Forecaster(Bypass(), lags=2),
    Forecaster(SequentialKalman(), lags=1),
    Forecaster(PassiveAggressive(), lags=2),
    Forecaster(EvidenceBypass(), lags=2),
]


def walks(n_series: int = N_SERIES, n_steps: int = N_STEPS, missing: float = 0.05) -> Floats:
    rng = np.random.default_rng(3)
    y: Floats = 20.0 + np.cumsum(rng.normal(size=(n_series, n_steps)), axis=1)
    y[rng.random(y.shape) < missing] = np.nan
    return y


def features(n_features: int = 3) -> Floats:
    return np.random.default_rng(4).normal(size=(N_SERIES, N_STEPS, n_features))


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("n_features", [1, 3, 40])  # from 32 features on, updates of a matrix may wait
def test_a_panel_of_models_equals_the_models(model: Regressor, n_features: int) -> None:
    y, X = walks(), features(n_features)
    panel = Panel(model, n_threads=2)
    trace = panel.run(y, X)
    assert trace is not None
    for i in range(N_SERIES):
        single = model.copy()
        expected = single.run(X[i], y[i], keep_predictive=False)
        assert_array_equal(trace.mean[i], expected.mean)
        assert_array_equal(trace.var[i], expected.var if not expected.is_point else np.nan)
        if not expected.is_point:
            assert_array_equal(trace.log_score[i], expected.log_score)
        twin = panel[i]
        assert isinstance(twin, Regressor)
        assert twin.to_bytes() == single.to_bytes()


@pytest.mark.parametrize("forecaster", FORECASTERS, ids=repr)
def test_a_panel_of_forecasters_equals_the_forecasters(forecaster: Forecaster) -> None:
    y = walks()
    panel = Panel(forecaster, n_threads=2)
    trace = panel.run(y)
    ahead = panel.forecast(9, levels=(0.5, 0.9))
    assert trace is not None
    for i in range(N_SERIES):
        single = forecaster.copy()
        expected = single.run(y[i], keep_predictive=False)
        assert_array_equal(trace.mean[i, expected.first :], expected.mean)
        assert np.isnan(trace.mean[i, : expected.first]).all()
        own = single.forecast(9)
        assert_array_equal(ahead.mean[i], own.mean)
        if own.is_point:
            assert ahead.sd is None
            continue
        assert ahead.sd is not None
        assert_array_equal(ahead.sd[i], own.sd)
        for level in (0.5, 0.9):
            assert_array_equal([bound[i] for bound in ahead.intervals[level]], own.interval(level))


def test_a_far_horizon_equals_the_forecasters_too() -> None:
    y = walks(3, missing=0.0)
    panel = Panel(Forecaster(lags=2), n_threads=2)
    panel.run(y, keep_trace=False)
    ahead = panel.forecast(150)
    for i in range(3):
        single = Forecaster(lags=2)
        single.run(y[i])
        assert_array_equal(ahead.intervals[0.9][0][i], single.forecast(150).interval(0.9)[0])


def test_exogenous_values_go_with_their_series() -> None:
    y, exog = walks(missing=0.0), features(2)
    forecaster = Forecaster(lags=1, missing="mean")
    exog[2, 5, 1] = np.nan
    panel = Panel(forecaster, n_threads=2)
    trace = panel.run(y, exog)
    ahead = panel.forecast(4, 0.5 * exog[[3, 1], :4], ids=[3, 1])
    assert trace is not None
    single = forecaster.copy()
    assert_array_equal(trace.mean[2, 1:], single.run(y[2], exog[2]).mean)
    other = forecaster.copy()
    other.run(y[1], exog[1])
    assert_array_equal(ahead.mean[1], other.forecast(4, 0.5 * exog[1, :4]).mean)


def test_the_order_of_arrivals_changes_nothing() -> None:
    y = walks()
    together = Panel(Forecaster(lags=1), n_threads=1)
    together.run(y, ids=[f"s{i}" for i in range(N_SERIES)])
    rng = np.random.default_rng(9)
    arrivals = rng.permutation(np.repeat(np.arange(N_SERIES), N_STEPS))
    steps = np.zeros(N_SERIES, int)
    single = Panel(Forecaster(lags=1), n_threads=2)
    values = np.empty(len(arrivals))
    for at, i in enumerate(arrivals):
        values[at] = y[i, steps[i]]
        steps[i] += 1
    ids = [f"s{i}" for i in arrivals]
    for start in range(0, len(ids), 100):  # parts in which some series come often, others not at all
        single.update(ids[start : start + 100], values[start : start + 100])
    for i in range(N_SERIES):
        assert single[f"s{i}"].to_bytes() == together[f"s{i}"].to_bytes()


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_the_number_of_threads_changes_nothing(n_threads: int) -> None:
    y = walks(40, 50)
    panel, alone = Panel(Forecaster(lags=1), n_threads=n_threads), Panel(Forecaster(lags=1), n_threads=1)
    found, expected = panel.run(y), alone.run(y)
    assert found is not None
    assert expected is not None
    assert_array_equal(found.log_score, expected.log_score)
    assert panel.to_bytes() == alone.to_bytes()
    assert_array_equal(panel.forecast(5).intervals[0.9], alone.forecast(5).intervals[0.9])


def test_a_step_is_a_forecast_and_an_update() -> None:
    y = walks(3, missing=0.0)
    panel = Panel(Forecaster(lags=1))
    panel.run(y, ids=list("abc"))
    before, twin = panel.predict(["c", "a"]), panel.copy()
    trace = panel.step(["c", "a"], [1.0, 2.0])
    assert_array_equal(trace.mean, before.mean)
    assert_array_equal(trace.predictive.interval(0.9), before.interval(0.9))
    twin.update(["c", "a"], [1.0, 2.0])
    assert twin.to_bytes() == panel.to_bytes()
    own = twin["a"]
    assert isinstance(own, Forecaster)
    assert own.predict().mean == panel.predict("a").mean[0]


def test_series_are_added_dropped_and_selected() -> None:
    panel = Panel(Forecaster(lags=1), ids=["a", "b"])
    panel.update(["b", "c", "c", "c"], [1.0, 2.0, 3.0, 4.0])
    assert panel.ids == ["a", "b", "c"]
    assert panel.n_seen.tolist() == [0, 0, 2]
    assert "c" in panel
    few = panel.select(["c", "a"])
    panel.drop("c")
    assert panel.ids == ["a", "b"]
    panel.update("d", 7.0)  # takes the row of c, and begins anew
    assert panel.n_seen.tolist() == [0, 0, 0]
    assert few.ids == ["c", "a"]
    assert few.n_seen.tolist() == [2, 0]
    with pytest.raises(UnknownNameError, match="no series 'c'"):
        panel.predict("c")
    with pytest.raises(ParameterError, match="already"):
        panel.add("a")


@pytest.mark.parametrize("template", [Forecaster(AdaBypass(), lags=2), AutoBypass()], ids=repr)
def test_a_saved_panel_goes_on_to_the_same_numbers(template: Forecaster | Regressor, tmp_path: Path) -> None:
    y, X = walks(), features(2) if isinstance(template, Regressor) else None
    panel = Panel(template)
    panel.run(y, X, ids=["ä\n", 3, "3", -1, "x", "", 10**20])
    panel.save(tmp_path / "panel.safetensors")
    for again in (load(tmp_path / "panel.safetensors"), pickle.loads(pickle.dumps(panel)), panel.copy()):
        assert isinstance(again, Panel)
        assert again.ids == panel.ids
        again.run(y, X, keep_trace=False)
        twin = panel.copy()
        twin.run(y, X, keep_trace=False)
        assert again.to_bytes() == twin.to_bytes()


def test_a_damaged_panel_is_refused() -> None:
    panel = Panel(Forecaster(lags=1), ids=["a"])
    header, arrays = panel._snapshot()
    for name, wrong in [("n_series", 2), ("n_inputs", 1), ("layout", []), ("series", {"kind": "None"})]:
        with pytest.raises(StateError):
            Panel.__new__(Panel).__setstate__({"header": header | {name: wrong}, "arrays": arrays})
    rows = arrays["rows"].copy()
    rows[0, 2] = 99.0  # more unknown values than there are
    with pytest.raises(StateError, match="series 'a'"):
        Panel.__new__(Panel).__setstate__({"header": header, "arrays": arrays | {"rows": rows}})


def test_mapped_rows_change_nothing(tmp_path: Path) -> None:
    y = walks(30)
    mapped, held = Panel(Forecaster(lags=1), rows_in=tmp_path), Panel(Forecaster(lags=1))
    mapped.run(y, keep_trace=False)
    assert mapped._rows is not None
    mapped._rows.release()
    held.run(y, keep_trace=False)
    assert mapped.to_bytes() == held.to_bytes()
    assert list(tmp_path.iterdir()) == []  # the file has no name, and is gone with the process
    with pytest.raises(ParameterError, match="folder"):
        Panel(Forecaster(lags=1), ids=["a"], rows_in=tmp_path / "nowhere")


@pytest.mark.parametrize("n_threads", [1, 3])
def test_mapped_rows_whose_memory_is_given_back_on_the_way_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_threads: int
) -> None:
    y, held, n_released, done = walks(60), Panel(Forecaster(lags=1)), list[int](), list[int]()
    held.run(y, keep_trace=False)
    monkeypatch.setattr("adabypass.panel.rows.BLOCK_BYTES", 1 << 16)  # a few rows
    monkeypatch.setattr("adabypass.panel.rows.MAX_RESIDENT_BYTES", 1 << 17)
    monkeypatch.setattr("adabypass.panel.threads.CHUNK", y.shape[1])  # observations between two reports of one thread
    release = PanelRows.release

    def counted(rows: PanelRows) -> None:
        n_released.append(1)
        release(rows)

    monkeypatch.setattr(PanelRows, "release", counted)
    mapped = Panel(Forecaster(lags=1), rows_in=tmp_path, n_threads=n_threads)
    mapped.run(y, keep_trace=False, progress=done.append)
    assert mapped.to_bytes() == held.to_bytes()
    # Reports of several threads are joined where the one that takes them is late; the last one comes in any case.
    assert len(n_released) > (1 if n_threads == 1 else 0)
    assert sum(done) == y.size


@pytest.mark.parametrize("n_threads", [1, 3])
def test_progress_counts_every_observation(monkeypatch: pytest.MonkeyPatch, n_threads: int) -> None:
    monkeypatch.setattr("adabypass.panel.threads.CHUNK", 200)
    done = list[int]()
    panel = Panel(Forecaster(lags=1), n_threads=n_threads)
    panel.run(walks(200, 20), progress=done.append)
    assert sum(done) == 200 * 20
    assert min(done) > 0
    assert len(done) == 20 if n_threads == 1 else len(done) <= 40  # smaller parts, whose reports may be joined


def test_threads_may_share_a_panel() -> None:
    """Every observation is learned once, though many threads bring them at once, and others look on."""
    panel = Panel(Forecaster(lags=1), n_threads=2)
    y = walks(16, 400, missing=0.0)

    def work(i: int) -> None:
        for start in range(0, 400, 50):
            panel.update([i] * 50, y[i, start : start + 50])
            panel.predict([i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = Panel(Forecaster(lags=1), n_threads=1)
    alone.run(y, keep_trace=False)
    for i in range(16):
        assert panel[i].to_bytes() == alone[i].to_bytes()


def test_a_call_from_within_a_call_is_refused() -> None:
    panel = Panel(Forecaster(lags=1), n_threads=2)
    with pytest.raises(ConcurrentUseError, match="from within"):
        panel.run(walks(200), progress=lambda _: panel.update(0, 1.0))
    panel.update(0, 1.0)  # and the panel can be used again


def test_wrong_arguments_are_refused_and_change_nothing() -> None:
    panel = Panel(AutoBypass(), ids=[])
    panel.update(["a"], [1.0], [[1.0, 2.0]])
    before = panel.to_bytes()
    for ids, y, X, error, words in [
        (["a"], [np.inf], [[1.0, 2.0]], NotFiniteError, r"y\[0\] is inf"),
        (["a"], [1.0], [[1.0, np.nan]], NotFiniteError, r"X\[0, 1\] is nan"),
        (["b"], [1.0], [[1.0]], ShapeError, r"must be \(1, 2\)"),
        (["b", "c"], [1.0], [[1.0, 2.0]], ShapeError, "2 ids"),
        ([1.5], [1.0], [[1.0, 2.0]], ParameterError, "text or a whole number"),
        (None, [1.0], [[1.0, 2.0]], ParameterError, "list of ids"),
        (["b"], [1.0], None, ShapeError, "X is missing"),
    ]:
        with pytest.raises(error, match=words):
            panel.update(ids, y, X)
        assert panel.to_bytes() == before
    with pytest.raises(ParameterError, match="steps ahead"):
        panel.forecast(3)
    with pytest.raises(ShapeError, match="4 rows"):
        panel.run(np.zeros((4, 2)), np.zeros((4, 2, 2)))
    with pytest.raises(ParameterError, match="comes twice"):
        panel.run(np.zeros((2, 2)), np.zeros((2, 2, 2)), ids=["a", "a"])
    with pytest.raises(ParameterError, match="number of features"):
        Panel(AutoBypass(), ids=["a"])
    with pytest.raises(ParameterError, match="n_threads"):
        Panel(n_threads=0)
    with pytest.raises(ParameterError, match="forecaster is"):
        Panel("AutoBypass")  # type: ignore[arg-type]


def test_names_of_exogenous_columns_are_held_to() -> None:
    for forecaster in (Forecaster(exog=["a", "b"]), Forecaster(lags=1, exog=["a", "b"])):
        for wrong in (None, np.ones((1, 3))):
            with pytest.raises(ShapeError, match="exog"):
                Panel(forecaster).update(["s"], [1.0], wrong)
        panel = Panel(forecaster)
        panel.update(["s"], [1.0], np.ones((1, 2)))
        assert panel.n_seen.tolist() in ([1], [0])
