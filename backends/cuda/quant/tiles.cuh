/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of one row of a with rows of blocks of two or three bits, by integer matrix instructions: the unpacking of
 * so few bits takes longer than their reading, and products with single instructions of four would double it.
 * A multiprocessor has one block of threads and a share of the rows, which it takes in tiles of 16. A warp multiplies
 * one super-block of each row of a tile, or every so many-th, and keeps its sums until those of all warps are added. */
#ifndef NDOCK_CUDA_QUANT_TILES_CUH
#define NDOCK_CUDA_QUANT_TILES_CUH
#include "quant/few.cuh"

/* The row of a in shared memory: of each super-block 256 codes, and of its groups of 32 d and the sums of codes of both
 * halves, of 16 bits each. */
struct tile_group {
    float d;
    int sums;
};
struct tile_row {
    unsigned char *const at;
    __device__ __forceinline__ explicit tile_row(unsigned char *bytes) : at(bytes) {}
    __device__ __forceinline__ unsigned *codes(int block) const
    {
        return (unsigned *)(at + block * TILE_ROUNDED);
    }
    __device__ __forceinline__ tile_group *groups(int block) const
    {
        return (tile_group *)(at + block * TILE_ROUNDED + 256);
    }
};

/* A thread's eight elements of a super-block: as they lie in memory, of f64 as f32. */
static __device__ __forceinline__ void tile_load(const quant_params &p, int block, uint4 (&raw)[2])
{
    const int i = block * 256 + (int)threadIdx.x % 32 * 8;
    if (p.dtype == NDP_F64) {
#pragma unroll
        for (int k = 0; k < 2; k++)
            raw[k] = uint4{__float_as_uint(load(p.a, p.dtype, i + 4 * k)),
                           __float_as_uint(load(p.a, p.dtype, i + 4 * k + 1)),
                           __float_as_uint(load(p.a, p.dtype, i + 4 * k + 2)),
                           __float_as_uint(load(p.a, p.dtype, i + 4 * k + 3))};
        return;
    }
    const uint4 *from = (const uint4 *)(p.a + (uint64_t)i * (p.dtype == NDP_F32 ? 4 : 2));
    raw[0] = from[0];
    if (p.dtype == NDP_F32)
        raw[1] = from[1];
}
static __device__ __forceinline__ void tile_values(int32_t dtype, const uint4 (&raw)[2],
                                                   float (&x)[8])
{
    if (dtype == NDP_F16)
        few_halves<false>(raw[0], x);
    else if (dtype == NDP_BF16)
        few_halves<true>(raw[0], x);
    else
#pragma unroll
        for (int k = 0; k < 2; k++) {
            x[4 * k] = __uint_as_float(raw[k].x);
            x[4 * k + 1] = __uint_as_float(raw[k].y);
            x[4 * k + 2] = __uint_as_float(raw[k].z);
            x[4 * k + 3] = __uint_as_float(raw[k].w);
        }
}
/* Rounds the warp's super-blocks, of which `raw` has the first: no other warp reads them. */
static __device__ __forceinline__ void tile_round(const quant_params &p, const tile_row &row,
                                                  uint4 (&raw)[2])
{
    const int lane = (int)threadIdx.x % 32, warps = (int)blockDim.x / 32, blocks = (int)(p.n / 256);
#pragma unroll 1
    for (int block = (int)threadIdx.x / 32; block < blocks; block += warps) {
        uint4 then[2] = {};
        if (block + warps < blocks)
            tile_load(p, block + warps, then);
        float x[8], d;
        unsigned codes[2];
        int sum;
        tile_values(p.dtype, raw, x);
        few_codes(x, codes, d, sum);
        sum += __shfl_xor_sync(~0u, sum, 1);
        const int other = __shfl_xor_sync(~0u, sum, 2);
        ((uint2 *)row.codes(block))[lane] = uint2{codes[0], codes[1]};
        if (lane % 4 == 0)
            row.groups(block)[lane / 4] = tile_group{d, (sum & 0xffff) | other << 16};
        raw[0] = then[0];
        raw[1] = then[1];
    }
    __syncwarp();
}

/* sum[16 rows][8 columns] += a[16 rows][32] * b[32][8 columns], of unsigned and signed bytes: of thread 4*r + c of a warp,
 * a are elements 4*c and on of row r and of row r + 8, then the same of elements 16 and on; b elements 4*c and on of column
 * r, then 16 further ones; the sums those of columns 2*c and 2*c + 1 of row r, then of row r + 8. */
