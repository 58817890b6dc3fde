/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Decimal to binary and back against the C library's strtod and printf, which compute with all
 * digits: random bits, subnormals, short numbers, and texts close to halfway between two numbers.
 * */
#include <math.h>
#include <string.h>
#include "core/io/decimal.h"
#include "tests/tap.h"

static const nd_float_format f64 = {53, 1023, 0, 0}, f32 = {24, 127, 0, 0};
enum { MANY = 200000 };
static uint64_t state = 88172645463325252;

/* Marsaglia's xorshift. */
static uint64_t bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* A finite number above 0: of any exponent, subnormal, or with few digits. */
static double number(int i)
{
    double x;
    uint64_t b = bits() >> 1;
    if (i % 4 == 0)
        b &= (UINT64_C(1) << 52) - 1;
    memcpy(&x, &b, sizeof x);
    if (i % 4 == 1)
        x = (double)(b % 1000000 + 1) / 1000;
    return isfinite(x) && x > 0 ? x : 1;
}

static int length(uint64_t digits)
{
    int n = 1;
    for (; digits >= 10; digits /= 10)
        n++;
    return n;
}

static void digits(void)
{
    int wrong = 0, unknown = 0;
    for (int i = 0; i < MANY; i++) {
        const double x = number(i);
        const int n = 1 + (int)(bits() % ND__DIGITS);
        char want[64], got[64], put[32];
        uint64_t v;
        int e;
        if (!nd__decimal_digits(x, n, &v, &e)) {
            unknown++;
            continue;
        }
        snprintf(want, sizeof want, "%.*e", n - 1, x);
        *nd__put_digits(put, v, n) = 0;
        snprintf(got, sizeof got, "%c%s%se%+03d", put[0], n > 1 ? "." : "", put + 1, e + n - 1);
        wrong += strcmp(want, got) != 0;
    }
    is_int(wrong, 0, "digits are printf's");
    ok(unknown < MANY / 1000, "few are left to it");
}

static void shortest(void)
{
    int wrong = 0, longer = 0;
    for (int i = 0; i < MANY; i++) {
        const double x = number(i);
        char text[64];
        uint64_t v;
        int e, n = 1;
        nd__decimal_shortest(x, f64, &v, &e);
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)v, e);
        wrong += strtod(text, NULL) != x;
        for (; n < 17; n++) {
            snprintf(text, sizeof text, "%.*e", n - 1, x);
            if (strtod(text, NULL) == x)
                break;
        }
        longer += length(v) != n;
        const float single = (float)number(4 * i + 1);
        nd__decimal_shortest(single, f32, &v, &e);
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)v, e);
        wrong += strtof(text, NULL) != single;
    }
    is_int(wrong, 0, "the shortest text is read back");
    is_int(longer, 0, "and none is shorter");
}

static void values(void)
{
    int wrong = 0, unknown = 0;
    for (int i = 0; i < MANY; i++) {
        nd__decimal d = {.digits = bits() % (i % 3 ? UINT64_C(10000000000000000000) : 100000),
                         .exponent = (int)(bits() % 700) - 360,
                         .more = i % 7 == 0};
        if (d.more)
            d.digits = UINT64_C(1000000000000000000) + d.digits % UINT64_C(9000000000000000000);
        if (i % 2)
            d.exponent = (int)(bits() % 90) - 60;
        char text[64];
        double x;
        snprintf(text, sizeof text, "%llu%se%d", (unsigned long long)d.digits, d.more ? ".37" : "",
                 d.exponent);
        if (nd__decimal_value(&d, f64, &x))
            wrong += x != strtod(text, NULL);
        else
            unknown++;
        if (nd__decimal_value(&d, f32, &x))
            wrong += x != (double)strtof(text, NULL);
    }
    is_int(wrong, 0, "values are strtod's and strtof's");
    ok(unknown < MANY / 100, "few are left to them");
}

/* The number halfway between two doubles, and its neighbours of one digit in the last place. */
static void halfway(void)
{
    int wrong = 0;
    for (int i = 0; i < MANY; i++) {
        const uint64_t m = UINT64_C(1) << 53 | bits() >> 11;
        const int64_t near[] = {-1, 0, 1};
        nd__decimal d = {.digits = (2 * m + 1) + (uint64_t)near[i % 3]};
        double x;
        wrong += !nd__decimal_value(&d, f64, &x) || x != (double)d.digits;
    }
    is_int(wrong, 0, "integers halfway between two doubles go to the even one");
}

/* Every value of a format whose numbers are sure of no decimal digit: three bits, as float8_e5m2. */
static void narrow(void)
{
    static const nd_float_format f8 = {3, 15, 0, 0};
    int wrong = 0;
    for (int e = -14; e < 15; e++)
        for (int m = 4; m < 8; m++) {
            const double x = ldexp(m, e - 2);
            uint64_t v;
            int exponent;
            char text[32];
            nd__decimal_shortest(x, f8, &v, &exponent);
            snprintf(text, sizeof text, "%llue%d", (unsigned long long)v, exponent);
            wrong += v >= 1000 || fabs(strtod(text, NULL) - x) >= ldexp(1, e - 3);
        }
    is_int(wrong, 0, "numbers of three bits have at most three digits, next to which no other is");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"digits", digits},
                                     {"shortest", shortest},
                                     {"values", values},
                                     {"halfway", halfway},
                                     {"narrow", narrow}};
    return tap_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
