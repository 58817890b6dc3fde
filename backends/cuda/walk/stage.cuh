/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Copies of 16 bytes from global to shared memory. Devices of compute capability 8.0 on have them
 * arrive by the time of stage_wait(), and no register waits for them. */
#ifndef NDOCK_CUDA_STAGE_CUH
#define NDOCK_CUDA_STAGE_CUH
#include <stdint.h>

/* V has 16 bytes. */
template <class V> static __device__ __forceinline__ void stage_copy(V *to, const V *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
#else
    *to = *from;
#endif
}
/* The same of 4, 8 or 16 bytes. */
template <class V> static __device__ __forceinline__ void stage_copy_any(V *to, const V *from)
{
#if __CUDA_ARCH__ >= 800
    static_assert(sizeof(V) == 4 || sizeof(V) == 8 || sizeof(V) == 16,
                  "what the instruction copies");
    if constexpr (sizeof(V) == 16)
        stage_copy(to, from);
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(
                         (uint32_t)__cvta_generic_to_shared(to)),
                     "l"(from), "n"(sizeof(V))
                     : "memory");
#else
    *to = *from;
#endif
}
/* The same, when what lies beside will be wanted soon, by whichever processor: memory is read in pieces
 * of 128 bytes, and the others find theirs in the cache. */
template <class V> static __device__ __forceinline__ void stage_copy_beside(V *to, const V *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(to)),
                 "l"(from)
                 : "memory");
#else
    *to = *from;
#endif
}
/* Every copy of this thread has arrived. */
static __device__ __forceinline__ void stage_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
/* The copies since the last call are a group. */
static __device__ __forceinline__ void stage_group()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/* All groups of this thread but the last N have arrived. */
template <int N> static __device__ __forceinline__ void stage_wait_but()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}
#endif
