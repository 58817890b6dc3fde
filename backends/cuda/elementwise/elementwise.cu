/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise kernels of one dtype, CUDA_DTYPE: add_vectors and add_elements for the row add of
 * op.def, and so on for every row that is legal for it. */
#include "elementwise/elementwise.h"
#include "walk/earlier.cuh"
#include "walk/lines.cuh"
#include "walk/walk.cuh"
#include "math/scalar.cuh"

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

template <class T, int N> using ew_packed = typename ew_words<sizeof(T) * N>::type;

template <class T, int N>
static __device__ __forceinline__ ew_packed<T, N> pack(const cuda_vector<T, N> &v)
{
    ew_packed<T, N> words;
    memcpy(&words, &v, sizeof words);
    return words;
}

/* Compilers take vectors of small elements apart where they are loaded, and so wait for one
 * operand before the next is asked for, unless the words are wanted as such once all are loaded. */
[[maybe_unused]] static __device__ __forceinline__ void hold(uint4 &w)
{
    asm volatile("" : "+r"(w.x), "+r"(w.y), "+r"(w.z), "+r"(w.w));
}
[[maybe_unused]] static __device__ __forceinline__ void hold(uint2 &w)
{
    asm volatile("" : "+r"(w.x), "+r"(w.y));
}
template <class W> static __device__ __forceinline__ void hold(W &) {}

template <class T, int N>
static __device__ __forceinline__ cuda_vector<T, N> unpack(ew_packed<T, N> words)
{
    cuda_vector<T, N> v;
    hold(words);
    memcpy(&v, &words, sizeof v);
    return v;
}

template <class T, int N>
static __device__ __forceinline__ void store_vector(T *at, const cuda_vector<T, N> &v)
{
    __stwb((ew_packed<T, N> *)at, pack<T, N>(v));
}

/* The functions that are not inlined are long, seldom used, and the same for all ops. */

/* Elements low to high - 1 of a vector, one by one, element k at at[k * stride]. */
template <class T, int N>
static __device__ __forceinline__ cuda_vector<T, N> load_elements(const T *at, int64_t stride,
                                                                  int low, int high)
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

/* 16 bytes from any address: out of the two aligned vectors that they lie in. */
template <class T, int N>
static __device__ __forceinline__ cuda_vector<T, N> load_shifted(const T *at)
{
    enum { WORDS = EW_VECTOR_BYTES / 4 };
    uint32_t bytes = (uintptr_t)at % EW_VECTOR_BYTES, w[2 * WORDS];
    const uint4 *from = (const uint4 *)((uintptr_t)at - bytes);
    uint4 low = from[0], high = bytes ? from[1] : low;
    cuda_vector<T, N> v;
    memcpy(w, &low, sizeof low);
    memcpy(w + WORDS, &high, sizeof high);
#pragma unroll
    for (int k = 0; k < WORDS + 2; k++)
        w[k] = bytes & 8 ? w[k + 2] : w[k];
#pragma unroll
    for (int k = 0; k < WORDS + 1; k++)
        w[k] = bytes & 4 ? w[k + 1] : w[k];
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        w[k] = __funnelshift_r(w[k], w[k + 1], bytes % 4 * 8);
    memcpy(&v, w, sizeof v);
    return v;
}

/* Every second element, out of the two aligned vectors that they lie in. */
template <class T, int N>
static __device__ __forceinline__ cuda_vector<T, N> load_second(const T *at)
{
    uint4 two[2] = {((const uint4 *)at)[0], ((const uint4 *)at)[1]};
    cuda_vector<T, N> v;
    T all[2 * N];
    memcpy(all, two, sizeof two);
#pragma unroll
    for (int k = 0; k < N; k++)
        v.at[k] = all[2 * k];
    return v;
}

/* Elements low to high - 1 of a vector whose element k lies at at[k * stride]. inner: there is a
 * vector's length of the row on either side, so that whole aligned vectors may be read. */
