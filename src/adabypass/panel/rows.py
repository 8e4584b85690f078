"""Where the rows of a panel are kept: in memory, or in a file that is mapped into it."""

import mmap
import os
import tempfile
import weakref
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from adabypass.errors import ConcurrentUseError, ParameterError
from adabypass.files import FilePath
from adabypass.kernels.rows import RowStore
from adabypass.validation import Floats, shown

BLOCK_BYTES = 1 << 25
"""Size of a block, 32 MB: memory is taken when a row in it is first used, so a small panel takes little."""
MAX_RESIDENT_BYTES = 1 << 29
"""Bytes of mapped rows that a pass through all of them moves, 512 MB, before it gives their memory back."""
PAGE = mmap.ALLOCATIONGRANULARITY


class PanelRows:
    """Rows of one size that are added, and given back; none of them ever moves.

    Parameters
    ----------
    new_row : array
        What each row begins as.
    aligned_at : int, optional
        Which number of a row is best kept at the start of a cache line.
    folder : path, optional
        Keep the rows in a temporary file in this folder, which is mapped into memory: the operating system writes to
        the disk what does not fit. The file has no name, and is gone with the panel.
    """

    def __init__(self, new_row: Floats, aligned_at: int | None, folder: FilePath | None) -> None:
        self.new_row = new_row
        n_line = -(-len(new_row) // 8) * 8
        rows_per_block = max(1, BLOCK_BYTES // (8 * n_line))
        self._store = RowStore(len(new_row), rows_per_block, aligned_at or 0)
        self._process = os.getpid()
        self._free: list[int] = []
        self._file: IO[bytes] | None = None if folder is None else _open_file(folder)
        self._maps: list[mmap.mmap] = []
        if self._file is not None:
            weakref.finalize(self, self._file.close)

    @property
    def store(self) -> RowStore:
        """The rows; those in a file are refused to a forked process, which would change them in the other one too."""
        if self._file is not None and os.getpid() != self._process:
            raise ConcurrentUseError(
                "this process was forked, and the rows of this panel are in a file (rows_in) that the other process "
                "works with; save the panel and load it here, or make one without rows_in before the fork."
            )
        return self._store

    @property
    def n_bytes(self) -> int:
        """Bytes of all rows."""
        return int(self.store.n_rows * self.store.stride * 8)

    def add(self, n: int) -> list[int]:
        """Return the indices of `n` rows that begin anew; rows that were given back come first."""
        reused = [self._free.pop() for _ in range(min(n, len(self._free)))]
        for index in reused:
            self.store.row(index)[:] = self.new_row
        more, first = n - len(reused), self.store.n_rows
        while self.store.n_rows < first + more:
            if self.store.n_rows == self.store.capacity:
                self.store.add_block(self._new_block())
            self.store.append(self.new_row, min(first + more, self.store.capacity) - self.store.n_rows)
            if len(self._maps) > 1:
                self._maps[-2].madvise(mmap.MADV_DONTNEED)
        return reused + list(range(first, first + more))

    def give_back(self, indices: list[int]) -> None:
        """Let rows be used for other series."""
        self._free += indices

    def _new_block(self) -> Floats:
        size = self.store.block_size
        if self._file is None:
            return np.empty(size)
        n_bytes = -(-8 * size // PAGE) * PAGE
        start = n_bytes * len(self._maps)
        os.posix_fallocate(self._file.fileno(), start, n_bytes)  # a full disk is an error here, not a signal later
        mapped = mmap.mmap(self._file.fileno(), n_bytes, offset=start)
        self._maps.append(mapped)
        return np.frombuffer(mapped, np.float64, size)

    def releasing(self, progress: Callable[[int], None] | None, n_each: int) -> Callable[[int], None] | None:
        """Return a function that reports progress, and now and then gives back the memory of mapped rows.

        Parameters
        ----------
        progress : function, optional
            Called with the number of observations done since the last call.
        n_each : int
            Observations of each row.
        """
        if self._file is None or self.n_bytes <= MAX_RESIDENT_BYTES:
            return progress
        most, n_moved = max(1, MAX_RESIDENT_BYTES // (8 * self.store.stride)) * n_each, 0

        def report(n_done: int) -> None:
            nonlocal n_moved
            n_moved += n_done
            if n_moved >= most:
                self.release()
                n_moved = 0
            if progress is not None:
                progress(n_done)

        return report

    def release(self) -> None:
        """Let the operating system have the memory of mapped rows: it reads them from the file when they are used."""
        for mapped in self._maps:
            mapped.madvise(mmap.MADV_DONTNEED)  # of a shared map: what was written stays in the file


def _open_file(folder: Any) -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(dir=os.fspath(folder))
    except (OSError, TypeError, ValueError) as error:
        raise ParameterError(
            f"rows_in is {shown(folder)}, but must be a folder that can be written: {error}"
        ) from error
