/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Radix sorts by leading digits: their passes, by CUB's agent, and their launches. */
#ifndef NDOCK_CUDA_SORT_LEADING_SORT_CUH
#define NDOCK_CUDA_SORT_LEADING_SORT_CUH
#include "sort/leading_runs.cuh"
#include <cub/agent/agent_radix_sort_onesweep.cuh>

/* Fewer keys are sorted as fast by all digits; of more, an int of a tile's count would overflow. */
#define LEADING_LEAST (UINT64_C(1) << 20)
#define LEADING_MOST_KEYS (UINT64_C(1) << 29)

struct leading_policy {
    enum {
        BLOCK_THREADS = 512,
        ITEMS_PER_THREAD = 11,
        RANK_NUM_PARTS = 1,
        RADIX_BITS = LEADING_BITS
    };
    static constexpr cub::RadixRankAlgorithm RANK_ALGORITHM =
        cub::RADIX_RANK_MATCH_EARLY_COUNTS_ANY;
    static constexpr cub::BlockScanAlgorithm SCAN_ALGORITHM = cub::BLOCK_SCAN_WARP_SCANS;
    static constexpr cub::RadixSortStoreAlgorithm STORE_ALGORITHM = cub::RADIX_SORT_STORE_DIRECT;
};
enum { LEADING_TILE = leading_policy::BLOCK_THREADS * leading_policy::ITEMS_PER_THREAD };

/* What CUB's agent does with a tile, but that it has no way out of the block where all keys have one digit. */
template <class AGENT> struct leading_counts {
    static constexpr bool EMPTY = false;
    AGENT &agent;
    int (&bins)[AGENT::BINS_PER_THREAD];
    __device__ __forceinline__ void operator()(int (&counts)[AGENT::BINS_PER_THREAD])
    {
#pragma unroll
        for (int u = 0; u < AGENT::BINS_PER_THREAD; u++)
            bins[u] = counts[u];
        agent.LookbackPartial(bins);
    }
};
template <class AGENT> LEADING_FN void leading_tile(AGENT &agent)
{
    typename AGENT::bit_ordered_type keys[AGENT::ITEMS_PER_THREAD];
    int ranks[AGENT::ITEMS_PER_THREAD], before[AGENT::BINS_PER_THREAD],
        bins[AGENT::BINS_PER_THREAD];
    agent.LoadKeys(agent.block_idx * AGENT::TILE_ITEMS, keys);
    typename AGENT::BlockRadixRankT(agent.s.rank_temp_storage)
        .RankKeys(keys, ranks, agent.digit_extractor(), before, leading_counts<AGENT>{agent, bins});
    __syncthreads();
    agent.ScatterKeysShared(keys, ranks);
    agent.LoadBinsToOffsetsGlobal(before);
    agent.LookbackGlobal(bins);
    agent.UpdateBinsGlobal(bins, before);
    __syncthreads();
    agent.ScatterKeysGlobal();
    __syncthreads();
}

/* Blocks take tiles until there are no more, so that a pass which is not needed costs few of them. */
template <class POLICY, class K>
__global__ void __launch_bounds__(POLICY::BLOCK_THREADS, 2)
    leading_pass(leading_buffers<K> b, int pass)
{
    typedef cub::detail::radix_sort::AgentRadixSortOnesweep<POLICY, false, K, cub::NullType,
                                                            uint32_t, int>
        agent_type;
    __shared__ typename agent_type::TempStorage storage;
    if (pass >= b.state->passes)
        return;
    const leading_move<K> move = leading_move_of(b, pass);
    const int bit = b.state->bit[pass],
              tiles = (int)((b.n + agent_type::TILE_ITEMS - 1) / agent_type::TILE_ITEMS);
    for (;;) {
        agent_type agent(storage, b.lookback[pass % 2], &b.state->taken[pass], nullptr,
                         b.state->bins[0][pass], move.to, move.from, nullptr, nullptr, (int)b.n,
                         bit, LEADING_BITS);
        if (agent.block_idx >= tiles)
            return;
        int *next = b.lookback[(pass + 1) % 2] + agent.block_idx * LEADING_DIGITS;
        for (int i = threadIdx.x; i < LEADING_DIGITS; i += POLICY::BLOCK_THREADS)
            next[i] = 0;
        leading_tile(agent);
    }
}

