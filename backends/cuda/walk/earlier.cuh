/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels that cuda_launch_early queues: they may begin before the kernel before them has ended. */
#ifndef NDOCK_CUDA_EARLIER_CUH
#define NDOCK_CUDA_EARLIER_CUH

/* Called by every thread before it touches memory: waits until what was queued before has ended and
 * its writes are seen. Each kernel that is queued so waits, so the end of one means the end of all
 * before it. The next kernel may begin when this one ends, and needs no leave before: on an H100 that
 * was slower, but for products of few rows of blocks (quant/few.cuh). */
static __device__ __forceinline__ void cuda_after_earlier(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#endif
