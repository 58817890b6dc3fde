/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Powers, exponentials, logarithms and sines of arrays long enough for blocks: beside long double, with
 * special elements among the others, which must not change what those get, and C99's special cases. */
#include <float.h>
#include <math.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

enum { N = 4099 }; /* many blocks and a rest */
static uint64_t seed = 20261126;

/* Uniform in [0, 1): Marsaglia's xorshift. */
static double uniform(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) * 0x1p-53;
}

static nd_array *array_of(nd_dtype dtype, int64_t n, const void *values)
{
    const nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = 1, .shape = &n};
    nd_array *a = NULL;
    nd_device *cpu = NULL;
    if (nd_device_get("cpu", &cpu) != ND_OK || nd_from_host(&layout, values, cpu, &a) != ND_OK)
        bail(nd_last_error()->message);
    return a;
}

/* The op's results on the host; b NULL: of one operand. */
static void compute(nd_op op, nd_dtype dtype, int64_t n, const void *a, const void *b, void *to)
{
    nd_array *x = array_of(dtype, n, a), *y = b ? array_of(dtype, n, b) : NULL, *r = NULL;
    const nd_arg args[2] = {{.array = x}, {.array = y}};
    if (nd_apply(op, args, b ? 2 : 1, NULL, &r) != ND_OK ||
        nd_to_host(r, to, (size_t)n * nd_dtype_size(dtype)) != ND_OK)
        bail(nd_last_error()->message);
    nd_release(x);
    nd_release(y);
    nd_release(r);
}

/* How many units in the last place of a format with that many bits and that least exponent. */
static double ulps(double got, long double want, int bits, int least)
{
    int e;
    (void)frexpl(want, &e);
    return (double)(fabsl((long double)got - want) /
                    ldexpl(1, e - bits < least ? least : e - bits));
}

static double worst(nd_op op, const float *x, const float *y, const float *got)
{
    double most = 0;
    for (int i = 0; i < N; i++) {
        const long double want = op == ND_OP_pow   ? powl(x[i], y[i])
                                 : op == ND_OP_log ? logl(x[i])
                                                   : sinl(x[i]);
        const double off = (long double)(float)want == INFINITY ? got[i] != INFINITY
                                                                : ulps(got[i], want, 24, -149);
        most = !(off <= most) ? off : most;
    }
    return most;
}

/* x among special elements: those between keep their bits. */
static void amid(nd_op op, const float *x, const float *y, const float *got, const char *what)
{
    static const float special[] = {0, -0.0f, -1.5f, INFINITY, -INFINITY, NAN, 1e-42f, 3e9f};
    static float mixed[2 * N], other[2 * N], r[2 * N];
    int64_t bad = 0;
    for (int i = 0; i < N; i++) {
        mixed[2 * i] = x[i];
        other[2 * i] = y[i];
        mixed[2 * i + 1] = special[i % 8];
        other[2 * i + 1] = special[i / 8 % 8];
    }
    compute(op, ND_F32, 2 * N, mixed, op == ND_OP_pow ? other : NULL, r);
    for (int i = 0; i < N; i++)
        bad += memcmp(&r[2 * i], &got[i], sizeof *got) != 0;
    is_int(bad, 0, what);
}

static void functions(void)
{
    static float x[N], y[N], got[N];
    for (int i = 0; i < N; i++) {
        /* All binades, those about one oftener; exponents to the ends of the range. */
        x[i] = (float)exp2(i % 2 ? 254 * uniform() - 126 : 2 * uniform() - 1);
        const double l = fabs(log2(x[i]));
        y[i] = (float)((2 * uniform() - 1) * 150 / (l > 1e-3 ? l : 1e-3));
    }
    compute(ND_OP_pow, ND_F32, N, x, y, got);
    if (!ok(worst(ND_OP_pow, x, y, got) <= 0.53, "powers of floats within 0.53 ulp"))
        diag("%.3f", worst(ND_OP_pow, x, y, got));
    amid(ND_OP_pow, x, y, got, "powers amid zeros, signs, infinities and NaN have the same bits");
    compute(ND_OP_log, ND_F32, N, x, NULL, got);
    ok(worst(ND_OP_log, x, y, got) <= 0.85, "logarithms of floats within 0.85 ulp");
    amid(ND_OP_log, x, y, got, "logarithms amid such have the same bits");
    for (int i = 0; i < N; i++)
        x[i] = (float)((2 * uniform() - 1) * (i % 2 ? 4 : 1e6));
    compute(ND_OP_sin, ND_F32, N, x, NULL, got);
    ok(worst(ND_OP_sin, x, y, got) <= 0.54, "sines of floats within 0.54 ulp");
    amid(ND_OP_sin, x, y, got, "sines amid such have the same bits");
}

