/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Norms whose rows lie dense in a few pieces, and their gradients, with memory read once: a cluster of blocks
 * holds a row in its shared memory. Bulk copies bring it, in parts where a block has a processor to itself: while
 * a part is on its way those before it are summed, and a part of the next row comes as soon as that of this row
 * is written. */
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
template <int N> struct resident_post {
    uint64_t arrived[GROUP_GATES]; /* barriers that count the bytes of a part of the share */
    double from[2][GROUP_CLUSTER][N];
};

/* A block's share of the cluster's rows: vectors first to first + n - 1 of each. */
template <class T, bool GRAD, int CLUSTER> struct resident {
    typedef typename neural_computed<T>::type C;
    enum { V = 16 / sizeof(T), N = GRAD ? 4 : 2 };
    typedef neural_raw<T, V> vector;
    const group_params &p;
    vector *const memory; /* of x, then of g */
    resident_post<N> &post;
    const int rank, first, n;
    double shift;   /* of the row */
    unsigned joins; /* so far */

    __device__ __forceinline__ resident(const group_params &params, void *shared_memory,
                                        resident_post<N> &shared)
        : p(params), memory((vector *)shared_memory), post(shared),
          rank((int)(blockIdx.x % CLUSTER)), first(rank * p.share),
          n(min(p.share, (int)(p.per_row * p.items) - first)), shift(0), joins(0)
    {
    }
    __device__ __forceinline__ group_at place(int64_t row) const
    {
        return group_place(p.dim, p.n_cell, (uint64_t)(row * p.per_row));
    }
    /* f(vector j of the share, how many follow in the same piece of memory, where that is), of vectors from to
     * end - 1. */
    template <class F> __device__ __forceinline__ void pieces(int from, int end, F f) const
    {
        const group_dim &in = p.dim[p.n_cell], &outer = p.dim[p.n_cell + 1];
        const int run = p.n_item == 1 ? (int)(p.per_row * p.items) : (int)in.at.extent;
        for (int j = from; j < end;) {
            const int number = (first + j) / run, at = first + j - number * run;
            const int many = min(run - at, end - j);
            group_at piece = {at * in.at.in, at * in.at.out, at * in.g, 0, 0};
            if (p.n_item == 2) {
                piece.x += number * outer.at.in;
                piece.out += number * outer.at.out;
                piece.g += number * outer.g;
            }
            f(j, many, piece);
            j += many;
        }
    }
    /* f(the part's number, its first vector, the one after its last) */
    template <class F> __device__ __forceinline__ void parts(F f) const
    {
        for (int from = 0, part = 0; from < n; from += p.gate, part++)
            f(part, from, min(n, from + p.gate));
    }
    /* One thread lets a part of a row come. */
    __device__ __forceinline__ void fetch(int part, int from, int end, int64_t row) const
    {
        const group_at base = place(row);
        uint64_t *const gate = &post.arrived[part];
        asm volatile(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(resident_at(gate)),
            "r"((end - from) * (GRAD ? 32 : 16))
            : "memory");
        pieces(from, end, [&](int j, int many, const group_at &at) {
            resident_copy(memory + j, (const T *)p.x + base.x + at.x, (uint32_t)many * 16, gate);
            if (GRAD)
                resident_copy(memory + p.share + j, (const T *)p.g + base.g + at.g,
                              (uint32_t)many * 16, gate);
        });
    }
    __device__ __forceinline__ void begin(int64_t row)
    {
        if (threadIdx.x == 0) {
            for (int part = 0; part < GROUP_GATES; part++)
                asm volatile(
                    "mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(resident_at(&post.arrived[part]))
                    : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            if (row < p.cells / p.per_row)
                parts([&](int part, int from, int end) { fetch(part, from, end, row); });
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
    __device__ __forceinline__ void add(group_sums<C, GRAD> &sums, int from, int end) const
    {
        const vector *const x = memory, *const g = memory + p.share;
#pragma unroll 4
        for (int i = from + (int)threadIdx.x; i < end; i += (int)blockDim.x) {
            C u[V], v[V] = {};
            neural_widen(x[i], u);
            if (GRAD)
                neural_widen(g[i], v);
            sums.template take<T, V>(u, v, shift);
        }
    }
    /* Adds the sums of vectors from to end - 1, which are of one cell, to all. The gradients for weights need those
     * of each cell, and what x is given needs them times the cell's weight. */
    __device__ __forceinline__ void cell_sum(int from, int end, int cell, int turn, int64_t row,
                                             const group_at &base, double (&all)[N])
    {
        group_sums<C, GRAD> sums;
        for (int i = from; i < end;) {
            const int part = i / p.gate, to = min(end, (part + 1) * p.gate);
            resident_wait(&post.arrived[part], turn);
            add(sums, i, to);
            i = to;
        }
        row_join<N, false>(sums.s, joins++ & 1);
        const double by =
            GRAD ? (double)weight(p.scale, base.scale + cell * p.dim[0].scale, (C)1) : 1.0;
#pragma unroll
        for (int k = 0; k < N; k++)
            all[k] += k < 2 ? sums.s[k] : sums.s[k] * by;
        if (GRAD && threadIdx.x == 0) {
            const int number = (int)(first + from - cell * p.items) / p.share;
            double *to = (double *)p.partial + ((row * p.per_row + cell) * p.parts + number) * N;
#pragma unroll
            for (int k = 0; k < N; k++)
                to[k] = sums.s[k];
        }
    }
    /* The sums of the share, in every thread. */
    __device__ __forceinline__ void sum(int turn, int64_t row, const group_at &base,
                                        double (&all)[N])
    {
        const int each = (int)(GRAD ? p.items : p.per_row * p.items);
#pragma unroll
        for (int k = 0; k < N; k++)
            all[k] = 0;
        for (int j = 0; j < n;) {
            const int cell = (first + j) / each, end = min(n, (cell + 1) * each - first);
            cell_sum(j, end, cell, turn, row, base, all);
            j = end;
        }
    }
    /* The sums of all blocks, in every thread of theirs, in order. */
    __device__ __forceinline__ void join(int turn, double (&all)[N]) const
    {
        if (CLUSTER == 1)
            return;
        if (threadIdx.x < CLUSTER)
#pragma unroll
            for (int k = 0; k < N; k++)
                resident_put(&post.from[turn][rank][k], threadIdx.x, all[k]);
        resident_meet();
#pragma unroll
        for (int k = 0; k < N; k++)
            all[k] = 0;
#pragma unroll 2
        for (int b = 0; b < CLUSTER; b++)
#pragma unroll
            for (int k = 0; k < N; k++)
                all[k] += post.from[turn][b][k];
    }
    /* What follows from a row's sums; one thread of the cluster leaves what is asked for. */
    __device__ __forceinline__ void know(const double (&all)[N], int64_t row,
                                         double (&known)[GROUP_ROW]) const
    {
        const double d = all[0] * p.inverse, a = GRAD ? all[N - 2] * p.inverse : 0.0;
        double variance = __fma_rn(-d, d, all[1] * p.inverse);
        variance = variance > 0 || !(variance == variance) ? variance : 0.0;
        const double factor = held_rsqrt(variance + p.eps);
        known[GROUP_SHIFT] = shift;
        known[GROUP_MEAN] = shift + d;
        known[GROUP_DELTA] = d;
        known[GROUP_FACTOR] = factor;
        known[GROUP_A] = a;
        known[GROUP_B] = GRAD ? __fma_rn(-d, a, all[N - 1] * p.inverse) * factor * factor : 0.0;
        if (rank || threadIdx.x)
            return;
        if (GRAD) {
#pragma unroll
            for (int k = 0; k < GROUP_ROW; k++)
                group_row(p, row)[k] = known[k];
        } else if (p.mean) {
            ((C *)p.mean)[row * p.mean_step] = (C)known[GROUP_MEAN];
            ((C *)p.variance)[row * p.variance_step] = (C)variance;
        }
    }
    /* f(x, g) of vectors from to end - 1, which lie together in the result. */
    template <class F>
    __device__ __forceinline__ void apply_piece(int from, int end, T *to, F f) const
    {
        const vector *const x = memory, *const g = memory + p.share;
#pragma unroll 4
        for (int i = from + (int)threadIdx.x; i < end; i += (int)blockDim.x) {
            C u[V], v[V] = {};
            neural_widen(x[i], u);
            if (GRAD)
                neural_widen(g[i], v);
#pragma unroll
            for (int k = 0; k < V; k++)
                u[k] = f(u[k], v[k]);
            neural_store<T, V>(to, i - from, u);
        }
    }
    /* Of one cell. Halves have few enough digits for products of what is known of the row and the weights. */
    __device__ __forceinline__ void apply_cell(int from, int end, T *to,
                                               const double (&known)[GROUP_ROW], C scale,
                                               C bias) const
    {
        const double f = known[GROUP_FACTOR];
        const C high = (C)known[GROUP_MEAN];
        if (sizeof(T) == 2 && f > 1e-15 && f < 1e15) {
            const double low = known[GROUP_MEAN] - (double)high, by = f * (double)scale;
            const double b = known[GROUP_B] * f;
            const C of_g = (C)by, of_x = (C)(GRAD ? -b : by);
            const C rest = (C)(GRAD ? low * b - known[GROUP_A] * f : (double)bias - low * by);
            apply_piece(from, end, to, [&](C x, C g) {
                const C y = neural_fma(x - high, of_x, rest);
                return GRAD ? neural_fma(g, of_g, y) : y;
            });
            return;
        }
        const group_affine<C> affine(known);
        const group_slope<C> slope(known);
        apply_piece(from, end, to, [&](C x, C g) {
            return GRAD     ? slope.of(x, g * scale)
                   : p.bias ? neural_fma(affine.of(x), scale, bias)
                            : affine.of(x) * scale;
        });
    }
    __device__ __forceinline__ void apply(int first_vector, int last, const group_at &base,
                                          const double (&known)[GROUP_ROW]) const
    {
        pieces(first_vector, last, [&](int j, int many, const group_at &at) {
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
            double all[N], known[GROUP_ROW];
            const group_at base = place(row);
            const bool more = row + step < rows;
            shift = next;
            if (more)
                next = first_of(row + step);
            sum(turn, row, base, all);
            join(turn, all);
            know(all, row, known);
            parts([&](int part, int from, int end) {
                apply(from, end, base, known);
                if (!more)
                    return;
                __syncthreads(); /* Nobody reads the part any more. */
                if (threadIdx.x == 0)
                    fetch(part, from, end, row + step);
            });
        }
        if (CLUSTER > 1)
            resident_meet(); /* Nobody's shared memory goes while others write to it. */
    }
};

template <class T, bool GRAD, int CLUSTER> NEURAL_FN void group_resident(const group_params &p)
{
    extern __shared__ __align__(128) unsigned char resident_share[];
    __shared__ resident_post<GRAD ? 4 : 2> post;
    resident<T, GRAD, CLUSTER> rows(p, resident_share, post);
    rows.run(blockIdx.x / CLUSTER, gridDim.x / CLUSTER);
}

#define GROUP_RESIDENT_KERNEL(name, GRAD, CLUSTER)                               \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1)                   \
        __launch_bounds__(GROUP_RESIDENT_THREADS, 2)                             \
            GROUP_NAME(name, CUDA_DTYPE)(const __grid_constant__ group_params p) \
    {                                                                            \
        group_resident<group_element, GRAD, CLUSTER>(p);                         \
    }
#define GROUP_RESIDENT(end, GRAD)                  \
    GROUP_RESIDENT_KERNEL(resident1##end, GRAD, 1) \
    GROUP_RESIDENT_KERNEL(resident2##end, GRAD, 2) \
    GROUP_RESIDENT_KERNEL(resident4##end, GRAD, 4) \
    GROUP_RESIDENT_KERNEL(resident16##end, GRAD, 16)
#else
#define GROUP_RESIDENT(end, GRAD)
#endif

#endif
