"""The forecast of a mixture as one record of numbers, a third of the size of its components.

A trace keeps records, and a forecast makes its components out of one when something about it is asked. The families of
noise belong to the model, not to the forecast, and the shares of the normals of flexible noise are common to all linear
models: neither is kept more than once.
"""

from libc.math cimport INFINITY, NAN, isnan, sqrt
from libc.stdlib cimport free, malloc

cimport cython
cimport numpy as cnp

from functools import lru_cache

import numpy as np

from adabypass.model.families cimport FLEXIBLE_NORMALS, GAUSSIAN
from adabypass.model.special cimport larger, smaller

from adabypass.model import limits
from adabypass.model.component import COMPONENT
from adabypass.model.noise import Family

cnp.import_array()

cdef double LARGEST = limits.LARGEST


cdef inline double saturate(double value) noexcept nogil:
    return larger(-LARGEST, smaller(value, LARGEST))


@cython.auto_pickle(False)
cdef class Packing:
    """How the forecasts of one kind of model are kept.

    Parameters
    ----------
    families : sequence of Family
        Of the noise of each linear model; those that are flexible come first.
    """

    def __cinit__(self, families):
        cdef Py_ssize_t k
        self.families = tuple(Family(each) for each in families)
        self.n_linears = len(self.families)
        self.n_flexible = self.families.count(Family.FLEXIBLE)
        if self.n_linears == 0 or any(each is not Family.FLEXIBLE for each in self.families[:self.n_flexible]):
            raise ValueError("a forecast needs families of noise, those that are flexible before the others")
        self.n_components = self.n_linears + self.n_flexible * (MOST_FLEXIBLE - 1)
        self.size = 1 + (MOST_FLEXIBLE if self.n_flexible else 0) + 5 * self.n_linears
        self.family = <int64_t*>malloc(self.n_linears * sizeof(int64_t))
        if self.family == NULL:
            raise MemoryError()
        for k in range(self.n_linears):
            self.family[k] = self.families[k]

    def __dealloc__(self):
        free(self.family)

    def __reduce__(self):
        return Packing, (self.families,)

    def __eq__(self, other):
        return isinstance(other, Packing) and self.families == other.families

    def __hash__(self):
        return hash(self.families)

    def expand(self, records):
        """Return the components, (n_components,) or (n, n_components), of records (size,) or (n, size)."""
        table = np.ascontiguousarray(np.atleast_2d(records), dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != self.size:
            raise ValueError(f"a record of this packing has {self.size} numbers")
        out = np.empty((table.shape[0], self.n_components), COMPONENT)
        cdef const double[:, ::1] memory = table
        cdef Component[:, ::1] parts = out
        cdef Py_ssize_t t
        with nogil:
            for t in range(memory.shape[0]):
                self.expand_one(&memory[t, 0], &parts[t, 0])
        return out if np.ndim(records) == 2 else out[0]

    def signal_var(self, records):
        """Return the variance of x'w of each linear model: (n_linears,), or (n, n_linears)."""
        cdef Py_ssize_t begin = self.size - 3 * self.n_linears
        return records[..., begin:begin + self.n_linears]

    cdef void expand_one(self, const double* memory, Component* out) noexcept nogil:
        cdef Record record = open_record(<double*>memory, self.n_linears, self.n_flexible > 0)
        cdef bint is_known = not isnan(record.mean[0]), is_common = not is_known or record.common_family[0] >= 0.0
        cdef int64_t common = <int64_t>record.common_family[0] if is_known and is_common else GAUSSIAN
        cdef Component blank = Component(1.0 / self.n_linears, NAN, 0.0, INFINITY, 0.0, GAUSSIAN), whole
        cdef double center = 0.0
        cdef Py_ssize_t j, k
        for j in range(MOST_FLEXIBLE if self.n_flexible else 0):
            center += record.normal_share[j] * FLEXIBLE_NORMALS.center[j]
        for k in range(self.n_linears):
            whole = blank if not is_known else Component(
                record.weight[k], record.mean[k], record.signal_var[k], record.noise_scale[k], record.epsilon[k],
                common if is_common else self.family[k],
            )
            if k >= self.n_flexible:
                out[0] = whole
                out += 1
                continue
            for j in range(MOST_FLEXIBLE):
                out[j] = whole
                if is_common:       # the first says it all
                    out[j].weight *= j == 0
                    continue
                out[j].weight *= record.normal_share[j]
                out[j].mean = saturate(whole.mean + whole.noise_scale * (FLEXIBLE_NORMALS.center[j] - center))
                out[j].noise_scale = saturate(whole.noise_scale * sqrt(FLEXIBLE_NORMALS.sq[j]))
                out[j].family = GAUSSIAN
            out += MOST_FLEXIBLE


@lru_cache(maxsize=8)
def packing_of(families):
    """Return the packing of these families: one object for each kind of model."""
    return Packing(families)
