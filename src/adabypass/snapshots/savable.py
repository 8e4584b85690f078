"""The base class of objects that can be saved."""

from typing import Any, Self

from adabypass.errors import StateError
from adabypass.files import FilePath, replace_file
from adabypass.snapshots import container
from adabypass.snapshots.container import Array, Snapshot
from adabypass.snapshots.versions import upgrade
from adabypass.validation import shown


class Savable:
    """Base class of objects that can be saved: `save`, `to_bytes`, pickle and `copy` all use `_snapshot`."""

    def save(self, path: FilePath) -> None:
        """Save the model to a file, which `adabypass.load` reads.

        The file is written atomically, and is on disk when the call returns: a crash at any time leaves either the old
        file or the new one. A second writer of the same file gets a `LockedError`.

        Parameters
        ----------
        path
            The destination; missing folders are created.

        Examples
        --------
        >>> import os, tempfile, adabypass
        >>> model = adabypass.AdaBypass()
        >>> model.update([1.0, 2.0], 3.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.safetensors")
        ...     model.save(path)
        ...     adabypass.load(path)
        AdaBypass(n_features=2, n_seen=1)
        """
        try:
            place = path.__fspath__() if not isinstance(path, str) else path
        except (AttributeError, TypeError):
            raise StateError(f"path is {shown(path)}, but must be the name of a file, as text or as a path.") from None
        replace_file(container.encode(*self._snapshot()), place)

    def to_bytes(self) -> bytes:
        """Return the saved model as bytes: the same bytes that `save` writes to a file.

        Examples
        --------
        >>> from adabypass import AdaBypass, from_bytes
        >>> model = AdaBypass(n_features=2)
        >>> from_bytes(model.to_bytes())
        AdaBypass(n_features=2, n_seen=0)
        """
        return b"".join(container.encode(*self._snapshot()))

    @classmethod
    def from_bytes(cls, data: object) -> Self:
        """Restore an object from the bytes of `to_bytes`; `adabypass.from_bytes` restores objects of any class.

        Parameters
        ----------
        data : bytes
        """
        return cls._from_snapshot(upgrade(container.from_bytes(data)))

    @classmethod
    def _from_snapshot(cls, snapshot: Snapshot) -> Self:
        """Restore an object from a snapshot of the newest format."""
        made = cls.__new__(cls)
        made._restore(snapshot)
        return made

    def _snapshot(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the header and the arrays of a snapshot."""
        raise NotImplementedError

    def _restore(self, snapshot: Snapshot) -> None:
        """Restore the state from a snapshot of the newest format; if it is rejected, nothing changes."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        header, arrays = self._snapshot()
        return {"header": header, "row": arrays.get("row")}

    def __setstate__(self, state: object) -> None:
        name = f"this pickled {type(self).__name__}"
        if not isinstance(state, dict) or not isinstance(state.get("header"), dict):
            older = state.get("format") if isinstance(state, dict) else None
            raise StateError(f"{name} is in format {shown(older)}, older than the first release; train it anew.")
        row = state.get("row")
        self._restore(upgrade(Snapshot(state["header"], {} if row is None else {"row": row}, name)))
