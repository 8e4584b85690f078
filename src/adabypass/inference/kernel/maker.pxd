# Makes the forecasts of one kind of model.

cimport numpy as cnp


cdef class Maker:
    cdef type forecast_type
    cdef object predictive
    cdef object packing
    cdef cnp.npy_intp n_record

    cdef object new_record(self)
    cdef object make(self, double mean, double var, object record)
