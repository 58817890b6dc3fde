/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a warpgroup (four warps) of compute capability 9.0 multiplies: 64 rows of f16 or bf16 by 16
 * of N columns, whose right operand lies in shared memory and is read while threads go on, and the
 * barriers of shared memory that warpgroups wait at. Layouts are those of PTX ISA, wgmma: of a
 * result, lane l of warp w has columns 2*(l%4) and the next of rows 16*w + l/4 and 8 below, as of
 * mma.m16n8k16; wide_tile.cuh says how operands lie in shared memory. */
#ifndef NDOCK_CUDA_WGMMA_CUH
#define NDOCK_CUDA_WGMMA_CUH
#include "neural/mma.cuh"

/* Before products of registers that threads have written. */
MMA_FN void wgmma_begin(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
MMA_FN void wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/* Until all but the latest N groups of products are there. */
template <int N> MMA_FN void wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
/* The compiler takes results for ready as soon as products begin: none of them is used before, and
 * changed after, this. */
template <int N> MMA_FN void wgmma_settle(float (&c)[N][4])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])::"memory");
}

/* c = a b, or c += a b where `add`: both in shared memory, rows of both are slabs' rows (K-major).
 * Or c += a b, a in registers as of mma.m16n8k16, b's slabs have its columns (MN-major). Or as the
 * first, but turned: a's slabs have its columns as rows, and so have b's. */
template <class T, int N> struct wgmma;
#define WGMMA_4(c, i) "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
#define WGMMA_16(c, i) WGMMA_4(c, i), WGMMA_4(c, i + 1), WGMMA_4(c, i + 2), WGMMA_4(c, i + 3)
#define WGMMA_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define WGMMA_NAMES_32 \
    WGMMA_NAMES_16     \
    ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WGMMA_NAMES_40 WGMMA_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define WGMMA_NAMES_48 WGMMA_NAMES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define WGMMA_NAMES_64 \
    WGMMA_NAMES_48     \
    ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WGMMA_NAMES_128                                                                     \
    WGMMA_NAMES_64                                                                          \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "    \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, " \
    "%97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, "     \
    "%111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, "  \
    "%125, %126, %127"
#define WGMMA_OUT_16(c) WGMMA_16(c, 0)
#define WGMMA_OUT_32(c) WGMMA_16(c, 0), WGMMA_16(c, 4)
#define WGMMA_OUT_40(c) WGMMA_OUT_32(c), WGMMA_4(c, 8), WGMMA_4(c, 9)
#define WGMMA_OUT_48(c) WGMMA_OUT_32(c), WGMMA_16(c, 8)
#define WGMMA_OUT_64(c) WGMMA_OUT_48(c), WGMMA_16(c, 12)
#define WGMMA_OUT_128(c) \
    WGMMA_OUT_64(c), WGMMA_16(c, 16), WGMMA_16(c, 20), WGMMA_16(c, 24), WGMMA_16(c, 28)

/* N columns, REGS = N/2 registers of a result; the names of the operands after these. */
#define WGMMA(type, name, N, REGS, o0, o1, o2, o3, o4)                                            \
    template <> struct wgmma<type, N> {                                                           \
        static __device__ __forceinline__ void shared(float (&c)[N / 8][4], uint64_t a,           \
                                                      uint64_t b, bool add)                       \
        {                                                                                         \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " o2 ", 0;\n"                          \
                         "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." name "." name          \
                         " {" WGMMA_NAMES_##REGS "}, " o0 ", " o1 ", p, 1, 1, 0, 0;\n}"           \
                         : WGMMA_OUT_##REGS(c)                                                    \
                         : "l"(a), "l"(b), "r"((int)add));                                        \
        }                                                                                         \
        static __device__ __forceinline__ void held(float (&c)[N / 8][4], const uint32_t (&a)[4], \
                                                    uint64_t b)                                   \
        {                                                                                         \
            asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." name "." name          \
                         " {" WGMMA_NAMES_##REGS "}, {" o0 ", " o1 ", " o2 ", " o3 "}, " o4       \
                                                 ", 1, 1, 1, 1;"                                  \
                         : WGMMA_OUT_##REGS(c)                                                    \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                   \
        }                                                                                         \
        static __device__ __forceinline__ void turned(float (&c)[N / 8][4], uint64_t a,           \
                                                      uint64_t b, bool add)                       \
        {                                                                                         \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " o2 ", 0;\n"                          \
                         "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." name "." name          \
                         " {" WGMMA_NAMES_##REGS "}, " o0 ", " o1 ", p, 1, 1, 1, 1;\n}"           \
                         : WGMMA_OUT_##REGS(c)                                                    \
                         : "l"(a), "l"(b), "r"((int)add));                                        \
        }                                                                                         \
    };
