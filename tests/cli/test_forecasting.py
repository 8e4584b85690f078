"""Files and pipes are forecast and evaluated from the shell; mistakes end in one line that names the cell."""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pytest import approx

from adabypass import Forecaster, load_dataset
from adabypass.data import read_table, write_table
from tests.cli.in_process import program as run

COMMAND = [sys.executable, "-m", "adabypass"]


@pytest.fixture
def nile(tmp_path: Path) -> Path:
    series = load_dataset("nile")
    path = tmp_path / "nile.csv"
    write_table({"year": series.time, "level": series.y}, path)
    return path


def test_forecasts_of_a_file_are_those_of_the_library(nile: Path, tmp_path: Path) -> None:
    out, picture = tmp_path / "ahead.jsonl", tmp_path / "ahead.png"
    done = run(
        "forecast", str(nile), "--target", "level", "--time", "year", "--lags", "1,2", "--horizon", "3",
        "--level", "50", "--level", "90", "--out", str(out), "--plot", str(picture),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    forecaster = Forecaster(lags=2)
    forecaster.run(load_dataset("nile").y)
    assert [row["year"] for row in rows] == [1285, 1286, 1287]
    assert [row["mean"] for row in rows] == approx(list(forecaster.forecast(3).mean))
    assert [row["lower_50"] for row in rows] == approx(list(forecaster.forecast(3).interval(0.5)[0]))
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_pipe_gets_csv(nile: Path) -> None:
    done = run("forecast", "-", "--target", "level", "--horizon", "2", given=nile.read_text())
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "step,mean,median,sd,lower_90,upper_90"
    assert len(done.stdout.splitlines()) == 3
    assert "\x1b" not in done.stdout


def test_many_series_and_parquet(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path, out = tmp_path / "long.parquet", tmp_path / "out.parquet"
    frame = pl.DataFrame({"key": ["a"] * 40 + ["b"] * 40, "t": [*range(40)] * 2, "y": rng.normal(size=80)})
    frame.write_parquet(path)
    done = run("forecast", str(path), "--id", "key", "--time", "t", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert pl.read_parquet(out)["key"].to_list() == ["a", "b"]


def test_untidy_csv_is_read_right(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=3000)
    cells = [f'"{value!r}"' if i % 2 else repr(value) for i, value in enumerate(y.tolist())]
    cells[100], cells[200] = "", "NA"
    y[[100, 200]] = np.nan
    path = tmp_path / "untidy.csv"
    text = '"the note",y\r\n' + "".join(f'"a, ""quoted"" note",{cell}\r\n' for cell in cells)
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    done = run("forecast", str(path))
    forecaster = Forecaster()
    forecaster.run(y)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.splitlines()[1].split(",")[1]) == approx(forecaster.forecast(1).mean[0])


@pytest.mark.parametrize("name", ["forecast", "evaluate"])
def test_a_file_of_semicolons_and_decimal_commas_says_the_same(nile: Path, tmp_path: Path, name: str) -> None:
    german = tmp_path / "german.csv"
    german.write_text(nile.read_text().replace(",", ";").replace(".", ","))
    options = ["--target", "level", "--time", "year", *(["--models", "skf,naive"] if name == "evaluate" else [])]
    expected = run(name, nile, *options)
    assert expected.returncode == 0, expected.stderr
    assert run(name, german, *options, "--sep", ";", "--decimal", ",").stdout == expected.stdout
    done = run(name, german, *options)
    assert done.stderr.endswith("german.csv: the first line has no ',' but 1 ';': pass --sep ';'.\n")
    done = run(name, german, *options, "--sep", ";")
    assert 'is not a number; if the comma is its decimal sign, pass --decimal ","' in done.stderr
    assert "'::' is not one character: pass ';' or tab, say" in run(name, german, *options, "--sep", "::").stderr


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        ("y\n" + "1\n" * 16 + "abc\n", [], 'row 17, column "y": "abc" is not a number'),
        ("t,y\n1,1\n3,2\n2,3\n", ["--time", "t"], 'row 3, column "t"'),
        ("t,y\n1,1\n2,2\n2,3\n", ["--time", "t"], 'row 3, column "t"'),
        ("time,temp\n1,2\n", ["--target", "tmep"], 'did you mean "temp"?'),
        ("", [], "is empty"),
        ("y\n", [], "no rows"),
        ("y\n1\n", [], "y has 1 observations, but forecasts begin after 1"),
        ("y\n1\n2\n", ["--lags", "0"], "neither lags nor exogenous columns"),
        ("y,x\n1,\n2,3\n", ["--exog", "x"], "missing"),
    ],
)
def test_mistakes_end_in_one_line_and_nothing_is_written(
    tmp_path: Path, content: str, options: list[str], says: str
) -> None:
    path, out, picture = tmp_path / "bad.csv", tmp_path / "out.csv", tmp_path / "out.png"
    path.write_text(content)
    done = run("forecast", str(path), *options, "--out", str(out), "--plot", str(picture))
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
    assert not out.exists()
    assert not picture.exists()


