/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Rows of up to 1024 elements of 4 bytes, sorted without positions: a warp has a row in its
 * registers. Keys of zeros and NaNs have lost bits, which are put back, in order, where a row has
 * such. */
#ifndef NDOCK_CUDA_SORT_ROWS_CUH
#define NDOCK_CUDA_SORT_ROWS_CUH

/* A bitonic sort of 32 << LOG keys: key r of a lane has number (lane << LOG) + r. Where the
 * direction depends on the lane, keys are turned instead. */
template <int LOG>
static __device__ __forceinline__ void rows_network(uint32_t (&x)[1 << LOG], uint32_t lane)
{
    const int EACH = 1 << LOG;
#pragma unroll
    for (int s = 1; s <= LOG + 5; s++) {
        uint32_t turn = s >= LOG && (lane >> (s - LOG) & 1) ? UINT32_MAX : 0;
#pragma unroll
        for (int r = 0; r < EACH; r++)
            x[r] ^= turn;
#pragma unroll
        for (int t = s - 1; t >= 0; t--) {
            if (t >= LOG) {
                bool low = (lane >> (t - LOG) & 1) == 0;
#pragma unroll
                for (int r = 0; r < EACH; r++) {
                    uint32_t y = __shfl_xor_sync(0xffffffffu, x[r], 1 << (t >= LOG ? t - LOG : 0));
                    x[r] = low ? min(x[r], y) : max(x[r], y);
                }
            } else {
#pragma unroll
                for (int r = 0; r < EACH; r++) {
                    int half = 1 << t, other = r | half;
                    if (r & half)
                        continue;
                    bool falls = s < LOG && (r >> s & 1);
                    uint32_t low = min(x[r], x[other]), high = max(x[r], x[other]);
                    x[r] = falls ? high : low;
                    x[other] = falls ? low : high;
                }
            }
        }
#pragma unroll
        for (int r = 0; r < EACH; r++)
            x[r] ^= turn;
    }
}

/* Bits of an element as a key, without regard to the order that is wanted, and back. */
static __device__ __forceinline__ uint32_t rows_key(int32_t dtype, uint32_t raw)
{
    return dtype == NDP_F32 ? key_f32(raw) : dtype == NDP_I32 ? raw ^ 0x80000000u : raw;
}
static __device__ __forceinline__ uint32_t rows_raw(int32_t dtype, uint32_t key)
{
    if (dtype == NDP_F32)
        return key & 0x80000000u ? key ^ 0x80000000u : ~key;
    return dtype == NDP_I32 ? key ^ 0x80000000u : key;
}

template <int LOG>
static __device__ __forceinline__ uint32_t rows_below(const uint32_t (&x)[1 << LOG], uint32_t key)
{
    uint32_t count = 0;
#pragma unroll
    for (int r = 0; r < 1 << LOG; r++)
        count += x[r] < key;
#pragma unroll
    for (int h = 16; h; h /= 2)
        count += __shfl_xor_sync(0xffffffffu, count, h);
    return count;
}

/* Where the key with a number lies in the warp's part of shared memory: lanes meet no bank twice.
 */
template <int LOG> static __device__ __forceinline__ uint32_t rows_at(uint32_t number)
{
    return number + (number >> LOG);
}

/* The elements that are zeros, or NaNs, in order, from place `at` of the sorted row on. */
template <int LOG>
static __device__ __forceinline__ void rows_restore(const sort_params &p, const uint32_t *row,
                                                    uint32_t *tile, uint32_t at, bool nan)
{
    uint32_t lane = threadIdx.x % 32;
    for (uint32_t first = 0; first < p.n; first += 32) {
        uint32_t i = first + lane, raw = i < p.n ? row[(int64_t)i * p.stride] : 0x3f800000u;
        bool has = nan ? (raw & 0x7fffffffu) > 0x7f800000u : raw << 1 == 0;
        uint32_t votes = __ballot_sync(0xffffffffu, has);
        if (has)
            tile[rows_at<LOG>(at + __popc(votes & ((1u << lane) - 1)))] = raw;
        at += __popc(votes);
    }
}

template <int LOG> static __device__ __forceinline__ void rows_sorted(const sort_params &p)
{
    const int EACH = 1 << LOG;
    __shared__ uint32_t tiles[SORT_ROWS_THREADS / 32][32 * EACH + 32];
    uint32_t lane = threadIdx.x % 32, *tile = tiles[threadIdx.x / 32], x[EACH];
    uint32_t flip = (uint32_t)p.flip;
    uint64_t row = (uint64_t)blockIdx.x * (SORT_ROWS_THREADS / 32) + threadIdx.x / 32;
    if (row >= p.rows.size)
        return;
    row_place place = place_of(p, row);
    const uint32_t *from = (const uint32_t *)p.a + place.a;
    bool special = false;
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        uint32_t i = r * 32 + lane, raw = i < p.n ? from[(int64_t)i * p.stride] : 0;
        special |= p.dtype == NDP_F32 && (raw == 0x80000000u || (raw & 0x7fffffffu) > 0x7f800000u);
        x[r] = i < p.n ? rows_key(p.dtype, raw) ^ flip : UINT32_MAX;
    }
    rows_network<LOG>(x, lane);
#pragma unroll
    for (int r = 0; r < EACH; r++)
        tile[rows_at<LOG>(lane * EACH + r)] = rows_raw(p.dtype, x[r] ^ flip);
    __syncwarp();
    if (__any_sync(0xffffffffu, special)) {
        rows_restore<LOG>(p, from, tile, rows_below<LOG>(x, 0x80000000u ^ flip), false);
        rows_restore<LOG>(p, from, tile, rows_below<LOG>(x, UINT32_MAX ^ flip), true);
        __syncwarp();
    }
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        uint32_t i = r * 32 + lane;
        if (i < p.n)
            ((uint32_t *)p.values)[place.values + (int64_t)i * p.values_stride] =
                tile[rows_at<LOG>(i)];
    }
}

#define SORT_ROWS(each, LOG)                                        \
    extern "C" __global__ void __launch_bounds__(SORT_ROWS_THREADS) \
        sort_rows_##each(const __grid_constant__ sort_params p)     \
    {                                                               \
        rows_sorted<LOG>(p);                                        \
    }
SORT_ROWS(4, 2)
SORT_ROWS(8, 3)
SORT_ROWS(16, 4)
SORT_ROWS(32, 5)

#endif
