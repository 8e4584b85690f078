# Makes the forecasts of one kind of model.

cimport numpy as cnp


cdef class Maker:
    cdef type forecast_type
    cdef object predictive
    cdef cnp.npy_intp n_components
    cdef bint has_components

    cdef object new_components(self)
    cdef object make(self, double mean, double var, object components)
