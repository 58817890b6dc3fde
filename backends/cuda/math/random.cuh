/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The functions of random_normal, operation for operation those of backends/cpu/random/random_isa.c: the
 * same bits for f32, and so for f16 and bf16. To be compiled without contraction (--fmad=false). */
#ifndef NDOCK_CUDA_MATH_RANDOM_CUH
#define NDOCK_CUDA_MATH_RANDOM_CUH
#include "math/hw.cuh"

/* log of x in (0, 1]: x = m 2^e with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m-1)/(m+1)). */
CM_FN double cuda_random_log(double x)
{
    uint64_t u = cm_bits(x);
    int64_t biased = (int64_t)(u + 0x00095f619980c433ull) >> 52;
    u -= (uint64_t)(biased - 1023) << 52;
    double m = cm_of_bits(u), e = (double)(int32_t)(biased - 1023);
    double s = (m - 1) / (m + 1), t = s * s, p = 1.0 / 17;
    p = p * t + 1.0 / 15;
    p = p * t + 1.0 / 13;
    p = p * t + 1.0 / 11;
    p = p * t + 1.0 / 9;
    p = p * t + 1.0 / 7;
    p = p * t + 1.0 / 5;
    p = p * t + 1.0 / 3;
    return e * 0.69314718055994530942 + 2 * (s + s * t * p);
}
CM_FN double cuda_random_sin(double x)
{
    double t = x * x, p = -1.0 / 1307674368000;
    p = p * t + 1.0 / 6227020800;
    p = p * t - 1.0 / 39916800;
    p = p * t + 1.0 / 362880;
    p = p * t - 1.0 / 5040;
    p = p * t + 1.0 / 120;
    p = p * t - 1.0 / 6;
    return x + x * t * p;
}
CM_FN double cuda_random_cos(double x)
{
    double t = x * x, p = 1.0 / 20922789888000;
    p = p * t - 1.0 / 87178291200;
    p = p * t + 1.0 / 479001600;
    p = p * t - 1.0 / 3628800;
    p = p * t + 1.0 / 40320;
    p = p * t - 1.0 / 720;
    p = p * t + 1.0 / 24;
    p = p * t - 0.5;
    return 1 + t * p;
}
/* From the cosine and sine of 2 pi t to those of 2 pi (quarter/4 + t). */
CM_FN void cuda_random_turn(int quarter, double *cosine, double *sine)
{
    double c = quarter & 1 ? *sine : *cosine, s = quarter & 1 ? *cosine : *sine;
    *cosine = (quarter + 1) & 2 ? -c : c;
    *sine = quarter & 2 ? -s : s;
}
/* Two f32 deviates of mean 0 and deviation 1 from two words of the generator, by Box and Muller's
 * method; the caller forms mean + std * z in float. */
CM_FN void cuda_random_normal_f32(uint32_t word0, uint32_t word1, float *z0, float *z1)
{
    double u1 = ((int32_t)(word0 >> 8) + 1) * 0x1p-24, u2 = (int32_t)(word1 >> 8) * 0x1p-24;
    int quarter = (int32_t)(u2 * 4 + 0.5);
    double x = 6.283185307179586476925 * (u2 - quarter * 0.25);
    double c = cuda_random_cos(x), s = cuda_random_sin(x), r = sqrt(-2 * cuda_random_log(u1));
    cuda_random_turn(quarter, &c, &s);
    *z0 = (float)(r * c);
    *z1 = (float)(r * s);
}
/* The same of f64, from two 64-bit words. The CPU's sine, cosine and logarithm are the C library's
 * here, so that the last bits may differ between devices, within op.def's bound. */
CM_FN void cuda_random_normal_f64(uint64_t word0, uint64_t word1, double *z0, double *z1)
{
    double u1 = (double)((int64_t)(word0 >> 11) + 1) * 0x1p-53;
    double u2 = (double)(int64_t)(word1 >> 11) * 0x1p-53;
    int quarter = (int32_t)(u2 * 4 + 0.5);
    double x = 6.283185307179586476925 * (u2 - quarter * 0.25), c, s, r = sqrt(-2 * log(u1));
    sincos(x, &s, &c);
    cuda_random_turn(quarter, &c, &s);
    *z0 = r * c;
    *z1 = r * s;
}
#endif
