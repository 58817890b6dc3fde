/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise kernels of one dtype, CUDA_DTYPE: add_dense, add_rows and add_tiled for the row add
 * of op.def, and so on for every row that is legal for it. */
#include "elementwise.h"
#include "index.cuh"
#include "scalar.cuh"

typedef cuda_dtype<CUDA_DTYPE_ID>::real cuda_real_stored;

/* An op is a struct OP: in1, in2, in3 are the stored types of its inputs, out that of its result,
 * inputs how many there are, f computes one element; heavy: f is long, so fewer copies of it. */
template <class OP, int N> struct operands {
    cuda_vector<typename OP::in1, N> a;
    cuda_vector<typename OP::in2, N> b;
    cuda_vector<typename OP::in3, N> c;
};
enum { EW_N = EW_VECTOR_BYTES / sizeof(cuda_stored) };

template <class T> static __device__ __forceinline__ T scalar_of(const ew_input &in)
{
    return *(const T *)in.scalar;
}

template <class T, int N> static __device__ __forceinline__ cuda_vector<T, N> splat(T x)
{
    cuda_vector<T, N> v;
#pragma unroll
    for (int k = 0; k < N; k++)
        v.at[k] = x;
    return v;
}

/* Moves what lies above the first entry down by one. Loops that take the first entry and shift
 * index registers by constants whether they are unrolled or not. */
template <int N, class T> static __device__ __forceinline__ void shift_down(T (&at)[N])
{
#pragma unroll
    for (int k = 0; k + 1 < N; k++)
        at[k] = at[k + 1];
}

template <class OP, int N, int COPIES>
static __device__ __forceinline__ cuda_vector<typename OP::out, N> apply(operands<OP, N> x)
{
    cuda_vector<typename OP::out, N> r = {};
#pragma unroll COPIES
    for (int k = 0; k < N; k++) {
        typename OP::out y = OP::f(x.a.at[0], x.b.at[0], x.c.at[0]);
        shift_down(x.a.at);
        shift_down(x.b.at);
        shift_down(x.c.at);
        shift_down(r.at);
        r.at[N - 1] = y;
    }
    return r;
}

/* What moves a vector of so many bytes at once. Compilers split copies of 2-byte classes. */
template <int NBYTES> struct ew_words;
template <> struct ew_words<1> {
    typedef uint8_t type;
};
template <> struct ew_words<2> {
    typedef uint16_t type;
};
template <> struct ew_words<4> {
    typedef uint32_t type;
};
template <> struct ew_words<8> {
    typedef uint2 type;
};
template <> struct ew_words<16> {
    typedef uint4 type;
};

template <class T, int N>
static __device__ __forceinline__ cuda_vector<T, N> load_vector(const T *at)
{
    typename ew_words<sizeof(T) *N>::type words =
        *(const typename ew_words<sizeof(T) * N>::type *)at;
    cuda_vector<T, N> v;
    memcpy(&v, &words, sizeof words);
    return v;
}

template <class T, int N>
static __device__ __forceinline__ void store_vector(T *at, const cuda_vector<T, N> &v)
{
    typename ew_words<sizeof(T) * N>::type words;
    memcpy(&words, &v, sizeof words);
    __stwb((typename ew_words<sizeof(T) * N>::type *)at, words);
}

/* Elements low to high - 1 of a vector, one by one, element k at at[k * stride]. These two are
 * functions of their own since they are long, seldom used, and the same for all ops. */
template <class T, int N>
static __device__ __noinline__ cuda_vector<T, N> load_elements(const T *at, int64_t stride, int low,
                                                               int high)
{
    cuda_vector<T, N> v = {};
#pragma unroll
    for (int k = 0; k < N; k++)
        if (k >= low && k < high)
            v.at[k] = at[k * stride];
    return v;
}

template <class T, int N>
static __device__ __noinline__ void store_elements(T *at, cuda_vector<T, N> v, int low, int high)
{
#pragma unroll
    for (int k = 0; k < N; k++)
        if (k >= low && k < high)
            at[k] = v.at[k];
}

template <class T, int N>
static __device__ __forceinline__ void store(T *at, const cuda_vector<T, N> &v, int low, int high)
{
    if (high - low == N)
        store_vector<T, N>(at, v);
    else
        store_elements<T, N>(at, v, low, high);
}

