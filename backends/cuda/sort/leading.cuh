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
    LEADING_SLOTS = LEADING_SAMPLES * 5 / 4,
    LEADING_SAMPLE_THREADS = 512,
    LEADING_RUN = 16, /* keys that a key may meet in its run, on average */
    LEADING_COUNT_THREADS = 256,
    LEADING_COUNT_EACH = 16, /* keys of a thread that are under way at once */
    LEADING_RANK_THREADS = 256,
    LEADING_RANK_EACH = 8,
    LEADING_LONGEST =
        64, /* run whose keys count each other; longer ones are sorted by a block each */
    LEADING_LONG_THREADS = 512
};

/* Digits from bit `begin` on, `passes` of them, up to bit `end`; no two keys differ from there on. */
struct leading_choice {
    int begin, end, passes;
};

/* In the device's memory; zero before the first kernel. */
struct leading_state {
    unsigned long long sampled, differ; /* bits in which samples differ, and all keys do */
    uint32_t alike[LEADING_MOST + 1];   /* samples whose leading digits an earlier one has */
    uint32_t long_runs;                 /* how many are listed */
    int taken[LEADING_MOST];            /* tiles of each pass that blocks have taken */
    leading_choice choice;              /* of all passes */
    int moves;                          /* that it takes */
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
        c.passes++;
        c.begin = c.end > LEADING_BITS * c.passes ? c.end - LEADING_BITS * c.passes : 0;
    } while (c.begin > 0 && s->alike[c.passes] * (uint64_t)n > most);
    c.passes = (c.end - c.begin + LEADING_BITS - 1) / LEADING_BITS;
    c.passes = c.passes ? c.passes : 1;
    return c;
}

/* The same where keys differ further up than samples do: from as far down or further, so that runs are no longer. */
LEADING_FN leading_choice leading_extend(const leading_state *s, leading_choice c)
{
    const int end = leading_length(s->differ);
    if (end <= c.end)
        return c;
    c.passes = (end - c.begin + LEADING_BITS - 1) / LEADING_BITS;
    c.begin = end > LEADING_BITS * c.passes ? end - LEADING_BITS * c.passes : 0;
    c.end = end;
    return c;
}

/* Moves of all keys: passes and, where digits are left out, the one by ranks. */
LEADING_FN int leading_moves(const leading_choice &c)
{
    return c.passes + (c.begin > 0);
}

LEADING_FN uint32_t leading_mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)((x ^ x >> 29) * 0xbf58476d1ce4e5b9ull >> 32);
}

/* Whether the word is in the table already, where it is put otherwise. Zero is none. */
LEADING_FN bool leading_met(volatile uint32_t *table, uint32_t word)
{
    for (uint32_t at = __umulhi(word * 0x85ebca6bu, LEADING_SLOTS);;
         at = at + 1 < LEADING_SLOTS ? at + 1 : 0) {
        uint32_t found = table[at];
        if (found == 0)
            found = atomicCAS((uint32_t *)&table[at], 0u, word);
        if (found == 0 || found == word)
            return found != 0;
    }
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
    atomicOr(&differ, mine);
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
    for (int p = 0; p < c.passes; p++)
#pragma unroll
        for (int k = 0; k < EACH; k++)
            atomicAdd(
                &bins[p][(uint32_t)(key[k] >> (c.begin + LEADING_BITS * p)) & (LEADING_DIGITS - 1)],
                1u);
}