#define WGMMA_BOTH(...) WGMMA(__half, "f16", __VA_ARGS__) WGMMA(__nv_bfloat16, "bf16", __VA_ARGS__)
WGMMA_BOTH(32, 16, "%16", "%17", "%18", "%19", "%20")
WGMMA_BOTH(64, 32, "%32", "%33", "%34", "%35", "%36")
WGMMA_BOTH(80, 40, "%40", "%41", "%42", "%43", "%44")
WGMMA_BOTH(96, 48, "%48", "%49", "%50", "%51", "%52")
WGMMA_BOTH(128, 64, "%64", "%65", "%66", "%67", "%68")
WGMMA_BOTH(256, 128, "%128", "%129", "%130", "%131", "%132")

/* TF32, 64 rows by 8 of N columns: c = a b, or c += a b where `add`; a in registers as of mma.m16n8k8, rows of b's slabs
 * are its columns (K-major). */
template <int N> struct wgmma_tf32;
#define WGMMA_TF32(N, REGS, o0, o1, o2, o3, o4, o5)                                                \
    template <> struct wgmma_tf32<N> {                                                             \
        static __device__ __forceinline__ void held(float (&c)[N / 8][4], const uint32_t (&a)[4],  \
                                                    uint64_t b, bool add)                          \
        {                                                                                          \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " o5 ", 0;\n"                           \
                         "wgmma.mma_async.sync.aligned.m64n" #N                                    \
                         "k8.f32.tf32.tf32 {" WGMMA_NAMES_##REGS "}, {" o0 ", " o1 ", " o2 ", " o3 \
                                                                 "}, " o4 ", p, 1, 1;\n}"          \
                         : WGMMA_OUT_##REGS(c)                                                     \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));     \
        }                                                                                          \
    };
WGMMA_TF32(32, 16, "%16", "%17", "%18", "%19", "%20", "%21")
WGMMA_TF32(64, 32, "%32", "%33", "%34", "%35", "%36", "%37")
WGMMA_TF32(128, 64, "%64", "%65", "%66", "%67", "%68", "%69")

/* ---- between warpgroups ---- */

/* What this thread wrote to shared memory, or saw a gate open for, is seen by products that begin
 * later. */
MMA_FN void wgmma_publish(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/* Registers of the threads of a warpgroup, from now on. */
template <int N> MMA_FN void wgmma_take_registers(void)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
template <int N> MMA_FN void wgmma_give_registers(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
/* A barrier of shared memory: its phase ends with so many arrivals. */
MMA_FN void wgmma_gate_set(mma_address gate, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(gate), "r"(arrivals) : "memory");
}
MMA_FN void wgmma_gate_arrive(mma_address gate)
{
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared::cta.b64 state, [%0];\n}" ::"r"(gate)
                 : "memory");
}
/* The same when all copies that this thread began are there; the thread goes on meanwhile. */
MMA_FN void wgmma_gate_arrive_copied(mma_address gate)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(gate) : "memory");
}
/* Until the phase of this parity has ended; the first has parity 0. */
MMA_FN void wgmma_gate_wait(mma_address gate, int parity)
{
    int done;
    do {
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.b32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(gate), "r"(parity)
                     : "memory");
    } while (!done);
}
/* Named barriers of the block, for so many threads. */
template <int THREADS> MMA_FN void wgmma_turn_wait(int name)
{
    mma_meet<THREADS>(name);
}
template <int THREADS> MMA_FN void wgmma_turn_give(int name)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(name), "n"(THREADS) : "memory");
}

/* ---- what a thread hands to global memory while it goes on ---- */

/* Numbers from shared memory in place of those there, or added to them; both multiples of 16 bytes. */
MMA_FN void wgmma_part_put(float *to, mma_address from, uint32_t nbytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
                 "r"(nbytes)
                 : "memory");
}
MMA_FN void wgmma_part_add(float *to, mma_address from, uint32_t nbytes)
{
    asm volatile(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
        "r"(from), "r"(nbytes)
        : "memory");
}
/* Until all of these have been read; until they are there. */
MMA_FN void wgmma_parts_read(void)
{
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
}
MMA_FN void wgmma_parts_wait(void)
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
/* Whose turn it is, of blocks that write to one place: until it is number `turn`'s. */
MMA_FN void wgmma_turn_await(const uint32_t *whose, uint32_t turn)
{
    uint32_t is;
    do
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(is) : "l"(whose) : "memory");
    while (is != turn);
    asm volatile("fence.proxy.async;" ::: "memory");
}
MMA_FN void wgmma_turn_pass(uint32_t *whose, uint32_t to)
{
    asm volatile("fence.proxy.async;\nst.release.gpu.global.u32 [%0], %1;" ::"l"(whose), "r"(to)
                 : "memory");
}
/* Four pieces of 8x8 to shared memory; lane l names row l%8 of piece l/8. */
MMA_FN void wgmma_put_pieces(mma_address at, const uint32_t (&r)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

#endif