def test_a_constant_target_is_forecast(tmp_path: Path) -> None:
    path = tmp_path / "constant.csv"
    path.write_text("y\n" + "5\n" * 30)
    done = run("forecast", str(path), "--horizon", "2")
    assert done.returncode == 0
    assert [line.split(",")[1] for line in done.stdout.splitlines()[1:]] == ["5.0", "5.0"]


def test_models_are_compared(nile: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    done = run("evaluate", str(nile), "--target", "level", "--models", "lag,skf,pa", "--out", str(out))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].rstrip() == (
        "one step ahead: 643 of 662 forecasts scored; 19 skipped (made from fewer than 20 observations)"
    )
    assert [line.split()[0] for line in lines[1:]] == ["model", "lag", "skf", "pa"]
    assert "p = " in lines[3]
    assert read_table(out).text("model") == ["lag", "skf", "pa"]
    assert run("evaluate", str(nile), "--models", "auto,nope").returncode == 2


def test_a_score_says_of_how_many_forecasts_it_is(tmp_path: Path) -> None:
    path, out = tmp_path / "short.csv", tmp_path / "scores.csv"
    path.write_text("y\n" + "".join(f"{i % 7}\n" for i in range(60)))
    for horizon, n in (("7", 34), ("33", 8)):
        done = run(
            "evaluate", str(path), "--horizon", horizon, "--lags", "1", "--models", "auto,skf", "--out", str(out)
        )
        assert done.stdout.startswith(f"{horizon} steps ahead: {n} of {n + 18} forecasts scored;")
        assert done.stderr == ""
        assert read_table(out).numbers("n_scored").tolist() == [n] * 2
        assert read_table(out).numbers("n_skipped").tolist() == [18] * 2


def test_baselines_are_shown_beside_the_models(nile: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    done = run("evaluate", str(nile), "--target", "level", "--every", "60", "--skip", "0", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert read_table(out).text("model") == ["auto", "naive", "drift"]
    assert "after every 60th observation" in done.stdout
    done = run(
        "evaluate", str(nile), "--target", "level", "--every", "60", "--period", "11", "--horizon", "2", "--skip", "0",
        "--out", str(out),
    )  # fmt: skip
    assert read_table(out).text("model")[-1] == "snaive"
    done = run("evaluate", str(nile), "--target", "level", "--every", "50", "--models", "lag,ada", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert read_table(out).text("model") == ["lag", "ada"]
    done = run("evaluate", str(nile), "--target", "level", "--models", "snaive")
    assert done.returncode == 2
    assert "--period" in done.stderr


def test_times_tell_the_period_of_a_season(tmp_path: Path) -> None:
    path, out = tmp_path / "months.csv", tmp_path / "scores.csv"
    months = np.datetime64("2010-01", "M") + np.arange(72)
    write_table({"ds": months.astype("M8[D]"), "y": load_dataset("nile").y[:72]}, path)
    done = run("evaluate", str(path), "--out", str(out), "--skip", "5")
    assert done.returncode == 0, done.stderr
    assert read_table(out).text("model")[-1] == "snaive"


def test_a_baseline_forecasts_a_file(nile: Path) -> None:
    minima = load_dataset("nile").y
    done = run("forecast", str(nile), "--target", "level", "--model", "snaive", "--period", "3", "--horizon", "3")
    assert done.returncode == 0, done.stderr
    assert [float(line.split(",")[1]) for line in done.stdout.splitlines()[1:]] == approx(minima[-3:].tolist())


def test_a_calendar_and_other_columns_are_evaluated_as_they_are_forecast(tmp_path: Path) -> None:
    hours = np.datetime64("2024-01-01T00", "h") + np.arange(240)
    rng = np.random.default_rng(0)
    rain = rng.normal(size=240)
    y = 5 * np.sin(2 * np.pi * np.arange(240) / 24) + 3 * rain + 0.1 * rng.normal(size=240)
    path, out = tmp_path / "hours.csv", tmp_path / "scores.csv"
    write_table({"ds": hours.astype("M8[s]"), "y": y, "rain": rain}, path)
    done = run(
        "evaluate", str(path), "--exog", "rain", "--calendar", "day", "--horizon", "6", "--every", "5",
        "--models", "auto,naive", "--skip", "48", "--out", str(out),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ours, naive = read_table(out).numbers("rmse")
    assert ours < 1.0 < naive


def test_an_unknown_file_is_the_users_mistake() -> None:
    done = run("forecast", "nowhere.csv")
    assert done.returncode == 2
    assert "nowhere.csv" in done.stderr
    assert len(done.stderr.splitlines()) == 1
