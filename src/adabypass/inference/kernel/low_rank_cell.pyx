"""A row whose covariance is diagonal less one of low rank, and the kernel that moves it."""

from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

cimport numpy as cnp

from adabypass.inference.kernel.low_rank cimport LowRank, desk_size, lay_desk
from adabypass.inference.kernel.sparse_cell cimport SparseCell

cnp.import_array()


cdef double* _at(cnp.ndarray row, place):
    """Return where a field begins, of which `place` is the slice and the shape."""
    cdef Py_ssize_t start = place[0].start
    return <double*>cnp.PyArray_DATA(row) + start


cdef class LowRankCell(SparseCell):
    """A row with a covariance of low rank, together with the kernel that moves it.

    Parameters
    ----------
    kernel : Kernel
    spec : Spec
        Whose covariance is of low rank.
    row : float64 array
        Taken over; its counts and indices are checked.
    n_features : int
    """

    cdef LowRank low
    cdef double* desk_memory

    def __cinit__(self, kernel, spec, cnp.ndarray row not None, Py_ssize_t n_features):
        cdef LowRank* low = &self.low
        if not spec.is_low_rank:
            raise TypeError("the covariance of the spec must be of low rank")
        spec.check_row(row, n_features)
        places = spec.layout.places(**spec.dims(n_features))
        low.n, low.rank = places["factors"][1]
        low.n_all, low.room = places["shift"][1][0], places["values"][1][0]
        low.most = low.n_all - low.rank
        low.mean, low.var = _at(row, places["mean"]), _at(row, places["var"])
        low.common = _at(row, places["common_var"])
        low.factors, low.n_columns = _at(row, places["factors"]), _at(row, places["n_columns"])
        low.roots, low.gram, low.shift = _at(row, places["roots"]), _at(row, places["gram"]), _at(row, places["shift"])
        low.begin, low.indices = _at(row, places["begin"]), _at(row, places["indices"])
        low.values = _at(row, places["values"])
        if "gradient_shift" in places:
            low.gradient, low.var_gradient = _at(row, places["mean_gradient"]), _at(row, places["var_gradient"])
            low.gradient_shift = _at(row, places["gradient_shift"])
        self.desk_memory = <double*>calloc(desk_size(low), sizeof(double))
        if self.desk_memory == NULL:
            raise MemoryError()
        lay_desk(low, self.desk_memory)

    def __dealloc__(self):
        free(self.desk_memory)

    cdef void _forecast(self) noexcept nogil:
        """Forecast from the features that were loaded; the short row holds scalars alone."""
        self.low.n_given, self.low.given = self.n_given, self.indices
        memcpy(self.compact, cnp.PyArray_DATA(self.row), self.n_head * sizeof(double))
        self.newest.is_diagonal, self.newest.low_rank = False, &self.low
        self._aim_and_forecast()

    cdef void _learn(self, double y) noexcept nogil:
        """Learn from `y`, after `_forecast`."""
        self.kernel.absorb(&self.newest, y)
        memcpy(cnp.PyArray_DATA(self.row), self.compact, self.n_head * sizeof(double))
