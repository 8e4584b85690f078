/* The layout of a bank of filters; state/bank_table.py documents each name.

   Weights follow LANES random walks, one in each lane: [weight][walk], [element][walk]; elements of a covariance are its
   lower triangle, or its diagonal. A filter is a walk with one of the noise models: filter k has walk k % LANES, and a
   quantity that belongs to filters stands as [noise model][walk]. */

#ifndef ADABYPASS_BANK_H
#define ADABYPASS_BANK_H

#include "simd_table.h"

#include "bank_table.h"     /* written by the build */

#define MIN_SHARE 1e-300       /* of a walk in the mixture */
#define MIN_DENSITY 1e-290     /* of a filter, over the largest: where all of a walk's are less, its shares decide */

_Static_assert(sizeof(Bank) <= OPENED * sizeof(double), "a step has too little room for a bank");

#endif
