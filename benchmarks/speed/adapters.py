"""AutoBypass through the interfaces of other libraries: what their conventions cost a row."""

from typing import Any

from benchmarks.speed.contestants import Contestant, Mode
from benchmarks.speed.peers import river, scikit_learn


def in_river(*_: object) -> Any:
    """Return AutoBypass as River's regressor."""
    from adabypass.adapters.river import AutoBypassRegressor  # noqa: PLC0415  (an extra)

    return AutoBypassRegressor()


def in_scikit_learn(*_: object) -> Any:
    """Return AutoBypass as scikit-learn's regressor."""
    from adabypass.adapters.sklearn import AutoBypassRegressor  # noqa: PLC0415  (an extra)

    return AutoBypassRegressor()


CONTESTANTS = (
    Contestant("AutoBypass in River", Mode.ROW_BY_ROW, river.row_by_row(in_river)),
    Contestant("AutoBypass in scikit-learn", Mode.ROW_BY_ROW, scikit_learn.by_batches(1, in_scikit_learn)),
    Contestant(
        f"AutoBypass in scikit-learn, {scikit_learn.BATCH} rows", Mode.IN_BULK,
        scikit_learn.by_batches(scikit_learn.BATCH, in_scikit_learn),
    ),
)  # fmt: skip
