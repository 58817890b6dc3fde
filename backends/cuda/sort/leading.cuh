/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sorts many keys of 64 bits by as few leading digits as tell nearly all of them apart: a sample says how many, passes
 * of a radix sort bring keys with the same leading digits together, and within such a run each key counts those that
 * come before it. What the device finds out decides what the launched kernels do; the host does not wait for it. */
#ifndef NDOCK_CUDA_SORT_LEADING_CUH
#define NDOCK_CUDA_SORT_LEADING_CUH
#include <stdint.h>

enum {
    LEADING_BITS = 8, /* of a digit */
    LEADING_DIGITS = 1 << LEADING_BITS,
    LEADING_MOST = 8,   /* digits of a key */
    LEADING_FEWEST = 2, /* leading digits that are tried */
    LEADING_SAMPLES = 1 << 13,
    LEADING_SLOTS = 11981, /* a prime, so that every step meets all of them */
    LEADING_SAMPLE_THREADS = 512,
    LEADING_RUN = 16, /* keys that a key may meet in its run, on average */
    LEADING_COUNT_THREADS = 256,
    LEADING_COUNT_EACH = 16 /* keys of a thread that are under way at once */
};

/* `digits` digits from bit `begin` on, up to bit `end`; no two keys differ from there on. */
struct leading_choice {
    int begin, end, digits;
};

/* In the device's memory; zero before the first kernel. */
struct leading_state {
    unsigned long long sampled, differ; /* bits in which samples differ, and all keys do */
    uint32_t alike[LEADING_MOST + 1];   /* samples whose leading digits an earlier one has */
    uint32_t long_runs;                 /* how many are listed */
    int taken[LEADING_MOST];            /* tiles of each pass that blocks have taken */
    int begin;                          /* of the leading digits */
    int passes, bit[LEADING_MOST];      /* by which digits, those that all keys share left out */
    int moves; /* of all keys: passes and, where digits are left out, the one by runs */
    uint32_t bins[2][LEADING_MOST][LEADING_DIGITS]; /* of the first and of the second counting */
};

/* Where keys are. Those of `in` stay as they are unless in is other. */
template <class K> struct leading_buffers {
    const K *in;
    K *out, *other;
    uint32_t n;
    int *lookback[2];    /* of the tiles, LEADING_DIGITS each; the first is zero */
    uint32_t *long_runs; /* their first places; in memory of lookback */
    leading_state *state;
};

#define LEADING_FN static __device__ __forceinline__

/* Keys as unsigned numbers in their order, and back. */
LEADING_FN unsigned long long leading_number(long long key)
{
    return (unsigned long long)key ^ 0x8000000000000000ull;
}
LEADING_FN unsigned long long leading_number(unsigned long long key)
{
    return key;
}

/* ---- how many digits ---- */
LEADING_FN int leading_length(unsigned long long differ)
{
    return 64 - __clzll((long long)differ);
}

/* By the sample; a run has alike/(SAMPLES^2/2) of all keys on average, of those that a key meets. */
LEADING_FN leading_choice leading_choose(const leading_state *s, uint32_t n)
{
    leading_choice c = {0, leading_length(s->sampled), LEADING_FEWEST - 1};
    const uint64_t most = (uint64_t)LEADING_RUN * LEADING_SAMPLES * (LEADING_SAMPLES / 2);
    do {
        c.digits++;
        c.begin = c.end > LEADING_BITS * c.digits ? c.end - LEADING_BITS * c.digits : 0;
    } while (c.begin > 0 && s->alike[c.digits] * (uint64_t)n > most);
    c.digits = (c.end - c.begin + LEADING_BITS - 1) / LEADING_BITS;
    c.digits = c.digits ? c.digits : 1;
    return c;
}

/* The same where keys differ further up than samples do: from as far down or further, so that runs are no longer. */
LEADING_FN leading_choice leading_extend(const leading_state *s, leading_choice c)
{
    const int end = leading_length(s->differ);
    if (end <= c.end)
        return c;
    c.digits = (end - c.begin + LEADING_BITS - 1) / LEADING_BITS;
    c.begin = end > LEADING_BITS * c.digits ? end - LEADING_BITS * c.digits : 0;
    c.end = end;
    return c;
}

