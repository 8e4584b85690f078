"""How a run keeps forecasts: a mixture as one record of numbers, for AutoBypass a ninth of the size of its components.

A trace keeps records; a forecast makes its components from one when it is evaluated. Nothing is stored twice: the noise
families belong to the model, all linear models share the normals' shares of flexible noise, and linear models with the
same weights share the mean and variance of x'w.
"""

from libc.math cimport INFINITY, NAN, isnan, sqrt
from libc.stdlib cimport free, malloc

cimport cython
cimport numpy as cnp

from functools import lru_cache

import numpy as np

from adabypass.distributions.component cimport LOG, ROOT
from adabypass.distributions.families cimport FLEXIBLE_NORMALS, GAUSSIAN
from adabypass.numerics.special cimport larger, smaller

from adabypass.numerics import limits
from adabypass.distributions.component import COMPONENT
from adabypass.numerics.noise import Family

cnp.import_array()

cdef double MAX_VALUE = limits.MAX_VALUE


cdef inline double saturate(double value) noexcept nogil:
    """np.clip(value, -MAX_VALUE, MAX_VALUE)"""
    return larger(-MAX_VALUE, smaller(value, MAX_VALUE))


@cython.auto_pickle(False)
cdef class RecordLayout:
    """The layout of the forecast records of one class of models.

    Parameters
    ----------
    families : sequence of Family
        Noise family of each linear model, flexible ones first.
    n_signals : int, optional
        Number of pairs of mean and variance of x'w: linear model k has pair k % n_signals. By default, the number of
        linear models.
    transformed : RecordLayout, optional
        Layout of two more parts that follow: the distributions of the log and of the root of y. The weights of all
        three parts add up to 1.
    """

    def __cinit__(self, families, n_signals=None, RecordLayout transformed=None):
        cdef Py_ssize_t k, n_shaped = 0
        self.families = tuple(Family(each) for each in families)
        self.n_linears = len(self.families)
        self.n_flexible = self.families.count(Family.FLEXIBLE)
        if self.n_linears == 0 or any(each is not Family.FLEXIBLE for each in self.families[:self.n_flexible]):
            raise ValueError("families is empty or out of order; pass at least one noise family, flexible ones first")
        if Family.STUDENT in self.families:
            raise ValueError("families contains STUDENT, but a record has no room for degrees of freedom; pass another")
        self.n_signals = self.n_linears if n_signals is None else n_signals
        if not 1 <= self.n_signals <= self.n_linears:
            raise ValueError(f"n_signals is {n_signals}, but must be from 1 to {self.n_linears}, the size of families")
        if transformed is not None and transformed.transformed is not None:
            raise ValueError("transformed has a transformed layout itself; pass one without")
        self.transformed = transformed
        self.own = RecordLayout(families, n_signals) if transformed is not None else self
        self.n_components = self.n_linears + self.n_flexible * (N_FLEXIBLE_NORMALS - 1)
        if transformed is not None:
            self.n_components += 2 * transformed.n_components
        self.family = <int64_t*>malloc(self.n_linears * sizeof(int64_t))
        self.signal_at = <Py_ssize_t*>malloc(2 * self.n_linears * sizeof(Py_ssize_t))
        if self.family == NULL or self.signal_at == NULL:
            raise MemoryError()
        self.epsilon_at = self.signal_at + self.n_linears
        for k in range(self.n_linears):
            self.family[k] = self.families[k]
            self.signal_at[k] = k % self.n_signals
            self.epsilon_at[k] = n_shaped if self.families[k] is Family.INSENSITIVE else -1
            n_shaped += self.families[k] is Family.INSENSITIVE
        self.n_own = (
            1 + (N_FLEXIBLE_NORMALS if self.n_flexible else 0) + 2 * self.n_linears + 2 * self.n_signals + n_shaped
        )
        self.size = self.n_own + (2 * transformed.size if transformed is not None else 0)

    def __dealloc__(self):
        free(self.family)
        free(self.signal_at)

    def __reduce__(self):
        return RecordLayout, (self.families, self.n_signals, self.transformed)

    def __eq__(self, other):
        return isinstance(other, RecordLayout) and self.__reduce__()[1] == other.__reduce__()[1]

    def __hash__(self):
        return hash(self.__reduce__()[1])

    def of(self, records):
        """Return the layout of records by their size: this one, or `own`."""
        return self if records.shape[records.ndim - 1] == self.size else self.own

    def widened(self, records):
        """Convert records of `own` to records of this layout."""
        wide = np.zeros((*records.shape[:-1], self.size))
        wide[..., :self.n_own] = records
        if self.transformed is not None:
            wide[..., self.n_own] = wide[..., self.n_own + self.transformed.size] = ABSENT
        return wide

    def is_transformed(self, records):
        """Return whether the log or the root of y has a share in any of the records."""
        if self.transformed is None:
            return False
        first = records[..., [self.n_own, self.n_own + self.transformed.size]]
        return bool((first >= -1.0).any())

    def expand(self, records):
        """Return the components, (n_components,) or (n, n_components), of records (size,) or (n, size).

        Components of the log and the root of y are left out if they have no share in any record.
        """
        table = np.ascontiguousarray(np.atleast_2d(records), dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != self.size:
            raise ValueError(f"records have shape {table.shape}, but a record of this layout has {self.size} numbers")
        cdef bint is_transformed = self.is_transformed(table)
        cdef Py_ssize_t n = self.n_components
        if self.transformed is not None and not is_transformed:
            n -= 2 * self.transformed.n_components
        out = np.empty((table.shape[0], n), COMPONENT)
        cdef const double[:, ::1] memory = table
        cdef Component[:, ::1] parts = out
        cdef Py_ssize_t t
        with nogil:
            for t in range(memory.shape[0]):
                self.expand_one(&memory[t, 0], &parts[t, 0], is_transformed)
        return out if np.ndim(records) == 2 else out[0]

    cdef RecordFields open(self, const double* memory) noexcept nogil:
        return open_record(<double*>memory, self.n_linears, self.n_signals, self.n_flexible > 0)

    cdef Component linear(self, const RecordFields* record, Py_ssize_t k) noexcept nogil:
        """Return linear model k as a component with the layout's noise family."""
        cdef Py_ssize_t signal = self.signal_at[k], at = self.epsilon_at[k]
        return Component(
            record.weight[k], record.mean[signal], record.signal_var[signal], record.noise_scale[k],
            record.epsilon[at] if at >= 0 else 0.0, self.family[k], 0, 0.0,
        )

    cdef const double* record_of(self, const double* memory, int target) noexcept nogil:
        """Return the part of a record about the log or the root of y; NULL if it has no share."""
        memory += self.n_own + (target - 1) * self.transformed.size
        return memory if is_present(memory) else NULL

    cdef void expand_one(self, const double* memory, Component* out, bint is_transformed) noexcept nogil:
        """Write the components of one record: those of the log and the root of y only if `is_transformed`."""
        cdef RecordFields record = self.open(memory)
        cdef bint is_known = not isnan(record.mean[0]), is_common = not is_known or record.common_family[0] >= 0.0
        cdef int64_t common = <int64_t>record.common_family[0] if is_known and is_common else GAUSSIAN
        cdef Component blank = Component(1.0 / self.n_linears, NAN, 0.0, INFINITY, 0.0, GAUSSIAN, 0, 0.0), whole
        cdef double center = 0.0
        cdef Py_ssize_t j, k
        cdef int target
        for j in range(N_FLEXIBLE_NORMALS if self.n_flexible else 0):
            center += record.normal_share[j] * FLEXIBLE_NORMALS.center[j]
        for k in range(self.n_linears):
            whole = self.linear(&record, k) if is_known else blank
            if is_known and is_common:
                whole.epsilon, whole.family = 0.0, common
            if k >= self.n_flexible:
                out[0] = whole
                out += 1
                continue
            for j in range(N_FLEXIBLE_NORMALS):
                out[j] = whole
                if is_common:       # the first carries all of the weight
                    out[j].weight *= j == 0
                    continue
                out[j].weight *= record.normal_share[j]
                out[j].mean = saturate(whole.mean + whole.noise_scale * (FLEXIBLE_NORMALS.center[j] - center))
                out[j].noise_scale = saturate(whole.noise_scale * sqrt(FLEXIBLE_NORMALS.sq[j]))
                out[j].family = GAUSSIAN
            out += N_FLEXIBLE_NORMALS
        if is_transformed:
            for target in range(LOG, ROOT + 1):
                self._expand_transformed(memory, target, out)
                out += self.transformed.n_components

    cdef void _expand_transformed(self, const double* memory, int target, Component* out) noexcept nogil:
        """Write the components about the log or the root of y; of weight 0 if it has no share."""
        cdef const double* record = self.record_of(memory, target)
        cdef Py_ssize_t k
        if record == NULL:
            for k in range(self.transformed.n_components):
                out[k] = Component(0.0, 0.0, 0.0, 1.0, 0.0, GAUSSIAN, target, 0.0)
            return
        self.transformed.expand_one(record, out, False)
        for k in range(self.transformed.n_components):
            out[k].target = target


@lru_cache(maxsize=8)
def get_record_layout(families, n_signals, transformed):
    """Return the layout with these arguments: one shared object for each class of models."""
    return RecordLayout(families, n_signals, transformed)


# Base classes of forecasts, from which compiled code makes a forecast without a call to Python. Fields are read-only.

cdef object plain(object value):
    """float(value) of a single number, an array of many as it is"""
    return value if type(value) is float or np.ndim(value) else float(value)


cdef object frozen(object array):
    """Return a copy that is never writable: its memory belongs to bytes, so the flag cannot be set again."""
    return np.ndarray(array.shape, array.dtype, array.tobytes())


@cython.auto_pickle(False)
cdef class Moments:
    """Mean and variance of one forecast, as Python floats, or of many, as arrays (n,)."""

    def _fill(self, mean, var):
        """Set mean and variance of a forecast under construction."""
        self.own_mean = plain(mean)
        self.own_var = plain(var)

    @property
    def mean(self):
        """Expected value."""
        if self.own_mean is None:
            self._fill(*self._find_moments())
        return self.own_mean

    @property
    def var(self):
        """Variance."""
        if self.own_var is None:
            self._fill(*self._find_moments())
        return self.own_var

    @property
    def sd(self):
        """Standard deviation."""
        return sqrt(<double>self.var) if type(self.var) is float else np.sqrt(self.var)

    @property
    def is_known(self):
        """Whether anything is known about the observation."""
        return not isnan(<double>self.mean) if type(self.mean) is float else ~np.isnan(self.mean)


@cython.auto_pickle(False)
cdef class MixtureMoments(Moments):
    """The fields of `Mixture`, of one forecast or of many: record, record_layout, extras, components and moments.

    They are declared in record.pxd, where compiled code finds them when it makes a forecast.
    """

    def _fill_components(self, components, mean, var):
        """Set the fields of a forecast under construction."""
        self.given = frozen(components)     # compiled code relies on checks made once
        self._fill(mean, var)

    def _fill_record(self, record, layout, mean, var):
        """Set the fields of one forecast under construction, or of many."""
        self.record, self.record_layout = record, layout
        self._fill(mean, var)

    def _fill_extras(self, components, extras):
        """Set the fields of a forecast under construction; its moments are computed when they are needed."""
        self.given = frozen(components)
        self.extras = extras._replace(zero_share=frozen(extras.zero_share))
        if extras.reserve is not None:
            self.extras = self.extras._replace(reserve=frozen(extras.reserve))
        if extras.share is not None:        # compiled code indexes with values that were checked once
            self.extras = self.extras._replace(share=frozen(extras.share), pooled_at=frozen(extras.pooled_at))

    @property
    def _is_single(self):
        """Whether this is one forecast."""
        if self.record is not None:
            return self.record.ndim == 1
        return self.given.ndim == 1 if self.given is not None else type(self.own_mean) is float

    @property
    def components(self):
        """Components, an array of `COMPONENT`: (n_components,), or (n, n_components) for many forecasts."""
        if self.given is not None:
            return self.given
        components = self.record_layout.expand(self.record)
        if components.ndim == 1:        # those of many forecasts are large, and not kept
            self.given = components = frozen(components)
        return components