/* ---- the host's part ---- */

static size_t leading_aligned(size_t nbytes)
{
    return (nbytes + 255) / 256 * 256;
}
static size_t leading_tiles(uint64_t n, uint64_t tile)
{
    return (size_t)((n + tile - 1) / tile);
}
static size_t leading_lookback_nbytes(uint64_t n)
{
    return leading_tiles(n, LEADING_TILE) * LEADING_DIGITS * sizeof(int);
}

/* How much memory a sort wants; three: a third array of keys as well. */
static size_t leading_temp_nbytes(uint64_t n, size_t key_nbytes, int three)
{
    return leading_aligned(sizeof(leading_state)) +
           leading_aligned(2 * leading_lookback_nbytes(n)) + (three ? n * key_nbytes : 0);
}

template <class K>
static leading_buffers<K> leading_buffers_of(void *temp, const K *in, K *out, K *other, uint64_t n)
{
    char *at = (char *)temp;
    leading_buffers<K> b = {
        in, out, other, (uint32_t)n, {nullptr, nullptr}, nullptr, (leading_state *)at};
    at += leading_aligned(sizeof(leading_state));
    b.lookback[0] = (int *)at;
    b.lookback[1] = (int *)(at + leading_lookback_nbytes(n));
    b.long_runs = (uint32_t *)at;
    at += leading_aligned(2 * leading_lookback_nbytes(n));
    b.other = other ? other : (K *)at;
    return b;
}

template <class K>
static void leading_launch(const leading_buffers<K> &b, unsigned sms, cudaStream_t s)
{
    const unsigned count_tiles =
        (unsigned)leading_tiles(b.n, LEADING_COUNT_THREADS * LEADING_COUNT_EACH);
    const unsigned counters = count_tiles < 8 * sms ? count_tiles : 8 * sms;
    leading_sample<K><<<LEADING_MOST - LEADING_FEWEST + 1, LEADING_SAMPLE_THREADS, 0, s>>>(b);
    for (int again = 0; again < 2; again++)
        leading_count<K><<<counters, LEADING_COUNT_THREADS, 0, s>>>(b, again);
    leading_scan<<<1, LEADING_DIGITS, 0, s>>>(b.state, b.n);
    for (int pass = 0; pass < LEADING_MOST; pass++)
        leading_pass<leading_policy, K><<<4 * sms, leading_policy::BLOCK_THREADS, 0, s>>>(b, pass);
    leading_runs<K><<<16 * sms, LEADING_RUN_THREADS, 0, s>>>(b);
    leading_long<K><<<sms, LEADING_LONG_THREADS, 0, s>>>(b);
}

/* Sorts n keys from in to out. other: NULL, or in, which is overwritten then: **moves, in the device's memory, says
 * where they went: to out if it is odd. */
template <class K>
static cudaError_t leading_sort(void *temp, const K *in, K *out, K *other, uint64_t n,
                                const int **moves, cudaStream_t s)
{
    const leading_buffers<K> b = leading_buffers_of(temp, in, out, other, n);
    int device = 0, sms = 0;
    cudaError_t r = cudaGetDevice(&device);
    if (r == cudaSuccess)
        r = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (r == cudaSuccess)
        r = cudaMemsetAsync(b.state, 0, sizeof *b.state, s);
    if (r == cudaSuccess)
        r = cudaMemsetAsync(b.lookback[0], 0, leading_lookback_nbytes(n), s);
    if (r != cudaSuccess)
        return r;
    leading_launch(b, (unsigned)sms, s);
    if (moves)
        *moves = &b.state->moves;
    return cudaPeekAtLastError();
}

#endif
