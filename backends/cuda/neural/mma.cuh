/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What tensor cores need: products of 16x16 by 16x8 pieces of f16 or bf16, whose parts lie in the
 * registers of a warp, pieces from shared memory, and copies to it that arrive later. Layouts are
 * those of PTX ISA, mma.m16n8k16: of a result, lane l has columns 2*(l%4) and the next of rows l/4
 * and l/4 + 8. */
#ifndef NDOCK_CUDA_MMA_CUH
#define NDOCK_CUDA_MMA_CUH
#include "math/types.cuh"

#define MMA_FN static __device__ __forceinline__
#define MMA_SHARED(name) extern __shared__ __align__(128) unsigned char name[]

/* Hides from the compiler where an integer came from, so that what follows from it is not computed
 * ahead. */
#define MMA_OPAQUE(x) asm volatile("" : "+r"(x))

typedef uint32_t mma_address; /* of shared memory */

MMA_FN mma_address mma_address_of(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* Four pieces of 8x8; lane l names row l%8 of piece l/8. */
MMA_FN void mma_load(uint32_t (&r)[4], mma_address at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
}
/* The same of their transposes. */
MMA_FN void mma_load_turned(uint32_t (&r)[4], mma_address at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
}

template <class T>
MMA_FN void mma_multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
template <>
__device__ __forceinline__ void mma_multiply<__half>(float (&c)[4], const uint32_t (&a)[4],
                                                     uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ __forceinline__ void mma_multiply<__nv_bfloat16>(float (&c)[4], const uint32_t (&a)[4],
                                                            uint32_t b0, uint32_t b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* c = a b, and c += a b, of f32 whose bits below TF32's are 0: pieces of 16x8 and 8x8. Lane l has columns l%4 of rows l/4
 * and l/4 + 8 of the left one, then columns l%4 + 4; of the right one rows l%4 and l%4 + 4 of column l/4. */
#define MMA_TF32(c, add)                                                                      \
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, " \
    "{%8, %9}, " add ";" : c(x[0]),                                                           \
                           c(x[1]),                                                           \
                           c(x[2]),                                                           \
                           c(x[3])                                                            \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)
MMA_FN void mma_begin_tf32(float (&x)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm(MMA_TF32("=f", "{%10, %10, %10, %10}"), "f"(0.0f));
}
MMA_FN void mma_multiply_tf32(float (&x)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    asm(MMA_TF32("+f", "{%0, %1, %2, %3}"));
}
#undef MMA_TF32

/* x in two parts for them: rounded to TF32, and what is left, of which tensor cores read the upper bits: NaN stays NaN, but
 * the rest of an infinity, and of a number that rounds to one, is no number. */
MMA_FN void mma_split_tf32(float x, uint32_t *high, uint32_t *low)
{
    *high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
    *low = __float_as_uint(x - __uint_as_float(*high));
}

/* Two numbers as one register, the first in its lower half. */
template <class T> MMA_FN uint32_t mma_pack(float low, float high);
template <> __device__ __forceinline__ uint32_t mma_pack<__half>(float low, float high)
{
    uint32_t r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}
template <> __device__ __forceinline__ uint32_t mma_pack<__nv_bfloat16>(float low, float high)
{
    uint32_t r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

/* 16 bytes to shared memory, zeros where they are not inside; they arrive by mma_wait(). */
MMA_FN void mma_fetch(mma_address to, const void *from, bool inside)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(inside ? 16 : 0)
                 : "memory");
}
MMA_FN void mma_fetch_word(mma_address to, const void *from, bool inside)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from),
                 "r"(inside ? 4 : 0)
                 : "memory");
}
MMA_FN float mma_word(mma_address at)
{
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at) : "memory");
    return x;
}
MMA_FN void mma_pair(float (&x)[2], mma_address at)
{
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x[0]), "=f"(x[1]) : "r"(at) : "memory");
}
MMA_FN void mma_four(float (&x)[4], mma_address at)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3])
                 : "r"(at)
                 : "memory");
}
MMA_FN void mma_store(mma_address to, const uint32_t (&x)[4])
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x[0]), "r"(x[1]),
                 "r"(x[2]), "r"(x[3])
                 : "memory");
}
MMA_FN void mma_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/* Until all but the latest N groups of this thread's copies are there. */
template <int N> MMA_FN void mma_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* A named barrier of the block, for so many of its threads. */
template <int THREADS> MMA_FN void mma_meet(int name)
{
    asm volatile("bar.sync %0, %1;" ::"r"(name), "n"(THREADS) : "memory");
}

/* Whose turn it is, of blocks that write to one place: a thread waits until it is number `turn`'s, and the others of its block
 * for that thread; it passes the turn on when they have met after what they wrote. */
MMA_FN void mma_turn_await(const uint32_t *whose, uint32_t turn)
{
    uint32_t is;
    do
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(is) : "l"(whose) : "memory");
    while (is != turn);
}
MMA_FN void mma_turn_pass(uint32_t *whose, uint32_t to)
{
    __threadfence();
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(whose), "r"(to) : "memory");
}

/* 2^x within two units of the last place; 0 below the normal numbers. */
MMA_FN float mma_exp2(float x)
{
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
/* 1/x within one unit of the last place, of normal numbers. */
MMA_FN float mma_reciprocal(float x)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

#endif