LEADING_FN uint32_t leading_mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)((x ^ x >> 29) * 0xbf58476d1ce4e5b9ull >> 32);
}

/* Whether the word is in the table already, where it is put otherwise. Zero is none. */
LEADING_FN bool leading_met(volatile uint32_t *table, uint32_t word)
{
    const uint32_t step = 1 + __umulhi(word * 0xc2b2ae35u, LEADING_SLOTS - 1);
    uint32_t at = __umulhi(word * 0x85ebca6bu, LEADING_SLOTS);
    for (;;) {
        uint32_t found = table[at];
        if (found == 0)
            found = atomicCAS((uint32_t *)&table[at], 0u, word);
        if (found == 0 || found == word)
            return found != 0;
        at += at + step < LEADING_SLOTS ? step : step - LEADING_SLOTS;
    }
}

/* Adds the bits of all threads to what is at `to`; by warps, since shared memory takes one thread's at a time. */
LEADING_FN void leading_gather_bits(unsigned long long *to, unsigned long long mine)
{
    for (int apart = 16; apart > 0; apart /= 2)
        mine |= __shfl_xor_sync(0xffffffffu, mine, apart);
    if (threadIdx.x % 32 == 0)
        atomicOr(to, mine);
}

/* Block b looks at LEADING_FEWEST + b leading digits. Places of the sample are random, lest an order of the keys
 * deceive it. */
template <class K>
__global__ void __launch_bounds__(LEADING_SAMPLE_THREADS) leading_sample(leading_buffers<K> b)
{
    const int EACH = LEADING_SAMPLES / LEADING_SAMPLE_THREADS,
              digits = LEADING_FEWEST + (int)blockIdx.x;
    __shared__ uint32_t table[LEADING_SLOTS];
    __shared__ unsigned long long differ;
    unsigned long long key[EACH], mine = 0;
    const unsigned long long first = leading_number(b.in[0]);
    for (uint32_t i = threadIdx.x; i < LEADING_SLOTS; i += LEADING_SAMPLE_THREADS)
        table[i] = 0;
    if (threadIdx.x == 0)
        differ = 0;
#pragma unroll
    for (int k = 0; k < EACH; k++)
        key[k] = leading_number(b.in[__umulhi(leading_mix(threadIdx.x * EACH + k + 1), b.n)]);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++)
        mine |= key[k] ^ first;
    leading_gather_bits(&differ, mine);
    __syncthreads();
    const int end = leading_length(differ), begin = end - LEADING_BITS * digits;
    uint32_t alike = 0;
    for (int k = 0; k < EACH && begin > 0; k++) {
        const uint32_t word = leading_mix(key[k] >> begin);
        alike += leading_met(table, word ? word : 1);
    }
    if (alike)
        atomicAdd(&b.state->alike[digits], alike);
    if (threadIdx.x == 0 && blockIdx.x == 0)
        b.state->sampled = differ;
}

/* ---- how many keys have which digits ---- */
template <int EACH>
LEADING_FN void leading_count_keys(uint32_t (*bins)[LEADING_DIGITS], const leading_choice &c,
                                   const unsigned long long *key)
{
    for (int p = 0; p < c.digits; p++)
#pragma unroll
        for (int k = 0; k < EACH; k++)
            atomicAdd(
                &bins[p][(uint32_t)(key[k] >> (c.begin + LEADING_BITS * p)) & (LEADING_DIGITS - 1)],
                1u);
}