/* How many of the N elements from the i-th on there are, of n. */
template <int N> static __device__ __forceinline__ int count_of(uint32_t i, uint64_t n)
{
    return i + N <= n ? N : i < n ? (int)(n - i) : 0;
}

/* ---- dense: a thread takes V vectors, EW_THREADS vectors apart; no loop ---- */

/* The block's elements begin at base, and n of them are left. */
template <class T, int N, int V>
static __device__ __forceinline__ void load_dense(cuda_vector<T, N> (&v)[V], const ew_dense &p,
                                                  int input, uint64_t base, uint64_t n)
{
    const T *at = (const T *)p.in[input].at + base;
    uint32_t i = threadIdx.x * N;
    if (p.scalars >> input & 1) {
#pragma unroll
        for (int j = 0; j < V; j++)
            v[j] = splat<T, N>(scalar_of<T>(p.in[input]));
    } else if (n >= EW_THREADS * N * V) {
#pragma unroll
        for (int j = 0; j < V; j++)
            v[j] = load_vector<T, N>(at + i + j * EW_THREADS * N);
    } else {
#pragma unroll
        for (int j = 0; j < V; j++, i += EW_THREADS * N) {
            int count = count_of<N>(i, n);
            if (count == N)
                v[j] = load_vector<T, N>(at + i);
            else
                v[j] = load_elements<T, N>(at + i, 1, 0, count);
        }
    }
}

template <class OP> static __device__ __forceinline__ void dense(const ew_dense &p)
{
    const int N = EW_N, V = EW_DENSE_VECTORS(OP::inputs);
    const int copies = OP::heavy && CUDA_KIND <= CUDA_KIND_UINT ? 1 : N;
    uint64_t base = (uint64_t)blockIdx.x * (EW_THREADS * N * V), n = p.n - base;
    cuda_vector<typename OP::in1, N> a[V];
    cuda_vector<typename OP::in2, N> b[V];
    cuda_vector<typename OP::in3, N> c[V];
    load_dense(a, p, 0, base, n);
    if (OP::inputs > 1)
        load_dense(b, p, 1, base, n);
    if (OP::inputs > 2)
        load_dense(c, p, 2, base, n);
#pragma unroll(OP::heavy ? 1 : V)
    for (int j = 0; j < V; j++) {
        operands<OP, N> x = {a[0], b[0], c[0]};
        uint32_t i = (threadIdx.x + j * EW_THREADS) * N;
        store<typename OP::out, N>((typename OP::out *)p.out + base + i, apply<OP, N, copies>(x), 0,
                                   count_of<N>(i, n));
        shift_down(a);
        shift_down(b);
        shift_down(c);
    }
}

/* ---- rows ---- */

struct ew_offsets {
    int64_t out, in[EW_INPUTS];
};

/* Adds where index `rest` of the dimensions from d on lies. */
template <int INPUTS>
static __device__ __forceinline__ void add_outer(const ew_strided &p, int d, uint32_t rest,
                                                 ew_offsets &at)
{
#pragma unroll 1
    for (; d < p.ndim; d++) {
        uint32_t above = cuda_quotient(rest, p.extent[d]), x = rest - above * p.extent[d].value;
        rest = above;
        at.out += x * p.out_stride[d];
#pragma unroll
        for (int i = 0; i < INPUTS; i++)
            at.in[i] += x * p.in_stride[i][d];
    }
}

template <class T, int N> static __device__ __forceinline__ bool is_aligned(const T *at)
{
    return (uintptr_t)at % (N * sizeof(T)) == 0;
}

/* Elements low to high - 1 of a vector whose element k lies at at[k * stride]. */
template <class T, int N>
static __device__ __forceinline__ cuda_vector<T, N> load_row(const T *at, int64_t stride, int low,
                                                             int high)
{
    cuda_vector<T, N> v = {};
    if (stride == 0)
        return splat<T, N>(*at);
    if (high - low == N && stride == 1 && is_aligned<T, N>(at))
        return load_vector<T, N>(at);
    if (high - low == N && stride == -1 && is_aligned<T, N>(at - (N - 1))) {
        cuda_vector<T, N> back = load_vector<T, N>(at - (N - 1));
#pragma unroll
        for (int k = 0; k < N; k++)
            v.at[k] = back.at[N - 1 - k];
        return v;
    }
    return load_elements<T, N>(at, stride, low, high);
}

/* Where a vector of a row is: its first element is column first of the row, and its elements low
 * to high - 1 exist. Vectors begin where the output is aligned, so first may be negative. */
