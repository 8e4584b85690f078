"""A pairs trade that was followed by hand: six days, two trades."""

from typing import Any

import numpy as np
import pytest
from pytest import approx

from adabypass.errors import AdabypassError
from adabypass.experiments.backtest import Backtest, Rules, Trade, backtest, sides

Y = np.array([10.0, 10.0, 11.0, 11.0, 11.0, 9.9])
X = np.array([5.0, 5.0, 5.0, 5.5, 5.5, 5.5])
SPREAD = np.array([0.0, -2.0, -1.5, 0.5, 2.0, 0.0])
ONES = np.ones(6)
RULES = Rules(entry=1.0, exit=0.0, costs_bp=0.0, warm_up_days=1)


def by_hand(**changed: Any) -> Backtest:
    """Trade with a hedge ratio that makes both legs worth the same."""
    return backtest(Y, X, SPREAD, ONES, Y / X, RULES._replace(**changed))


def test_what_is_cheap_is_bought_and_what_is_dear_is_sold() -> None:
    assert by_hand().sides.tolist() == [0, 1, 1, 0, -1, 0]


def test_both_legs_together_are_worth_the_capital() -> None:
    half = [[0, 0], [0.5, -0.5], [0.5, -0.5], [0, 0], [-0.5, 0.5], [0, 0]]
    assert by_hand().holdings == approx(np.array(half))


def test_holdings_earn_the_return_of_the_day_after() -> None:
    # y gains 10 % on day 2, x gains 10 % on day 3 against the trade, y loses 10 % on day 5 while it is sold
    assert by_hand().returns == approx([0.0, 0.0, 0.05, -0.05, 0.0, 0.05])
    assert by_hand().equity == approx([1.0, 1.0, 1.05, 0.9975, 0.9975, 1.047375])


def test_leverage_multiplies_what_is_earned() -> None:
    assert by_hand(leverage=2.0).returns == approx([0.0, 0.0, 0.10, -0.10, 0.0, 0.10])


TRADED = [0.0, 1.0, 1 / 21, 1.05 / 0.95, 1.0, 0.95 / 1.05]
"""Opening 1; after y's gain the legs are 0.55 and 0.5 of 1.05, so 0.025 of each is traded; closing what they became."""


def test_costs_are_a_share_of_all_that_is_traded() -> None:
    tested = by_hand(costs_bp=100.0)
    assert tested.traded == approx(TRADED)
    assert tested.returns == approx(np.array([0.0, 0.0, 0.05, -0.05, 0.0, 0.05]) - 0.01 * np.array(TRADED))


def test_each_trade_bears_its_own_costs() -> None:
    first, second = by_hand(costs_bp=100.0).trades
    assert first[:3] == (1, 3, 1)
    assert first.result == approx(0.05 - 0.05 - 0.01 * sum(TRADED[1:4]))
    assert second[:3] == (4, 5, -1)
    assert second.result == approx(0.05 - 0.01 * sum(TRADED[4:]))


def test_turnover_hit_rate_and_exposure_are_those_found_by_hand() -> None:
    metrics = by_hand(costs_bp=100.0).metrics
    assert metrics.turnover == approx(sum(TRADED) * 252 / 5)
    assert metrics.hit_rate == 0.5
    assert metrics.exposure == 3 / 5
    assert metrics.n_trades == 2
    assert by_hand().metrics.max_drawdown == approx(0.05)
    assert by_hand().metrics.drawdown_days == 3  # capital 1.05, then 0.9975 twice and 1.047375


def test_units_hold_one_of_each() -> None:
    y, x = np.full(3, 30.0), np.full(3, 10.0)
    tested = backtest(y, x, np.full(3, -2.0), np.ones(3), np.full(3, 7.0), RULES._replace(sizing="units"))
    assert tested.holdings[1:] == approx(np.array([[0.75, -0.25]] * 2))


def test_a_negative_hedge_ratio_buys_both_legs() -> None:
    tested = backtest(ONES[:3], ONES[:3], np.full(3, -2.0), ONES[:3], np.full(3, -1.0), RULES)
    assert tested.holdings[1].tolist() == [0.5, 0.5]


def test_exit_at_the_band_holds_only_while_the_spread_is_outside() -> None:
    spread = np.array([0.0, -2.0, -1.0, -0.5, -1.5, 3.0, 1.0])
    assert sides(spread, np.ones(7), RULES._replace(exit=1.0)).tolist() == [0, 1, 0, 0, 1, -1, 0]
    assert sides(spread, np.ones(7), RULES).tolist() == [0, 1, 1, 1, 1, -1, -1]
    assert sides(spread, np.ones(7), RULES._replace(exit=-0.9)).tolist() == [0, 1, 1, 1, 1, -1, -1]


def test_the_band_counts_in_standard_deviations_of_its_day() -> None:
    spread, sd = np.array([0.0, 3.0, 3.0]), np.array([1.0, 4.0, 2.0])
    assert sides(spread, sd, RULES).tolist() == [0, 0, -1]


def test_nothing_is_decided_on_warm_up_days() -> None:
    assert sides(np.full(5, 9.0), np.ones(5), RULES._replace(warm_up_days=3)).tolist() == [0, 0, 0, -1, -1]


def test_a_change_of_sides_is_one_trade_closed_and_one_opened() -> None:
    spread = np.array([0.0, -2.0, 2.0, 2.0])
    tested = backtest(np.ones(4), np.ones(4), spread, np.ones(4), np.ones(4), RULES)
    assert tested.traded.tolist() == [0.0, 1.0, 2.0, 0.0]
    assert tested.trades == (Trade(1, 2, 1, 0.0), Trade(2, None, -1, 0.0))


def test_an_open_trade_is_no_hit_yet() -> None:
    tested = backtest(np.ones(3), np.ones(3), np.array([0.0, -2.0, -2.0]), np.ones(3), np.ones(3), RULES)
    assert np.isnan(tested.metrics.hit_rate)
    assert tested.metrics.n_trades == 1


def test_without_a_trade_there_is_nothing_to_earn() -> None:
    tested = backtest(Y, X, 0 * SPREAD, ONES, ONES, RULES)
    assert tested.trades == ()
    assert tested.metrics.turnover == tested.metrics.exposure == tested.metrics.cagr == 0.0


def test_ruin_ends_the_history() -> None:
    y = np.array([1.0, 1.0, 0.4, 0.8, 0.4])
    tested = backtest(y, np.ones(5), np.full(5, -2.0), np.ones(5), np.ones(5), RULES._replace(leverage=5.0))
    assert tested.returns.tolist() == [0.0, 0.0, -1.0, 0.0, 0.0]
    assert tested.sides.tolist() == [0, 1, 0, 0, 0]
    assert tested.metrics.cagr == -1.0


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"entry": 0.0}, "entry is 0.0, but must be above 0"),
        ({"entry": np.inf}, "entry is inf"),
        ({"exit": 1.5}, "exit is 1.5, but must be above -1.0 and at most 1.0"),
        ({"exit": -1.0}, "before the opposite one"),
        ({"sizing": "shares"}, "sizing is 'shares'"),
        ({"costs_bp": -1.0}, "costs are -1.0 basis points"),
        ({"leverage": 0.0}, "leverage is 0.0"),
        ({"warm_up_days": 0}, "warm_up_days is 0"),
    ],
)
def test_rules_that_cannot_be_followed_are_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(AdabypassError, match=words):
        by_hand(**changed)
