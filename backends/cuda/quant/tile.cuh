/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of spans of 256 elements of 16 rows of blocks, a tile, with those of one row of a by integer matrix instructions.
 * The 32 elements of an instruction's product have the codes of two groups of 16. Each group has a column of
 * its own, in which all other elements of a are zeros, so that four instructions leave the sums of eight groups
 * apart, each in one thread. */
#ifndef NDOCK_CUDA_QUANT_TILE_CUH
#define NDOCK_CUDA_QUANT_TILE_CUH
#include "quant/rounded.cuh"

/* sum[16 rows][8 columns] += a[16 rows][32] * b[32][8 columns], of unsigned and signed bytes: of thread 4*r + c of a warp,
 * a are elements 4*c and on of row r and of row r + 8, then the same of elements 16 and on; b elements 4*c and on of column
 * r, then 16 further ones; the sums those of columns 2*c and 2*c + 1 of row r, then of row r + 8. */
static __device__ __forceinline__ void tile_multiply(int (&sum)[4], const unsigned (&a)[4],
                                                     unsigned b0, unsigned b1)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
        "%9}, {%0, %1, %2, %3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}
/* The same of signed bytes. */
static __device__ __forceinline__ void tile_multiply_signed(int (&sum)[4], const unsigned (&a)[4],
                                                            unsigned b0, unsigned b1)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
        "%9}, {%0, %1, %2, %3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

/* The row of a in shared memory: of each span 256 codes, and of its groups of 32 d and the sums of codes of both
 * halves, of 16 bits each. */
struct tile_group {
    float d;
    int sums;
};
struct tile_row {
    unsigned char *const at;
    __device__ __forceinline__ explicit tile_row(unsigned char *bytes) : at(bytes) {}
    __device__ __forceinline__ unsigned *codes(int span) const
    {
        return (unsigned *)(at + span * TILE_ROUNDED);
    }
    __device__ __forceinline__ tile_group *groups(int span) const
    {
        return (tile_group *)(at + span * TILE_ROUNDED + 256);
    }
};

/* a's codes of half a span, whose eight groups of 16 have a column each: word[2*i] and word[2*i + 1] are those of the
 * i-th 32 elements, zeros but in the columns of their own groups. */
struct tile_half {
    unsigned word[8];
    float d; /* of group lane % 4 of 32 */
    int sum, sums[2];
    __device__ __forceinline__ void load(const tile_row &row, int span, int half, bool mixed,
                                         bool keep)
    {
        const int lane = (int)threadIdx.x % 32;
        unsigned own = row.codes(span)[32 * half + lane];
        const tile_group group = row.groups(span)[4 * half + lane % 4];
        if (mixed) { /* elements 0 16 1 17 ... of the words, as nibbles lie */
            const unsigned other = __shfl_xor_sync(~0u, own, 4);
            own = lane & 4 ? __byte_perm(other, own, 0x7362) : __byte_perm(own, other, 0x5140);
        }
#pragma unroll
        for (int i = 0; i < 8; i++) {
            word[i] = lane / 4 == i ? own : 0;
            if (keep) /* not chosen again at each use */
                asm volatile("" : "+r"(word[i]));
        }
        d = group.d;
        sums[0] = (int)(int16_t)group.sums;
        sums[1] = group.sums >> 16;
        sum = sums[0] + sums[1];
    }
};
/* The same with what products of single bits want, which lie in words in their elements' order: element 8*k + c of a
 * group, and for the odd columns 8*k + 4 + c, in byte k. */
struct tile_half_bits : tile_half {
    unsigned bits[8];
    __device__ __forceinline__ void load(const tile_row &row, int span, int half, bool mixed,
                                         bool keep)
    {
        const int lane = (int)threadIdx.x % 32;
        tile_half::load(row, span, half, mixed, keep);
        const unsigned char *from =
            (const unsigned char *)row.codes(span) + 128 * half + lane / 8 * 32 + lane % 8;
        const unsigned own = from[0] | from[8] << 8 | from[16] << 16 | (unsigned)from[24] << 24;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            bits[i] = lane / 4 == i ? own : 0;
            if (keep)
                asm volatile("" : "+r"(bits[i]));
        }
    }
};

/* Where a thread's two rows of a span begin in shared memory. ODD: some do 2 bytes after a whole word. */
template <bool ODD> struct tile_lane {
    const unsigned char *exact, *even,
        *odd;       /* whole words for multiples of 4 bytes, and for others */
    unsigned shift; /* bits from a whole word to where the span begins */
    int far;        /* bytes to the second row */
    __device__ __forceinline__ tile_lane(const unsigned char *at, int to_second)
        : exact(at), far(to_second)
    {
        const int over = ODD ? (int)((uintptr_t)at & 2) : 0, c = (int)threadIdx.x % 4;
        even = at - over + 4 * c;
        odd = at + over - 2 + 4 * c;
        shift = (unsigned)over * 8;
    }
    /* The thread's word of 16 bytes that begin at `byte`, in row r of both. */
    __device__ __forceinline__ unsigned word(int byte, int r) const
    {
        if (byte % 4 == 0) {
            const unsigned *from = (const unsigned *)(even + byte + r * far);
            return ODD ? __funnelshift_r(from[0], from[1], shift) : from[0];
        }
        const unsigned *from =
            (const unsigned *)(ODD ? odd + byte + r * far : even + byte - 2 + r * far);
        return __funnelshift_r(from[0], from[1], ODD ? 16 - shift : 16);
    }
    /* The word at `byte`, the same for all threads of a row. */
    __device__ __forceinline__ unsigned whole(int byte, int r) const
    {
        const int c = (int)threadIdx.x % 4;
        return tile_lane<ODD>(*this).moved(-4 * c).word(byte, r);
    }
    __device__ __forceinline__ tile_lane moved(int by) const
    {
        tile_lane other = *this;
        other.even += by;
        other.odd += by;
        return other;
    }
    __device__ __forceinline__ unsigned half(int byte, int r) const
    {
        return *(const unsigned short *)(exact + byte + r * far);
    }
    __device__ __forceinline__ unsigned one(int byte, int r) const { return exact[byte + r * far]; }
};

static __device__ __forceinline__ void tile_mask(const unsigned (&q)[4], unsigned mask,
                                                 unsigned (&a)[4])
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        a[k] = q[k] & mask;
}
/* The words of 32 bytes of both rows. */
template <bool ODD>
static __device__ __forceinline__ void tile_words(const tile_lane<ODD> &lane, int byte,
                                                  unsigned (&q)[4])
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        q[k] = lane.word(byte + k / 2 * 16, k % 2);
}

/* What a warp's span adds to the sums of its threads' two rows: tile<F>::add(where these lie, a's codes, sums). mixed: a's
 * codes are in the order 0 16 1 17 2 18 ... of each group of 32. */
template <typename F> struct tile;
#endif
