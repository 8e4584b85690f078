"""Options mean what a user would read into them, or are refused."""

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adabypass import Forecaster
from adabypass.cli import options
from adabypass.data import read_table
from adabypass.errors import MissingExtraError
from tests.cli.in_process import Done, run

DAYS = np.datetime64("2024-01-01") + np.arange(120)
WAVE = 10 + np.sin(np.arange(120) * 2 * np.pi / 11) + np.random.default_rng(0).normal(0, 0.1, 120)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "series.csv"
    path.write_text("ds,y\n" + "".join(f"{day},{y!r}\n" for day, y in zip(DAYS, WAVE.tolist(), strict=True)))
    return path


def means(done: Done) -> list[float]:
    assert done.error is None, done.error
    assert done.code == 0, done.err
    header, *lines = [line.split(",") for line in done.out.splitlines()]
    return [float(line[header.index("mean")]) for line in lines]


@pytest.mark.parametrize("level", ["0.9", "0.95", "0.5", "0.001", "0.999"])
@pytest.mark.parametrize("command", ["forecast", "stream"])
def test_a_level_that_was_meant_as_a_share_is_refused(level: str, command: str, file: Path) -> None:
    arguments = [str(file)] if command == "forecast" else []
    refused = run(command, *arguments, "--level", level, given="y\n1\n2\n")
    assert refused.code == 2
    assert f"is less than one percent; levels are in percent: pass {100 * float(level):g}." in refused.err


@pytest.mark.parametrize("level", ["1", "1.5", "50", "99.9"])
def test_a_level_in_percent_is_taken(level: str, file: Path) -> None:
    assert f"lower_{level}" in run("forecast", str(file), "--level", level).out


def test_quantiles_that_were_meant_as_shares_are_refused() -> None:
    refused = run("stream", "--fields", "quantiles", "--quantiles", "0.05,0.5,0.95", given="y\n1\n")
    assert "are all below one percent; quantiles are in percent: pass 5,50,95." in refused.err
    assert (
        "'0.1' is below one percent; quantiles are in percent: pass 10."
        in run("forecast", "-", "--quantiles", "0.1", given="y\n1\n").err
    )
    extreme = run("stream", "--fields", "quantiles", "--quantiles", "0.1,99.9", given="y\n1\n2\n3\n4\n")
    assert "quantile_0.1" in json.loads(extreme.out.splitlines()[-1])


def test_the_period_is_that_of_the_automatic_forecaster(file: Path) -> None:
    found = means(run("forecast", str(file), "--period", "11", "--horizon", "11"))
    forecaster = Forecaster(period=11)
    forecaster.run(WAVE)
    assert found == pytest.approx(forecaster.forecast(11).mean.tolist())
    assert found != means(run("forecast", str(file), "--horizon", "11"))


@pytest.mark.parametrize(
    "arguments", [["--lags", "2"], ["--model", "ada"], ["--model", "naive"], ["--difference", "1"]]
)
def test_a_period_without_a_use_is_refused(arguments: list[str], file: Path) -> None:
    refused = run("forecast", str(file), "--period", "7", *arguments)
    assert refused.code == 2
    assert "--period is used by --model snaive, and by --model auto without lags" in refused.err


def test_an_evaluation_has_the_period_too(file: Path) -> None:
    made = options.forecaster("auto", None, None, 0, "raise", (), 11)
    assert isinstance(made, Forecaster)
    assert made.period == (11,)
    given, read = (
        run("evaluate", str(file), "--models", "auto", "--every", "20", "--horizon", "5", "--out", "-", *more).out
        for more in (["--period", "11"], [])
    )
    assert given != read


@pytest.mark.parametrize("command", [["forecast"], ["evaluate", "--models", "auto,ada", "--horizon", "3"]])
@pytest.mark.parametrize("missing", ["mean", "last"])
def test_blank_cells_of_other_columns_are_filled_wherever_they_are(
    command: list[str], missing: str, tmp_path: Path
) -> None:
    x = np.random.default_rng(1).normal(size=121).round(3).astype(str)
    x[[3, 50, 51, 118, 120]] = ""
    path = tmp_path / "series.csv"
    rows = [*(f"{y!r},{cell}" for y, cell in zip(WAVE.tolist(), x[:120], strict=True)), f",{x[120]}"]
    path.write_text("y,x\n" + "\n".join(rows) + "\n")
    done = run(command[0], str(path), *command[1:], "--exog", "x", "--missing", missing)
    assert done.error is None, done.error
    assert done.code == 0, done.err
    refused = run(command[0], str(path), *command[1:], "--exog", "x")
    assert 'column "x": is blank; fill it, or choose --missing mean or --missing last' in str(refused.error)


def test_holidays_without_their_extra_are_an_error_of_ours(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def fail(name: str, *args: Any, **given: Any) -> Any:
        if name == "holidays":
            raise ImportError(name)
        return real(name, *args, **given)

    monkeypatch.setattr(builtins, "__import__", fail)
    refused = run("forecast", str(file), "--calendar", "holidays:DE")
    assert isinstance(refused.error, MissingExtraError)
    assert "pip install 'adabypass[holidays]'" in str(refused.error)


def test_evaluations_are_of_forecasts_within_the_support(tmp_path: Path) -> None:
    path, out = tmp_path / "counts.csv", tmp_path / "scores.csv"
    path.write_text("y\n" + "".join(f"{y!r}\n" for y in np.abs(np.random.default_rng(0).normal(1, 1, 80)).tolist()))
    widths = []
    for more in ([], ["--support", "positive"]):
        done = run("evaluate", path, "--models", "auto", "--horizon", "2", "--out", out, *more)
        assert done.code == 0, done.err
        widths.append(read_table(out).numbers("width_90")[0])
    assert widths[1] < widths[0]
    refused = run("evaluate", path, "--lags", "2", "--support", "positive")
    assert "--support is for the model auto without lags; leave it out" in refused.err
