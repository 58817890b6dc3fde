/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Runs of keys with the same leading digits, which leading.cuh's passes have brought together: neighbours are sorted in
 * windows of a block each, and what is too long for a window by a block of its own. */
#ifndef NDOCK_CUDA_SORT_LEADING_RUNS_CUH
#define NDOCK_CUDA_SORT_LEADING_RUNS_CUH
#include "sort/leading.cuh"

enum {
    LEADING_RUN_THREADS = 256,
    LEADING_RUN_EACH = 8, /* neighbouring keys of a thread */
    LEADING_WINDOW = LEADING_RUN_THREADS * LEADING_RUN_EACH,
    LEADING_BEYOND = 64, /* keys of a window that only end a run which begins before them */
    LEADING_OWN = LEADING_WINDOW - LEADING_BEYOND,
    LEADING_LONG_THREADS = 512
};

/* ---- a thread's keys ---- */
LEADING_FN void leading_exchange(unsigned long long &a, unsigned long long &b)
{
    const bool swap = b < a;
    const unsigned long long low = swap ? b : a;
    b = swap ? a : b;
    a = low;
}

/* Batcher's network from sorted parts of FROM keys on. */
template <int FROM> LEADING_FN void leading_sort_own(unsigned long long (&x)[LEADING_RUN_EACH])
{
#pragma unroll
    for (int p = FROM; p < LEADING_RUN_EACH; p *= 2)
#pragma unroll
        for (int k = p; k >= 1; k /= 2)
#pragma unroll
            for (int i = k % p; i + k < LEADING_RUN_EACH; i++)
                if ((i - k % p) / k % 2 == 0 && i / (2 * p) == (i + k) / (2 * p))
                    leading_exchange(x[i], x[i + k]);
}

/* ---- a block's window ---- */

/* Of a window: its first and its last own run, and where the run after that begins; NOWHERE where none is seen. */
struct leading_bounds {
    int first, last, next;
};
enum { LEADING_NOWHERE = LEADING_WINDOW + 1 };

/* Shared memory; keys are apart so that a thread's do not lie in the banks of its neighbours'. */
struct leading_window {
    unsigned long long key[LEADING_WINDOW / LEADING_RUN_EACH * (LEADING_RUN_EACH + 1)];
    leading_bounds bounds;
};
LEADING_FN int leading_place(int i)
{
    return i + i / LEADING_RUN_EACH;
}

/* Of the block's threads that have a number, the least and the greatest go to *least and *greatest; threads' numbers
 * rise. */
LEADING_FN void leading_extremes(int low, int high, bool has, int *least, int *greatest)
{
    const uint32_t all = __ballot_sync(0xffffffffu, has), lane = threadIdx.x % 32;
    if (has && all << (31 - lane) == 0x80000000u)
        atomicMin(least, low);
    if (has && greatest && all >> lane == 1)
        atomicMax(greatest, high);
}

/* before: the key before the thread's first; at_front: that there is none. limit: keys of the window; n_ends: with
 * them the array ends. */
LEADING_FN void leading_find_bounds(leading_window &w,
                                    const unsigned long long (&x)[LEADING_RUN_EACH],
                                    unsigned long long before, bool at_front, int limit,
                                    bool n_ends, int bit)
{
    int first = LEADING_NOWHERE, last = -1, next = LEADING_NOWHERE;
#pragma unroll
    for (int e = 0; e < LEADING_RUN_EACH; e++) {
        const int i = (int)threadIdx.x * LEADING_RUN_EACH + e;
        const bool begins = (i == 0 && at_front) || ((x[e] ^ before) >> bit) != 0;
        before = x[e];
        if (begins && i < limit && i < LEADING_OWN) {
            first = first < i ? first : i;
            last = i;
        }
        if (i >= LEADING_OWN && ((begins && i < limit) || (n_ends && i == limit)))
            next = next < i ? next : i;
    }
    leading_extremes(first, last, last >= 0, &w.bounds.first, &w.bounds.last);
    leading_extremes(next, next, next < LEADING_NOWHERE, &w.bounds.next, nullptr);
}

/* Sorts all keys of the window: by turns those of each thread, and the upper half of each with its neighbour's lower
 * half, until no two halves are in the wrong order. `half` is shared memory that is not in use. */
