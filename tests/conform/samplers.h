/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One element of a distribution from the blocks at its place, worked out anew for the conformance
 * suite; param as the operands of the op. */
#ifndef NDOCK_TESTS_CONFORM_SAMPLERS_H
#define NDOCK_TESTS_CONFORM_SAMPLERS_H
#include "tests/conform/generator.h"

typedef struct {
    unsigned __int128 counter;
    uint64_t key;
} place;

long double sampler_gamma(const place *at, const double *param);
long double sampler_beta(const place *at, const double *param);
long double sampler_truncated(const place *at, const double *param);
long double sampler_poisson(const place *at, const double *param);
long double sampler_binomial(const place *at, const double *param);
long double sampler_geometric(const place *at, const double *param);
long double sampler_hypergeometric(const place *at, const double *param);
/* log of a gamma variate of shape a whose first block is t. */
long double sampler_log_gamma(const place *at, long double a, uint32_t t);

#endif
