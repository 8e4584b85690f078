"""Saved models, forecasters, panels and streams, of whatever kind they are."""

import os
from collections.abc import Mapping
from typing import Any

from adabypass.errors import StateError
from adabypass.files import FilePath
from adabypass.forecasting import Baseline, Forecaster
from adabypass.forecasting.baselines import BASELINES
from adabypass.forecasting.state import KIND
from adabypass.panel.panel import Panel
from adabypass.panel.state import KIND as PANEL
from adabypass.regressors import KINDS, Regressor
from adabypass.snapshots import container
from adabypass.snapshots.container import Snapshot
from adabypass.snapshots.header import Header
from adabypass.snapshots.versions import upgrade
from adabypass.streaming.view import read_panel
from adabypass.validation import shown

SAVED: Mapping[str, type[Regressor] | type[Forecaster] | type[Baseline] | type[Panel]] = {
    **KINDS,
    KIND: Forecaster,
    **BASELINES,
    PANEL: Panel,
}
"""The classes of saved objects, by the name that a header has for them."""


def load(path: FilePath) -> Any:
    """Load a model, a forecaster or a panel that was saved with `save`; it goes on to the same numbers, bit for bit.

    Of the folder of a `Stream` the panel of its series is loaded, as they are now, also while the stream goes on.

    Nothing in the file is executed. A file that is damaged, foreign, or of a newer format is refused with a
    `StateError`, before memory is taken for what it claims to hold.

    Parameters
    ----------
    path
        Of the file, or of the folder of a stream.

    Examples
    --------
    >>> import os, tempfile
    >>> from adabypass import Forecaster, load, load_dataset
    >>> forecaster = Forecaster(lags=2)
    >>> trace = forecaster.run(load_dataset("nile").y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "nile.safetensors")
    ...     forecaster.save(path)
    ...     again = load(path)
    >>> again.predict().mean == forecaster.predict().mean
    True
    """
    if not isinstance(path, str | os.PathLike):
        raise StateError(f"path is {shown(path)}, but must be the name of a file, as text or as a path.")
    if os.path.isdir(path):
        return read_panel(path)
    return _restored(container.read(path))


def from_bytes(data: object) -> Any:
    """Return the model or forecaster that `to_bytes` made bytes of, as `load` does of a file.

    Parameters
    ----------
    data : bytes

    Examples
    --------
    >>> from adabypass import AdaBypass
    >>> model = AdaBypass()
    >>> model.update([1.0, 2.0], 3.0)
    >>> from_bytes(model.to_bytes())
    AdaBypass(n_features=2, n_seen=1)
    """
    return _restored(container.from_bytes(data))


def _restored(snapshot: Snapshot) -> Any:
    snapshot = upgrade(snapshot)
    header = Header(snapshot.header, snapshot.name)
    kind = header.text("kind")
    if kind not in SAVED:
        header.refuse(f"it holds {kind[:40]!r}, which this version of adabypass does not know")
    return SAVED[kind]._from_snapshot(snapshot)
