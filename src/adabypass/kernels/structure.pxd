# The row of a series' structures.

cimport numpy as cnp

from adabypass.kernels.profiles cimport Profile
from adabypass.kernels.runner cimport Runner
from adabypass.kernels.structure_bank cimport StructureBank
from adabypass.kernels.structures cimport StructuralFilter


cdef enum:
    N_FIELDS = 18


cdef class StructureRunner(Runner):
    cdef Py_ssize_t max_states
    cdef Py_ssize_t[N_FIELDS] starts        # of the row's fields
    cdef cnp.ndarray settings, lags, priors, waves, cov_starts, profile_starts
    cdef StructureBank bank

    cdef int _place_fields(self) except -1
    cdef int _set_profiles(self) except -1
    cdef void _place_profile(self, Profile* profile, double* numbers) noexcept nogil
    cdef int _set(self, StructuralFilter* f, Py_ssize_t k) except -1
    cdef double _last_value(self) noexcept nogil
