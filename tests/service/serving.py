"""A service in this process, asked without a network."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from starlette.testclient import TestClient

from adabypass import Forecaster
from adabypass.service.guard import Access
from adabypass.service.keeper import Keeper, Settings
from adabypass.service.limits import Limits
from adabypass.service.routes import Service

TOKEN = "a-token-of-enough-characters"
HOST = "localhost"


@contextmanager
def serving(
    folder: Path | None = None, *, token: str | None = None, limits: Limits | None = None, **settings: Any
) -> Iterator[TestClient]:
    """Yield a client of a service with the light model, unless another forecaster is given."""
    settings.setdefault("forecaster", Forecaster(lags=1))
    keeper = Keeper(folder, Settings(n_threads=1, **settings), limits)
    service = Service(keeper, Access(frozenset((HOST,)), token))
    with TestClient(service, base_url=f"http://{HOST}") as client:
        yield client


def noise(n: int, id: str = "a", seed: int = 0, start: int = 0) -> list[dict[str, Any]]:
    """Return observations of a steady series, a minute apart."""
    values = np.random.default_rng(seed).normal(10.0, 1.0, start + n)[start:]
    return [{"id": id, "time": start + i, "y": float(y)} for i, y in enumerate(values)]
