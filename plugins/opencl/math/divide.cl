/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quotients of f32 by way of f64, where the device's own are not correctly rounded. */
#ifdef DIVIDES_WIDE
static inline float nd_divide(float a, float b)
{
    return (float)((double)a / (double)b);
}
static inline float nd_reciprocal(float a)
{
    return (float)(1 / (double)a);
}
#endif