struct ew_place {
    ew_offsets row;
    int32_t first, low, high;
};

template <class OP, int N>
static __device__ __forceinline__ ew_place place_of(const ew_strided &p, uint32_t vector)
{
    ew_place at = {};
    uint32_t row = cuda_quotient(vector, p.columns);
    add_outer<OP::inputs>(p, 1, row, at.row);
    const typename OP::out *begin = (const typename OP::out *)p.out + at.row.out;
    int32_t ahead = (int32_t)((uintptr_t)begin / sizeof *begin % N);
    at.first = (int32_t)((vector - row * p.columns.value) * N) - ahead;
    int32_t left = (int32_t)p.extent[0].value - at.first;
    at.low = at.first < 0 ? -at.first : 0;
    at.high = left < N ? left : N;
    if (vector >= p.n)
        at.high = at.low;
    return at;
}

template <class T, int N, int V>
static __device__ __forceinline__ void load_rows(cuda_vector<T, N> (&v)[V], const ew_strided &p,
                                                 int input, const ew_place (&place)[V])
{
    const T *at = (const T *)p.in[input].at;
    int64_t stride = p.in_stride[input][0];
    bool is_scalar = p.scalars >> input & 1;
#pragma unroll
    for (int j = 0; j < V; j++)
        if (is_scalar)
            v[j] = splat<T, N>(scalar_of<T>(p.in[input]));
        else if (place[j].low < place[j].high)
            v[j] = load_row<T, N>(at + place[j].row.in[input] + place[j].first * stride, stride,
                                  place[j].low, place[j].high);
        else
            v[j] = {};
}

template <class OP, int V>
static __device__ __forceinline__ void rows_of_vectors(const ew_strided &p, uint32_t vector)
{
    const int N = EW_N;
    ew_place place[V];
    cuda_vector<typename OP::in1, N> a[V];
    cuda_vector<typename OP::in2, N> b[V];
    cuda_vector<typename OP::in3, N> c[V];
#pragma unroll
    for (int j = 0; j < V; j++)
        place[j] = place_of<OP, N>(p, vector + j * EW_THREADS);
    load_rows(a, p, 0, place);
    if (OP::inputs > 1)
        load_rows(b, p, 1, place);
    if (OP::inputs > 2)
        load_rows(c, p, 2, place);
#pragma unroll
    for (int j = 0; j < V; j++) {
        operands<OP, N> x = {a[j], b[j], c[j]};
        store<typename OP::out, N>((typename OP::out *)p.out + place[j].row.out + place[j].first,
                                   apply < OP, N, OP::heavy ? 1 : N > (x), place[j].low,
                                   place[j].high);
    }
}

template <class T>
static __device__ __forceinline__ T load_element(const ew_strided &p, int input, int64_t offset)
{
    return p.scalars >> input & 1 ? scalar_of<T>(p.in[input]) : ((const T *)p.in[input].at)[offset];
}

/* Short rows, and outputs whose innermost stride is not 1: E elements, EW_THREADS apart. */
template <class OP, int E>
static __device__ __forceinline__ void rows_of_elements(const ew_strided &p, uint32_t first)
{
    ew_offsets at[E] = {};
    typename OP::in1 a[E] = {};
    typename OP::in2 b[E] = {};
    typename OP::in3 c[E] = {};
#pragma unroll
    for (int j = 0; j < E; j++)
        add_outer<OP::inputs>(p, 0, first + j * EW_THREADS, at[j]);
#pragma unroll
    for (int j = 0; j < E; j++)
        if (first + j * EW_THREADS < p.n) {
            a[j] = load_element<typename OP::in1>(p, 0, at[j].in[0]);
            if (OP::inputs > 1)
                b[j] = load_element<typename OP::in2>(p, 1, at[j].in[1]);
            if (OP::inputs > 2)
                c[j] = load_element<typename OP::in3>(p, 2, at[j].in[2]);
        }
#pragma unroll
    for (int j = 0; j < E; j++)
        if (first + j * EW_THREADS < p.n)
            ((typename OP::out *)p.out)[at[j].out] = OP::f(a[j], b[j], c[j]);
}

/* A thread's vectors or elements: at once where the formula is short, so that all its loads are in
 * flight; one after the other where it is long. */
