# The compiled functions of the instruction set in use: `SIMD`. This file mirrors numerics/c/simd_table.h.

cdef extern from "simd_table.h" nogil:
    enum:
        LANES
        OPENED
        MAX_NORMALS
        N_FLEXIBLE_NORMALS

    ctypedef struct Normals:
        int n
        double[MAX_NORMALS] share
        double[MAX_NORMALS] sq

    ctypedef struct FlexibleNormals:
        double[N_FLEXIBLE_NORMALS] center
        double[N_FLEXIBLE_NORMALS] sq
        int[N_FLEXIBLE_NORMALS] twin

    ctypedef struct Limits:
        double max_value
        double max_weight
        double max_distance
        double min_signal
        double max_log_noise_scale
        double resolution
        double rounding
        double max_explained
        double max_spread

    ctypedef struct Evidence:
        double log_density
        double shift
        double var
        double scale_slope
        double epsilon_slope

    ctypedef struct Update:
        double factor
        double negligible
        const double* a
        const double* b
        const double* diagonal

    ctypedef struct GradientMove:
        double D
        double left
        double pull
        double bound
        double negligible

    ctypedef struct Projection:
        double prior_var
        double square
        double product

    ctypedef struct Conditioning:
        double drift_var
        double rounding
        double D
        double move
        double bound
        double explained

    ctypedef struct MixtureLanes:
        ptrdiff_t n_normals
        ptrdiff_t n_shaped
        double* weight
        double* mean
        double* inverse_sd
        double* shaped_weight
        double* shaped_mean
        double* shaped_inverse_scale
        double* shaped_epsilon
        double* shaped_signal_sd

    ctypedef struct TailValues:
        double tail
        double density
        double slope

    ctypedef struct FilterForecasts:
        double* weight
        double* mean
        double* signal_var
        double* noise_scale
        double* epsilon

    struct Bank:
        pass

    ctypedef struct SimdTable:
        const char* name
        # c/noise.h, by way of c/simd_table.c
        Evidence (*evidence)(const Normals* normals, double d, double v, double epsilon) noexcept nogil
        Evidence (*flexible_evidence)(
            const FlexibleNormals* normals, const double* share, double d, double v
        ) noexcept nogil
        # c/mixing.h
        void (*bank_forecast)(Bank* bank, double* mean, double* var) noexcept nogil
        void (*bank_describe)(const Bank* bank, double base, const FilterForecasts* out) noexcept nogil
        void (*bank_learn)(Bank* bank, double y) noexcept nogil
        # c/simd_table.c
        void (*inverse_roots)(double* a, ptrdiff_t n) noexcept nogil
        # c/tails.h
        TailValues (*mixture_tail)(const MixtureLanes* mix, double y, double side) noexcept nogil
        # c/impulse.h
        void (*follow_impulse)(
            ptrdiff_t m, ptrdiff_t n_lags, const ptrdiff_t* lags, const double* weights, ptrdiff_t n_steps,
            double bound, double* response, double* late, double* early
        ) noexcept nogil
        # of vectors: c/lanes.h
        double (*dot)(ptrdiff_t n, const double* a, const double* b) noexcept nogil
        double (*max_abs)(ptrdiff_t n, const double* a) noexcept nogil
        # of packed lower triangles: c/triangle.h
        void (*update)(ptrdiff_t n, const Update* by, double* A) noexcept nogil
        void (*multiply)(
            ptrdiff_t n, const Update* by, double* A, const double* x, double* out, double* diagonal
        ) noexcept nogil
        # of weights: c/weights.h
        Projection (*project)(
            ptrdiff_t n, const double* m, const Update* by, double* S, const double* x, double* p, double* diagonal
        ) noexcept nogil
        double (*condition)(
            ptrdiff_t n, const Conditioning* by, const double* x, double* p, double* diagonal, double* m
        ) noexcept nogil
        double (*move_gradient)(
            ptrdiff_t n, const GradientMove* by, const double* x, const double* p, const double* v, double* g,
            double* a, double* gradient
        ) noexcept nogil
        # c/functions.h, for tests
        void (*apply)(int function, const double* a, double* out, ptrdiff_t n) noexcept nogil


cdef const SimdTable* SIMD