static __device__ __forceinline__ void tile_multiply(int (&sum)[4], unsigned a0, unsigned a1,
                                                     unsigned a2, unsigned a3, unsigned b0,
                                                     unsigned b1)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
        "%9}, {%0, %1, %2, %3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}

/* a's codes of half a super-block, whose eight groups of 16 have a column each: b[2*i] and b[2*i + 1] are those of the
 * i-th 32 elements, zeros but in the columns of their own groups. */
struct tile_columns {
    unsigned b[8];
    float d; /* of group lane % 4 of 32, and 2 to the power of -2*(lane % 4) times it */
    float scaled;
    int sums;
    __device__ __forceinline__ void load(const tile_row &row, int block, int half)
    {
        const int lane = (int)threadIdx.x % 32;
        const unsigned word = row.codes(block)[32 * half + lane];
        const tile_group group = row.groups(block)[4 * half + lane % 4];
#pragma unroll
        for (int i = 0; i < 8; i++)
            b[i] = lane / 4 == i ? word : 0;
        d = group.d;
        sums = group.sums;
        scaled = d * __int_as_float((127 - 2 * (lane % 4)) << 23);
    }
};

/* The thread's words of half a super-block of two rows, as they are stored: [row][half of a group]. */
typedef unsigned tile_quads[2][2];
/* Products of fields of two bits, of which the i-th of each byte belongs to the i-th group of 32. */
static __device__ __forceinline__ void tile_pairs(const tile_quads &q, const tile_columns &x,
                                                  int (&sum)[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const unsigned mask = 0x03030303u << 2 * i;
        tile_multiply(sum, q[0][0] & mask, q[1][0] & mask, q[0][1] & mask, q[1][1] & mask,
                      x.b[2 * i], x.b[2 * i + 1]);
    }
}
/* Of single bits, the i-th from bit `first` on; of those that are 0. */
template <int FIRST>
static __device__ __forceinline__ void tile_zeros(const tile_quads &q, const tile_columns &x,
                                                  int (&sum)[4])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const unsigned mask = 0x01010101u << (FIRST + i);
        tile_multiply(sum, ~q[0][0] & mask, ~q[1][0] & mask, ~q[0][1] & mask, ~q[1][1] & mask,
                      x.b[2 * i], x.b[2 * i + 1]);
    }
}

/* Where a thread's two rows of a tile lie among what was fetched: a super-block begins `shift` bits, none or 16,
 * after a whole word. */
template <int STRIDE, bool ODD> struct tile_lane {
    const unsigned char *exact;
    unsigned shift;
    __device__ __forceinline__ tile_lane(const unsigned char *stage, int over)
        : exact(stage + (int)threadIdx.x % 32 / 4 * STRIDE + over), shift((unsigned)over % 4 * 8)
    {
    }
    /* The thread's words of its 4 that begin at `byte`, and 16 bytes further. */
    __device__ __forceinline__ void words(int byte, tile_quads &q) const
    {
        const int c = (int)threadIdx.x % 4;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const unsigned *from = (const unsigned *)(exact - (ODD ? shift / 8 : 0) + byte + 4 * c +
                                                      i / 2 * 8 * STRIDE + i % 2 * 16);
            q[i / 2][i % 2] = ODD ? __funnelshift_r(from[0], from[1], shift) : from[0];
        }
    }
    /* 16 bits of both rows. */
    __device__ __forceinline__ unsigned halves(int byte) const
    {
        const unsigned short *from = (const unsigned short *)(exact + byte);
        return from[0] | (unsigned)from[4 * STRIDE] << 16;
    }
};

