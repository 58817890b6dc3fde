/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels that cuda_launch_early queues: they may begin before the kernel before them has ended. */
#ifndef NDOCK_CUDA_EARLIER_CUH
#define NDOCK_CUDA_EARLIER_CUH

/* Called by every thread before it touches memory: waits until what was queued before has ended and
 * its writes are seen, then lets the next kernel begin. Each kernel that is queued so waits, so the
 * end of one means the end of all before it. */
static __device__ __forceinline__ void cuda_after_earlier(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#endif
