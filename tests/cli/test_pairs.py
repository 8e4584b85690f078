"""The commands about pairs answer as a person would expect."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from adabypass.cli import commands
from adabypass.data import write_table
from adabypass.errors import PriceError, UnknownNameError
from adabypass.experiments import pairs


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Hold 150 days of two legs."""
    rng = np.random.default_rng(0)
    x = 50 * np.exp(np.cumsum(rng.normal(0, 0.01, 150)))
    days = np.datetime64("2020-01-01") + np.arange(150)
    path = tmp_path / "prices.csv"
    write_table({"date": days, "GLD": 2 * x + rng.normal(0, 2, 150), "GDX": x}, path)
    return path


def command(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("options", "words"), [(["--y", "GOLD"], '"GOLD"'), (["--x", "SILVER"], '"SILVER"'), (["--date", "day"], '"day"')]
)
def test_a_column_that_is_not_there_is_named(file: Path, options: list[str], words: str) -> None:
    done = command("reproduce", "pairs", "--prices", file, *options)
    assert isinstance(done.exception, UnknownNameError)
    assert words in str(done.exception)


def test_a_missing_price_is_reported_with_its_day(tmp_path: Path) -> None:
    path = tmp_path / "holes.csv"
    path.write_text("date,GLD,GDX\n2020-01-01,1,2\n2020-01-02,,2\n2020-01-03,1,2\n")
    done = command("reproduce", "pairs", "--prices", path)
    assert isinstance(done.exception, PriceError)
    assert "the price of GLD on 2020-01-02 is missing" in str(done.exception)


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
    done = command("reproduce", "pairs", "--prices", file)
    assert isinstance(done.exception, PriceError)
    assert str(done.exception).startswith(f"{file}: the day 2020-01-01 follows 2020-01-02, but each day must be later")