template <class T, int N>
static __device__ __noinline__ ew_packed<T, N> load_row(const T *at, int64_t stride, int low,
                                                        int high, bool inner)
{
    cuda_vector<T, N> v;
    if (N * sizeof(T) == EW_VECTOR_BYTES && N > 1 && inner && stride == 2 &&
        (uintptr_t)at % EW_VECTOR_BYTES == 0)
        return pack<T, N>(load_second<T, N>(at));
    if (N * sizeof(T) < EW_VECTOR_BYTES || N == 1 || !inner || (stride != 1 && stride != -1))
        return pack<T, N>(load_elements<T, N>(at, stride, low, high));
    v = load_shifted<T, N>(stride == 1 ? at : at - (N - 1));
#pragma unroll
    for (int k = 0; k < N / 2; k++)
        if (stride == -1) {
            T x = v.at[k];
            v.at[k] = v.at[N - 1 - k];
            v.at[N - 1 - k] = x;
        }
    return pack<T, N>(v);
}

/* ---- vectors: dense operands, or rows of vectors ---- */

struct ew_offsets {
    int64_t out, in[EW_INPUTS];
};

/* Adds where index `rest` of the dimensions from d on lies. */
template <int INPUTS>
static __device__ __forceinline__ void add_outer(const ew_params &p, int d, uint32_t rest,
                                                 ew_offsets &at)
{
    cuda_walk_from<1>(p.walk.extent, d, p.walk.ndim, rest, [&](int dim, uint32_t x) {
        at.out += x * p.stride[0][dim];
#pragma unroll
        for (int i = 0; i < INPUTS; i++)
            at.in[i] += x * p.stride[i + 1][dim];
    });
}

/* Where a vector's element 0 is in each operand; its elements low to high - 1 exist. */
struct ew_place {
    ew_offsets at;
    int32_t low, high;
    bool inner; /* as many elements lie before and behind them, at least */
};

static __device__ __forceinline__ ew_place place_dense(const ew_params &p, int n, uint64_t vector)
{
    uint64_t at = vector * n;
    int64_t i = (int64_t)at;
    ew_place place = {{i, {i, i, i}}, 0, 0, at >= n && at + 2 * n <= p.n};
    place.high = at + n <= p.n ? n : at < p.n ? (int32_t)(p.n - at) : 0;
    return place;
}

/* Vectors of a row begin where the output is aligned: the first may lack its first elements. */
template <class OP, int N>
static __device__ __forceinline__ ew_place place_of_row(const ew_params &p, uint32_t vector)
{
    ew_place place = {};
    uint32_t row = cuda_quotient(vector, p.columns);
    if (vector >= p.n)
        return place;
    add_outer<OP::inputs>(p, 1, row, place.at);
    uint64_t begin = p.out / sizeof(typename OP::out) + (uint64_t)place.at.out;
    int32_t first = (int32_t)((vector - row * p.columns.value) * N) - (int32_t)(begin % N);
    int32_t left = (int32_t)p.walk.extent[0].value - first;
    place.low = first < 0 ? -first : 0;
    place.high = left < N ? left : N;
    place.inner = first >= N && left >= 2 * N;
    place.at.out += first;
#pragma unroll
    for (int i = 0; i < OP::inputs; i++)
        place.at.in[i] += first * p.stride[i + 1][0];
    return place;
}

template <class T, int N>
static __device__ __forceinline__ ew_packed<T, N> load(const ew_params &p, int input,
                                                       const ew_place &place)
{
    const T *at = (const T *)p.in[input].at + place.at.in[input];
    if (p.scalars >> input & 1)
        return pack<T, N>(splat<T, N>(scalar_of<T>(p.in[input])));
    if ((p.vectors >> input & 1) && place.high - place.low == N)
        return *(const ew_packed<T, N> *)at;
    if (p.splats >> input & 1)
        return pack<T, N>(splat<T, N>(*at));
    return load_row<T, N>(at, p.walk.ndim ? p.stride[input + 1][0] : 1, place.low, place.high,
                          place.inner);
}

