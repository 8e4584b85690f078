"""Every regressor can be copied, pickled, reset and read, and no caller reaches its memory."""

import pickle

import numpy as np
import pytest

from tests.checks.regressors import Make, every_regressor, row_of, trained


@every_regressor
def test_a_copy_goes_its_own_way(make: Make) -> None:
    model = trained(make)
    before, twin = row_of(model), model.copy()
    assert row_of(twin) == before
    twin.update([1.0, 2.0, 3.0], 100.0)
    assert row_of(model) == before
    assert row_of(twin) != before


@every_regressor
def test_a_pickled_model_learns_on_as_if_nothing_had_happened(make: Make) -> None:
    model = trained(make)
    twin = pickle.loads(pickle.dumps(model))
    for each in (model, twin):
        each.update([1.0, 2.0, 3.0], 4.0)
    assert row_of(model) == row_of(twin)
    assert repr(model) == repr(twin)


@every_regressor
def test_an_unpickled_model_writes_to_memory_of_its_own(make: Make) -> None:
    model = trained(make)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    frozen = [bytes(buffer) for buffer in buffers]
    before = [bytes(buffer) for buffer in frozen]
    twin = pickle.loads(data, buffers=frozen)
    twin.update([1.0, 2.0, 3.0], 100.0)
    assert frozen == before


@every_regressor
def test_reset_forgets_everything(make: Make) -> None:
    model = trained(make)
    model.reset()
    assert model.n_seen == 0
    assert model.n_features is None
    again = trained(make)
    rng = np.random.default_rng(7)
    X = rng.normal(size=(50, 3))
    model.run(X, X @ np.arange(1, 4) + rng.normal(size=50))
    assert row_of(model) == row_of(again)


@every_regressor
def test_weights_are_read_only_copies(make: Make) -> None:
    model = trained(make)
    mean, cov = model.weights
    with pytest.raises(ValueError, match="read-only"):
        mean[0] = 5.0
    if cov is not None:
        with pytest.raises(ValueError, match="read-only"):
            cov[0, 0] = 5.0
    before = mean.copy()
    model.update([1.0, 2.0, 3.0], 1000.0)
    assert np.array_equal(mean, before)


@every_regressor
def test_hyperparameters_can_be_read_and_not_written(make: Make) -> None:
    model = make()
    assert model.hyperparameters == model._spec.hyperparameters()
    with pytest.raises(TypeError):
        model.hyperparameters["epsilon"] = 3.0  # type: ignore[index]
