/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements of the order of many rows, or of short ones: a block finds neighbours of the order of one
 * row. Digits of the first one's key are found as in order.cu; as soon as few keys have those that
 * are known, these keys are kept in a list, and the row is read no more. The elements after it are
 * the least keys above. */
#ifndef NDOCK_CUDA_ORDER_ROWS_CUH
#define NDOCK_CUDA_ORDER_ROWS_CUH

struct row_search {
    uint32_t count[ORDER_DIGITS];
    uint64_t list[ORDER_LIST];
    uint64_t known;       /* digits of the key, others zero */
    uint32_t rank, there; /* of the element among the keys with these digits; how many they are */
    uint32_t listed;      /* keys in the list */
    unsigned long long next;
};

/* f(key) for all keys of a row. For elements of the size of U, a float's or an integer's: four of
 * them are on their way at a time. */
template <class U, class F>
static __device__ __forceinline__ void each_of_size(const order_params &p, int64_t a, U infinite,
                                                    F f)
{
    const U *row = (const U *)p.a + a;
    const bool floats = is_float(p.dtype);
    const U turn = p.dtype == NDP_I32 || p.dtype == NDP_I64 ? (U)1 << (8 * sizeof(U) - 1) : 0;
    auto look = [&](U raw) { f((uint64_t)(floats ? float_key<U>(raw, infinite) : raw ^ turn)); };
    uint64_t i = threadIdx.x;
    for (; i + 3 * ORDER_THREADS < p.n; i += 4 * ORDER_THREADS) {
        U raw[4];
#pragma unroll
        for (int u = 0; u < 4; u++)
            raw[u] = row[(int64_t)(i + u * ORDER_THREADS) * p.stride];
#pragma unroll
        for (int u = 0; u < 4; u++)
            look(raw[u]);
    }
    for (; i < p.n; i += ORDER_THREADS)
        look(row[(int64_t)i * p.stride]);
}

template <class F>
static __device__ __forceinline__ void each_of_row(const order_params &p, int64_t a, F f)
{
    if (p.nbytes == 4)
        each_of_size<uint32_t>(p, a, 0x7f800000u, f);
    else if (p.nbytes == 8)
        each_of_size<uint64_t>(p, a, 0x7ff0000000000000ull, f);
    else
        for (uint64_t i = threadIdx.x; i < p.n; i += ORDER_THREADS)
            f(key_of(p.dtype, p.a, a + (int64_t)i * p.stride));
}

/* Counts the next digit, at `shift`, of keys whose digits above are known. */
static __device__ __forceinline__ void row_count(const order_params &p, row_search &s, int64_t a,
                                                 int shift, int bits, bool list)
{
    const int above = shift + bits;
    const uint64_t known = s.known;
    const uint32_t mask = (1u << bits) - 1, listed = s.listed;
    const bool gather = list && listed == 0;
    __syncthreads(); /* all have read what the list's length was */
    auto look = [&](uint64_t key) {
        if (above < 8 * p.nbytes && key >> above != known >> above)
            return;
        atomicAdd(&s.count[(uint32_t)(key >> shift) & mask], 1u);
        if (gather)
            s.list[atomicAdd(&s.listed, 1u)] = key;
    };
    if (listed == 0)
        each_of_row(p, a, look);
    else
        for (uint32_t i = threadIdx.x; i < listed; i += ORDER_THREADS)
            look(s.list[i]);
    __syncthreads();
}

/* The digit in which the wanted key is; counts are zero again. */
static __device__ __forceinline__ void row_pick(row_search &s, int shift)
{
    enum { EACH = ORDER_DIGITS / ORDER_THREADS };
    const uint32_t rank = s.rank;
    uint32_t *count = s.count + threadIdx.x * EACH, mine = 0;
    for (int d = 0; d < EACH; d++)
        mine += count[d];
    uint32_t before = (uint32_t)sum_before(mine); /* all have read the rank */
    const bool here = rank >= before && rank - before < mine;
    for (int d = 0; d < EACH; d++) {
        const uint32_t there = count[d];
        count[d] = 0;
        if (here && rank >= before && rank - before < there) {
            s.known |= (uint64_t)(threadIdx.x * EACH + d) << shift;
            s.rank = rank - before;
            s.there = there;
        }
        before += there;
    }
    __syncthreads();
}

static __device__ __forceinline__ void row_search_key(const order_params &p, row_search &s,
                                                      int64_t a, uint32_t rank)
{
    for (int d = (int)threadIdx.x; d < ORDER_DIGITS; d += ORDER_THREADS)
        s.count[d] = 0;
    if (threadIdx.x == 0) {
        s.known = s.listed = 0;
        s.rank = rank;
        s.there = (uint32_t)p.n;
    }
    __syncthreads();
    for (int left = 8 * p.nbytes; left > 0;) {
        const int bits = left < ORDER_BITS ? left : ORDER_BITS;
        left -= bits;
        row_count(p, s, a, left, bits, s.there <= ORDER_LIST);
        row_pick(s, left);
    }
}

/* The least key above the known one, which becomes the known one: where the list has such, it is
 * there, since all keys outside begin with other digits. There is one in the row. */
static __device__ __forceinline__ void row_successor(const order_params &p, row_search &s,
                                                     int64_t a)
{
    const uint64_t known = s.known;
    unsigned long long least = UINT64_MAX;
    auto look = [&](uint64_t key) { least = key > known && key < least ? key : least; };
    auto meet = [&]() { /* the least of all threads */
                        if (least != UINT64_MAX)
                            atomicMin(&s.next, least);
                        __syncthreads();
    };
    __syncthreads();
    if (threadIdx.x == 0)
        s.next = UINT64_MAX;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < s.listed; i += ORDER_THREADS)
        look(s.list[i]);
    meet();
    if (s.next == UINT64_MAX) { /* the same for all: nobody writes to it before the next barrier */
        __syncthreads();
        each_of_row(p, a, look);
        meet();
    }
    if (threadIdx.x == 0)
        s.known = s.next;
    __syncthreads();
}

/* How many keys are the known one. */
static __device__ __forceinline__ void row_count_equal(const order_params &p, row_search &s,
                                                       int64_t a)
{
    uint32_t equal = 0;
    const uint64_t known = s.known;
    if (threadIdx.x == 0)
        s.there = 0;
    __syncthreads();
    each_of_row(p, a, [&](uint64_t key) { equal += key == known; });
    if (equal)
        atomicAdd(&s.there, equal);
    __syncthreads();
}

/* p.from: problems are this many and each is ORDER_TOGETHER neighbours, or what is left of k. */
ORDER(rows)
{
    __shared__ row_search s;
    const uint64_t groups = (p.k + ORDER_TOGETHER - 1) / ORDER_TOGETHER;
    for (uint64_t problem = blockIdx.x; problem < p.from; problem += gridDim.x) {
        const uint64_t row = problem / groups, begin = (problem - row * groups) * ORDER_TOGETHER;
        const uint64_t end = begin + ORDER_TOGETHER < p.k ? begin + ORDER_TOGETHER : p.k;
        const row_place r = place_of(p, row);
        row_search_key(p, s, r.a, (uint32_t)(p.first + begin));
        uint32_t left = s.there - s.rank; /* results that this key is */
        for (uint64_t i = begin; i < end; i++, left--) {
            if (left == 0) {
                row_successor(p, s, r.a);
                if (i + 1 < end)
                    row_count_equal(p, s, r.a);
                left = s.there;
            }
            if (threadIdx.x == 0)
                store_key(p, r, i, s.known);
        }
        __syncthreads();
    }
}

#endif
