/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pieces of rows of blocks on their way to a warp: how they lie in shared memory, and what is fetched next. */
#ifndef NDOCK_CUDA_QUANT_STAGED_CUH
#define NDOCK_CUDA_QUANT_STAGED_CUH
#include "quant/round.cuh"
#include "quant/super.cuh"

/* A piece is one unit of a row for each thread, or two small ones: `once` bytes of a row, and `room` in shared
 * memory. Rows begin `phase` bytes, below 16, after a multiple of 16, from which sources and places are counted; block i
 * of a piece is at at(i) + phase. Copy k of a lane takes 16 bytes from source(lane) + source_step(k) to
 * target(lane) + target_step(k), both over(lane, k, phase) bytes further, if they are of the piece; odd copies go beside(lane)
 * bytes further yet. EVEN: no row has a phase, and over() need not be asked. */
struct staged_alike {
    static __device__ __forceinline__ int beside(int) { return 0; }
};
template <typename F, bool EVEN> struct staged : staged_alike {
    static constexpr int each = unit<F>::units == 1 && F::nbytes <= 24 ? 2 : 1,
                         once = each * 32 / unit<F>::units * F::nbytes,
                         room = F::nbytes % 16 ? once + 16 : once, copies = (room + 511) / 512;
    static __device__ __forceinline__ int at(int i) { return i * F::nbytes; }
    static __device__ __forceinline__ int source(int lane) { return 16 * lane; }
    static __device__ __forceinline__ int target(int lane) { return 16 * lane; }
    static __device__ __forceinline__ constexpr int source_step(int k) { return 512 * k; }
    static __device__ __forceinline__ constexpr int target_step(int k) { return 512 * k; }
    static __device__ __forceinline__ int over(int, int, int) { return 0; }
};

/* Blocks of 110 bytes lie apart, each from the 16 bytes on in which it begins, which two may share. Eight of them are 55
 * times 16; they are copied by eight lanes each, from 112*i - 16, or 16 bytes later, where a block begins there. */
struct staged_q3 {
    static constexpr int each = 1, once = 16 * 110, copies = 4;
    static __device__ __forceinline__ int source(int lane)
    {
        return lane / 8 * 112 + lane % 8 * 16 - 16;
    }
    static __device__ __forceinline__ constexpr int source_step(int k)
    {
        return k % 2 * 448 + k / 2 * 880;
    }
    static __device__ __forceinline__ int over(int lane, int k, int phase)
    {
        return 16 - lane / 8 * 2 + phase - k % 2 * 8 & 16;
    }
};
template <> struct staged<format_q3_K, false> : staged_q3, staged_alike {
    static constexpr int room = 16 * 144;
    static __device__ __forceinline__ int at(int i) { return i * 144 + 16 - i % 8 * 2; }
    static __device__ __forceinline__ int target(int lane)
    {
        return lane / 8 * 144 + lane % 8 * 16;
    }
    static __device__ __forceinline__ constexpr int target_step(int k) { return 576 * k; }
};
/* Two threads read a block, 16 bytes apart, and blocks begin in words 0 to 3 of 16 bytes, four blocks of a piece in each.
 * So that no two threads read of one bank, blocks of the same word begin 0, 32, 64 and 96 bytes after a multiple of 128:
 * the places of 128 bytes are four times four, after each of which 32 bytes are left. Of every eighth block, which
 * begins 16 bytes after its lanes' first source, the first lane's 16 bytes are not the block's and go before its
 * place, where none are or what was left is. */
template <> struct staged<format_q3_K, true> : staged_q3 {
    static constexpr int room = 16 * 134;
    static __device__ __forceinline__ constexpr int place(int i)
    {
        return i / 8 * 1088 + i % 4 / 2 * 544 + i % 2 * 128 + i % 8 / 4 * 256;
    }
    static __device__ __forceinline__ int at(int i) { return place(i) + (16 - i % 8 * 2) % 16; }
    static __device__ __forceinline__ int target(int lane)
    {
        return place(lane / 8) + lane % 8 * 16 - (lane < 8 ? 16 : 0);
    }
    static __device__ __forceinline__ constexpr int target_step(int k) { return place(4 * k); }
    static __device__ __forceinline__ int beside(int lane) { return lane < 8 ? 16 : 0; }
};
/* Where the rows of a pair begin; of an odd number of rows, the last is a pair with itself. */
template <bool EVEN> struct few_pair {
    const unsigned char *from; /* a multiple of 16 */
    int phase[FEW_ROWS];
    int second; /* from the first row's multiple of 16 to the second's */
    __device__ __forceinline__ few_pair(const quant_params &p, int pair)
    {
        const unsigned char *row =
            (const unsigned char *)p.blocks + 2 * (int64_t)pair * p.row_bytes;
        const int next = 2 * pair + 1 < p.rows ? (int)p.row_bytes : 0;
        phase[0] = EVEN ? 0 : (int)((uintptr_t)row % 16);
        phase[1] = EVEN ? 0 : (phase[0] + next) % 16;
        from = row - phase[0];
        second = phase[0] + next - phase[1];
    }
};

/* The pieces of a warp's pairs of rows one after another: those to fetch next. */
template <typename F, bool EVEN> struct few_pieces {
    using lies = staged<F, EVEN>;
    static constexpr int bytes = FEW_ROWS * lies::room, most = FEW_STAGED / bytes;
    static_assert(most > 1, "one piece arrives while another is used");
    static_assert(FEW_ROWS == 2, "a pair");
    const quant_params &p;
    const int lane, source, pairs, step;
    unsigned char *const first; /* the lane's targets: the first one, the next one */
    unsigned char *to;
    int at, left; /* pair; bytes of its rows that are to be fetched */
    few_pair<EVEN> rows;

    __device__ __forceinline__ few_pieces(const quant_params &params, unsigned char *room,
                                          int begin)
        : p(params), lane((int)threadIdx.x % 32), source(lies::source(lane)),
          pairs((int)((p.rows + 1) / 2)), step((int)(gridDim.x * (blockDim.x / 32))),
          first(room + lies::target(lane)), to(first), at(begin), left((int)p.row_bytes),
          rows(p, begin)
    {
    }
    __device__ __forceinline__ void copy(int r) const
    {
        const int rest = (left < lies::once ? left : lies::once) + rows.phase[r] - source;
        const unsigned char *const row = rows.from + (r ? rows.second : 0) + source;
        unsigned char *const even = to + r * lies::room, *const odd = even + lies::beside(lane);
#pragma unroll
        for (int k = 0; k < lies::copies; k++) {
            const int over = EVEN ? 0 : lies::over(lane, k, rows.phase[r]);
            if (lies::source_step(k) + over < rest && (k > 0 || over + source >= 0))
                copy_16((k % 2 ? odd : even) + lies::target_step(k) + over,
                        row + lies::source_step(k) + over);
        }
    }
    __device__ __forceinline__ void fetch(void)
    {
        if (at < pairs) {
            copy(0);
            copy(1);
            rows.from += lies::once;
            left -= lies::once;
            if (left <= 0) {
                at += step;
                left = (int)p.row_bytes;
                rows = few_pair<EVEN>(p, at);
            }
        }
        copies_end();
        to = to == first + (most - 1) * bytes ? first : to + bytes;
    }
};

#endif