template <class OP> static __device__ __forceinline__ void rows(const ew_strided &p)
{
    const int V = EW_ROW_VECTORS, AT_ONCE = OP::heavy ? 1 : V;
    uint32_t first = blockIdx.x * (EW_THREADS * V) + threadIdx.x;
#pragma unroll 1
    for (int j = 0; j < V / AT_ONCE; j++, first += EW_THREADS)
        if (p.by_element)
            rows_of_elements<OP, AT_ONCE>(p, first);
        else
            rows_of_vectors<OP, AT_ONCE>(p, first);
}

/* ---- tiled: inputs go through shared memory, loaded by 32 lanes along the dimension in which they
 * lie together, and are read along the output's ---- */

extern __shared__ unsigned char ew_tiles[];

/* Element (x, y) of a tile is at[y * PITCH + x]; lanes along y meet no bank twice since rows are an
 * odd number of words (of elements, when these are larger) apart. */
template <class T, int SIDE> struct ew_tile {
    enum { PITCH = EW_TILE_PITCH(SIDE, sizeof(T)) };
};

/* Fills the tile at byte `tile` of shared memory. A lane takes elements `along` apart of lines
 * `across` apart, which lie to_along and to_across apart in the tile: `length` by `count` of them
 * exist. In parts, so that there are registers for the loads in flight. */
template <class T, int SIDE>
static __device__ __noinline__ void load_tile(uint32_t tile, const T *at, int64_t along,
                                              int64_t across, uint32_t length, uint32_t count,
                                              int to_along, int to_across)
{
    enum { LANES = 32, WARPS = EW_THREADS / LANES, ALONG = SIDE / LANES, ACROSS = 4 };
    uint32_t lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
    T *to = (T *)(ew_tiles + tile) + lane * to_along + warp * to_across;
    at += lane * along + warp * across;
#pragma unroll 1
    for (int part = 0; part < SIDE / WARPS / ACROSS; part++) {
        T v[ACROSS][ALONG];
#pragma unroll
        for (int i = 0; i < ACROSS; i++)
#pragma unroll
            for (int j = 0; j < ALONG; j++)
                if (lane + j * LANES < length && warp + i * WARPS < count)
                    v[i][j] = at[j * LANES * along + i * WARPS * across];
#pragma unroll
        for (int i = 0; i < ACROSS; i++)
#pragma unroll
            for (int j = 0; j < ALONG; j++)
                if (lane + j * LANES < length && warp + i * WARPS < count)
                    to[j * LANES * to_along + i * WARPS * to_across] = v[i][j];
        at += ACROSS * WARPS * across;
        to += ACROSS * WARPS * to_across;
        warp += ACROSS * WARPS;
    }
}

/* The tile of an input whose first element is at `offset`: width (x) by height (y) elements. */
template <class T, int SIDE>
static __device__ __forceinline__ void load_input(uint32_t tile, const ew_strided &p, int input,
                                                  int64_t offset, uint32_t width, uint32_t height)
{
    const int PITCH = ew_tile<T, SIDE>::PITCH;
    const T *at = (const T *)p.in[input].at + offset;
    if (p.scalars >> input & 1)
        return;
    bool by_y = p.transposed >> input & 1;
    load_tile<T, SIDE>(tile, at, p.in_stride[input][by_y], p.in_stride[input][!by_y],
                       by_y ? height : width, by_y ? width : height, by_y ? PITCH : 1,
                       by_y ? 1 : PITCH);
}

template <class T, int SIDE>
static __device__ __forceinline__ T tile_element(uint32_t tile, const ew_strided &p, int input,
                                                 uint32_t x, uint32_t y)
{
    return p.scalars >> input & 1 ? scalar_of<T>(p.in[input])
                                  : ((const T *)(ew_tiles + tile))[y * ew_tile<T, SIDE>::PITCH + x];
}

static __device__ __forceinline__ uint32_t at_most(uint32_t n, uint32_t most)
{
    return n < most ? n : most;
}

