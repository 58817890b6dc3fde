/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Radix sorts of the CUB library. Compiled as an object with its own kernels, since CUB launches
 * them through the runtime library. */
#include "sort/cub.h"
#include <ostream>
#include <pthread.h>
/* CUB includes <iostream> for nothing that is used here; before GCC 13 every file that does wants
 * the C++ library at run time. */
#define _GLIBCXX_IOSTREAM 1
#include <cub/device/device_radix_sort.cuh>
/* Before CUB 2.8.2, of CUDA 12.9, the pass of a radix sort has another name and other parameters. */
#define HAS_LEADING (CUB_VERSION >= 200802)
#if HAS_LEADING
#include "sort/leading_sort.cuh"
#endif

template <class K, class N>
static cudaError_t sort_keys(void *temp, size_t *temp_nbytes, cuda_cub_buffers *b, uint64_t n,
                             int bits, cudaStream_t s)
{
    int from = b->selector;
    if (b->keep) {
        b->selector = !from;
        return cub::DeviceRadixSort::SortKeys(temp, *temp_nbytes, (const K *)b->keys[from],
                                              (K *)b->keys[!from], (N)n, 0, bits, s);
    }
    cub::DoubleBuffer<K> keys((K *)b->keys[from], (K *)b->keys[!from]);
    cudaError_t r = cub::DeviceRadixSort::SortKeys(temp, *temp_nbytes, keys, (N)n, 0, bits, s);
    b->selector = from ^ keys.selector;
    return r;
}

/* Keys of 64 bits: many of them by their leading digits. */
template <class K>
static cudaError_t sort_wide(void *temp, size_t *temp_nbytes, cuda_cub_buffers *b, uint64_t n,
                             int bits, cudaStream_t s)
{
#if HAS_LEADING
    const int from = b->selector;
    const K *in = (const K *)b->keys[from];
    K *out = (K *)b->keys[!from];
    if (bits == 64 && n >= LEADING_LEAST && n <= LEADING_MOST_KEYS) {
        if (!temp) {
            *temp_nbytes = leading_temp_nbytes(n, sizeof(K), b->keep);
            return cudaSuccess;
        }
        b->selector = b->keep ? !from : from;
        return leading_sort(temp, in, out, b->keep ? nullptr : (K *)b->keys[from], n,
                            b->keep ? nullptr : &b->moves, s);
    }
#endif
    return sort_keys<K, uint32_t>(temp, temp_nbytes, b, n, bits, s);
}

template <class K, class V, class N>
static cudaError_t sort_pairs(void *temp, size_t *temp_nbytes, cuda_cub_buffers *b, uint64_t n,
                              int bits, cudaStream_t s)
{
    int from = b->selector;
    cub::DoubleBuffer<K> keys((K *)b->keys[from], (K *)b->keys[!from]);
    cub::DoubleBuffer<V> values((V *)b->values[from], (V *)b->values[!from]);
    cudaError_t r =
        cub::DeviceRadixSort::SortPairs(temp, *temp_nbytes, keys, values, (N)n, 0, bits, s);
    b->selector = from ^ keys.selector;
    return r;
}

static cudaError_t sort_as(cuda_cub_kind kind, void *temp, size_t *temp_nbytes, cuda_cub_buffers *b,
                           uint64_t n, int bits, cudaStream_t s)
{
    switch (kind) {
    case CUB_KEYS_F32:
        return sort_keys<float, uint32_t>(temp, temp_nbytes, b, n, bits, s);
    case CUB_KEYS_I32:
        return sort_keys<int32_t, uint32_t>(temp, temp_nbytes, b, n, bits, s);
    case CUB_KEYS_I64:
        return sort_wide<long long>(temp, temp_nbytes, b, n, bits, s);
    case CUB_KEYS_U32:
        return sort_keys<uint32_t, uint32_t>(temp, temp_nbytes, b, n, bits, s);
    case CUB_KEYS_U64:
        return sort_wide<unsigned long long>(temp, temp_nbytes, b, n, bits, s);
    case CUB_PAIRS_U32:
        return sort_pairs<uint32_t, uint32_t, uint32_t>(temp, temp_nbytes, b, n, bits, s);
    case CUB_PAIRS_U64:
        return sort_pairs<uint64_t, uint32_t, uint32_t>(temp, temp_nbytes, b, n, bits, s);
    default:
        return sort_pairs<uint64_t, uint64_t, uint64_t>(temp, temp_nbytes, b, n, bits, s);
    }
}

/* Static variables of CUB are made without a guard, which would want the C++ library; so one thread
 * at a time. */
extern "C" int cuda_cub_sort(cuda_cub_kind kind, void *temp, size_t *temp_nbytes,
                             cuda_cub_buffers *b, uint64_t n, int bits, void *stream)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    cudaError_t r = sort_as(kind, temp, temp_nbytes, b, n, bits, (cudaStream_t)stream);
    pthread_mutex_unlock(&lock);
    return (int)r;
}
