/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Who runs kernels for the libcuda.so.1 that only pretends, on memory of the host
 * (STUB_CUDA_MEMORY=1): those of Fourier transforms (stub_fourier.cc), linear algebra
 * (stub_linalg.cc), pools (stub_pool.cc), convolutions (stub_conv.cc), neural operations
 * (stub_neural.cc), order statistics (stub_order.cc), selection (stub_select.cc) and running sums (stub_scan.cc). All other kernels do nothing. */
#include <cuda.h>
#include <stdint.h>
#include <stdlib.h>

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
FAMILY(fourier)
FAMILY(select)
FAMILY(scan)
FAMILY(conv_wide)
#undef FAMILY
enum { FAMILIES = 9, PLACES = 1000 }; /* those of family k begin at (k + 1) * PLACES */
static const struct {
    int (*kernel)(const char *);
    int (*launch)(int, const void *, unsigned, unsigned, unsigned, unsigned);
} families[FAMILIES] = {
    {stub_linalg_kernel, stub_linalg_launch},      {stub_pool_kernel, stub_pool_launch},
    {stub_conv_kernel, stub_conv_launch},          {stub_neural_kernel, stub_neural_launch},
    {stub_order_kernel, stub_order_launch},        {stub_fourier_kernel, stub_fourier_launch},
    {stub_select_kernel, stub_select_launch},      {stub_scan_kernel, stub_scan_launch},
    {stub_conv_wide_kernel, stub_conv_wide_launch}};

/* The function of that name; NULL: of another one, which does nothing. */
CUfunction stub_kernel(const char *name);
CUfunction stub_kernel(const char *name)
{
    for (int k = 0; k < FAMILIES; k++) {
        const int i = families[k].kernel(name);
        if (i >= 0)
            return (CUfunction)(void *)(uintptr_t)((k + 1) * PLACES + i + 1);
    }
    return NULL;
}

/* Shared memory that a launch may have: 48 KiB, or what was asked for. */
static int shared_of[(FAMILIES + 1) * PLACES];
static int number_of(CUfunction f) /* -1: of what does nothing, and has an address */
{
    const uintptr_t number = (uintptr_t)(void *)f;
    return number < (FAMILIES + 1) * PLACES ? (int)number - 1 : -1;
}
CUresult CUDAAPI cuFuncSetAttribute(CUfunction f, CUfunction_attribute what, int value)
{
    const int kind = number_of(f);
    if (!getenv("STUB_CUDA_WORKS"))
        return CUDA_ERROR_UNKNOWN;
    if (kind >= 0 && what == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        shared_of[kind] = value;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned bx, unsigned by, unsigned bz, unsigned tx,
                                unsigned ty, unsigned tz, unsigned shared, CUstream s, void **args,
                                void **extra)
{
    const int kind = number_of(f);
    (void)bz, (void)ty, (void)tz, (void)s, (void)extra;
    if (!getenv("STUB_CUDA_WORKS"))
        return CUDA_ERROR_UNKNOWN;
    if (bx == 0 || tx == 0 ||
        (kind >= 0 && shared > 48 << 10 && shared > (unsigned)shared_of[kind]))
        return CUDA_ERROR_INVALID_VALUE;
    const int family = kind / PLACES - 1;
    if (getenv("STUB_CUDA_MEMORY") && kind >= PLACES)
        return families[family].launch(kind % PLACES, args[0], bx, by, tx, shared) == 0
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_LAUNCH_FAILED;
    return CUDA_SUCCESS;
}
