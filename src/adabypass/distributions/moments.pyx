"""What a forecast consists of: mean and variance, and of a mixture its components.

The classes of forecasts derive from these, so that compiled code can make a forecast without a call to Python. Nobody
else can change one: the fields are read-only.
"""

cimport cython
from libc.math cimport isnan, sqrt

import numpy as np


cdef object plain(object value):
    """float(value) of a single number, an array of many as it is"""
    return value if type(value) is float or np.ndim(value) else float(value)


cdef object frozen(object array):
    """A copy that nobody can write to: its memory is that of bytes, so that the flag cannot be set again either."""
    return np.ndarray(array.shape, array.dtype, array.tobytes())


@cython.auto_pickle(False)
cdef class Moments:
    """Mean and variance of one forecast, as Python floats, or of many, as arrays (n,)."""

    def _fill(self, mean, var):
        """Set the fields of a forecast that is being made."""
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
    """Mean, variance and components of one forecast or of many."""

    def _fill_components(self, components, mean, var):
        """Set the fields of a forecast that is being made."""
        self.given = frozen(components)     # compiled code relies on what was checked
        self._fill(mean, var)

    def _fill_record(self, record, packing, mean, var):
        """Set the fields of a forecast that is being made, or of many."""
        self.record, self.packing = record, packing
        self._fill(mean, var)

    def _fill_extras(self, components, extras):
        """Set the fields of a forecast that is being made; its moments are computed when they are asked for."""
        self.given = frozen(components)
        self.extras = extras._replace(zero_share=frozen(extras.zero_share))
        if extras.share is not None:        # compiled code indexes with what it has checked
            self.extras = self.extras._replace(share=frozen(extras.share), pooled_at=frozen(extras.pooled_at))

    @property
    def _is_single(self):
        """Whether this is one forecast."""
        if self.record is not None:
            return self.record.ndim == 1
        return self.given.ndim == 1 if self.given is not None else type(self.own_mean) is float

    @property
    def components(self):
        """A copy, or a read-only array, of `COMPONENT`: (n_components,), or (n, n_components) of many forecasts."""
        if self.given is not None:
            return self.given
        components = self.packing.expand(self.record)
        if components.ndim == 1:        # of many they are made anew, in pieces: they are large
            self.given = components = frozen(components)
        return components
