"""The forecast of one observation as an object: a normal or a mixture is made here, without a call to Python."""

from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.math cimport INFINITY, isfinite

cimport numpy as cnp

from adabypass.model.moments cimport MixtureMoments, Moments

from adabypass.model.component import COMPONENT
from adabypass.model.mixtures import Mixture
from adabypass.model.normal import Normal

cdef extern from "numpy/arrayobject.h":
    object PyArray_SimpleNewFromDescr(int n_axes, cnp.npy_intp* shape, cnp.dtype kind)     # takes over `kind`

cnp.import_array()

cdef type NORMAL = Normal
cdef type MIXTURE = Mixture
cdef cnp.dtype RECORD = COMPONENT
cdef tuple NOTHING = ()


cdef class Maker:
    """Makes the forecasts of one kind of model.

    Parameters
    ----------
    spec : Spec
        It says of which class a forecast is, and makes those of other classes than `Normal` and `Mixture`.
    has_components : bool
        Whether the kernel describes a forecast's components.
    """

    def __cinit__(self, spec, bint has_components):
        self.forecast_type = spec.forecast_type
        self.predictive = spec.predictive
        self.n_components = spec.n_components
        self.has_components = has_components

    cdef object new_components(self):
        """np.empty(n_components, COMPONENT) if a forecast has components, else None"""
        if not self.has_components:
            return None
        Py_INCREF(RECORD)
        return PyArray_SimpleNewFromDescr(1, &self.n_components, RECORD)

    cdef object make(self, double mean, double var, object components):
        """spec.predictive(mean, var, components)"""
        cdef Moments normal
        cdef MixtureMoments mixture
        if self.forecast_type is NORMAL and 0.0 < var < INFINITY and isfinite(mean):
            normal = (<PyTypeObject*>NORMAL).tp_new(NORMAL, <PyObject*>NOTHING, NULL)
            normal.mean, normal.var = mean, var
            return normal
        if self.forecast_type is MIXTURE:
            mixture = (<PyTypeObject*>MIXTURE).tp_new(MIXTURE, <PyObject*>NOTHING, NULL)
            mixture.components, mixture.mean, mixture.var = components, mean, var
            return mixture
        return self.predictive(mean, var, components)
