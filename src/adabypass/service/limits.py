"""How much may be asked for, and how often."""

import math
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from adabypass.service.errors import RefusedError

MAX_CLIENTS = 10_000
"""Clients whose rate is remembered."""
BURST_SECONDS = 2.0
"""A client that was silent may send the requests of this time at once."""


class Limits(NamedTuple):
    """What is refused beyond; the options of `adabypass serve` have the same names."""

    max_body: int = 1_000_000
    """Bytes of a request's body."""
    body_seconds: float = 10.0
    """Time in which a body must have arrived."""
    max_rows: int = 10_000
    """Observations in one request."""
    max_series: int = 10_000
    max_horizon: int = 1_000
    max_event_streams: int = 1_000
    """Pages and programs that follow `/events` at once."""
    rate: float = 1_000.0
    """Requests a second from one address."""
    max_gauges: int = 100
    """Series that have gauges of their own among the metrics."""


class RateLimiter:
    """Counts the requests of each address; refuses those beyond a rate.

    Parameters
    ----------
    rate : float
        Requests a second.
    clock : function
        Returns the time in seconds.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._clock, self._burst = rate, clock, max(1.0, rate * BURST_SECONDS)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """For each address, the requests that it has left, and when that was."""

    def check(self, client: str) -> None:
        """Count a request; refuse it if its address has none left."""
        now = self._clock()
        left, since = self._left.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        self._left[client] = (max(0.0, left - 1.0), now)
        if len(self._left) > MAX_CLIENTS:
            self._left.popitem(last=False)
        if left < 1.0:
            raise RefusedError(
                429, "too_many_requests",
                f"more than {self._rate:g} requests a second came from this address; send several observations in "
                "one request.",
                retry_after=math.ceil((1.0 - left) / self._rate),
            )  # fmt: skip
