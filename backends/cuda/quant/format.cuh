/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The quantised formats as types: what quant_tmpl.h says of their bytes, and products of 32 codes
 * with 32 of a's, four at a time. */
#ifndef NDOCK_CUDA_QUANT_FORMAT_CUH
#define NDOCK_CUDA_QUANT_FORMAT_CUH
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

static __device__ __forceinline__ float quant_half(const unsigned char *p)
{
    return __half2float(__ushort_as_half((unsigned short)(p[0] | p[1] << 8)));
}
#define ND_Q_FN static __device__ __forceinline__
#define ND_Q_HALF(p) quant_half(p)
#include <ndock/quant_tmpl.h>

/* A format's facts and functions; those without minima have 0 for it. */
#define QUANT_MIN_0(name) return (void)b, (void)h, 0.0f
#define QUANT_MIN_1(name) return nd_q_min_##name(b, h)
#define ND_QUANT(NAME, id, BLOCK, NBYTES, MIN, WRITES, name, doc)                        \
    struct format_##name {                                                               \
        static constexpr int block = BLOCK, nbytes = NBYTES;                             \
        static constexpr bool has_min = MIN;                                             \
        static __device__ __forceinline__ int code(const unsigned char *b, int h, int l) \
        {                                                                                \
            return nd_q_code_##name(b, h, l);                                            \
        }                                                                                \
        static __device__ __forceinline__ float scale(const unsigned char *b, int h)     \
        {                                                                                \
            return nd_q_scale_##name(b, h);                                              \
        }                                                                                \
        static __device__ __forceinline__ float min(const unsigned char *b, int h)       \
        {                                                                                \
            QUANT_MIN_##MIN(name);                                                       \
        }                                                                                \
    };
#include <ndock/quant.def>

/* ---- four codes a word ---- */

/* Word i of bytes that begin at an even address. */
static __device__ __forceinline__ int word_of_2(const unsigned char *bytes, int i)
{
    const unsigned short *p = (const unsigned short *)bytes + 2 * i;
    return (int)((unsigned)p[0] | (unsigned)p[1] << 16);
}

/* 32 codes of group g of a block in eight words, element by element. Formats with faster ways have
 * specialisations, whose blocks lie at multiples of `align` bytes. */
template <typename F> struct packed {
    static constexpr int align = 1;
    static __device__ __forceinline__ void codes(const unsigned char *b, int g, int w[8])
    {
        slow(b, g, w);
    }
    static __device__ __forceinline__ void slow(const unsigned char *b, int g, int w[8])
    {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            unsigned word = 0;
#pragma unroll
            for (int k = 0; k < 4; k++)
                word |= (unsigned)(F::code(b, 2 * g + i / 4, 4 * (i % 4) + k) & 255) << 8 * k;
            w[i] = (int)word;
        }
    }
};

/* Four codes of 0 to 15 less 8, or of 0 to 63 less 32, each in its byte. */
static __device__ __forceinline__ int less(int codes, int by)
{
    return (int)__vsub4((unsigned)codes, (unsigned)by);
}

template <> struct packed<format_q4_0> {
    static constexpr int align = 2;
    static __device__ __forceinline__ void codes(const unsigned char *b, int, int w[8])
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int v = word_of_2(b + 2, i);
            w[i] = less(v & 0x0f0f0f0f, 0x08080808);
            w[i + 4] = less(v >> 4 & 0x0f0f0f0f, 0x08080808);
        }
    }
};
template <> struct packed<format_q4_1> {
    static constexpr int align = 2;
    static __device__ __forceinline__ void codes(const unsigned char *b, int, int w[8])
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int v = word_of_2(b + 4, i);
            w[i] = v & 0x0f0f0f0f;
            w[i + 4] = v >> 4 & 0x0f0f0f0f;
        }
    }
};
template <> struct packed<format_q8_0> {
    static constexpr int align = 2;
    static __device__ __forceinline__ void codes(const unsigned char *b, int, int w[8])
    {
#pragma unroll
        for (int i = 0; i < 8; i++)
            w[i] = word_of_2(b + 2, i);
    }
};
template <> struct packed<format_q8_1> {
    static constexpr int align = 2;
    static __device__ __forceinline__ void codes(const unsigned char *b, int, int w[8])
    {
#pragma unroll
        for (int i = 0; i < 8; i++)
            w[i] = word_of_2(b + 4, i);
    }
};
template <> struct packed<format_q4_K> {
    static constexpr int align = 4;
    static __device__ __forceinline__ void codes(const unsigned char *b, int g, int w[8])
    {
        const int *p = (const int *)(b + 16 + 32 * (g / 2));
#pragma unroll
        for (int i = 0; i < 8; i++)
            w[i] = p[i] >> 4 * (g % 2) & 0x0f0f0f0f;
    }
};
template <> struct packed<format_q5_K> {
    static constexpr int align = 4;
    static __device__ __forceinline__ void codes(const unsigned char *b, int g, int w[8])
    {
        const int *low = (const int *)(b + 48 + 32 * (g / 2)), *high = (const int *)(b + 16);
#pragma unroll
        for (int i = 0; i < 8; i++)
            w[i] = (low[i] >> 4 * (g % 2) & 0x0f0f0f0f) | (high[i] >> g & 0x01010101) << 4;
    }
};
template <> struct packed<format_q6_K> {
    static constexpr int align = 2;
    static __device__ __forceinline__ void codes(const unsigned char *b, int g, int w[8])
    {
        const unsigned char *low = b + 64 * (g / 4) + 32 * (g % 2), *high = b + 128 + 32 * (g / 4);
#pragma unroll
        for (int i = 0; i < 8; i++)
            w[i] = less((word_of_2(low, i) >> 4 * (g % 4 / 2) & 0x0f0f0f0f) |
                            (word_of_2(high, i) >> 2 * (g % 4) & 0x03030303) << 4,
                        0x20202020);
    }
};