/* What a warp's super-block adds to the sums of its threads' two rows. */
template <typename F> struct tile;
template <> struct tile<format_q2_K> {
    static constexpr int stride = TILE_STRIDE_2, chunks = 6;
    template <bool ODD>
    static __device__ __forceinline__ void add(const unsigned char *stage, int over,
                                               const tile_columns (&x)[2], float (&sum)[2])
    {
        const tile_lane<stride, false> lane(stage, over);
        const int c = (int)threadIdx.x % 4;
        float all[2] = {0, 0}, low[2] = {0, 0};
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const unsigned both = lane.halves(8 * half + 2 * c), scale = both & 0x0f0f0f0fu,
                           least = both >> 4 & 0x0f0f0f0fu;
            tile_quads q;
            int dot[4] = {0, 0, 0, 0};
            lane.words(16 + 32 * half, q);
            tile_pairs(q, x[half], dot);
            all[0] = __fmaf_rn(x[half].scaled,
                               (float)(dot[0] * unit_pick(scale, 0, 0x4440) +
                                       dot[1] * unit_pick(scale, 0, 0x4441)),
                               all[0]);
            all[1] = __fmaf_rn(x[half].scaled,
                               (float)(dot[2] * unit_pick(scale, 0, 0x4442) +
                                       dot[3] * unit_pick(scale, 0, 0x4443)),
                               all[1]);
            low[0] = __fmaf_rn(x[half].d, (float)__dp2a_lo(x[half].sums, (int)least, 0), low[0]);
            low[1] = __fmaf_rn(x[half].d, (float)__dp2a_hi(x[half].sums, (int)least, 0), low[1]);
        }
        const unsigned d = lane.halves(80), m = lane.halves(82);
        sum[0] += unit_float(d & 0xffff) * all[0] - unit_float(m & 0xffff) * low[0];
        sum[1] += unit_float(d >> 16) * all[1] - unit_float(m >> 16) * low[1];
    }
};
template <> struct tile<format_q3_K> {
    static constexpr int stride = TILE_STRIDE_3, chunks = 8;
    /* A code is two bits, less 4 where its high bit is 0. */
    template <bool ODD>
    static __device__ __forceinline__ void add(const unsigned char *stage, int over,
                                               const tile_columns (&x)[2], float (&sum)[2])
    {
        const tile_lane<stride, ODD> lane(stage, over);
        const int c = (int)threadIdx.x % 4;
        const unsigned near = lane.halves(96 + 2 * c),
                       far = lane.halves(104 + c % 2 * 2) >> c / 2 * 2,
                       scales[2] = {(near & 0x0f0f0f0fu) | (far << 4 & 0x30303030u),
                                    (near >> 4 & 0x0f0f0f0fu) | (far & 0x30303030u)};
        tile_quads high;
        lane.words(0, high);
        float all[2] = {0, 0};
#pragma unroll
        for (int half = 0; half < 2; half++) {
            tile_quads q;
            int dot[4] = {0, 0, 0, 0};
            lane.words(32 + 32 * half, q);
            if (half == 0)
                tile_zeros<0>(high, x[0], dot);
            else
                tile_zeros<4>(high, x[1], dot);
#pragma unroll
            for (int i = 0; i < 4; i++) /* from the bit's place to that of 4 in q */
                dot[i] = half == 0 ? dot[i] * -(4 << c) : (dot[i] >> 2) * -(1 << c);
            tile_pairs(q, x[half], dot);
            /* Less 32, byte by byte. */
            const unsigned scale = (scales[half] + 0x60606060u) ^ 0x80808080u;
            all[0] = __fmaf_rn(x[half].scaled,
                               (float)(dot[0] * unit_pick(scale, 0, 0x8880) +
                                       dot[1] * unit_pick(scale, 0, 0x9991)),
                               all[0]);
            all[1] = __fmaf_rn(x[half].scaled,
                               (float)(dot[2] * unit_pick(scale, 0, 0xaaa2) +
                                       dot[3] * unit_pick(scale, 0, 0xbbb3)),
                               all[1]);
        }
        const unsigned d = lane.halves(108);
        sum[0] = __fmaf_rn(unit_float(d & 0xffff), all[0], sum[0]);
        sum[1] = __fmaf_rn(unit_float(d >> 16), all[1], sum[1]);
    }
};

/* A warp's super-blocks of tiles one after another, those to fetch next: eight threads copy a row's. */
template <typename F> struct tile_pieces {
    static constexpr int bytes = 16 * tile<F>::stride;
    const int64_t row_bytes;
    const unsigned char *row; /* the lane's first one of the tile */
    unsigned char *const first, *to;
    const int blocks, warps, warp, count;
    int block, done; /* rows of the tiles before */
    __device__ __forceinline__ tile_pieces(const quant_params &p, int64_t begin, int rows,
                                           unsigned char *room)
        : row_bytes(p.row_bytes),
          row((const unsigned char *)p.blocks + (begin + threadIdx.x % 32 / 8) * p.row_bytes),
          first(room + threadIdx.x % 32 / 8 * tile<F>::stride + threadIdx.x % 8 * 16), to(first),
          blocks((int)(p.n / 256)), warps((int)blockDim.x / 32), warp((int)threadIdx.x / 32),
          count(rows), block(warp), done(0)
    {
    }
    __device__ __forceinline__ void fetch(void)
    {
        const int lane = (int)threadIdx.x % 32, left = count - done - lane / 8;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const unsigned char *from = row + 4 * k * row_bytes + block * F::nbytes;
            const int over = (int)((uintptr_t)from % 16);
            if (4 * k < left && lane % 8 * 16 < over + F::nbytes)
                copy_16(to + 4 * k * tile<F>::stride, from - over + lane % 8 * 16);
        }
        copies_end();
        to = to == first + (TILE_STAGES - 1) * bytes ? first : to + bytes;
        block += warps;
        if (block >= blocks) {
            block = warp;
            done += 16;
            row += 16 * row_bytes;
        }
    }
};

