# What compiled code fills in of a forecast that it makes.

cdef class Moments:
    cdef object own_mean            # a Python float, or an array (n,) of many forecasts; None until it is asked for
    cdef object own_var


cdef class MixtureMoments(Moments):
    cdef object given               # its components, if they were given: (n_components,), or (n, n_components)
    cdef readonly object record     # or the numbers from which they are made, (size,) or (n, size),
    cdef readonly object packing    # and how
    cdef readonly object extras     # what else it consists of (`MixtureExtras`), or None
