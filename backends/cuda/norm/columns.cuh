/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * softmax and log_softmax of rows side by side: eight blocks, a cluster, hold the elements of some
 * neighbouring rows in shared memory, each some of every row, and hand each other what they found.
 * Memory is read once and written once. Kernels are there from compute capability 9.0 on. */
#ifndef NDOCK_CUDA_NORM_COLUMNS_CUH
#define NDOCK_CUDA_NORM_COLUMNS_CUH
#include "norm/fit.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
LINE_FN void columns_cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/* What lies there in the shared memory of another block of the cluster. */
LINE_FN double columns_read(const double *at, uint32_t block)
{
    uint32_t here = (uint32_t)__cvta_generic_to_shared(at), there;
    double x;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
    asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(x) : "r"(there) : "memory");
    return x;
}

enum { COLUMNS_WARPS = NORM_COLUMN_THREADS / 32 };

/* How the blocks of a cluster hand each other a value of each column: each leaves its own where the
 * others read them behind a barrier, which also waits for what was stored before. Turns are numbered
 * from 0 on. */
struct columns_shared {
    double warps[COLUMNS_WARPS][NORM_COLUMNS_MOST], here[3][NORM_COLUMNS_MOST],
        all[NORM_COLUMNS_MOST];
    LINE_MEMBER void say(int column, int, double x, int turn) { here[turn][column] = x; }
    LINE_MEMBER void wait(int, int) const { columns_cluster_sync(); }
    LINE_MEMBER double heard(int column, uint32_t block, int turn) const
    {
        return columns_read(here[turn] + column, block);
    }
};

/* The same where each sends its own to all, whose barrier of the turn counts the bytes that arrive: a
 * tile's results may still be on their way to memory. Two turns alternate: who sends in one has
 * heard all in the last, and they have read the one before. */
struct columns_post {
    double warps[COLUMNS_WARPS][NORM_COLUMNS_MOST], from[2][NORM_CLUSTER][NORM_COLUMNS_MOST],
        all[NORM_COLUMNS_MOST];
    uint64_t arrived[2];
    LINE_MEMBER void begin()
    {
        if (threadIdx.x == 0) {
            for (int k = 0; k < 2; k++)
                asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&arrived[k]))
                             : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        columns_cluster_sync();
    }
    LINE_MEMBER uint32_t at(const void *here) const
    {
        return (uint32_t)__cvta_generic_to_shared(here);
    }
    LINE_MEMBER uint32_t there(const void *here, uint32_t block) const
    {
        uint32_t there;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(here)), "r"(block));
        return there;
    }
    LINE_MEMBER void say(int column, int columns, double x, int turn)
    {
        const int k = turn & 1;
        if (column == 0)
            asm volatile(
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(&arrived[k])),
                "r"(columns * (int)sizeof(double) * NORM_CLUSTER)
                : "memory");
#pragma unroll 1
        for (uint32_t b = 0; b < NORM_CLUSTER; b++)
            asm volatile(
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f64 "
                "[%0], %1, [%2];" ::"r"(there(&from[k][blockIdx.x % NORM_CLUSTER][column], b)),
                "d"(x), "r"(there(&arrived[k], b))
                : "memory");
    }
    LINE_MEMBER void wait(int columns, int turn) const
    {
        uint32_t done = (int)threadIdx.x >= columns;
        while (!done)
            asm volatile("{ .reg .pred p;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(at(&arrived[turn & 1])), "r"(turn >> 1 & 1)
                         : "memory");
    }
    LINE_MEMBER double heard(int column, uint32_t block, int turn) const
    {
        return from[turn & 1][block][column];
    }
};

/* One value of each column: of the lines of a warp, of a block, of the cluster; in every thread, in
 * one order. */
template <class F, int V, class SHARED>
LINE_FN void columns_join(double (&x)[V], int lanes, SHARED &s, int turn)
{
    const int lane = (int)threadIdx.x & (lanes - 1), columns = lanes * V, c = (int)threadIdx.x;
#pragma unroll
    for (int k = 0; k < V; k++)
        for (int h = lanes; h < 32; h *= 2)
            x[k] = F::of(x[k], __shfl_xor_sync(0xffffffffu, x[k], h));
    if ((int)threadIdx.x % 32 < lanes)
#pragma unroll
        for (int k = 0; k < V; k++)
            s.warps[threadIdx.x / 32][lane * V + k] = x[k];
    __syncthreads();
    if (c < columns) {
        double v = s.warps[0][c];
        for (int w = 1; w < COLUMNS_WARPS; w++)
            v = F::of(v, s.warps[w][c]);
        s.say(c, columns, v, turn);
    }
    s.wait(columns, turn);
    if (c < columns) {
        double v = s.heard(c, 0, turn);
        for (uint32_t b = 1; b < NORM_CLUSTER; b++)
            v = F::of(v, s.heard(c, b, turn));
        s.all[c] = v;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < V; k++)
        x[k] = s.all[lane * V + k];
}

