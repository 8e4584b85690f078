"""The forecast of one observation as an object: a normal or a mixture is made here, without a call to Python."""

from cpython.object cimport PyObject, PyTypeObject
from libc.math cimport INFINITY, isfinite

cimport numpy as cnp

from adabypass.model.moments cimport MixtureMoments, Moments

from adabypass.model.mixtures import Mixture
from adabypass.model.normal import Normal

cnp.import_array()

cdef type NORMAL = Normal
cdef type MIXTURE = Mixture
cdef tuple NOTHING = ()


cdef class Maker:
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
        self.packing = spec.packing
        self.n_record = spec.n_record

    cdef object new_record(self):
        """np.empty(n_record) if forecasts are kept as records, else None"""
        return None if self.n_record == 0 else cnp.PyArray_SimpleNew(1, &self.n_record, cnp.NPY_FLOAT64)

    cdef object make(self, double mean, double var, object record):
        """spec.predictive(mean, var, record)"""
        cdef Moments normal
        cdef MixtureMoments mixture
        if self.forecast_type is NORMAL and 0.0 < var < INFINITY and isfinite(mean):
            normal = (<PyTypeObject*>NORMAL).tp_new(NORMAL, <PyObject*>NOTHING, NULL)
            normal.mean, normal.var = mean, var
            return normal
        if self.forecast_type is MIXTURE:
            mixture = (<PyTypeObject*>MIXTURE).tp_new(MIXTURE, <PyObject*>NOTHING, NULL)
            mixture.record, mixture.packing, mixture.mean, mixture.var = record, self.packing, mean, var
            return mixture
        return self.predictive(mean, var, record)