template <class OP>
static __device__ __forceinline__ void one_vector(const ew_params &p, const ew_place &place)
{
    const int N = EW_N;
    ew_packed<typename OP::in1, N> a;
    ew_packed<typename OP::in2, N> b = {};
    ew_packed<typename OP::in3, N> c = {};
    if (place.low >= place.high)
        return;
    a = load<typename OP::in1, N>(p, 0, place);
    if (OP::inputs > 1)
        b = load<typename OP::in2, N>(p, 1, place);
    if (OP::inputs > 2)
        c = load<typename OP::in3, N>(p, 2, place);
    operands<OP, N> x = {unpack<typename OP::in1, N>(a), unpack<typename OP::in2, N>(b),
                         unpack<typename OP::in3, N>(c)};
    typename OP::out *out = (typename OP::out *)p.out + place.at.out;
    cuda_vector<typename OP::out, N> r = apply<OP, N, OP::copies>(x);
    if (place.high - place.low == N)
        store_vector<typename OP::out, N>(out, r);
    else
        store_elements<typename OP::out, N>(out, r, place.low, place.high);
}

template <class T, int N>
static __device__ __forceinline__ ew_packed<T, N> load_whole(const ew_params &p, int input,
                                                             uint64_t at)
{
    if (p.scalars >> input & 1)
        return pack<T, N>(splat<T, N>(scalar_of<T>(p.in[input])));
    return *(const ew_packed<T, N> *)((const T *)p.in[input].at + at);
}

/* Dense operands, all of whose vectors are whole: several are on their way while a long formula is
 * computed, and there is little to do beside it. */
template <class OP>
static __device__ __forceinline__ void many_vectors(const ew_params &p, uint64_t first)
{
    const int N = EW_N, MANY = OP::many;
    ew_packed<typename OP::in1, N> a[MANY];
    ew_packed<typename OP::in2, N> b[MANY] = {};
#pragma unroll
    for (int j = 0; j < MANY; j++) {
        a[j] = load_whole<typename OP::in1, N>(p, 0, (first + j * EW_THREADS) * N);
        if (OP::inputs > 1)
            b[j] = load_whole<typename OP::in2, N>(p, 1, (first + j * EW_THREADS) * N);
    }
#pragma unroll
    for (int j = 0; j < MANY; j++) {
        operands<OP, N> x = {unpack<typename OP::in1, N>(a[j]), unpack<typename OP::in2, N>(b[j])};
        store_vector<typename OP::out, N>((typename OP::out *)p.out + (first + j * EW_THREADS) * N,
                                          apply<OP, N, OP::copies>(x));
    }
}

/* The work of one thread of a block, if each thread took one vector. */
template <class OP>
static __device__ __forceinline__ void vector_of_block(const ew_params &p, uint64_t block)
{
    const int N = EW_N;
    one_vector<OP>(p, p.walk.ndim
                          ? place_of_row<OP, N>(p, (uint32_t)block * EW_THREADS + threadIdx.x)
                          : place_dense(p, N, block * EW_THREADS + threadIdx.x));
}

template <class OP> static __device__ __forceinline__ void vectors(const ew_params &p)
{
    const int MANY = OP::many;
    if constexpr (MANY == 1) {
        vector_of_block<OP>(p, blockIdx.x);
    } else {
        uint32_t steps = p.many ? MANY : 1;
        uint64_t block = (uint64_t)blockIdx.x * steps;
        if (p.many && (block + MANY) * (EW_THREADS * EW_N) <= p.n) {
            many_vectors<OP>(p, block * EW_THREADS + threadIdx.x);
            return;
        }
#pragma unroll 1
        for (uint32_t step = 0; step < steps; step++)
            vector_of_block<OP>(p, block + step);
    }
}

/* ---- small: dense operands that one round of threads covers. What such a kernel costs is mostly how
 * long it takes to begin and end, so its code and its parameters are short, and in graphs it begins
 * while the kernel before it ends. ---- */

template <class T, int N>
static __device__ __forceinline__ cuda_vector<T, N> small_input(const ew_small &p, int input,
                                                                uint32_t at)
{
    if (p.scalars >> input & 1)
        return splat<T, N>(scalar_of<T>(p.in[input]));
    return unpack<T, N>(*(const ew_packed<T, N> *)((const T *)p.in[input].at + at));
}

