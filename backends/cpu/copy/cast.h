/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conversions of one value between dtypes. Written without branches that depend on the value, so
 * that loops over them vectorise, and never converting a value out of range, which C leaves
 * undefined. */
#ifndef NDOCK_CPU_CAST_H
#define NDOCK_CPU_CAST_H
#include "math/half.h"

/* ---- floating to integer: toward zero, saturating, NaN gives 0 ---- */

/* What values are first brought into, by the integer type: its ends where the floating type holds them, else
 * the largest value below. They are constants that compilers do not see: these would else take conversions
 * apart by the cases of the bounds, and make of each vector a dozen masks. */
enum {
    CAST_I8,
    CAST_U8,
    CAST_I16,
    CAST_U16,
    CAST_I32,
    CAST_U32,
    CAST_I64,
    CAST_U64,
    CAST_INTEGERS
};
typedef struct {
    struct {
        float low, high;
    } f32[CAST_INTEGERS];
    struct {
        double low, high;
    } f64[CAST_INTEGERS];
} cast_bounds;
extern const cast_bounds cpu_cast_bounds; /* copy.c */

/* NaN becomes the lower bound, which is 0 of unsigned types; of signed ones it is masked out. */
static inline float cast_within_f32(float x, int type)
{
    const float low = cpu_cast_bounds.f32[type].low, high = cpu_cast_bounds.f32[type].high;
    x = x > low ? x : low;
    return x < high ? x : high;
}
static inline double cast_within_f64(double x, int type)
{
    const double low = cpu_cast_bounds.f64[type].low, high = cpu_cast_bounds.f64[type].high;
    x = x > low ? x : low;
    return x < high ? x : high;
}

/* 8 and 16 bits go through i32, for which every SIMD level has an instruction. */
static inline int8_t cast_f32_i8(float x)
{
    return (int8_t)((int32_t)cast_within_f32(x, CAST_I8) & -(int32_t)(x == x));
}
static inline uint8_t cast_f32_u8(float x)
{
    return (uint8_t)(int32_t)cast_within_f32(x, CAST_U8);
}
static inline int16_t cast_f32_i16(float x)
{
    return (int16_t)((int32_t)cast_within_f32(x, CAST_I16) & -(int32_t)(x == x));
}
static inline uint16_t cast_f32_u16(float x)
{
    return (uint16_t)(int32_t)cast_within_f32(x, CAST_U16);
}
static inline int8_t cast_f64_i8(double x)
{
    return (int8_t)((int32_t)cast_within_f64(x, CAST_I8) & -(int32_t)(x == x));
}
static inline uint8_t cast_f64_u8(double x)
{
    return (uint8_t)(int32_t)cast_within_f64(x, CAST_U8);
}
static inline int16_t cast_f64_i16(double x)
{
    return (int16_t)((int32_t)cast_within_f64(x, CAST_I16) & -(int32_t)(x == x));
}
static inline uint16_t cast_f64_u16(double x)
{
    return (uint16_t)(int32_t)cast_within_f64(x, CAST_U16);
}
static inline int32_t cast_f64_i32(double x)
{
    return (int32_t)cast_within_f64(x, CAST_I32) & -(int32_t)(x == x);
}
static inline uint32_t cast_f64_u32(double x)
{
    return (uint32_t)cast_within_f64(x, CAST_U32);
}

/* The largest integer is no value of the floating type: what lies above the largest value below it is
 * selected. */
static inline int32_t cast_f32_i32(float x)
{
    const int32_t r = (int32_t)cast_within_f32(x, CAST_I32);
    return (x >= 0x1p31f ? INT32_MAX : r) & -(int32_t)(x == x);
}
static inline uint32_t cast_f32_u32(float x)
{
    const uint32_t r = (uint32_t)cast_within_f32(x, CAST_U32);
    return x >= 0x1p32f ? UINT32_MAX : r;
}
static inline int64_t cast_f32_i64(float x)
{
    const int64_t r = (int64_t)cast_within_f32(x, CAST_I64);
    return (x >= 0x1p63f ? INT64_MAX : r) & -(int64_t)(x == x);
}
static inline uint64_t cast_f32_u64(float x)
{
    const uint64_t r = (uint64_t)cast_within_f32(x, CAST_U64);
    return x >= 0x1p64f ? UINT64_MAX : r;
}
static inline int64_t cast_f64_i64(double x)
{
    const int64_t r = (int64_t)cast_within_f64(x, CAST_I64);
    return (x >= 0x1p63 ? INT64_MAX : r) & -(int64_t)(x == x);
}
static inline uint64_t cast_f64_u64(double x)
{
    const uint64_t r = (uint64_t)cast_within_f64(x, CAST_U64);
    return x >= 0x1p64 ? UINT64_MAX : r;
}

