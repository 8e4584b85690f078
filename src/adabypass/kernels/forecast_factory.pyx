"""The forecast of one observation as an object: a normal or a mixture is made here, without a call to Python."""

from cpython.object cimport PyObject, PyTypeObject
from libc.math cimport INFINITY, isfinite

cimport numpy as cnp

from adabypass.distributions.record cimport MixtureMoments, Moments

from adabypass.distributions.mixture import Mixture
from adabypass.distributions.normal import Normal

cnp.import_array()

cdef type NORMAL = Normal
cdef type MIXTURE = Mixture
cdef tuple NOTHING = ()


cdef class ForecastFactory:
    """Makes the forecasts of one kind of model.

    Parameters
    ----------
    spec : Spec
        It says of which class a forecast is, and makes those of other classes than `Normal` and `Mixture`.
    describes : bool
        Whether the kernel describes a forecast, beyond its mean and variance.
    """

    def __cinit__(self, spec, bint describes):
        if describes != (spec.n_record > 0):
            raise ValueError("a kernel describes the forecasts that its spec keeps as records, and no others")
        self.forecast_type = spec.forecast_type
        self.predictive = spec.predictive
        self.record_layout = spec.record_layout
        self.n_record = self.n_own = spec.n_record
        if self.record_layout is not None:
            self.own_layout, self.n_own = self.record_layout.own, self.record_layout.n_own

    cdef object new_record(self, bint may_mix):
        """np.empty(n_record), or n_own if the forecast cannot be mixed; None if forecasts are not kept as records"""
        if self.n_record == 0:
            return None
        return cnp.PyArray_SimpleNew(1, &self.n_record if may_mix else &self.n_own, cnp.NPY_FLOAT64)

    cdef object make(self, double mean, double var, object record):
        """spec.predictive(mean, var, record)"""
        cdef Moments normal
        cdef MixtureMoments mixture
        if self.forecast_type is NORMAL and 0.0 < var < INFINITY and isfinite(mean):
            normal = (<PyTypeObject*>NORMAL).tp_new(NORMAL, <PyObject*>NOTHING, NULL)
            normal.own_mean, normal.own_var = mean, var
            return normal
        if self.forecast_type is MIXTURE:
            mixture = (<PyTypeObject*>MIXTURE).tp_new(MIXTURE, <PyObject*>NOTHING, NULL)
            mixture.record, mixture.own_mean, mixture.own_var = record, mean, var
            mixture.record_layout = self.record_layout if len(<cnp.ndarray>record) == self.n_record else self.own_layout
            return mixture
        return self.predictive(mean, var, record)