template <class OP, int N>
static __device__ __forceinline__ void small_vector(const ew_small &p, uint32_t at)
{
    operands<OP, N> x = {};
    x.a = small_input<typename OP::in1, N>(p, 0, at);
    if (OP::inputs > 1)
        x.b = small_input<typename OP::in2, N>(p, 1, at);
    if (OP::inputs > 2)
        x.c = small_input<typename OP::in3, N>(p, 2, at);
    cuda_vector<typename OP::out, N> r = apply<OP, N, N>(x);
    *(ew_packed<typename OP::out, N> *)((typename OP::out *)p.out + at) =
        pack<typename OP::out, N>(r);
}

template <class OP> static __device__ __forceinline__ void small(const ew_small &p)
{
    const int N = EW_N;
    uint32_t at = (blockIdx.x * EW_THREADS + threadIdx.x) * N;
    cuda_after_earlier();
    if (at + N <= p.n) {
        small_vector<OP, N>(p, at);
        return;
    }
#pragma unroll 1
    for (; at < p.n; at++)
        small_vector<OP, 1>(p, at);
}

/* ---- elements, one by one: short rows, outputs whose innermost stride is not 1, and tiles.
 * Inputs of tiles go through shared memory, loaded by 32 lanes along the dimension in which they
 * lie together, and are read along the output's. ---- */

extern __shared__ __align__(16) unsigned char ew_tiles[];

/* Fills the tile at byte `tile` of shared memory. A lane takes elements `along` apart of lines
 * `across` apart, which lie to_along and to_across apart in the tile: `length` by `count` of them
 * exist. In parts, so that there are registers for the loads in flight. */