/* The block's share of all keys. The bits in which they differ from the first one. */
template <class K>
LEADING_FN unsigned long long leading_count_tiles(const leading_buffers<K> &b,
                                                  uint32_t (*bins)[LEADING_DIGITS],
                                                  const leading_choice &c)
{
    const uint32_t EACH = LEADING_COUNT_EACH, TILE = LEADING_COUNT_THREADS * EACH;
    const unsigned long long first = leading_number(b.in[0]);
    unsigned long long differ = 0, key[EACH];
    for (uint32_t tile = blockIdx.x; (uint64_t)tile * TILE < b.n; tile += gridDim.x) {
        const uint32_t at = tile * TILE + threadIdx.x;
        if (b.n - tile * TILE >= TILE) {
#pragma unroll
            for (int k = 0; k < (int)EACH; k++)
                key[k] = leading_number(b.in[at + k * LEADING_COUNT_THREADS]);
#pragma unroll
            for (int k = 0; k < (int)EACH; k++)
                differ |= key[k] ^ first;
            leading_count_keys<EACH>(bins, c, key);
        } else
            for (uint32_t i = at; i < b.n; i += LEADING_COUNT_THREADS) {
                key[0] = leading_number(b.in[i]);
                differ |= key[0] ^ first;
                leading_count_keys<1>(bins, c, key);
            }
    }
    return differ;
}

/* again: counts once more, where the sample did not see the keys' whole width. */
template <class K>
__global__ void __launch_bounds__(LEADING_COUNT_THREADS)
    leading_count(leading_buffers<K> b, int again)
{
    __shared__ uint32_t bins[LEADING_MOST][LEADING_DIGITS];
    __shared__ unsigned long long differ;
    leading_choice c = leading_choose(b.state, b.n);
    if (again && leading_length(b.state->differ) <= c.end)
        return;
    if (again)
        c = leading_extend(b.state, c);
    for (int p = 0; p < LEADING_MOST; p++)
        bins[p][threadIdx.x] = 0;
    if (threadIdx.x == 0)
        differ = 0;
    __syncthreads();
    leading_gather_bits(&differ, leading_count_tiles(b, bins, c));
    __syncthreads();
    for (int p = 0; p < c.digits; p++)
        if (bins[p][threadIdx.x])
            atomicAdd(&b.state->bins[again][p][threadIdx.x], bins[p][threadIdx.x]);
    if (threadIdx.x == 0)
        atomicOr(&b.state->differ, differ);
}

/* The block's counts before this thread's. */
LEADING_FN uint32_t leading_before(uint32_t mine)
{
    __shared__ uint32_t warp[LEADING_DIGITS / 32];
    uint32_t sum = mine;
    for (int d = 1; d < 32; d *= 2) {
        const uint32_t before = __shfl_up_sync(0xffffffffu, sum, d);
        sum += (int)(threadIdx.x % 32) >= d ? before : 0;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 31)
        warp[threadIdx.x / 32] = sum;
    __syncthreads();
    for (uint32_t w = 0; w < threadIdx.x / 32; w++)
        sum += warp[w];
    return sum - mine;
}

/* Counts become the places of each digit's first keys: one block, a thread for each value. Digits that all keys share
 * are left out, but not all of them, for a move there must be. */
static __global__ void __launch_bounds__(LEADING_DIGITS) leading_scan(leading_state *s, uint32_t n)
{
    const leading_choice sampled = leading_choose(s, n), c = leading_extend(s, sampled);
    int passes = 0;
    for (int d = 0; d < c.digits; d++) {
        const uint32_t mine = s->bins[c.end > sampled.end][d][threadIdx.x];
        const bool needed = d == c.digits - 1 && passes == 0 && c.begin == 0;
        if (!__syncthreads_or(mine > 0 && mine < n) && !needed)
            continue;
        s->bins[0][passes][threadIdx.x] = leading_before(mine);
        s->bit[passes++] = c.begin + LEADING_BITS * d;
    }
    s->begin = c.begin;
    s->passes = passes;
    s->moves = passes + (c.begin > 0);
}

/* ---- where moves of keys go ---- */
template <class K> struct leading_move {
    const K *from;
    K *to;
};

/* Of move number i, from 0 on. The last one writes to out, or where only two arrays are, to out by turns. */
template <class K> LEADING_FN leading_move<K> leading_move_of(const leading_buffers<K> &b, int i)
{
    const bool to_out = b.in == b.other ? i % 2 == 0 : (b.state->moves - i) % 2 == 1;
    return {i == 0 ? b.in : to_out ? b.other : b.out, to_out ? b.out : b.other};
}

#endif