/* ---- integer to integer: the low bits ---- */
static inline int8_t cast_int_i8(uint64_t x)
{
    return (int8_t)x;
}
static inline int16_t cast_int_i16(uint64_t x)
{
    return (int16_t)x;
}
static inline int32_t cast_int_i32(uint64_t x)
{
    return (int32_t)x;
}
static inline int64_t cast_int_i64(uint64_t x)
{
    return (int64_t)x;
}
static inline uint8_t cast_int_u8(uint64_t x)
{
    return (uint8_t)x;
}
static inline uint16_t cast_int_u16(uint64_t x)
{
    return (uint16_t)x;
}
static inline uint32_t cast_int_u32(uint64_t x)
{
    return (uint32_t)x;
}
static inline uint64_t cast_int_u64(uint64_t x)
{
    return x;
}

/* ---- f64 and integers to the 16-bit formats, rounded once ---- */

static inline uint64_t cast_bits_of_f64(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    return u;
}
static inline double cast_f64_of_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, 8);
    return x;
}

/* Nearest even to a binary format of 16 bits with that many fraction bits. Going through f32 would
 * round twice: 1 + 2^-11 + 2^-40 becomes a tie in f32 and then 1 in f16. */
static inline uint16_t cast_f64_16(double x, int fraction, uint64_t bias)
{
    int shift = 52 - fraction;
    uint64_t u = cast_bits_of_f64(x), a = u & INT64_MAX;
    uint64_t infinity = (2 * bias + 1) << fraction, quiet = UINT64_C(1) << (fraction - 1);
    uint64_t smallest_normal = (1023 - bias + 1) << 52;
    /* Halfway between the largest finite value and the next power of two. */
    uint64_t overflow = ((1023 + bias) << 52) | (((UINT64_C(2) << fraction) - 1) << (shift - 1));
    /* Normal results: rebias and round by an integer addition that may carry into the exponent. */
    uint64_t half = (UINT64_C(1) << (shift - 1)) - 1 + ((a >> shift) & 1);
    uint64_t normal = (a - ((1023 - bias) << 52) + half) >> shift;
    /* Subnormal results: adding the value whose unit in the last place is the smallest subnormal
     * makes the addition round. */
    uint64_t aligner = (1023 - bias + 1 + (uint64_t)shift) << 52;
    uint64_t sum = cast_bits_of_f64(cast_f64_of_bits(a) + cast_f64_of_bits(aligner));
    uint64_t r = a < smallest_normal ? sum - aligner : normal;
    r = a >= overflow ? infinity : r;
    r = a > UINT64_C(0x7ff0000000000000) ? infinity | quiet | ((a >> shift) & (quiet - 1)) : r;
    return (uint16_t)(((u >> 48) & 0x8000u) | r);
}
static inline uint16_t cast_f64_f16(double x)
{
    return cast_f64_16(x, 10, 15);
}
static inline uint16_t cast_f64_bf16(double x)
{
    return cast_f64_16(x, 7, 127);
}

/* f16 ends at 65504: anything from 2^17 on is infinity, whatever its low bits. */
static inline uint16_t cast_i64_f16(int64_t x)
{
    x = x > 131072 ? 131072 : x;
    return cast_f64_f16((double)(int32_t)(x < -131072 ? -131072 : x));
}
static inline uint16_t cast_u64_f16(uint64_t x)
{
    return cast_f64_f16((double)(int32_t)(x > 131072 ? 131072 : x));
}
/* Rounding to odd first: of the two f64 around a large integer the one with an odd last bit, so
 * that the second rounding sees on which side of a tie the integer was (Boldo and Melquiond, 2008).
 */
static inline uint16_t cast_i64_bf16(int64_t x)
{
    int64_t odd = (x & ~INT64_C(0x7ff)) | ((x & 0x7ff) ? 0x800 : 0);
    int exact = x >= -(INT64_C(1) << 53) && x <= INT64_C(1) << 53;
    return cast_f64_bf16((double)(exact ? x : odd));
}
static inline uint16_t cast_u64_bf16(uint64_t x)
{
    uint64_t odd = (x & ~UINT64_C(0x7ff)) | ((x & 0x7ff) ? 0x800 : 0);
    return cast_f64_bf16((double)(x <= UINT64_C(1) << 53 ? x : odd));
}

/* The 8-bit formats of the OCP specification (1.0), rounded to nearest even and saturating:
 * infinities and what is beyond the largest value become that, whose code is given. NaN has all bits
 * set. */