/* again: counts once more, where the sample did not see the keys' whole width. */
template <class K>
__global__ void __launch_bounds__(LEADING_COUNT_THREADS)
    leading_count(leading_buffers<K> b, int again)
{
    __shared__ uint32_t bins[LEADING_MOST][LEADING_DIGITS];
    __shared__ unsigned long long differ;
    const uint32_t EACH = LEADING_COUNT_EACH, TILE = LEADING_COUNT_THREADS * EACH;
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
    const unsigned long long first = leading_number(b.in[0]);
    unsigned long long mine = 0, key[EACH];
    for (uint32_t tile = blockIdx.x; (uint64_t)tile * TILE < b.n; tile += gridDim.x) {
        const uint32_t at = tile * TILE + threadIdx.x;
        if (b.n - tile * TILE >= TILE) {
#pragma unroll
            for (int k = 0; k < (int)EACH; k++)
                key[k] = leading_number(b.in[at + k * LEADING_COUNT_THREADS]);
#pragma unroll
            for (int k = 0; k < (int)EACH; k++)
                mine |= key[k] ^ first;
            leading_count_keys<EACH>(bins, c, key);
        } else
            for (uint32_t i = at; i < b.n; i += LEADING_COUNT_THREADS) {
                key[0] = leading_number(b.in[i]);
                mine |= key[0] ^ first;
                leading_count_keys<1>(bins, c, key);
            }
    }
    atomicOr(&differ, mine);
    __syncthreads();
    for (int p = 0; p < c.passes; p++)
        if (bins[p][threadIdx.x])
            atomicAdd(&b.state->bins[again][p][threadIdx.x], bins[p][threadIdx.x]);
    if (threadIdx.x == 0)
        atomicOr(&b.state->differ, differ);
}

/* Counts of digit blockIdx.x become the places of its first keys; a thread for each value. */
static __global__ void __launch_bounds__(LEADING_DIGITS) leading_scan(leading_state *s, uint32_t n)
{
    __shared__ uint32_t warp[LEADING_DIGITS / 32];
    const leading_choice sampled = leading_choose(s, n), c = leading_extend(s, sampled);
    const uint32_t mine = s->bins[c.end > sampled.end][blockIdx.x][threadIdx.x];
    uint32_t sum = mine;
    for (int d = 1; d < 32; d *= 2) {
        const uint32_t before = __shfl_up_sync(0xffffffffu, sum, d);
        sum += (int)(threadIdx.x % 32) >= d ? before : 0;
    }
    if (threadIdx.x % 32 == 31)
        warp[threadIdx.x / 32] = sum;
    __syncthreads();
    for (uint32_t w = 0; w < threadIdx.x / 32; w++)
        sum += warp[w];
    s->bins[0][blockIdx.x][threadIdx.x] = sum - mine;
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        s->choice = c;
        s->moves = leading_moves(c);
    }
}

/* ---- passes ---- */

/* Where move number j, from 1 on, of all `moves` writes: the last one to out, or where only two arrays are, by turns. */
template <class K> LEADING_FN bool leading_to_out(const leading_buffers<K> &b, int moves, int j)
{
    return b.in == b.other ? j % 2 == 1 : (moves - j) % 2 == 0;
}

/* ---- where moves of keys go ---- */
template <class K> struct leading_move {
    const K *from;
    K *to;
};

/* Of move number i, from 0 on. The last one writes to out, or where only two arrays are, to out by turns. */
template <class K>
LEADING_FN leading_move<K> leading_move_of(const leading_buffers<K> &b, const leading_choice &c,
                                           int i)
{
    const bool to_out = b.in == b.other ? i % 2 == 0 : (leading_moves(c) - i) % 2 == 1;
    return {i == 0 ? b.in : to_out ? b.other : b.out, to_out ? b.out : b.other};
}

/* ---- runs of keys with the same leading digits ---- */

/* Of the run of window[i]: where it begins and ends within begin to end, and how many of its keys come before that. */
struct leading_place {
    int begin, end, before;
};
LEADING_FN leading_place leading_rank(const unsigned long long *window, int begin, int end, int i,
                                      int bit)
{
    const unsigned long long key = window[i];
    leading_place r = {i, i + 1, 0};
    for (; r.begin > begin; r.begin--) {
        const unsigned long long x = window[r.begin - 1];
        if ((x ^ key) >> bit)
            break;
        r.before += x <= key;
    }
    for (; r.end < end; r.end++) {
        const unsigned long long x = window[r.end];
        if ((x ^ key) >> bit)
            break;
        r.before += x < key;
    }
    return r;
}

