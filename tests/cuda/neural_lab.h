/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What tests of neural operations on the pretending driver share: random numbers, and how results
 * come back. */
#ifndef NDOCK_TESTS_CUDA_NEURAL_LAB_H
#define NDOCK_TESTS_CUDA_NEURAL_LAB_H
#include <math.h>
#include <ndock/ndock.h>
#include "tests/cuda/stubs.h"

static nd_device *dev, *cpu;
static uint64_t state = 20261125;
static int64_t below(int64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state >> 11) % n;
}

static float *fetch(const nd_array *a, int64_t n)
{
    nd_array *near = NULL, *wide = NULL;
    float *x = calloc((size_t)n + 1, sizeof *x);
    if (nd_to_device(a, cpu, &near) != ND_OK || nd_astype(near, ND_F32, &wide) != ND_OK ||
        nd_to_host(wide, x, (size_t)n * sizeof *x) != ND_OK)
        x[0] = NAN;
    nd_release(near);
    nd_release(wide);
    return x;
}

#endif