template <class T, int SIDE>
static __device__ __noinline__ void load_tile(uint32_t tile, const T *at, int64_t along,
                                              int64_t across, uint32_t length, uint32_t count,
                                              int to_along, int to_across)
{
    enum { LANES = 32, WARPS = EW_ELEMENT_THREADS / LANES, ALONG = SIDE / LANES, ACROSS = 4 };
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

/* The tile of an input whose first element is at `offset`: width (x) by height (y) elements.
 * Element (x, y) lies at y * PITCH + x; lanes along y meet no bank twice since rows are an odd
 * number of words (of elements, when these are larger) apart. */
template <class T, int SIDE>
static __device__ __forceinline__ void load_input(uint32_t tile, const ew_params &p, int input,
                                                  int64_t offset, uint32_t width, uint32_t height)
{
    const int PITCH = EW_TILE_PITCH(SIDE, sizeof(T));
    const T *at = (const T *)p.in[input].at + offset;
    if (p.scalars >> input & 1)
        return;
    bool by_y = p.transposed >> input & 1;
    load_tile<T, SIDE>(tile, at, p.stride[input + 1][by_y], p.stride[input + 1][!by_y],
                       by_y ? height : width, by_y ? width : height, by_y ? PITCH : 1,
                       by_y ? 1 : PITCH);
}

static __device__ __forceinline__ uint32_t at_most(uint32_t n, uint32_t most)
{
    return n < most ? n : most;
}

/* What a block computes: `width` by `height` elements of a tile that begins at `at`, or elements
 * from first on. */
struct ew_block {
    ew_offsets at;
    uint32_t width, height, first;
};

template <class OP, int SIDE, int TILE>
static __device__ __forceinline__ ew_block load_tiles(const ew_params &p)
{
    line_tile t = line_tile_of(blockIdx.x, p.columns, p.lines);
    uint32_t x0 = t.fast * SIDE, y0 = t.slow * SIDE;
    ew_block block = {};
    block.width = at_most(p.walk.extent[0].value - x0, SIDE);
    block.height = at_most(p.walk.extent[1].value - y0, SIDE);
    add_outer<OP::inputs>(p, 2, t.plane, block.at);
    block.at.out += x0 * p.stride[0][0] + y0 * p.stride[0][1];
#pragma unroll
    for (int i = 0; i < OP::inputs; i++)
        block.at.in[i] += x0 * p.stride[i + 1][0] + y0 * p.stride[i + 1][1];
    load_input<typename OP::in1, SIDE>(0, p, 0, block.at.in[0], block.width, block.height);
    if (OP::inputs > 1)
        load_input<typename OP::in2, SIDE>(TILE, p, 1, block.at.in[1], block.width, block.height);
    if (OP::inputs > 2)
        load_input<typename OP::in3, SIDE>(2 * TILE, p, 2, block.at.in[2], block.width,
                                           block.height);
    return block;
}

/* Of a thread's element e: false if there is none. Offsets of inputs are within tiles, if any. */
template <class OP, int SIDE, bool TILED>
static __device__ __forceinline__ bool locate(const ew_params &p, const ew_block &block, int e,
                                              ew_offsets &at)
{
    if (!TILED) {
        uint32_t i = block.first + e * EW_ELEMENT_THREADS;
        at = {};
        add_outer<OP::inputs>(p, 0, i, at);
        return i < p.n;
    }
    uint32_t x = threadIdx.x % 32 + e % (SIDE / 32) * 32;
    uint32_t y = threadIdx.x / 32 + e / (SIDE / 32) * (EW_ELEMENT_THREADS / 32);
    at.out = block.at.out + x * p.stride[0][0] + y * p.stride[0][1];
    at.in[0] = y * EW_TILE_PITCH(SIDE, sizeof(typename OP::in1)) + x;
    at.in[1] = at.in[2] = y * EW_TILE_PITCH(SIDE, sizeof(cuda_stored)) + x;
    return x < block.width && y < block.height;
}

template <class T, int TILE, bool TILED>
static __device__ __forceinline__ T load_element(const ew_params &p, int input, int64_t offset)
{
    if (p.scalars >> input & 1)
        return scalar_of<T>(p.in[input]);
    if (TILED)
        return ((const T *)(ew_tiles + input * TILE))[offset];
    return ((const T *)p.in[input].at)[offset];
}

/* Of a tile one element after the other: its loads are under way already, and registers decide how
 * many blocks run at once. */
template <class OP, bool TILED> static __device__ __forceinline__ void elements(const ew_params &p)
{
    const int SIDE = EW_TILE_SIDE(OP::inputs, sizeof(cuda_stored));
    const int E = OP::heavy || TILED ? 1 : 2;
    const int TILE = EW_TILE_BYTES(SIDE, sizeof(cuda_stored));
    ew_block block = {};
    block.first = blockIdx.x * (EW_ELEMENT_THREADS * EW_ELEMENTS) + threadIdx.x;
    if (TILED) {
        block = load_tiles<OP, SIDE, TILE>(p);
        __syncthreads();
    }
    const int steps = TILED ? SIDE * SIDE / EW_ELEMENT_THREADS : EW_ELEMENTS;
#pragma unroll(TILED && !OP::heavy ? 2 : 1)
    for (int e = 0; e < steps; e += E) {
        operands<OP, E> x = {};
        typename OP::out *out[E];
#pragma unroll
        for (int j = 0; j < E; j++) {
            ew_offsets at;
            bool exists = locate<OP, SIDE, TILED>(p, block, e + j, at);
            out[j] = exists ? (typename OP::out *)p.out + at.out : NULL;
            if (exists)
                x.a.at[j] = load_element<typename OP::in1, TILE, TILED>(p, 0, at.in[0]);
            if (exists && OP::inputs > 1)
                x.b.at[j] = load_element<typename OP::in2, TILE, TILED>(p, 1, at.in[1]);
            if (exists && OP::inputs > 2)
                x.c.at[j] = load_element<typename OP::in3, TILE, TILED>(p, 2, at.in[2]);
        }
        cuda_vector<typename OP::out, E> r = apply<OP, E, E>(x);
#pragma unroll
        for (int j = 0; j < E; j++)
            if (out[j])
                *out[j] = r.at[j];
    }
}

/* How many copies of a formula are made for a vector. */
static constexpr int copies_of(bool is_heavy)
{
    return is_heavy && CUDA_KIND != CUDA_KIND_FLOAT ? 1 : EW_N;
}
/* Blocks on a multiprocessor that registers must suffice for, where a thread takes many vectors:
 * all that it has room for, or of two inputs three quarters of them. */
static constexpr int blocks_of(int many, int inputs)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 750
    const int threads = 2048;
#elif __CUDA_ARCH__ < 800
    const int threads = 1024;
#elif __CUDA_ARCH__ / 10 == 86 || __CUDA_ARCH__ / 10 == 87 || __CUDA_ARCH__ / 10 == 89 || \
    __CUDA_ARCH__ >= 1200
    const int threads = 1536;
#else
    const int threads = 2048;
#endif
    return many == 1 ? 0 : threads / EW_THREADS * (inputs == 1 ? 4 : 3) / 4;
}

