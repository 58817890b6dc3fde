/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What every program begins with: stored and computed types, elements by index, strided walks. */
#pragma OPENCL FP_CONTRACT OFF
#if HAVE_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double wide;
#else
typedef float wide;
#endif
#define KIND_BOOL 1
#define KIND_INT 2
#define KIND_UINT 4
#define KIND_FLOAT 8
#define KIND_COMPLEX 16
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define CAT3(a, b, c) CAT(CAT(a, b), c)
#define GROUP 64
#define MAX_NDIM 8
#define OPERANDS 4
typedef global uchar *bytes;

/* ---- f16 and bf16, by their bits: the same with and without cl_khr_fp16 ---- */
static inline float widen_f16(ushort h)
{
    uint sign = (uint)(h & 0x8000) << 16, magnitude = h & 0x7fff;
    if (magnitude >= 0x7c00)
        return as_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude >= 0x400)
        return as_float(sign | ((magnitude << 13) + 0x38000000));
    return as_float(sign | as_uint((float)magnitude * 0x1p-24f));
}
static inline ushort narrow_f16(float x)
{
    uint u = as_uint(x), a = u & 0x7fffffff, sign = u >> 16 & 0x8000, r;
    if (a > 0x7f800000)
        return (ushort)(sign | 0x7e00 | (a >> 13 & 0x3ff));
    if (a >= 0x477ff000) /* halfway from the largest to the next power of two */
        return (ushort)(sign | 0x7c00);
    if (a >= 0x38800000)
        return (ushort)(sign | (a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13);
    if (a < 0x33000000) /* below half of the smallest */
        return (ushort)sign;
    uint shift = 126 - (a >> 23), half_way = 1u << (shift - 1);
    uint fraction = (a & 0x7fffff) | 0x800000;
    r = fraction >> shift;
    fraction &= (1u << shift) - 1;
    return (ushort)(sign | (r + (fraction > half_way || (fraction == half_way && (r & 1)))));
}
static inline float widen_bf16(ushort h)
{
    return as_float((uint)h << 16);
}
static inline ushort narrow_bf16(float x)
{
    uint u = as_uint(x);
    return (ushort)((u & 0x7fffffff) > 0x7f800000 ? (u >> 16) | 0x40
                                                  : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* ---- elements: computed_D load_D(p, i), store_D(p, i, x), scalar_D(16 bytes) ---- */
#define PLAIN(name, type, of_bits)                                 \
    typedef type computed_##name;                                  \
    static inline type load_##name(bytes p, long i)                \
    {                                                              \
        return ((global type *)p)[i];                              \
    }                                                              \
    static inline void store_##name(bytes p, long i, type x)       \
    {                                                              \
        ((global type *)p)[i] = x;                                 \
    }                                                              \
    static inline type scalar_##name(ulong low, ulong high)        \
    {                                                              \
        return of_bits;                                            \
    }
PLAIN(i8, char, (char)low)
PLAIN(i16, short, (short)low)
PLAIN(i32, int, (int)low)
PLAIN(i64, long, (long)low)
PLAIN(u8, uchar, (uchar)low)
PLAIN(u16, ushort, (ushort)low)
PLAIN(u32, uint, (uint)low)
PLAIN(u64, ulong, low)
PLAIN(f32, float, as_float((uint)low))
#if HAVE_F64
PLAIN(f64, double, as_double(low))
#endif
#undef PLAIN
typedef uchar computed_bool;
static inline uchar load_bool(bytes p, long i)
{
    return p[i] != 0;
}
static inline void store_bool(bytes p, long i, uchar x)
{
    p[i] = x;
}
static inline uchar scalar_bool(ulong low, ulong high)
{
    return low != 0;
}
#define HALF(name)                                               \
    typedef float computed_##name;                               \
    static inline float load_##name(bytes p, long i)             \
    {                                                            \
        return widen_##name(((global ushort *)p)[i]);            \
    }                                                            \
    static inline void store_##name(bytes p, long i, float x)    \
    {                                                            \
        ((global ushort *)p)[i] = narrow_##name(x);              \
    }                                                            \
    static inline float scalar_##name(ulong low, ulong high)     \
    {                                                            \
        return widen_##name((ushort)low);                        \
    }
HALF(f16)
HALF(bf16)
#undef HALF
#define COMPLEX(name, part, of_low, of_high)                                     \
    typedef struct {                                                             \
        part re, im;                                                             \
    } computed_##name;                                                           \
    static inline computed_##name load_##name(bytes p, long i)                   \
    {                                                                            \
        return ((global computed_##name *)p)[i];                                 \
    }                                                                            \
    static inline void store_##name(bytes p, long i, computed_##name x)          \
    {                                                                            \
        ((global computed_##name *)p)[i] = x;                                    \
    }                                                                            \
    static inline computed_##name scalar_##name(ulong low, ulong high)           \
    {                                                                            \
        computed_##name z = {of_low, of_high};                                   \
        return z;                                                                \
    }
COMPLEX(c64, float, as_float((uint)low), as_float((uint)(low >> 32)))
#if HAVE_F64
COMPLEX(c128, double, as_double(low), as_double(high))
#endif
#undef COMPLEX

/* ---- strided walks ---- */
struct walk {
    long shape[MAX_NDIM], stride[OPERANDS][MAX_NDIM];
    ulong n;
    uint ndim, zero;
};
/* Where element i in C order lies in the first n operands. Divisions of 32 bits cost much less. */
static inline void locate(const struct walk *w, ulong i, long *at, int n)
{
    for (int k = 0; k < n; k++)
        at[k] = 0;
    for (int d = (int)w->ndim - 1; d >= 0; d--) {
        ulong extent = (ulong)w->shape[d], rest, x;
        if (w->n >> 32) {
            rest = i / extent;
            x = i - rest * extent;
        } else {
            uint q = (uint)i / (uint)extent;
            rest = q;
            x = (uint)i - q * (uint)extent;
        }
        for (int k = 0; k < n; k++)
            at[k] += (long)x * w->stride[k][d];
        i = rest;
    }
}
