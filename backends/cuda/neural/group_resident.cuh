/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Norms whose rows lie dense in a few pieces, with memory read once: a cluster of blocks holds a row in its
 * shared memory, where bulk copies bring it. */
#ifndef NDOCK_CUDA_GROUP_RESIDENT_CUH
#define NDOCK_CUDA_GROUP_RESIDENT_CUH
#include "neural/group.cuh"
#include "neural/row_sum.cuh"

#if __CUDA_ARCH__ >= 900
NEURAL_FN uint32_t resident_at(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}
NEURAL_FN void resident_meet()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/* Leaves x at the same place of another block's shared memory. */
NEURAL_FN void resident_put(double *here, uint32_t block, double x)
{
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(resident_at(here)), "r"(block));
    asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(there), "d"(x) : "memory");
}
NEURAL_FN void resident_copy(void *to, const void *from, uint32_t nbytes, uint64_t *gate)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(resident_at(to)),
                 "l"(from), "r"(nbytes), "r"(resident_at(gate))
                 : "memory");
}
NEURAL_FN void resident_wait(uint64_t *gate, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@!p bra again;\n"
                 "}" ::"r"(resident_at(gate)),
                 "r"(parity)
                 : "memory");
}

/* What the blocks of a cluster have beside their shares; sums of rows take turns in `from`. */
struct resident_post {
    uint64_t arrived; /* a barrier that counts bytes */
    double from[2][GROUP_CLUSTER][2];
};