template <class OP> static __device__ __forceinline__ void tiled(const ew_strided &p)
{
    const int SIDE = EW_TILE_SIDE(OP::inputs, sizeof(cuda_stored)), WARPS = EW_THREADS / 32;
    __shared__ ew_tile<typename OP::in1, SIDE> a;
    const uint32_t TILE = EW_TILE_BYTES(SIDE, sizeof(cuda_stored));
    uint32_t above = cuda_quotient(blockIdx.x, p.columns), outer = cuda_quotient(above, p.lines);
    uint32_t x0 = (blockIdx.x - above * p.columns.value) * SIDE;
    uint32_t y0 = (above - outer * p.lines.value) * SIDE;
    uint32_t width = at_most(p.extent[0].value - x0, SIDE);
    uint32_t height = at_most(p.extent[1].value - y0, SIDE);
    ew_offsets at = {};
    add_outer<OP::inputs>(p, 2, outer, at);
    at.out += x0 * p.out_stride[0] + y0 * p.out_stride[1];
#pragma unroll
    for (int i = 0; i < OP::inputs; i++)
        at.in[i] += x0 * p.in_stride[i][0] + y0 * p.in_stride[i][1];
    load_input<typename OP::in1, SIDE>(0, p, 0, at.in[0], width, height);
    if (OP::inputs > 1)
        load_input<typename OP::in2, SIDE>(TILE, p, 1, at.in[1], width, height);
    if (OP::inputs > 2)
        load_input<typename OP::in3, SIDE>(2 * TILE, p, 2, at.in[2], width, height);
    __syncthreads();
    typename OP::out *out = (typename OP::out *)p.out + at.out;
#pragma unroll(OP::heavy ? 1 : 2)
    for (int e = 0; e < SIDE * SIDE / EW_THREADS; e++) {
        uint32_t x = threadIdx.x % 32 + e % (SIDE / 32) * 32;
        uint32_t y = threadIdx.x / 32 + e / (SIDE / 32) * WARPS;
        if (x >= width || y >= height)
            continue;
        typename OP::in2 b = {};
        typename OP::in3 c = {};
        typename OP::in1 a = tile_element<typename OP::in1, SIDE>(0, p, 0, x, y);
        if (OP::inputs > 1)
            b = tile_element<typename OP::in2, SIDE>(TILE, p, 1, x, y);
        if (OP::inputs > 2)
            c = tile_element<typename OP::in3, SIDE>(2 * TILE, p, 2, x, y);
        out[x * p.out_stride[0] + y * p.out_stride[1]] = OP::f(a, b, c);
    }
}

/* Whether the formula is long: it is then not unrolled beyond a vector. */
static constexpr bool is_heavy(int op)
{
    switch (op) {
    case NDP_OP_pow:
        return true;
    case NDP_OP_floor_divide:
    case NDP_OP_remainder:
    case NDP_OP_atan2:
    case NDP_OP_hypot:
    case NDP_OP_logaddexp:
    case NDP_OP_elu:
    case NDP_OP_erf:
    case NDP_OP_sigmoid:
    case NDP_OP_silu:
    case NDP_OP_gelu:
    case NDP_OP_gelu_tanh:
        return CUDA_KIND == CUDA_KIND_FLOAT;
    default:
        return op >= NDP_OP_exp && op <= NDP_OP_atanh;
    }
}

/* ---- three kernels for each row of the op table ---- */
#define EW_KERNELS(op)                                       \
    extern "C" __global__ void __launch_bounds__(EW_THREADS) \
        op##_dense(const __grid_constant__ ew_dense p)       \
    {                                                        \
        dense<op_##op>(p);                                   \
    }                                                        \
    extern "C" __global__ void __launch_bounds__(EW_THREADS) \
        op##_rows(const __grid_constant__ ew_strided p)      \
    {                                                        \
        rows<op_##op>(p);                                    \
    }                                                        \
    extern "C" __global__ void __launch_bounds__(EW_THREADS) \
        op##_tiled(const __grid_constant__ ew_strided p)     \
    {                                                        \
        tiled<op_##op>(p);                                   \
    }
