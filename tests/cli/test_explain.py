"""A shop's panel by command alone: forecast, back-test, explain, picture."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from adabypass import explain
from tests.cli.in_process import program as run
from tests.retail import HORIZON, retail

COLUMNS = ["--id", "product", "--time", "day", "--target", "sold", "--exog", "promotion,holiday"]


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "sales.csv"
    retail().frame.to_csv(path, index=False)
    return path


def test_a_shop_is_forecast_and_drawn(sales: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "next.csv", tmp_path / "next.png"
    done = run("forecast", sales, *COLUMNS, "--horizon", HORIZON, "--out", out, "--plot", plot)
    assert done.returncode == 0, done.stderr
    assert len(pd.read_csv(out)) == 30 * HORIZON
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_shop_is_back_tested(sales: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    done = run("evaluate", sales, *COLUMNS, "--horizon", 7, "--every", 14, "--models", "auto,snaive", "--out", out)
    assert done.returncode == 0, done.stderr
    scores = pd.read_csv(out).pivot(index="product", columns="model", values="crps")
    assert len(scores) == 30
    assert scores["auto"].mean() < 0.8 * scores["snaive"].mean()


def test_a_product_is_explained_as_in_python(sales: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "parts.csv", tmp_path / "parts.png"
    done = run(
        "explain", sales, *COLUMNS, "--horizon", HORIZON, "--series", "product 3", "--out", out, "--plot", plot
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "5 rows are absent" in done.stderr
    found = explain(
        retail().frame, HORIZON, series="product 3", target="sold", id="product", time="day",
        exog=["promotion", "holiday"], missing="last",
    )  # fmt: skip
    assert done.stdout == f"{found}\n"
    assert found.contributions is not None
    table = pd.read_csv(out)
    assert list(table.columns) == list(found.contributions.columns())
    np.testing.assert_allclose(table["promotion"], found.contributions.parts["promotion"], rtol=1e-12)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_what_each_part_adds_can_be_piped(sales: Path) -> None:
    done = run("explain", "-", *COLUMNS, "--series", "product 29", "--out", "-", given=sales.read_text())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == (
        "day,sold,mean,level,slope,season_week,season_year,promotion,holiday,zeros,other"
    )


def test_a_series_has_to_be_named(sales: Path) -> None:
    done = run("explain", sales, *COLUMNS)
    assert done.returncode == 2
    assert "there are 30 series" in done.stderr
    assert done.stderr.count("\n") == 1