LEADING_FN void leading_sort_window(unsigned long long *half,
                                    unsigned long long (&x)[LEADING_RUN_EACH])
{
    const int H = LEADING_RUN_EACH / 2;
    unsigned long long *mine = half + threadIdx.x * (H + 1), *theirs = mine + H + 1;
    const bool has = threadIdx.x + 1 < LEADING_RUN_THREADS;
    leading_sort_own<1>(x);
    for (;;) {
#pragma unroll
        for (int e = 0; e < H; e++)
            mine[e] = x[e];
        __syncthreads();
        const bool apart = has && theirs[0] < x[2 * H - 1];
        if (apart) {
            unsigned long long y[LEADING_RUN_EACH];
#pragma unroll
            for (int e = 0; e < H; e++) {
                y[e] = x[H + e];
                y[H + e] = theirs[e];
            }
            leading_sort_own<H>(y);
#pragma unroll
            for (int e = 0; e < H; e++) {
                x[H + e] = y[e];
                theirs[e] = y[H + e];
            }
        }
        if (!__syncthreads_or(apart))
            return;
#pragma unroll
        for (int e = 0; e < H; e++)
            x[e] = mine[e];
        if (x[H] < x[H - 1])
            leading_sort_own<H>(x);
    }
}

/* The window of keys from `base` on, in shared memory and the thread's in x; and its runs. */
template <class K>
LEADING_FN leading_bounds leading_load_window(const leading_buffers<K> &b, const K *from,
                                              leading_window &w, uint32_t base,
                                              unsigned long long (&x)[LEADING_RUN_EACH])
{
    const int limit = b.n - base < LEADING_WINDOW ? (int)(b.n - base) : LEADING_WINDOW;
    const int own = (int)threadIdx.x * LEADING_RUN_EACH;
    for (int i = threadIdx.x; i < LEADING_WINDOW; i += LEADING_RUN_THREADS)
        w.key[leading_place(i)] = i < limit ? leading_number(from[base + i]) : ~0ull;
    if (threadIdx.x == 0)
        w.bounds = {LEADING_NOWHERE, -1, LEADING_NOWHERE};
    __syncthreads();
    unsigned long long before = 0;
#pragma unroll
    for (int e = 0; e < LEADING_RUN_EACH; e++)
        x[e] = w.key[leading_place(own) + e];
    if (own > 0)
        before = w.key[leading_place(own - 1)];
    else if (base > 0)
        before = leading_number(from[base - 1]);
    leading_find_bounds(w, x, before, base == 0, limit, base + limit == b.n, b.state->begin);
    __syncthreads();
    leading_bounds r = w.bounds;
    if (base + limit == b.n && limit < LEADING_OWN)
        r.next = limit;
    return r;
}

/* Runs that begin within the window's own part go to their places, sorted, but for one whose end is not seen, which is
 * listed. */
template <class K>
LEADING_FN void leading_run_window(const leading_buffers<K> &b, const leading_move<K> &move,
                                   leading_window &w, uint32_t base)
{
    unsigned long long x[LEADING_RUN_EACH];
    leading_bounds r = leading_load_window(b, move.from, w, base, x);
    if (r.last < 0)
        return; /* all of the window's own keys belong to a run that began before them */
    leading_sort_window(w.key, x);
    if (r.next == LEADING_NOWHERE && threadIdx.x == 0)
        b.long_runs[atomicAdd(&b.state->long_runs, 1u)] = base + (uint32_t)r.last;
    r.next = r.next == LEADING_NOWHERE ? r.last : r.next;
    __syncthreads();
#pragma unroll
    for (int e = 0; e < LEADING_RUN_EACH; e++)
        w.key[leading_place((int)threadIdx.x * LEADING_RUN_EACH) + e] = x[e];
    __syncthreads();
    for (int i = r.first + (int)threadIdx.x; i < r.next; i += LEADING_RUN_THREADS)
        move.to[base + i] = (K)leading_number((K)w.key[leading_place(i)]);
}

template <class K>
__global__ void __launch_bounds__(LEADING_RUN_THREADS) leading_runs(leading_buffers<K> b)
{
    __shared__ leading_window w;
    if (b.state->begin == 0)
        return;
    const leading_move<K> move = leading_move_of(b, b.state->passes);
    for (uint64_t base = (uint64_t)blockIdx.x * LEADING_OWN; base < b.n;
         base += (uint64_t)gridDim.x * LEADING_OWN) {
        leading_run_window(b, move, w, (uint32_t)base);
        __syncthreads();
    }
}

/* ---- runs without an end in sight ---- */

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
    const leading_move<K> move = leading_move_of(b, b.state->passes);
    for (uint32_t run = blockIdx.x; run < b.state->long_runs; run += gridDim.x) {
        const uint32_t at = b.long_runs[run],
                       end = leading_run_end(move.from, b.n, at, b.state->begin);
        for (uint32_t i = at + threadIdx.x; i < end; i += LEADING_LONG_THREADS)
            move.to[i] = move.from[i];
        leading_network(move.to + at, end - at);
    }
}

#endif
