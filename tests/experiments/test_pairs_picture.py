"""The picture of a pairs trade shows what it was given; how it looks is for eyes."""

import numpy as np
from pytest import approx

from adabypass.experiments import pairs, pairs_picture


def test_four_panels_show_prices_hedge_ratio_spread_and_capital() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(40, 60, 200)
    fitted = pairs.fit(pairs.prices(2 * x + rng.normal(size=200), x, names=("gold", "mine")), "skf")
    tested = pairs.trade(fitted, pairs.Rules(costs_bp=5))
    figure = pairs_picture.pair(fitted, tested)
    prices, ratio, spread, capital = figure.axes
    assert prices.get_lines()[0].get_ydata() == approx(fitted.prices.y / fitted.prices.y[0])
    assert ratio.get_lines()[0].get_ydata() == approx(fitted.hedge_ratio)
    bought, sold = (len(np.asarray(line.get_xdata())) for line in spread.get_lines()[1:])
    assert bought + sold == len(tested.trades) > 10
    assert capital.get_lines()[0].get_ydata() == approx(tested.equity)
    assert "costs 5 bp" in capital.texts[0].get_text()