template <class K>
__global__ void __launch_bounds__(LEADING_RANK_THREADS) leading_ranks(leading_buffers<K> b)
{
    const int TILE = LEADING_RANK_THREADS * LEADING_RANK_EACH, HALO = LEADING_LONGEST;
    __shared__ unsigned long long window[TILE + 2 * HALO];
    const leading_choice c = b.state->choice;
    if (c.begin == 0)
        return;
    const leading_move<K> move = leading_move_of(b, c, c.passes);
    const int64_t base = (int64_t)blockIdx.x * TILE - HALO; /* of the window */
    const int begin = base < 0 ? HALO : 0;
    const int end = b.n - base < TILE + 2 * HALO ? (int)(b.n - base) : TILE + 2 * HALO;
    for (int i = begin + threadIdx.x; i < end; i += LEADING_RANK_THREADS)
        window[i] = leading_number(move.from[base + i]);
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < LEADING_RANK_EACH; k++) {
        const int i = HALO + k * LEADING_RANK_THREADS + threadIdx.x;
        if (i >= end || i >= HALO + TILE)
            break;
        const leading_place r = leading_rank(window, begin, end, i, c.begin);
        if (r.end - r.begin <= LEADING_LONGEST)
            move.to[base + r.begin + r.before] = (K)leading_number((K)window[i]);
        else if (r.begin == i)
            b.long_runs[atomicAdd(&b.state->long_runs, 1u)] = (uint32_t)(base + i);
    }
}

/* The end of the run that begins at `at`. */
template <class K>
LEADING_FN uint32_t leading_run_end(const K *keys, uint32_t n, uint32_t at, int bit)
{
    __shared__ uint32_t end;
    const unsigned long long first = leading_number(keys[at]);
    if (threadIdx.x == 0)
        end = n;
    for (uint32_t from = at;; from += LEADING_LONG_THREADS) {
        __syncthreads();
        if (end < n || from >= n)
            return end;
        __syncthreads();
        const uint32_t i = from + threadIdx.x;
        if (i < n && (leading_number(keys[i]) ^ first) >> bit)
            atomicMin(&end, i);
    }
}

/* Sorts n keys in place by a network in which the smaller of two always comes first, so that those that would
 * complete a power of two never move. */
template <class K> LEADING_FN void leading_network(K *keys, uint32_t n)
{
    for (uint32_t size = 2; size / 2 < n; size *= 2)
        for (uint32_t half = size / 2; half > 0; half /= 2) {
            __syncthreads();
            for (uint32_t t = threadIdx.x;; t += LEADING_LONG_THREADS) {
                const uint32_t in = t & (half - 1), i = 2 * t - in;
                const uint32_t j = half == size / 2 ? i + size - 1 - 2 * in : i + half;
                if (i >= n)
                    break;
                if (j < n && leading_number(keys[j]) < leading_number(keys[i])) {
                    const K x = keys[i];
                    keys[i] = keys[j];
                    keys[j] = x;
                }
            }
        }
    __syncthreads();
}

/* Runs that are listed, a block each. */
template <class K>
__global__ void __launch_bounds__(LEADING_LONG_THREADS) leading_long(leading_buffers<K> b)
{
    const leading_choice c = b.state->choice;
    const leading_move<K> move = leading_move_of(b, c, c.passes);
    for (uint32_t run = blockIdx.x; run < b.state->long_runs; run += gridDim.x) {
        const uint32_t at = b.long_runs[run], end = leading_run_end(move.from, b.n, at, c.begin);
        for (uint32_t i = at + threadIdx.x; i < end; i += LEADING_LONG_THREADS)
            move.to[i] = move.from[i];
        leading_network(move.to + at, end - at);
    }
}

#endif
