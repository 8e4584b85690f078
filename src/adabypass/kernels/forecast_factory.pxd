# Makes the forecasts of one kind of model.

cimport numpy as cnp


cdef class ForecastFactory:
    cdef type forecast_type
    cdef object predictive
    cdef object record_layout
    cdef object own_layout             # of forecasts that say nothing about the log or the root of y
    cdef cnp.npy_intp n_record
    cdef cnp.npy_intp n_own

    cdef object new_record(self, bint may_mix)
    cdef object make(self, double mean, double var, object record)
