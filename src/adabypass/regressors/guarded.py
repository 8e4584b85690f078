"""A model whose memory is one row: what replaces the runner of it, as a whole or not at all."""

from typing import Any, Self

from adabypass.kernels.runner import RunGuard
from adabypass.snapshots.savable import Savable


class Guarded(Savable):
    """An object with a runner, however it is made: by a call, as a copy, or from a snapshot."""

    _runner: Any
    """The row and what moves it; None until something was seen that says how long the row is."""
    _guard: RunGuard
    """Replaces the runner."""

    def __new__(cls, *_: Any, **__: Any) -> Self:  # here, above every `__init__`, whose signatures it would hide
        made = super().__new__(cls)
        made._guard, made._runner = RunGuard(), None
        return made