static inline uint8_t cast_f64_f8(double x, int fraction, uint64_t bias, uint64_t largest)
{
    int shift = 52 - fraction;
    uint64_t u = cast_bits_of_f64(x), a = u & INT64_MAX;
    uint64_t smallest_normal = (1023 - bias + 1) << 52;
    uint64_t half = (UINT64_C(1) << (shift - 1)) - 1 + ((a >> shift) & 1);
    uint64_t normal = (a - ((1023 - bias) << 52) + half) >> shift;
    uint64_t aligner = (1023 - bias + 1 + (uint64_t)shift) << 52;
    uint64_t sum = cast_bits_of_f64(cast_f64_of_bits(a) + cast_f64_of_bits(aligner));
    uint64_t r = a < smallest_normal ? sum - aligner : normal;
    r = r > largest ? largest : r;
    r = a > UINT64_C(0x7ff0000000000000) ? 0x7f : r;
    return (uint8_t)(((u >> 56) & 0x80u) | r);
}
static inline uint8_t cast_f64_f8_e4m3(double x)
{
    return cast_f64_f8(x, 3, 7, 0x7e);
}
static inline uint8_t cast_f64_f8_e5m2(double x)
{
    return cast_f64_f8(x, 2, 15, 0x7b);
}
static inline uint8_t cast_f32_f8_e4m3(float x)
{
    return cast_f64_f8_e4m3((double)x);
}
static inline uint8_t cast_f32_f8_e5m2(float x)
{
    return cast_f64_f8_e5m2((double)x);
}
static inline uint8_t cast_i64_f8_e4m3(int64_t x)
{
    x = x > 131072 ? 131072 : x;
    return cast_f64_f8_e4m3((double)(int32_t)(x < -131072 ? -131072 : x));
}
static inline uint8_t cast_i64_f8_e5m2(int64_t x)
{
    x = x > 131072 ? 131072 : x;
    return cast_f64_f8_e5m2((double)(int32_t)(x < -131072 ? -131072 : x));
}
static inline uint8_t cast_u64_f8_e4m3(uint64_t x)
{
    return cast_f64_f8_e4m3((double)(int32_t)(x > 131072 ? 131072 : x));
}
static inline uint8_t cast_u64_f8_e5m2(uint64_t x)
{
    return cast_f64_f8_e5m2((double)(int32_t)(x > 131072 ? 131072 : x));
}
/* Not the one-element instruction: loops over these vectorise. */
static inline uint16_t cast_f32_f16(float x)
{
    return cpu_f16_from_f32_plain(x);
}
static inline uint16_t cast_f32_bf16(float x)
{
    return cpu_bf16_from_f32(x);
}

/* ---- by type of the source value: integers, float (f16, bf16, f32) or double ---- */
#define CAST_INTEGER(x, name) \
    _Generic((x), float : cast_f32_##name, double : cast_f64_##name, default : cast_int_##name)(x)
/* Integers up to 16 bits are exact in f32, those of 32 in f64. */
#define CAST_HALF(x, name)               \
    _Generic((x), double                 \
             : cast_f64_##name, int32_t  \
             : cast_f64_##name, uint32_t \
             : cast_f64_##name, int64_t  \
             : cast_i64_##name, uint64_t \
             : cast_u64_##name, default  \
             : cast_f32_##name)(x)
#define CAST_TO_(dst, x) CAST_TO_##dst(x)
#define CAST_TO(dst, x) CAST_TO_(dst, x)
#define CAST_TO_i8(x) CAST_INTEGER(x, i8)
#define CAST_TO_i16(x) CAST_INTEGER(x, i16)
#define CAST_TO_i32(x) CAST_INTEGER(x, i32)
#define CAST_TO_i64(x) CAST_INTEGER(x, i64)
#define CAST_TO_u8(x) CAST_INTEGER(x, u8)
#define CAST_TO_u16(x) CAST_INTEGER(x, u16)
#define CAST_TO_u32(x) CAST_INTEGER(x, u32)
#define CAST_TO_u64(x) CAST_INTEGER(x, u64)
#define CAST_TO_f16(x) CAST_HALF(x, f16)
#define CAST_TO_bf16(x) CAST_HALF(x, bf16)
#define CAST_TO_f8_e4m3(x) CAST_HALF(x, f8_e4m3)
#define CAST_TO_f8_e5m2(x) CAST_HALF(x, f8_e5m2)
#define CAST_TO_f32(x) ((float)(x))
#define CAST_TO_f64(x) ((double)(x))
#define CAST_TO_c64(x) ((float)(x))
#define CAST_TO_c128(x) ((double)(x))

/* C types in memory; complex is a pair of parts. */
typedef uint8_t cast_bool;
typedef int8_t cast_i8;
typedef int16_t cast_i16;
typedef int32_t cast_i32;
typedef int64_t cast_i64;
typedef uint8_t cast_u8;
typedef uint16_t cast_u16;
typedef uint32_t cast_u32;
typedef uint64_t cast_u64;
typedef uint16_t cast_f16;
typedef uint16_t cast_bf16;
typedef uint8_t cast_f8_e4m3;
typedef uint8_t cast_f8_e5m2;
typedef float cast_f32;
typedef double cast_f64;
typedef float cast_c64;
typedef double cast_c128;

#endif