template <typename F> struct tile_products {
    using pieces = tile_pieces<F>;
    /* The warp's sums of a tile's rows, each of four threads. */
    static __device__ __forceinline__ void keep(float (&sum)[2], float *kept)
    {
        const int lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            sum[i] += __shfl_xor_sync(~0u, sum[i], 1);
            sum[i] += __shfl_xor_sync(~0u, sum[i], 2);
        }
        if (lane % 4 < 2)
            kept[lane / 4 + lane % 4 * 8] = lane % 4 ? sum[1] : sum[0];
    }
    /* Adds up the warps' sums of `rows` rows, and stores them from row `first` on. */
    static __device__ __forceinline__ void finish(const quant_params &p, const float *kept,
                                                  int64_t first, int rows)
    {
        const int warps = (int)blockDim.x / 32;
        __syncthreads();
        for (int r = (int)threadIdx.x; r < rows; r += (int)blockDim.x) {
            float all = 0;
            for (int w = 0; w < warps; w++)
                all += kept[(r / 16 * warps + w) * 16 + r % 16];
            store(p.out, p.dtype, first + r, all);
        }
        __syncthreads();
    }
    static __device__ __forceinline__ void multiply(const quant_params &p, pieces &next,
                                                    const unsigned char *mine, const tile_row &row,
                                                    float *kept, int64_t begin, int rows)
    {
        const int blocks = (int)(p.n / 256), warps = (int)blockDim.x / 32,
                  warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
        const unsigned char *piece = mine;
        /* Of all tiles the same, since 16 rows are so many times 16 bytes. */
        const unsigned start =
            (unsigned)p.blocks + (unsigned)(begin + lane / 4) * (unsigned)p.row_bytes;
        tile_columns x[2];
        int have = -1;
        for (int first = 0; first < rows; first += 16) {
            float sum[2] = {0, 0};
            for (int block = warp; block < blocks; block += warps) {
                if (block != have) {
                    x[0].load(row, block, 0);
                    x[1].load(row, block, 1);
                    have = block;
                }
                const int over = (int)((start + (unsigned)(block * F::nbytes)) % 16);
                copies_wait<TILE_STAGES - 1>();
                if (F::nbytes % 4 && __any_sync(~0u, over % 4))
                    tile<F>::template add<true>(piece, over, x, sum);
                else
                    tile<F>::template add<false>(piece, over, x, sum);
                piece = piece == mine + (TILE_STAGES - 1) * pieces::bytes ? mine
                                                                          : piece + pieces::bytes;
                __syncwarp();
                next.fetch();
            }
            keep(sum, kept + (first / 16 % TILES_KEPT * warps + warp) * 16);
            const int full = 16 * TILES_KEPT, from = first / full * full;
            if (first + 16 >= rows || first + 16 == from + full)
                finish(p, kept, begin + from, rows - from < full ? rows - from : full);
        }
    }
    static __device__ __forceinline__ void run(const quant_params &p)
    {
        extern __shared__ uint4 few_shared[];
        const int warps = (int)blockDim.x / 32, warp = (int)threadIdx.x / 32;
        const int64_t begin = p.rows * blockIdx.x / gridDim.x,
                      end = p.rows * (blockIdx.x + 1) / gridDim.x;
        unsigned char *const room = (unsigned char *)few_shared,
                             *const mine = room + warp * TILE_STAGES * pieces::bytes,
                             *const rounded = room + warps * TILE_STAGES * pieces::bytes;
        const tile_row row(rounded);
        uint4 raw[2] = {};
        tile_load(p, warp, raw); /* before blocks, behind which it would arrive */
        pieces next(p, begin, (int)(end - begin), mine);
        for (int i = 0; i < TILE_STAGES; i++)
            next.fetch();
        tile_round(p, row, raw);
        multiply(p, next, mine, row, (float *)(rounded + p.rounded), begin, (int)(end - begin));
    }
};
#endif
