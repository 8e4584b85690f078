"""A shop's panel in Python, each in one call: forecast, back-test, explain, picture."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adabypass import Forecaster, evaluate, explain, forecast, plots
from adabypass.errors import SeriesWarning
from tests.retail import HOLIDAY, HOLIDAYS, HORIZON, PROMOTION, RARE, WEEK, retail

SHOP = retail()
pytestmark = pytest.mark.filterwarnings("ignore:.*rows are absent")
COLUMNS: dict[str, Any] = {"target": "sold", "id": "product", "time": "day", "exog": ["promotion", "holiday"]}


def test_every_product_is_forecast_with_its_promotions_to_come() -> None:
    answer = forecast(SHOP.frame, HORIZON, **COLUMNS).merge(SHOP.ahead, on=["product", "day"])
    assert len(answer) == 30 * HORIZON
    inside = (answer["lower_90"] <= answer["sold"]) & (answer["sold"] <= answer["upper_90"])
    assert 0.85 < inside.mean() < 0.97
    past = SHOP.frame[SHOP.frame["day"] < SHOP.ahead["day"].min()]
    blind = forecast(past, HORIZON, **COLUMNS | {"exog": []}).merge(SHOP.ahead, on=["product", "day"])
    assert len(blind) >= 29 * HORIZON  # one that was missing at the end begins earlier
    error, blind_error = ((each["mean"] - each["sold"]).abs().mean() for each in (answer, blind))
    assert error < 0.8 * blind_error


def test_absent_rows_are_counted() -> None:
    with pytest.warns(SeriesWarning, match=r"^\d+ rows are absent, in 30 of 30 series: there \"sold\" is missing, and"):
        forecast(SHOP.frame, HORIZON, **COLUMNS)


def test_every_product_is_scored() -> None:
    scores = evaluate(SHOP.frame, Forecaster(), horizon=7, every=14, **COLUMNS).to_frame()
    assert scores["product"].nunique() == 30
    assert (scores["n_scored"] > 0).all()


def test_effects_of_promotions_and_weekdays_are_told_in_units() -> None:
    inside: list[bool] = []
    for number in range(24):
        found = explain(SHOP.frame, HORIZON, series=f"product {number}", **COLUMNS)
        week = found.seasons["season_week"].effect
        inside += ((week.lower <= WEEK) & (week.upper >= WEEK)).tolist()
        for name, planted in (("promotion", PROMOTION), ("holiday", HOLIDAY)):
            effect = found.effects[name]
            inside.append(bool(effect.per_unit.lower <= planted <= effect.per_unit.upper))
        rows = SHOP.frame[SHOP.frame["product"] == f"product {number}"]
        on = set(found.effects["holiday"].on.tolist())
        assert on >= set(rows["day"][rows["holiday"] == 1].dt.date)
        assert len(on) <= len(HOLIDAYS) + 2  # an absent day is as the one before
    assert np.mean(inside) >= 0.85


@pytest.mark.parametrize("name", RARE)
def test_a_product_that_is_rarely_sold_has_its_zeros_as_a_part(name: str) -> None:
    found = explain(SHOP.frame, HORIZON, series=name, **COLUMNS).contributions
    assert found is not None
    n = found.n_ahead
    said = -found.parts["zeros"][-n:] / (found.mean[-n:] - found.parts["zeros"][-n:] - found.parts["other"][-n:])
    assert (said > 0.6).all()
    assert (said < 0.95).all()


def test_pictures_are_drawn(tmp_path: Path) -> None:
    answer = forecast(SHOP.frame, HORIZON, levels=[0.5, 0.9], **COLUMNS)
    few = answer[answer["product"].isin(["product 3", "product 8", "product 29"])]
    axes = plots.fan(few, SHOP.frame, target="sold")
    assert [ax.get_title(loc="left") for ax in axes] == ["product 3", "product 8", "product 29"]
    plots.save(axes, tmp_path / "fan.png")
    plots.save(plots.components(explain(SHOP.frame, HORIZON, series="product 3", **COLUMNS)), tmp_path / "parts.png")
