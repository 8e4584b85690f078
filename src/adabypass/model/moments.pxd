# What compiled code fills in of a forecast that it makes.

cdef class Moments:
    cdef readonly object mean       # a Python float, or an array (n,) of many forecasts
    cdef readonly object var


cdef class MixtureMoments(Moments):
    cdef readonly object components     # an array of COMPONENT: (n_components,), or (n, n_components)