/* C99 F.9.4.4, and the sign of odd powers. */
static void special_powers(void)
{
    static const float row[][3] = {
        {0, -3, INFINITY},
        {-0.0f, -3, -INFINITY},
        {-0.0f, -2, INFINITY},
        {-0.0f, -2.5f, INFINITY},
        {0, 3, 0},
        {-0.0f, 3, -0.0f},
        {-0.0f, 2, 0},
        {-0.0f, 0.5f, 0},
        {-1, INFINITY, 1},
        {-1, -INFINITY, 1},
        {1, NAN, 1},
        {1, INFINITY, 1},
        {NAN, 0, 1},
        {NAN, -0.0f, 1},
        {-INFINITY, 0, 1},
        {-8, 1.0f / 3, NAN},
        {0.5f, -INFINITY, INFINITY},
        {-0.5f, INFINITY, 0},
        {2, -INFINITY, 0},
        {-2, INFINITY, INFINITY},
        {-INFINITY, -3, -0.0f},
        {-INFINITY, -2, 0},
        {-INFINITY, 3, -INFINITY},
        {-INFINITY, 2.5f, INFINITY},
        {INFINITY, -1e-30f, 0},
        {INFINITY, 1e-30f, INFINITY},
        {0, 1e-30f, 0},
        {0, NAN, NAN},
        {NAN, 1, NAN},
        {-2, 3, -8},
        {-2, -2, 0.25f},
        {3, 4, 81},
        {2, 128, INFINITY},
        {2, -149, 0x1p-149f},
        {2, -151, 0},
        {-2, -149, -0x1p-149f},
        {0x1p-149f, 1, 0x1p-149f},
        {0x1p-149f, -1, INFINITY},
        {0x1p-140f, 0.5f, 0x1p-70f},
        {1e30f, 1e30f, INFINITY},
    };
    enum { ROWS = sizeof row / sizeof row[0] };
    float x[ROWS], y[ROWS], got[ROWS];
    for (int i = 0; i < ROWS; i++) {
        x[i] = row[i][0];
        y[i] = row[i][1];
    }
    compute(ND_OP_pow, ND_F32, ROWS, x, y, got);
    for (int i = 0; i < ROWS; i++)
        if (!ok(isnan(row[i][2]) ? isnan(got[i]) : memcmp(&got[i], &row[i][2], sizeof *got) == 0,
                "(%g)^(%g)", x[i], y[i]))
            diag("%a, not %a", got[i], row[i][2]);
}

static void exponentials(void)
{
    static double x[N], got[N];
    static const double edges[6] = {INFINITY, -INFINITY, NAN, 710, -746, -0.0};
    double most = 0, r[6];
    for (int i = 0; i < N; i++) {
        x[i] = i % 3 == 0   ? 1454.8 * uniform() - 745.1
               : i % 3 == 1 ? 2 * uniform() - 1
                            : ldexp(uniform() - 0.5, -(int)(60 * uniform()));
        x[i] = x[i] < 709.78 ? x[i] : 709.78;
    }
    compute(ND_OP_exp, ND_F64, N, x, NULL, got);
    for (int i = 0; i < N; i++) {
        const double off = ulps(got[i], expl(x[i]), 53, -1074);
        most = !(off <= most) ? off : most;
    }
#if LDBL_MANT_DIG > 53
    if (!ok(most <= 0.9, "exponentials of doubles within 0.9 ulp, subnormal ones too"))
        diag("%.3f", most);
#else
    (void)most;
#endif
    compute(ND_OP_exp, ND_F64, 6, edges, NULL, r);
    ok(r[0] == INFINITY && r[1] == 0 && isnan(r[2]) && r[3] == INFINITY && r[4] == 0 && r[5] == 1,
       "their ends");
}

TAP_MAIN({"functions", functions}, {"special_powers", special_powers},
         {"exponentials", exponentials})