/* The thread's column vector, and its lines of the block's, in a tile of rows. */
template <class T> struct columns_place {
    enum { V = 16 / sizeof(T) };
    typedef T element;
    typedef cuda_vector<T, V> vector;
    int lane, line, lines, lanes, n; /* n: lines of the block */
    const T *in;
    T *out;
    int64_t in_step, out_step;
    LINE_MEMBER columns_place(const norm_params &p, uint64_t tile)
    {
        lanes = p.width;
        lane = (int)threadIdx.x & (lanes - 1);
        line = (int)threadIdx.x / lanes;
        lines = NORM_COLUMN_THREADS / lanes;
        const uint64_t column = (tile * lanes + lane) * V;
        const int64_t first = (int64_t)(blockIdx.x % NORM_CLUSTER) * p.stage_row;
        const int64_t left = (int64_t)p.items - first;
        const bool has = column < p.rows;
        n = left < 0 ? 0 : left < p.stage_row ? (int)left : p.stage_row;
        n = has ? n : 0;
        int64_t from, to;
        line_offsets(p.dim, p.n_kept, has ? column : 0, &from, &to);
        in_step = p.dim[p.n_kept].in;
        out_step = p.dim[p.n_kept].out;
        in = (const T *)p.in + from + first * in_step;
        out = (T *)p.out + to + first * out_step;
    }
    LINE_MEMBER void copy(vector *stage) const
    {
        for (int i = line; i < n; i += lines)
            copy_one(stage, i);
    }
    LINE_MEMBER void copy_one(vector *stage, int i) const
    {
        stage_copy_beside(stage + i * lanes, (const vector *)(in + i * in_step));
    }
    LINE_MEMBER void put(int i, const vector &v) const { *(vector *)(out + i * out_step) = v; }
};

/* The thread's vectors of a tile, in shared memory or in registers: each() calls f with a vector and
 * its line; KEEP: f has changed it. */
template <class T> struct columns_staged {
    typedef columns_place<T> place;
    typedef typename place::vector vector;
    const place &at;
    vector *stage;
    template <bool KEEP, class F> LINE_MEMBER void each(F f)
    {
        for (int i = at.line; i < at.n; i += at.lines) {
            vector v = stage[i * at.lanes];
            f(v, i);
            if (KEEP)
                stage[i * at.lanes] = v;
        }
    }
};
template <class T> struct columns_registers {
    typedef columns_place<T> place;
    typedef typename place::vector vector;
    place at;
    vector held[NORM_COLUMN_HELD];
    template <bool KEEP, class F> LINE_MEMBER void each(F f)
    {
#pragma unroll
        for (int k = 0; k < NORM_COLUMN_HELD; k++)
            if (at.line + k * at.lines < at.n)
                f(held[k], at.line + k * at.lines);
    }
};

/* The largest of each of the thread's columns. */
template <class V, int N> LINE_FN void columns_larger(float (&most)[N], const V &v)
{
#pragma unroll
    for (int k = 0; k < N; k++)
        most[k] = cm_larger(most[k], fit_widen(v.at[k]));
}
template <int V> LINE_FN void columns_least(float (&most)[V])
{
#pragma unroll
    for (int k = 0; k < V; k++)
        most[k] = __int_as_float(0xff800000);
}
template <class ROWS, int V> LINE_FN void columns_most(ROWS &rows, float (&most)[V])
{
    columns_least(most);
    rows.template each<false>([&](typename ROWS::vector &v, int) { columns_larger(most, v); });
}

/* softmax of the tile, most being the thread's largest elements; turn: of the first join. */
template <class T, bool LOG, class ROWS, int V, class SHARED>
LINE_FN void columns_softmax(ROWS &rows, float (&most)[V], SHARED &s, int turn)
{
    typedef typename ROWS::vector vector;
    const bool WIDE = sizeof(T) == 4;
    const int lanes = rows.at.lanes;
    double joined[V], met[V];
    float high[V], low[V];
    fit_exp<T> e[V];
    typename fit_sum<T>::type total[V];
#pragma unroll
    for (int k = 0; k < V; k++)
        joined[k] = (double)most[k];
    columns_join<fit_max, V>(joined, lanes, s, turn);
#pragma unroll
    for (int k = 0; k < V; k++) {
        most[k] = (float)joined[k];
        e[k].set(most[k]);
        total[k] = 0;
        met[k] = 0;
    }
    rows.template each<!LOG && WIDE>([&](vector &v, int) {
#pragma unroll
        for (int k = 0; k < V; k++) {
            const float x = fit_widen(v.at[k]);
            float y = e[k].of(x);
            if (LOG) {
                met[k] += x == most[k];
                y = x == most[k] || e[k].is_nothing(x) ? 0.0f : y;
            } else if (WIDE) {
                fit_narrow(&v.at[k], y);
            }
            total[k] += y;
        }
    });
#pragma unroll
    for (int k = 0; k < V; k++)
        joined[k] = (double)total[k];
    columns_join<fit_add, V>(joined, lanes, s, turn + 1);
    if (LOG)
        columns_join<fit_add, V>(met, lanes, s, turn + 2);
#pragma unroll
    for (int k = 0; k < V; k++) {
        double last = 1.0 / joined[k];
        if (LOG)
            last = log1p(met[k] - 1.0 + joined[k] / (double)e[k].of(most[k]));
        last = most[k] - most[k] == 0 ? last : __longlong_as_double(0x7ff8000000000000ll);
        high[k] = (float)last;
        low[k] = (float)(last - (double)high[k]);
    }
    rows.template each<false>([&](vector &v, int i) {
        vector r;
#pragma unroll
        for (int k = 0; k < V; k++) {
            float x = fit_widen(v.at[k]);
            if (LOG)
                x = WIDE ? (float)(((double)x - (double)most[k]) -
                                   ((double)high[k] + (double)low[k]))
                         : (x - most[k]) - high[k];
            else
                x = WIDE ? __fmaf_rn(x, high[k], x * low[k]) : e[k].of(x) * high[k];
            fit_narrow(&r.at[k], x);
        }
        rows.at.put(i, r);
    });
}