/* A block's share of the cluster's rows: vectors first to first + n - 1 of each. */
template <class T, int CLUSTER> struct resident {
    typedef typename neural_computed<T>::type C;
    enum { V = 16 / sizeof(T) };
    typedef neural_raw<T, V> vector;
    const group_params &p;
    vector *const memory;
    resident_post &post;
    const int rank, first, n;
    double shift;   /* of the row */
    unsigned joins; /* so far */

    __device__ __forceinline__ resident(const group_params &params, void *shared_memory,
                                        resident_post &shared)
        : p(params), memory((vector *)shared_memory), post(shared),
          rank((int)(blockIdx.x % CLUSTER)), first(rank * (int)p.share),
          n(min((int)p.share, (int)(p.per_row * p.items) - first)), shift(0)
    {
    }
    __device__ __forceinline__ group_at place(int64_t row) const
    {
        return group_place(p.dim, p.n_cell, (uint64_t)(row * p.per_row));
    }
    /* f(vector j of the share, how many follow in the same piece of memory, where that is) */
    template <class F> __device__ __forceinline__ void pieces(F f) const
    {
        const group_dim &in = p.dim[p.n_cell], &outer = p.dim[p.n_cell + 1];
        const int run = p.n_item == 1 ? (int)(p.per_row * p.items) : (int)in.at.extent;
        for (int j = 0; j < n;) {
            const int number = (first + j) / run, at = first + j - number * run;
            const int many = min(run - at, n - j);
            group_at from = {at * in.at.in, at * in.at.out, 0, 0, 0};
            if (p.n_item == 2) {
                from.x += number * outer.at.in;
                from.out += number * outer.at.out;
            }
            f(j, many, from);
            j += many;
        }
    }
    /* One thread lets a row come. */
    __device__ __forceinline__ void fetch(int64_t row) const
    {
        const group_at base = place(row);
        uint64_t *const gate = &post.arrived;
        asm volatile(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(resident_at(gate)),
            "r"(n * 16)
            : "memory");
        pieces([&](int j, int many, const group_at &at) {
            resident_copy(memory + j, (const T *)p.x + base.x + at.x, (uint32_t)many * 16, gate);
        });
    }
    __device__ __forceinline__ void begin(int64_t row)
    {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(resident_at(&post.arrived))
                         : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            if (row < p.cells / p.per_row)
                fetch(row);
        }
        if (CLUSTER > 1)
            resident_meet();
        else
            __syncthreads();
    }
    __device__ __forceinline__ double first_of(int64_t row) const
    {
        return (double)neural_widen(((const T *)p.x)[place(row).x]);
    }
    __device__ __forceinline__ C weight(uint64_t from, int64_t at, C none) const
    {
        return from ? neural_widen(((const T *)from)[at]) : none;
    }
    /* The sums of the share, in every thread. */
    __device__ __forceinline__ void sum(double (&all)[2])
    {
        group_sums<C, false> sums;
#pragma unroll 4
        for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) {
            C u[V], none[V] = {};
            neural_widen(memory[i], u);
            sums.template take<T, V>(u, none, shift);
        }
        all[0] = sums.s[0];
        all[1] = sums.s[1];
        row_join<2, false>(all, joins++ & 1);
    }
    /* The sums of all blocks, in every thread of theirs, in order. */
    __device__ __forceinline__ void join(int turn, double (&all)[2]) const
    {
        if (CLUSTER == 1)
            return;
        if (threadIdx.x < CLUSTER)
            for (int k = 0; k < 2; k++)
                resident_put(&post.from[turn][rank][k], threadIdx.x, all[k]);
        resident_meet();
        for (int k = 0; k < 2; k++)
            all[k] = 0;
#pragma unroll 2
        for (int b = 0; b < CLUSTER; b++)
#pragma unroll
            for (int k = 0; k < 2; k++)
                all[k] += post.from[turn][b][k];
    }
    /* What follows from a row's sums; one thread of the cluster leaves what is asked for. */
    __device__ __forceinline__ void know(const double (&all)[2], int64_t row,
                                         double (&known)[GROUP_ROW]) const
    {
        const double d = all[0] * p.inverse;
        double variance = __fma_rn(-d, d, all[1] * p.inverse);
        variance = variance > 0 || !(variance == variance) ? variance : 0.0;
        const double factor = held_rsqrt(variance + p.eps);
        known[GROUP_MEAN] = shift + d;
        known[GROUP_FACTOR] = factor;
        if (rank || threadIdx.x || !p.mean)
            return;
        ((C *)p.mean)[row * p.mean_step] = (C)known[GROUP_MEAN];
        ((C *)p.variance)[row * p.variance_step] = (C)variance;
    }
    /* f of vectors from to end - 1 of the share, which lie together in the result. */
    template <class F>
    __device__ __forceinline__ void apply_piece(int from, int end, T *to, F f) const
    {
#pragma unroll 4
        for (int i = from + (int)threadIdx.x; i < end; i += (int)blockDim.x) {
            C u[V];
            neural_widen(memory[i], u);
#pragma unroll
            for (int k = 0; k < V; k++)
                u[k] = f(u[k]);
            neural_store<T, V>(to, i - from, u);
        }
    }
    /* Of one cell. Halves have few enough digits for a product of the factor and the weight. */
    __device__ __forceinline__ void apply_cell(int from, int end, T *to,
                                               const double (&known)[GROUP_ROW], C scale,
                                               C bias) const
    {
        const double f = known[GROUP_FACTOR];
        const C high = (C)known[GROUP_MEAN];
        if (sizeof(T) == 2 && f > 1e-15 && f < 1e15) {
            const double low = known[GROUP_MEAN] - (double)high, by = f * (double)scale;
            const C of_x = (C)by, rest = (C)((double)bias - low * by);
            apply_piece(from, end, to, [&](C x) { return neural_fma(x - high, of_x, rest); });
            return;
        }
        const group_affine<C> affine(known);
        apply_piece(from, end, to, [&](C x) {
            return p.bias ? neural_fma(affine.of(x), scale, bias) : affine.of(x) * scale;
        });
    }
    __device__ __forceinline__ void apply(const group_at &base,
                                          const double (&known)[GROUP_ROW]) const
    {
        pieces([&](int j, int many, const group_at &at) {
            for (int end = j + many, from = j; from < end;) {
                const int cell = p.per_row == 1 ? 0 : (first + from) / (int)p.items;
                const int most = p.per_row == 1 ? end : min(end, (cell + 1) * (int)p.items - first);
                const C scale = weight(p.scale, base.scale + cell * p.dim[0].scale, (C)1);
                const C bias = weight(p.bias, base.bias + cell * p.dim[0].bias, (C)0);
                T *const to = (T *)p.out + base.out + at.out + (int64_t)(from - j) * V;
                apply_cell(from, most, to, known, scale, bias);
                from = most;
            }
        });
    }
    __device__ __forceinline__ void run(int64_t row, int64_t step)
    {
        const int64_t rows = p.cells / p.per_row;
        int turn = 0;
        double next = row < rows ? first_of(row) : 0;
        begin(row);
        for (; row < rows; row += step, turn ^= 1) {
            double all[2], known[GROUP_ROW];
            const group_at base = place(row);
            shift = next;
            if (row + step < rows)
                next = first_of(row + step);
            resident_wait(&post.arrived, turn);
            sum(all);
            join(turn, all);
            know(all, row, known);
            apply(base, known);
            __syncthreads(); /* Nobody reads the share any more. */
            if (threadIdx.x == 0 && row + step < rows)
                fetch(row + step);
        }
        if (CLUSTER > 1)
            resident_meet(); /* Nobody's shared memory goes while others write to it. */
    }
};

template <class T, int CLUSTER> NEURAL_FN void group_resident(const group_params &p)
{
    extern __shared__ __align__(128) unsigned char resident_share[];
    __shared__ resident_post post;
    resident<T, CLUSTER> rows(p, resident_share, post);
    rows.run(blockIdx.x / CLUSTER, gridDim.x / CLUSTER);
}

#define GROUP_RESIDENT_KERNEL(CLUSTER)                                                        \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1)                                \
        __launch_bounds__(GROUP_RESIDENT_THREADS, 2)                                          \
            GROUP_NAME(resident##CLUSTER, CUDA_DTYPE)(const __grid_constant__ group_params p) \
    {                                                                                         \
        group_resident<group_element, CLUSTER>(p);                                            \
    }
#define GROUP_RESIDENT       \
    GROUP_RESIDENT_KERNEL(1) \
    GROUP_RESIDENT_KERNEL(2) \
    GROUP_RESIDENT_KERNEL(4) \
    GROUP_RESIDENT_KERNEL(16)
#else
#define GROUP_RESIDENT
#endif

#endif
