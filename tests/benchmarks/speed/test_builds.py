"""Another process times a named build, and forecasts of builds are compared."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.speed.timing import NotAvailable

from benchmarks.speed import builds, stream_command, worker


def test_a_worker_times_this_build() -> None:
    with builds.workers([builds.Build(builds.CURRENT, None, None, ("AutoBypass.run/1",))]) as started:
        (task,) = builds.tasks(started)
        assert task.key == f"build/{builds.CURRENT}/AutoBypass.run/1"
        assert 1e-7 < task.once().seconds / task.per < 1e-3


def forecasts(**changes: float) -> dict[str, np.ndarray]:
    """Return what a worker saves, with some numbers changed by so much: `mean_5=0.1`, say."""
    found = {}
    for d in worker.AGREEMENT_SIZES:
        for name, value in (("mean", 3.0), ("var", 4.0), ("log_score", -1.0)):
            found[f"{name} {d}"] = np.array([np.nan, value, value])
    for name, change in changes.items():
        found[name.replace("__", " ")][1] += change
    return found


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({}, 0.0),
        ({"mean__5": 0.2}, 0.1),  # in standard deviations, which are 2
        ({"var__20": -1.0}, 1 / 3),
        ({"log_score__1": -0.5}, 0.5),
        ({"mean__5": 0.2, "log_score__50": 0.3}, 0.3),
        ({"var__1": np.inf}, np.inf),
    ],
)
def test_the_largest_difference_between_two_builds_is_found(changes: dict[str, float], difference: float) -> None:
    assert builds._largest_difference(forecasts(), forecasts(**changes)) == pytest.approx(difference)


def test_every_task_of_a_worker_has_a_name_it_knows() -> None:
    for name in worker.RUN_TASKS + worker.INTERVAL_TASKS + worker.MATRIX_TASKS:
        assert worker.per(name) > 0


def test_a_build_that_is_not_loaded_from_its_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable, match="was to be loaded from"):
        builds.Worker(builds.Build("other", tmp_path, None, ()))


def test_a_package_built_from_other_sources_is_refused(tmp_path: Path) -> None:
    source, installed = tmp_path / "source", tmp_path / "installed"
    for folder in (source, installed):
        folder.mkdir()
        (folder / "a.py").write_text("x = 1\n")
    builds.check_installed(source, installed)
    (source / "a.py").write_text("x = 2\n")
    with pytest.raises(NotAvailable, match=r"a\.py differs"):
        builds.check_installed(source, installed)


def test_an_unknown_commit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable, match="git rev-parse"):
        builds.build_commit("no-such-commit", tmp_path)


def test_the_stream_command_is_measured_from_end_to_end(tmp_path: Path) -> None:
    run = stream_command.run_command(tmp_path, 300)
    assert run.rows == 300
    assert 0.01 < run.seconds < 60.0
    assert 20e6 < run.peak < 1e9
