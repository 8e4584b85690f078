# One component of a forecast, as compiled code sees it: `COMPONENT` in component.py is the same record.

from libc.stdint cimport int64_t


cdef struct Component:
    double weight
    double mean
    double signal_var
    double noise_scale      # in the units of y
    double epsilon          # in units of noise_scale; 0 unless the noise is insensitive
    int64_t family          # `Family` in noise.py
