"""Downloads are checked as files are; a stub stands in for the network."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from adabypass.adapters import yahoo
from adabypass.errors import MissingExtraError, PriceError

DAYS = pd.date_range("2020-01-01", periods=5)


class Stub:
    """Answers as yfinance does: a column for each kind of price and ticker, nan where a day is missing."""

    def __init__(self, prices: dict[str, list[float]]) -> None:
        self.asked: dict[str, Any] = {}
        self.table = pd.DataFrame({("Close", ticker): values for ticker, values in prices.items()}, index=DAYS)

    def download(self, tickers: list[str], **options: Any) -> pd.DataFrame:
        self.asked = {"tickers": tickers, **options}
        return self.table


def use(monkeypatch: pytest.MonkeyPatch, stub: object) -> None:
    monkeypatch.setitem(sys.modules, "yfinance", stub)


def test_the_days_that_both_have_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    stub = Stub({"GDX": [1.0, 2.0, np.nan, 4.0, 5.0], "GLD": [np.nan, 20.0, 30.0, 40.0, 50.0]})
    use(monkeypatch, stub)
    pair = yahoo.download("GLD", "GDX", "2020-01-01", "2020-01-06")
    assert pair.names == ("GLD", "GDX")
    assert pair.y.tolist() == [20.0, 40.0, 50.0]
    assert pair.x.tolist() == [2.0, 4.0, 5.0]
    assert pair.time.astype(str).tolist() == ["2020-01-02", "2020-01-04", "2020-01-05"]
    assert stub.asked == {
        "tickers": ["GLD", "GDX"], "auto_adjust": True, "progress": False, "start": "2020-01-01", "end": "2020-01-06",
    }  # fmt: skip


def test_without_dates_all_there_is_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    stub = Stub({"A": [1.0] * 5, "B": [2.0] * 5})
    use(monkeypatch, stub)
    yahoo.download("A", "B")
    assert stub.asked["period"] == "max"


@pytest.mark.parametrize("prices", [{"A": [1.0] * 5}, {"A": [1.0] * 5, "B": [np.nan] * 5}])
def test_a_ticker_without_prices_is_named(monkeypatch: pytest.MonkeyPatch, prices: dict[str, list[float]]) -> None:
    use(monkeypatch, Stub(prices))
    with pytest.raises(PriceError, match="no prices of 'B'"):
        yahoo.download("A", "B")


def test_no_answer_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, SimpleNamespace(download=lambda *_, **__: None))
    with pytest.raises(PriceError, match="no prices of 'A' and 'B'"):
        yahoo.download("A", "B")


def test_without_yfinance_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'adabypass\[finance\]'"):
        yahoo.download("A", "B")
