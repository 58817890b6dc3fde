/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Divisors and remainders of integers: included by scalar_tmpl.h, under its macros. */

/* |a| in ND_U, where that of the least number fits. */
ND_FN ND_U ND_NAME(magnitude)(ND_T a)
{
#if ND_IS_INT
    if (a < 0)
        return (ND_U)0 - (ND_U)a;
#endif
    return (ND_U)a;
}
/* Euclid's algorithm; of zeros 0. */
ND_FN ND_U ND_NAME(common_divisor)(ND_U a, ND_U b)
{
    ND_U r;
    while (b != 0) {
        r = a % b;
        a = b;
        b = r;
    }
    return a;
}
ND_FN ND_T ND_NAME(gcd)(ND_T a, ND_T b)
{
    return (ND_T)ND_NAME(common_divisor)(ND_NAME(magnitude)(a), ND_NAME(magnitude)(b));
}
ND_FN ND_T ND_NAME(lcm)(ND_T a, ND_T b)
{
    ND_U x = ND_NAME(magnitude)(a), y = ND_NAME(magnitude)(b), d = ND_NAME(common_divisor)(x, y);
    return d == 0 ? (ND_T)0 : (ND_T)(x / d * y);
}
/* Division by -1 leaves nothing: MIN % -1 would trap. */
ND_FN ND_T ND_NAME(fmod)(ND_T a, ND_T b)
{
#if ND_IS_INT
    if (b == -1)
        return 0;
#endif
    return b == 0 ? (ND_T)0 : (ND_T)(a % b);
}