/* ---- four kernels for each row of the op table ---- */
#define EW_KERNELS(op)                                                        \
    extern "C" __global__ void __launch_bounds__(EW_THREADS, op_##op::blocks) \
        op##_vectors(const __grid_constant__ ew_params p)                     \
    {                                                                         \
        vectors<op_##op>(p);                                                  \
    }                                                                         \
    extern "C" __global__ void __launch_bounds__(EW_THREADS)                  \
        op##_small(const __grid_constant__ ew_small p)                        \
    {                                                                         \
        if constexpr (!op_##op::heavy)                                        \
            small<op_##op>(p);                                                \
    }                                                                         \
    extern "C" __global__ void __launch_bounds__(EW_ELEMENT_THREADS)          \
        op##_elements(const __grid_constant__ ew_params p)                    \
    {                                                                         \
        elements<op_##op, false>(p);                                          \
    }                                                                         \
    extern "C" __global__ void __launch_bounds__(EW_ELEMENT_THREADS)          \
        op##_tiles(const __grid_constant__ ew_params p)                       \
    {                                                                         \
        elements<op_##op, true>(p);                                           \
    }
#define EW_OP(op, IN1, OUT, N, expression)                                     \
    struct op_##op {                                                           \
        typedef IN1 in1;                                                       \
        typedef cuda_stored in2, in3;                                          \
        typedef OUT out;                                                       \
        enum { inputs = N };                                                   \
        static constexpr bool heavy = ew_is_heavy(NDP_OP_##op, CUDA_DTYPE_ID); \
        static constexpr int many = ew_many(NDP_OP_##op, CUDA_DTYPE_ID, N);    \
        static constexpr int blocks = blocks_of(many, N);                      \
        typedef cuda_operand<cuda_on_stored(NDP_OP_##op)> operand;             \
        static constexpr int copies = copies_of(heavy);                        \
        static __device__ __forceinline__ OUT f(in1 a, in2 b, in3 c)           \
        {                                                                      \
            return cuda_narrow<OUT>(expression);                               \
        }                                                                      \
    };                                                                         \
    EW_KERNELS(op)
#define EW_A operand::of(a)
#define EW_B operand::of(b)
#define EW_C operand::of(c)
#define EW_OUT_SAME cuda_stored
#define EW_OUT_BOOL uint8_t
#define EW_OUT_REAL cuda_real_stored
#define EW_UNARY(op, DOMAIN, RESULT, ulp, doc) \
    EW_OP(op, cuda_stored, EW_OUT_##RESULT, 1, cuda_##op(EW_A))
#define EW_BINARY(op, DOMAIN, RESULT, ulp, doc) \
    EW_OP(op, cuda_stored, EW_OUT_##RESULT, 2, cuda_##op(EW_A, EW_B))
#define EW_TERNARY(op, DOMAIN, RESULT, ulp, doc)                                      \
    EW_OP(op, ND_EXPAND_IF(EW_MASKED_##op, uint8_t, cuda_stored), EW_OUT_##RESULT, 3, \
          cuda_##op(ND_EXPAND_IF(EW_MASKED_##op, a, EW_A), EW_B, EW_C))
#define EW_MASKED_where ND_EXPAND_YES /* the one with a bool operand */

/* A row expands when its class is elementwise and its domain has the kind of CUDA_DTYPE. */
#define ND_EXPAND_UNARY ND_EXPAND_BY(EW_UNARY)
#define ND_EXPAND_BINARY ND_EXPAND_BY(EW_BINARY)
#define ND_EXPAND_TERNARY ND_EXPAND_BY(EW_TERNARY)
#define ND_EXPAND_KIND CUDA_KIND
#include <ndock/op_expand.h>
