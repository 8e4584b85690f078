# Evidence many steps ahead: equations (190)-(195).

from adabypass.kernels.structure_state cimport Bank


cdef void forget(Bank* bank) noexcept nogil
cdef void judge(Bank* bank, double z, double log_z, double t) noexcept nogil
cdef void look_ahead(Bank* bank, double t) noexcept nogil
cdef void evidence_ahead(const Bank* bank, Py_ssize_t step, double* out) noexcept nogil
cdef double scale_ahead(const Bank* bank, Py_ssize_t k, Py_ssize_t step, double* dof) noexcept nogil
