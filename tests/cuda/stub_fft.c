/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of backends/cuda/fft/fft.cu as the libcuda.so.1 that only pretends runs them, on
 * memory of the host (STUB_CUDA_MEMORY=1): what moves elements and what makes pairs; and who runs
 * those of linear algebra (stub_linalg.cc), pools (stub_pool.cc), convolutions (stub_conv.cc),
 * neural operations (stub_neural.cc) and order statistics (stub_order.cc). All other kernels do nothing. */
#include <cuda.h>
#include <complex.h>
#include <stdlib.h>
#include <string.h>
#include "fft/fft.h"

#pragma GCC visibility push(default)

/* Kernels of other files: what a name's number is there, or -1; and the launch, 0 for success. */
#define FAMILY(name)                                                                          \
    int stub_##name##_kernel(const char *kernel);                                             \
    int stub_##name##_launch(int i, const void *params, unsigned blocks_x, unsigned blocks_y, \
                             unsigned threads, unsigned shared);
FAMILY(linalg)
FAMILY(pool)
FAMILY(conv)
FAMILY(neural)
FAMILY(order)
#undef FAMILY
enum { FAMILIES = 5, PLACES = 1000 }; /* those of family k begin at (k + 1) * PLACES */
static const struct {
    int (*kernel)(const char *);
    int (*launch)(int, const void *, unsigned, unsigned, unsigned, unsigned);
} families[FAMILIES] = {{stub_linalg_kernel, stub_linalg_launch},
                        {stub_pool_kernel, stub_pool_launch},
                        {stub_conv_kernel, stub_conv_launch},
                        {stub_neural_kernel, stub_neural_launch},
                        {stub_order_kernel, stub_order_launch}};

enum { MOVE_F32, MOVE_F64, MOVE_C64, MOVE_C128, PAIRS_C64, PAIRS_C128, KERNELS };
static const char *const names[KERNELS] = {"fft_move_f32",  "fft_move_f64",  "fft_move_c64",
                                           "fft_move_c128", "fft_pairs_c64", "fft_pairs_c128"};

/* The function of that name; NULL: of another one, which does nothing. */
CUfunction stub_kernel(const char *name);
CUfunction stub_kernel(const char *name)
{
    for (int i = 0; i < KERNELS; i++)
        if (strcmp(name, names[i]) == 0)
            return (CUfunction)(void *)(uintptr_t)(i + 1);
    for (int k = 0; k < FAMILIES; k++) {
        const int i = families[k].kernel(name);
        if (i >= 0)
            return (CUfunction)(void *)(uintptr_t)((k + 1) * PLACES + i + 1);
    }
    return NULL;
}

static void move_element(int kind, char *to, const char *from, double scale, int conjugate)
{
    const double other = conjugate ? -scale : scale;
    const int single = kind == MOVE_F32 || kind == MOVE_C64;
    const int parts = kind == MOVE_C64 || kind == MOVE_C128 ? 2 : 1;
    for (int i = 0; i < parts; i++) {
        if (single)
            ((float *)to)[i] = (float)(((const float *)from)[i] * (i ? other : scale));
        else
            ((double *)to)[i] = ((const double *)from)[i] * (i ? other : scale);
    }
}

/* As lines.cuh has it: columns, and rows numbered by the other dimensions. */
static void move(int kind, const line_rows *p)
{
    double scale;
    memcpy(&scale, p->pattern, sizeof scale);
    for (uint32_t row = 0; row < p->rows; row++) {
        uint32_t left = row;
        int64_t to = 0, from = 0;
        for (int d = 0; d < p->outer.walk.ndim; d++) {
            const uint32_t n = p->outer.walk.extent[d].value;
            to += left % n * p->outer.out[d];
            from += left % n * p->outer.in[d];
            left /= n;
        }
        for (uint32_t column = 0; column < p->columns; column++)
            move_element(
                kind, (char *)(uintptr_t)(p->dst + (uint64_t)(to + column * p->dst_step)),
                (const char *)(uintptr_t)(p->src + (uint64_t)(from + column * p->src_step)), scale,
                p->kind);
    }
}

static double complex get(const fft_pairs *p, int single, uint64_t i)
{
    return single ? (double complex)((float complex *)(uintptr_t)p->at)[i]
                  : ((double complex *)(uintptr_t)p->at)[i];
}

static void put(const fft_pairs *p, int single, uint64_t i, double complex x)
{
    if (single)
        ((float complex *)(uintptr_t)p->at)[i] = (float complex)x;
    else
        ((double complex *)(uintptr_t)p->at)[i] = x;
}

/* Half of the sum with the conjugate of the element at the negated indices, from a copy. */
static void make_pairs(const fft_pairs *p, int single)
{
    const uint64_t rows = p->n1 * p->n2;
    double complex *x = malloc((size_t)rows * sizeof *x);
    for (uint64_t b = 0; x && b < p->batch; b++)
        for (int last = 0; last <= p->last; last++) {
            const uint64_t column = last ? p->m - 1 : 0;
            for (uint64_t r = 0; r < rows; r++)
                x[r] = get(p, single, (b * rows + r) * p->m + column);
            for (uint64_t r = 0; r < rows; r++) {
                const uint64_t i = (p->n1 - r / p->n2) % p->n1, j = (p->n2 - r % p->n2) % p->n2;
                put(p, single, (b * rows + r) * p->m + column, (x[r] + conj(x[i * p->n2 + j])) / 2);
            }
        }
    free(x);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned bx, unsigned by, unsigned bz, unsigned tx,
                                unsigned ty, unsigned tz, unsigned shared, CUstream s, void **args,
                                void **extra)
{
    const uintptr_t number = (uintptr_t)(void *)f; /* or an address, of what does nothing */
    const int kind = number < (FAMILIES + 1) * PLACES ? (int)number - 1 : -1;
    (void)bz, (void)ty, (void)tz, (void)s, (void)extra;
    if (!getenv("STUB_CUDA_WORKS"))
        return CUDA_ERROR_UNKNOWN;
    if (bx == 0 || tx == 0)
        return CUDA_ERROR_INVALID_VALUE;
    const int family = kind / PLACES - 1;
    if (getenv("STUB_CUDA_MEMORY") && kind >= PLACES)
        return families[family].launch(kind % PLACES, args[0], bx, by, tx, shared) == 0
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_LAUNCH_FAILED;
    if (!getenv("STUB_CUDA_MEMORY") || kind < 0 || kind >= KERNELS)
        return CUDA_SUCCESS;
    if (kind < PAIRS_C64)
        move(kind, args[0]);
    else
        make_pairs(args[0], kind == PAIRS_C64);
    return CUDA_SUCCESS;
}
