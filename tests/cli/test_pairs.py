"""The commands about pairs answer as a person would expect."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from adabypass import tables
from adabypass.cli import commands
from adabypass.errors import MissingExtraError, PriceError, UnknownNameError
from adabypass.experiments import pairs


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Hold 150 days of two legs."""
    rng = np.random.default_rng(0)
    x = 50 * np.exp(np.cumsum(rng.normal(0, 0.01, 150)))
    days = np.datetime64("2020-01-01") + np.arange(150)
    path = tmp_path / "prices.csv"
    tables.write({"date": days, "GLD": 2 * x + rng.normal(0, 2, 150), "GDX": x}, path)
    return path


def command(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


LEGS = ("--y", "GLD", "--x", "GDX")


def test_pairs_prints_a_summary_and_writes_days_and_picture(file: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "days.csv", tmp_path / "trade.png"
    done = command("pairs", file, *LEGS, "--model", "skf", "--out", out, "--plot", plot)
    assert done.exit_code == 0, done.output
    for words in ("GLD explained by GDX, 150 days", "SKF", "Sharpe ratio", "longest drawdown", "5 bp each"):
        assert words in done.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")
    days = tables.read(out)
    assert len(days) == 150
    assert days.numbers("equity") == pytest.approx(np.cumprod(1 + days.numbers("return")))


def test_options_reach_the_rules(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "days.csv"
    options = "--model bypass --intercept --entry 0.8 --exit 0.3 --costs 7 --sizing units --leverage 2 --warm-up 30"
    options += " --band noise"
    assert command("pairs", file, *LEGS, *options.split(), "--out", out).exit_code == 0
    table = tables.read(file)
    pair = pairs.prices(table.numbers("GLD"), table.numbers("GDX"))
    rules = pairs.Rules(0.8, 0.3, "units", 7.0, 2.0, 30, "noise")
    expected = pairs.trade(pairs.fit(pair, "bypass", intercept=True), rules)
    assert len(expected.trades) > 3
    assert np.array_equal(tables.read(out).numbers("return"), expected.returns)


def test_days_on_standard_output_stand_alone(file: Path) -> None:
    done = command("pairs", file, *LEGS, "--out", "-")
    assert done.stdout.startswith("date,spread,sd,hedge_ratio,side,")
    assert done.stdout.count("\n") == 151
    assert "Sharpe ratio" in done.stderr


def test_where_nothing_is_traded_nothing_is_claimed(file: Path) -> None:
    done = command("pairs", file, *LEGS, "--entry", 1000)
    assert done.exit_code == 0
    assert "nan" not in done.stdout


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (["--y", "GOLD", "--x", "GDX"], UnknownNameError, '"GOLD"'),
        ([*LEGS, "--entry", "0"], ValueError, "entry is 0.0"),
        ([*LEGS, "--date", "day"], UnknownNameError, '"day"'),
    ],
)
def test_mistakes_are_reported(file: Path, options: list[str], error: type[Exception], words: str) -> None:
    done = command("pairs", file, *options)
    assert isinstance(done.exception, error)
    assert words in str(done.exception)


def test_a_missing_price_is_reported_with_its_day(tmp_path: Path) -> None:
    path = tmp_path / "holes.csv"
    path.write_text("date,GLD,GDX\n2020-01-01,1,2\n2020-01-02,,2\n2020-01-03,1,2\n")
    done = command("pairs", path, *LEGS)
    assert isinstance(done.exception, PriceError)
    assert "the price of GLD on 2020-01-02 is missing" in str(done.exception)


def test_prices_come_from_one_place(file: Path) -> None:
    for arguments in ([], [file, "--download"]):
        done = command("pairs", *arguments, *LEGS)
        assert done.exit_code == 2
        assert "either FILE or --download" in done.stderr


def test_a_download_is_traded_as_a_file_is(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.read_csv(file, index_col="date", parse_dates=True)
    stub = SimpleNamespace(download=lambda *_, **__: pd.concat({"Close": table}, axis=1))
    monkeypatch.setitem(sys.modules, "yfinance", stub)
    options = (*LEGS, "--model", "skf")
    assert command("pairs", "--download", *options).stdout == command("pairs", file, *options).stdout


def test_a_download_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yfinance", None)
    done = command("pairs", "--download", *LEGS)
    assert isinstance(done.exception, MissingExtraError)


def test_reproduce_sets_the_paper_s_figures_beside_given_prices(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.svg"
    done = command("reproduce", "pairs", "--prices", file, "--out", out)
    assert done.exit_code == 0, done.output
    for words in ("the paper's figures", "1.12", "73.05 %", "Sharpe ratios without costs", "1.5 sd"):
        assert words in done.stdout
    assert "gold and silver" not in done.stdout
    assert "<svg" in out.read_text()


@pytest.mark.parametrize("n_days", [500, pytest.param(9132, marks=pytest.mark.slow)])
def test_reproduce_without_prices_takes_the_embedded_pair_and_says_so(
    n_days: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the first days of it: all of them take twenty times as long."""
    pair = pairs.gold_silver()
    first = pair._replace(y=pair.y[:n_days], x=pair.x[:n_days], time=pair.time[:n_days])
    monkeypatch.setattr(pairs, "gold_silver", lambda: first)
    done = command("reproduce", "pairs", "--out", tmp_path / "pairs.png")
    assert done.exit_code == 0, done.output
    assert f"gold explained by silver, {n_days} days" in done.stdout
    assert "this is the same study of gold and silver" in done.stdout
    assert "the paper's figures  " not in done.stdout
    assert all(choice.split()[0] in done.stdout for choice in pairs.CHOICES)


def test_days_out_of_order_are_refused_with_the_file(file: Path) -> None:
    header, first, second, *rest = file.read_text().splitlines()
    file.write_text("\n".join([header, second, first, *rest]) + "\n")
    done = command("pairs", file, *LEGS)
    assert isinstance(done.exception, PriceError)
    assert str(done.exception).startswith(f"{file}: the day 2020-01-01 follows 2020-01-02, but each day must be later")
