"""How models are saved and resumed: one of them in a file, a stream of many series in a folder."""

from adabypass.storage.models import from_bytes, load

__all__ = ["from_bytes", "load"]
