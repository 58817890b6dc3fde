/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Powers of floats, by logarithm and exponential to the base of two in double, each with a table of 16
 * numbers, which two vectors of AVX-512 hold (P. T. P. Tang, ACM Trans. Math. Softw. 15 (1989) and 16
 * (1990)). Polynomials: minimax fits of the relative error by Remez' exchange in 120 bits; within 0.53 ulp.
 *
 * x = z 2^k with z in [0.7, 1.4), and r = z*c - 1 with the table's c near 1/z: as z and c have 24 bits,
 * their product is exact, and |r| < 0.03. Then log2(x) = k - log2(c) + log2(1 + r); about x = 1, c is 1. */
#ifndef NDOCK_CPU_MATH_POW_H
#define NDOCK_CPU_MATH_POW_H
#include "math/vmath.h"

static const double vm_pow_c[16] = {0x1.661ec8p+0, 0x1.571ed4p+0, 0x1.4953ap+0,  0x1.3c995cp+0,
                                    0x1.30d19p+0,  0x1.25e228p+0, 0x1.1bb4a4p+0, 0x1.12359p+0,
                                    0x1.0953f4p+0, 0x1p+0,        0x1.e573aep-1, 0x1.ca4b32p-1,
                                    0x1.b20366p-1, 0x1.9c2d16p-1, 0x1.886e6p-1,  0x1.767ddp-1};
static const double vm_pow_log2[16] = {/* of 1/c */
                                       -0x1.efec674739402p-2, -0x1.b0b6804d30924p-2,
                                       -0x1.7418b4db0f9e4p-2, -0x1.39de961bbfc39p-2,
                                       -0x1.01d9bb7350ffbp-2, -0x1.97c1d4d0c206ap-3,
                                       -0x1.2f9e32a7954e4p-3, -0x1.960cd0c952063p-4,
                                       -0x1.a6f9d6f1d16afp-5, 0x0p+0,
                                       0x1.3aa2ec545f082p-4,  0x1.476a94dd5b49dp-3,
                                       0x1.e840b105841ecp-3,  0x1.40645fdca7eb9p-2,
                                       0x1.88e9c392b7fbbp-2,  0x1.ce0a42495459dp-2};
/* The bits of 2^(i/16) less i << 48, to which n << 48 is added where n = i (mod 16). */
static const uint64_t vm_pow_exp2[16] = {
    0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
    0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
    0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
    0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da};

/* log2(1 + r) = r*(... in pairs of neighbouring powers), */
#define VM_POW_L0 1.4426950408933266
#define VM_POW_L1 -0.7213475204564836
#define VM_POW_L2 0.4808982575172093
#define VM_POW_L3 -0.3606736446632131
#define VM_POW_L4 0.28881062955268855
#define VM_POW_L5 -0.2407208326011664
/* and 2^q, |q| <= 1/32. */
#define VM_POW_E0 0.9999999988536229
#define VM_POW_E1 0.6931471823082768
#define VM_POW_E2 0.24023589935953765
#define VM_POW_E3 0.055502806629481136
#define VM_POW_MAGIC 0x1.8p48 /* adding it leaves the nearest sixteenth */
#define VM_POW_MOST 200.0     /* floats hold 2^-150 to 2^128 */

/* The parts of a normal positive float's logarithm: z, the table's row in the low four bits, and k. */
static inline float vm_pow_parts(float x, uint32_t *row, int32_t *k)
{
    uint32_t bits = cpu_bits_of_f32(x), above = bits - 0x3f330000u;
    *row = above >> 19;
    *k = (int32_t)above >> 23;
    return cpu_f32_of_bits(bits - (above & 0xff800000u));
}
static inline double vm_pow_log(float z, uint32_t row, int32_t k)
{
    double r = (double)z * vm_pow_c[row & 15] - 1, r2 = r * r;
    double low = VM_POW_L0 + r * VM_POW_L1, mid = VM_POW_L2 + r * VM_POW_L3;
    double high = VM_POW_L4 + r * VM_POW_L5, base = (double)k + vm_pow_log2[row & 15];
    return base + r * (low + r2 * (mid + r2 * high));
}
static inline float vm_pow_exp(double t)
{
    double top = t > VM_POW_MOST ? VM_POW_MOST : t, low = top < -VM_POW_MOST ? -VM_POW_MOST : top;
    double shifted = low + VM_POW_MAGIC, q = low - (shifted - VM_POW_MAGIC);
    double p = VM_POW_E0 + q * (VM_POW_E1 + q * (VM_POW_E2 + q * VM_POW_E3));
    uint64_t n = vm_bits(shifted);
    return (float)(vm_of_bits(vm_pow_exp2[n & 15] + (n << 48)) * p);
}

/* Whether x^y is as of vm_f32_near_pow: x normal and positive, y finite. */
static inline int vm_pow_is_near(float x, float y)
{
    int normal = cpu_bits_of_f32(x) - 0x00800000u < 0x7f000000u;
    int finite = (cpu_bits_of_f32(y) & 0x7fffffffu) < 0x7f800000u;
    return normal & finite;
}
static inline float vm_f32_near_pow(float x, float y)
{
    uint32_t row;
    int32_t k;
    float z = vm_pow_parts(x, &row, &k);
    return vm_pow_exp((double)y * vm_pow_log(z, row, k));
}
/* |x| in parts; those of zeros, infinities and NaN say nothing. */
static inline float vm_pow_parts_any(float x, uint32_t *row, int32_t *k)
{
    float a = __builtin_fabsf(x);
    int small = a < 0x1p-126f;
    float z = vm_pow_parts(small ? a * 0x1p25f : a, row, k);
    *k -= small ? 25 : 0;
    return z;
}
/* x^y from |x|^y, with the cases of C99 F.9.4.4. */
static inline float vm_pow_edges(float x, float y, float r)
{
    float a = __builtin_fabsf(x), half = y * 0.5f, below = y < 0 ? INFINITY : 0;
    float above = y < 0 ? 0 : INFINITY;
    int integer = vm_f32_rint(y) == y, odd = integer & (vm_f32_rint(half) != half);
    r = a == 0 ? below : r;
    r = a < INFINITY ? r : above;
    r = a == 1 ? 1 : r;
    r = (a != a) | (y != y) | ((x < 0) & !integer & (a < INFINITY)) ? NAN : r;
    r = (vm_f32_signbit(x) & odd) ? -r : r;
    return ((x == 1) | (y == 0)) ? 1 : r;
}
static inline float vm_f32_pow(float x, float y)
{
    uint32_t row;
    int32_t k;
    float z = vm_pow_parts_any(x, &row, &k);
    return vm_pow_edges(x, y, vm_pow_exp((double)y * vm_pow_log(z, row, k)));
}
#endif