/* A tile a cluster: several blocks of a multiprocessor read and compute by turns. */
template <class T, bool LOG> LINE_FN void columns_once(const norm_params &p)
{
    extern __shared__ __align__(32) unsigned char norm_stage[];
    __shared__ columns_shared shared;
    typedef columns_place<T> place;
    const place at(p, blockIdx.x / NORM_CLUSTER);
    columns_staged<T> rows = {at, (typename place::vector *)norm_stage + at.lane};
    float most[place::V];
    at.copy(rows.stage);
    stage_wait();
    columns_most(rows, most);
    columns_softmax<T, LOG>(rows, most, shared, 0);
    columns_cluster_sync(); /* nobody's shared memory goes while others read it */
}

/* One tile after another: its vectors are in registers while shared memory receives the next one's,
 * each thread those that it will take from there itself. They arrive and are replaced in parts, so
 * that memory always has some to read. */
enum { COLUMN_PARTS = 4, COLUMN_PART = NORM_COLUMN_HELD / COLUMN_PARTS };
template <class PLACE>
LINE_FN void columns_copy_part(const PLACE &at, typename PLACE::vector *stage, int part)
{
#pragma unroll
    for (int k = 0; k < COLUMN_PART; k++) {
        const int i = at.line + (part * COLUMN_PART + k) * at.lines;
        if (i < at.n)
            at.copy_one(stage, i);
    }
    stage_group();
}
template <class ROWS, int V>
LINE_FN void columns_take_part(ROWS &rows, const typename ROWS::vector *stage, int part,
                               float (&most)[V])
{
    stage_wait_but<COLUMN_PARTS - 1>();
#pragma unroll
    for (int k = part * COLUMN_PART; k < (part + 1) * COLUMN_PART; k++) {
        const int i = rows.at.line + k * rows.at.lines;
        if (i < rows.at.n) {
            rows.held[k] = stage[i * rows.at.lanes];
            columns_larger(most, rows.held[k]);
        }
    }
    /* All its vectors have been read when these are known: the next ones may take their place. */
#pragma unroll
    for (int k = 0; k < V; k++)
        asm volatile("" : "+f"(most[k])::"memory");
}

template <class T, bool LOG> LINE_FN void columns_in_turn(const norm_params &p)
{
    extern __shared__ __align__(32) unsigned char norm_stage[];
    __shared__ columns_post shared;
    typedef columns_place<T> place;
    const uint64_t step = gridDim.x / NORM_CLUSTER, beside = (uint64_t)p.width * place::V;
    uint64_t tile = blockIdx.x / NORM_CLUSTER;
    place next(p, tile);
    typename place::vector *const stage = (typename place::vector *)norm_stage + next.lane;
    columns_registers<T> rows = {next};
#pragma unroll
    for (int part = 0; part < COLUMN_PARTS; part++)
        columns_copy_part(next, stage, part);
    shared.begin();
    int turn = 0;
    for (; tile * beside < p.rows; tile += step) {
        float most[place::V];
        rows.at = next;
        next = place(p, tile + step); /* of none behind the last tile */
        columns_least(most);
#pragma unroll
        for (int part = 0; part < COLUMN_PARTS; part++) {
            columns_take_part(rows, stage, part, most);
            columns_copy_part(next, stage, part);
        }
        columns_softmax<T, LOG>(rows, most, shared, turn);
        turn += LOG ? 3 : 2;
    }
    columns_cluster_sync(); /* as above */
}

#define NORM_COLUMNS_KERNEL(name, how, T, LOG)                                                \
    extern "C" __global__ void __cluster_dims__(NORM_CLUSTER, 1, 1)                           \
        __launch_bounds__(NORM_COLUMN_THREADS, 1) name(const __grid_constant__ norm_params p) \
    {                                                                                         \
        columns_##how<T, LOG>(p);                                                             \
    }
#define NORM_COLUMNS(name, T, LOG) NORM_COLUMNS_KERNEL(name##_columns, once, T, LOG)
#define NORM_TURNS(name, T, LOG) NORM_COLUMNS_KERNEL(name##_turns, in_turn, T, LOG)
#else
#define NORM_COLUMNS(name, T, LOG)
#define NORM_TURNS(name, T, LOG)
#endif

#endif