/* Bits of a nibble, each as bit 4 of a byte. */
static __device__ __forceinline__ int fifth_bits(unsigned nibble)
{
    return (int)(((nibble & 15) * 0x00204081u & 0x01010101u) << 4);
}
template <> struct packed<format_q5_0> {
    static constexpr int align = 2;
    static __device__ __forceinline__ void codes(const unsigned char *b, int, int w[8])
    {
        const unsigned high = (unsigned)word_of_2(b + 2, 0);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int v = word_of_2(b + 6, i);
            w[i] = less((v & 0x0f0f0f0f) | fifth_bits(high >> 4 * i), 0x10101010);
            w[i + 4] = less((v >> 4 & 0x0f0f0f0f) | fifth_bits(high >> (16 + 4 * i)), 0x10101010);
        }
    }
};
template <> struct packed<format_q5_1> {
    static constexpr int align = 2;
    static __device__ __forceinline__ void codes(const unsigned char *b, int, int w[8])
    {
        const unsigned high = (unsigned)word_of_2(b + 4, 0);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int v = word_of_2(b + 8, i);
            w[i] = (v & 0x0f0f0f0f) | fifth_bits(high >> 4 * i);
            w[i + 4] = (v >> 4 & 0x0f0f0f0f) | fifth_bits(high >> (16 + 4 * i));
        }
    }
};
template <> struct packed<format_q2_K> {
    static constexpr int align = 4;
    static __device__ __forceinline__ void codes(const unsigned char *b, int g, int w[8])
    {
        const int *p = (const int *)(b + 16 + 32 * (g / 4));
#pragma unroll
        for (int i = 0; i < 8; i++)
            w[i] = p[i] >> 2 * (g % 4) & 0x03030303;
    }
};
template <> struct packed<format_q3_K> {
    static constexpr int align = 2;
    static __device__ __forceinline__ void codes(const unsigned char *b, int g, int w[8])
    {
        const unsigned char *low = b + 32 + 32 * (g / 4);
#pragma unroll
        for (int i = 0; i < 8; i++)
            w[i] = less((word_of_2(low, i) >> 2 * (g % 4) & 0x03030303) |
                            (word_of_2(b, i) >> g & 0x01010101) << 2,
                        0x04040404);
    }
};
/* Four nibbles, each in a byte, as the values of their table. */
static __device__ __forceinline__ int iq4_values(unsigned nibbles)
{
    unsigned pick = (nibbles | nibbles >> 4) & 0x00ff00ffu;
    pick = (pick | pick >> 8) & 0x7777u;
    const unsigned low = __byte_perm(0xbfad9881u, 0xf6eaddcfu, pick);
    const unsigned high = __byte_perm(0x26190d01u, 0x71594535u, pick);
    const unsigned upper = (nibbles >> 3 & 0x01010101u) * 255u;
    return (int)((high & upper) | (low & ~upper));
}
template <> struct packed<format_iq4_nl> {
    static constexpr int align = 2;
    static __device__ __forceinline__ void codes(const unsigned char *b, int, int w[8])
    {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const unsigned v = (unsigned)word_of_2(b + 2, i);
            w[i] = iq4_values(v & 0x0f0f0f0fu);
            w[i + 4] = iq4_values(v >> 4 & 0x0f0f0f0fu);
        }
    }
};

#endif
