/* Which table of functions this machine can run. */

#include "simd_table.h"

#include <string.h>

static int runs_here(const SimdTable* table)
{
#if defined(HAVE_AVX2)
    if (table == &adabypass_avx2) return __builtin_cpu_supports("avx2");
#endif
#if defined(HAVE_AVX512)
    if (table == &adabypass_avx512) return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
#endif
    (void)table;
    return 1;
}

/* from the slowest to the fastest */
static const SimdTable* const TABLES[] = {
    &adabypass_plain,
    &adabypass_baseline,
#if defined(HAVE_AVX2)
    &adabypass_avx2,
#endif
#if defined(HAVE_AVX512)
    &adabypass_avx512,
#endif
};

enum { N_TABLES = sizeof TABLES / sizeof *TABLES };

int adabypass_count(void) { return N_TABLES; }

const SimdTable* adabypass_table(int index)
{
    return index >= 0 && index < N_TABLES && runs_here(TABLES[index]) ? TABLES[index] : NULL;
}
