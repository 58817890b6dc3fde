/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * f16 and bf16: stored as 16 bits, computed as float. Conversions round to nearest even, keep NaN a
 * (quiet) NaN, and give the same bits as F16C hardware. Branch-light, so that loops over them
 * vectorise; with F16C the compiler's own instructions are used. */
#ifndef NDOCK_CPU_HALF_H
#define NDOCK_CPU_HALF_H
#include <stdint.h>
#include <string.h>

static inline uint32_t cpu_bits_of_f32(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static inline float cpu_f32_of_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline float cpu_bf16_to_f32(uint16_t h)
{
    return cpu_f32_of_bits((uint32_t)h << 16);
}
static inline uint16_t cpu_bf16_from_f32(float f)
{
    uint32_t u = cpu_bits_of_f32(f);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1)) >> 16;
    uint32_t quiet = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

/* In plain operations, which also vectorise where there is no F16C or the compiler keeps to one
 * element of it. */
static inline float cpu_f16_to_f32_plain(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = (uint32_t)(h & 0x7fffu) << 13;
    uint32_t special = (rest & 0x0f800000u) == 0x0f800000u ? 0x70000000u : 0;
    /* The exponent is rebiased by 112 through a multiplication, which also normalises subnormals.
     * Infinity and NaN get the largest exponent, NaN its quiet bit. */
    float scaled = cpu_f32_of_bits(rest) * 0x1p112f;
    uint32_t magnitude =
        special ? (rest | special | ((rest & 0x7fffffu) ? 0x400000u : 0)) : cpu_bits_of_f32(scaled);
    return cpu_f32_of_bits(sign | magnitude);
}
static inline uint16_t cpu_f16_from_f32_plain(float f)
{
    uint32_t u = cpu_bits_of_f32(f), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
    /* Normal results: rebias and round to nearest even by an integer addition that may carry into
     * the exponent. */
    uint32_t normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1)) >> 13;
    /* Subnormal results: adding 0.5 aligns the value so that the unit in the last place is 2^-24;
     * the addition rounds. */
    uint32_t subnormal = cpu_bits_of_f32(cpu_f32_of_bits(a) + 0.5f) - 0x3f000000u;
    uint32_t nan = 0x7e00u | ((a >> 13) & 0x3ffu);
    uint32_t r = a < 0x38800000u ? subnormal : normal;
    r = a >= 0x477ff000u ? 0x7c00u : r;
    r = a > 0x7f800000u ? nan : r;
    return (uint16_t)(sign | r);
}

#if defined(__F16C__) && !defined(ND_KERNEL_TEXT)
#include <immintrin.h>
static inline float cpu_f16_to_f32(uint16_t h)
{
    return _cvtsh_ss(h);
}
static inline uint16_t cpu_f16_from_f32(float f)
{
    return (uint16_t)_cvtss_sh(f, _MM_FROUND_TO_NEAREST_INT);
}
#else
static inline float cpu_f16_to_f32(uint16_t h)
{
    return cpu_f16_to_f32_plain(h);
}
static inline uint16_t cpu_f16_from_f32(float f)
{
    return cpu_f16_from_f32_plain(f);
}
#endif

/* The 8-bit formats of OCP (1.0), in plain operations. e4m3 is rebiased by a multiplication, which
 * also normalises subnormals, and has one NaN of either sign; e5m2 is binary16's upper half. */
static inline float cpu_f8_e4m3_to_f32(uint8_t code)
{
    const uint32_t sign = (code & 0x80u) << 24, rest = code & 0x7fu;
    const uint32_t magnitude = cpu_bits_of_f32(cpu_f32_of_bits(rest << 20) * 0x1p120f);
    return cpu_f32_of_bits(sign | (rest == 0x7fu ? 0x7fc00000u : magnitude));
}
static inline float cpu_f8_e5m2_to_f32(uint8_t code)
{
    return cpu_f16_to_f32_plain((uint16_t)(code << 8));
}
#endif
