"""A made-up shop: 30 products, day by day, with promotions, holidays, missing days, and some that are rarely sold."""

from typing import NamedTuple

import numpy as np
import pandas as pd

HORIZON = 28
N_DAYS = 420
HOLIDAYS = tuple(
    np.datetime64(day)
    for day in ("2023-04-07", "2023-04-10", "2023-05-01", "2023-10-03", "2023-12-25", "2024-01-01", "2024-03-29")
)
WEEK = np.array([-4.0, -3.0, -1.0, 0.0, 4.0, 8.0, -4.0])
"""What each weekday adds to the sales of a frequent product, from Monday."""
PROMOTION, HOLIDAY = 15.0, -9.0
"""What they add to the sales of a frequent product."""
RARE = ("product 24", "product 25", "product 26", "product 27", "product 28", "product 29")
"""Products with 80 % zeros."""


class Retail(NamedTuple):
    """The panel, and what is to come."""

    frame: pd.DataFrame
    """Ends with the days to come, of which `sold` is blank and the promotions are known."""
    ahead: pd.DataFrame
    """What will be sold then."""


def retail(seed: int = 0) -> Retail:
    """Return the sales of 30 products."""
    rng = np.random.default_rng(seed)
    days = np.datetime64("2023-02-06") + np.arange(N_DAYS + HORIZON)  # a Monday
    tables = [_product(f"product {i}", days, rng) for i in range(30)]
    every = pd.concat(tables, ignore_index=True)
    is_ahead = every["day"] >= days[N_DAYS]
    known = every.assign(sold=every["sold"].where(~is_ahead))
    gone = (rng.uniform(size=len(every)) < 0.03) & ~is_ahead  # closed, or not counted: no row, or a blank cell
    known.loc[gone, "sold"] = np.nan
    is_absent = gone & (np.arange(len(every)) % 2 == 0)
    return Retail(known[~is_absent].reset_index(drop=True), every[is_ahead].reset_index(drop=True))


def _product(name: str, days: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    n = len(days)
    promotion = np.repeat(rng.uniform(size=n // 4 + 1) < 0.08, 4)[:n].astype(np.int64)  # for four days
    holiday = np.isin(days, HOLIDAYS).astype(np.int64)
    if name in RARE:
        sold = np.where(rng.uniform(size=n) < 0.8, 0.0, 1.0 + rng.poisson(2.0, size=n))
    else:
        level = 60.0 + np.cumsum(rng.normal(0.0, 0.15, size=n))
        added = WEEK[np.arange(n) % 7] + PROMOTION * promotion + HOLIDAY * holiday
        sold = np.maximum(np.round(level + added + rng.normal(0.0, 3.0, size=n)), 0.0)
    return pd.DataFrame({"product": name, "day": days, "sold": sold, "promotion": promotion, "holiday": holiday})
