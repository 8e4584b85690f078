# What compiled code fills in of a forecast that it makes.

cdef class Moments:
    cdef readonly object mean       # a Python float, or an array (n,) of many forecasts
    cdef readonly object var


cdef class MixtureMoments(Moments):
    cdef object given               # its components, if they were given: (n_components,), or (n, n_components)
    cdef readonly object record     # or the numbers from which they are made, (size,) or (n, size),
    cdef readonly object packing    # and how