#define EW_OP(op, IN1, OUT, N, expression)                           \
    struct op_##op {                                                 \
        typedef IN1 in1;                                             \
        typedef cuda_stored in2, in3;                                \
        typedef OUT out;                                             \
        enum { inputs = N };                                         \
        static constexpr bool heavy = is_heavy(NDP_OP_##op);         \
        typedef cuda_operand<cuda_on_stored(NDP_OP_##op)> operand;   \
        static __device__ __forceinline__ OUT f(in1 a, in2 b, in3 c) \
        {                                                            \
            return cuda_narrow<OUT>(expression);                     \
        }                                                            \
    };                                                               \
    EW_KERNELS(op)
#define EW_A operand::of(a)
#define EW_B operand::of(b)
#define EW_C operand::of(c)
#define EW_OUT_SAME cuda_stored
#define EW_OUT_BOOL uint8_t
#define EW_OUT_REAL cuda_real_stored
#define EW_UNARY(op, OUT) EW_OP(op, cuda_stored, OUT, 1, cuda_##op(EW_A))
#define EW_BINARY(op, OUT) EW_OP(op, cuda_stored, OUT, 2, cuda_##op(EW_A, EW_B))
#define EW_TERNARY_where(OUT) EW_OP(where, uint8_t, OUT, 3, cuda_where(a, EW_B, EW_C))
#define EW_TERNARY_clip(OUT) EW_OP(clip, cuda_stored, OUT, 3, cuda_clip(EW_A, EW_B, EW_C))
#define EW_TERNARY_fma(OUT) EW_OP(fma, cuda_stored, OUT, 3, cuda_fma(EW_A, EW_B, EW_C))
#define EW_TERNARY(op, OUT) EW_TERNARY_##op(OUT)

/* A row expands when its class is elementwise and its domain has the kind of CUDA_DTYPE. */
#if CUDA_KIND == CUDA_KIND_BOOL
#define EW_DOMAIN(B, I, U, F, C) B
#elif CUDA_KIND == CUDA_KIND_INT
#define EW_DOMAIN(B, I, U, F, C) I
#elif CUDA_KIND == CUDA_KIND_UINT
#define EW_DOMAIN(B, I, U, F, C) U
#elif CUDA_KIND == CUDA_KIND_FLOAT
#define EW_DOMAIN(B, I, U, F, C) F
#else
#define EW_DOMAIN(B, I, U, F, C) C
#endif
#define EW_IN_F EW_DOMAIN(0, 0, 0, 1, 0)
#define EW_IN_FC EW_DOMAIN(0, 0, 0, 1, 1)
#define EW_IN_IU EW_DOMAIN(0, 1, 1, 0, 0)
#define EW_IN_BIU EW_DOMAIN(1, 1, 1, 0, 0)
#define EW_IN_IUF EW_DOMAIN(0, 1, 1, 1, 0)
#define EW_IN_BIUF EW_DOMAIN(1, 1, 1, 1, 0)
#define EW_IN_IUFC EW_DOMAIN(0, 1, 1, 1, 1)
#define EW_IN_BIUFC EW_DOMAIN(1, 1, 1, 1, 1)
#define EW_IF_0(row, op, OUT)
#define EW_IF_1(row, op, OUT) row(op, OUT)
#define EW_IF_(legal, row, op, OUT) EW_IF_##legal(row, op, OUT)
#define EW_IF(legal, row, op, OUT) EW_IF_(legal, row, op, OUT)
#define EW_ROW_UNARY(op, DOMAIN, RESULT) EW_IF(EW_IN_##DOMAIN, EW_UNARY, op, EW_OUT_##RESULT)
#define EW_ROW_BINARY(op, DOMAIN, RESULT) EW_IF(EW_IN_##DOMAIN, EW_BINARY, op, EW_OUT_##RESULT)
#define EW_ROW_TERNARY(op, DOMAIN, RESULT) EW_IF(EW_IN_##DOMAIN, EW_TERNARY, op, EW_OUT_##RESULT)
#define EW_ROW_FILL(op, DOMAIN, RESULT)
#define EW_ROW_COPY(op, DOMAIN, RESULT)
#define EW_ROW_IOTA(op, DOMAIN, RESULT)
#define EW_ROW_REDUCE(op, DOMAIN, RESULT)
#define EW_ROW_ARGREDUCE(op, DOMAIN, RESULT)
#define EW_ROW_SCAN(op, DOMAIN, RESULT)
#define EW_ROW_NORM(op, DOMAIN, RESULT)
#define EW_ROW_MATMUL(op, DOMAIN, RESULT)
#define EW_ROW_TAKE(op, DOMAIN, RESULT)
#define EW_ROW_GATHER(op, DOMAIN, RESULT)
#define EW_ROW_SCATTER(op, DOMAIN, RESULT)
#define EW_ROW_COMPRESS(op, DOMAIN, RESULT)
#define EW_ROW_NONZERO(op, DOMAIN, RESULT)
#define EW_ROW_SORT(op, DOMAIN, RESULT)
#define EW_ROW_SEARCH(op, DOMAIN, RESULT)
#define EW_ROW_RANDOM(op, DOMAIN, RESULT)
#define ND_OP(op, CLASS, DOMAIN, RESULT, ulp, doc) EW_ROW_##CLASS(op, DOMAIN, RESULT)
#include <ndock/op.def>
