/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: random numbers against the formulas at ndp_random in plugin.h, worked out here anew
 * from Philox 4x32-10 as the paper defines it (Salmon et al., SC11). */
#include <math.h>
#include "tests/conform/generator.h"

/* ---- words ---- */

/* The word of element i: 32 bits, or 64 for wide dtypes. */
static uint64_t word(const nd_random_key *key, int64_t i, bool wide)
{
    int per_block = wide ? 2 : 4, at = (int)(i % per_block);
    block b = philox(counter_of(key) + (unsigned __int128)(i / per_block), key->key);
    return wide ? b.w[2 * at] | (uint64_t)b.w[2 * at + 1] << 32 : b.w[at];
}

/* In [0, 1), in steps of 2^-24 or 2^-53. */
static long double fraction(uint64_t w, bool wide)
{
    return wide ? ldexpl((long double)(w >> 11), -53) : ldexpl((long double)(w >> 8), -24);
}

/* The published vectors (Random123, kat_vectors), for the generator here and the library's. */
static void check_vectors(void)
{
    static const uint32_t known[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    (void)begin_case(0);
    for (int k = 0; k < 3; k++) {
        uint32_t got[4];
        const uint32_t *v = known[k];
        unsigned __int128 counter = 0;
        for (int i = 3; i >= 0; i--)
            counter = counter << 32 | v[i];
        nd_philox4x32(v, v + 4, got);
        block own = philox(counter, (uint64_t)v[5] << 32 | v[4]);
        if (memcmp(got, v + 6, sizeof got) != 0 || memcmp(own.w, v + 6, sizeof got) != 0)
            fail_case("vector %d: nd_philox4x32 begins %08x, this test %08x, not %08x", k, got[0],
                      own.w[0], v[6]);
    }
}

/* ---- a case ---- */

typedef struct {
    nd_op op;
    nd_dtype dtype;
    nd_random_key key;
    double a, b;       /* of uniform and normal */
    int64_t low, high; /* of integers */
} draw;

static nd_status draw_new(const draw *d, int ndim, const int64_t *shape, nd_array **out)
{
    if (d->op == ND_OP_random_uniform)
        return nd_random_uniform(run.device, d->dtype, ndim, shape, &d->key, d->a, d->b, out);
    if (d->op == ND_OP_random_normal)
        return nd_random_normal(run.device, d->dtype, ndim, shape, &d->key, d->a, d->b, out);
    return nd_random_integers(run.device, d->dtype, ndim, shape, &d->key, d->low, d->high, out);
}

static nd_status draw_into(const draw *d, const nd_array *dst)
{
    if (d->op == ND_OP_random_uniform)
        return nd_random_uniform_into(&d->key, d->a, d->b, dst);
    if (d->op == ND_OP_random_normal)
        return nd_random_normal_into(&d->key, d->a, d->b, dst);
    return nd_random_integers_into(&d->key, d->low, d->high, dst);
}

/* One array of what check accepts; the same bits again, strided, and in two halves by skipping. */
static void try_draw(const draw *d, bool (*check)(const draw *, const dense *))
{
    view_wish wish = any_view;
    mirror dst = {0};
    nd_array *r = NULL;
    const char *name = nd_op_get(d->op)->name;
    wish.writable = true;
    if (!mirror_random(&dst, d->dtype, &wish) ||
        !good(draw_new(d, dst.ndim, dst.shape, &r), name)) {
        mirror_release(&dst);
        return;
    }
    dense first = dense_new(d->dtype, dst.ndim, dst.shape);
    char *data = fetch(r);
    if (data)
        memcpy(first.data, data, (size_t)first.size * nd_dtype_size(d->dtype));
    free(data);
    if (dense_is(&first, r, name) && check(d, &first) && good(draw_into(d, dst.array), "into") &&
        dense_is(&first, dst.array, "the same again, into a view") && !mirror_untouched(&dst))
        fail_case("%s wrote beside the destination", name);
    nd_release(r);
    dense_release(&first);
    mirror_release(&dst);
}

static bool wide_dtype(nd_dtype dtype)
{
    return nd_dtype_size(dtype) == 8;
}

static bool report(const draw *d, int64_t i, cell got, cell want)
{
    char a[128], b[128];
    fail_case("%s of %s, %.17g and %.17g: element %lld is %s, not %s", nd_op_get(d->op)->name,
              nd_dtype_name(d->dtype), d->a, d->b, (long long)i, cell_text(got, a),
              cell_text(want, b));
    return false;
}

/* ---- uniform ---- */

/* The largest value of dtype below x. */
static cell just_below(nd_dtype dtype, long double x)
{
    cell c = rounded(dtype, x);
    if (c.re > cell_max(dtype))
        return cell_real(cell_max(dtype));
    for (long double step = cell_ulp(dtype, c.re) / 4; c.re >= x; step *= 2)
        c = rounded(dtype, x - step);
    return c;
}

/* Sums and products round as in the dtype that computes: f64, or f32. */
static cell uniform_value(const draw *d, int64_t i)
{
    bool wide = wide_dtype(d->dtype);
    nd_dtype compute = wide ? ND_F64 : ND_F32;
    long double low = rounded(compute, d->a).re, high = rounded(compute, d->b).re;
    long double range = rounded(compute, high - low).re, u = fraction(word(&d->key, i, wide), wide);
    volatile double wide_part = (double)u * (double)range, wide_sum = (double)low + wide_part;
    long double x = wide ? wide_sum : rounded(ND_F32, low + rounded(ND_F32, u * range).re).re;
    cell c = rounded(d->dtype, x);
    return low < high && c.re >= high ? just_below(d->dtype, high) : c;
}

static bool check_uniform(const draw *d, const dense *got)
{
    for (int64_t i = 0; i < got->size; i++) {
        cell want = uniform_value(d, i), c = dense_cell(got, i);
        if (!cell_close(d->dtype, c, want, 0, true))
            return report(d, i, c, want);
    }
    return true;
}

static void uniform_case(int i)
{
    static const double bounds[][2] = {{0, 1},    {-1, 1},     {0, 1},      {5, 5},
                                       {-3, -1},  {1, 1.0001}, {1e-3, 1e3}, {-60000, 60000},
                                       {0, 1e-8}, {100, 101}};
    const double *b = bounds[random_below(sizeof bounds / sizeof *bounds)];
    draw d = {.op = ND_OP_random_uniform, .dtype = legal_dtype(ND_OP_random_uniform, i)};
    d.key = random_key();
    d.a = b[0];
    d.b = b[1];
    try_draw(&d, check_uniform);
}

/* ---- normal ---- */

static bool check_normal(const draw *d, const dense *got)
{
    bool wide = wide_dtype(d->dtype), half = nd_dtype_size(d->dtype) == 2;
    const float *ulp = nd_op_get(d->op)->ulp;
    nd_dtype compute = wide ? ND_F64 : ND_F32;
    long double mean = rounded(compute, d->a).re, std = rounded(compute, d->b).re;
    for (int64_t i = 0; i < got->size; i++) {
        int64_t pair = i / 2 * 2;
        long double u1 = fraction(word(&d->key, pair, wide), wide) + ldexpl(1, wide ? -53 : -24);
        long double u2 = fraction(word(&d->key, pair + 1, wide), wide);
        long double z = sqrtl(-2 * logl(u1)) * turn(u2, i & 1), x = mean + std * z;
        /* Where mean and deviation cancel, what the larger of them loses remains. */
        long double largest = fmaxl(fabsl(x), mean == 0 ? 0 : fmaxl(fabsl(mean), fabsl(std * z)));
        double units = ulp[half ? 0 : wide ? 2 : 1];
        cell c = dense_cell(got, i);
        long double most = units * cell_ulp(d->dtype, largest);
        if (half) /* f32 does the computing, in its own units */
            most += 2 * cell_ulp(ND_F32, largest);
        if (!(fabsl(c.re - x) <= most) && !(fabsl(x) > cell_max(d->dtype) && isinf(c.re)))
            return report(d, i, c, cell_real(x));
    }
    return true;
}

static void normal_case(int i)
{
    static const double parameters[][2] = {{0, 1}, {0, 1},    {0, 1},      {3, 0.5},    {-100, 10},
                                           {1, 0}, {0, 1e-6}, {1e3, 1e-3}, {-0.5, 2000}};
    const double *p = parameters[random_below(sizeof parameters / sizeof *parameters)];
    draw d = {.op = ND_OP_random_normal, .dtype = legal_dtype(ND_OP_random_normal, i)};
    d.key = random_key();
    d.a = p[0];
    d.b = p[1];
    try_draw(&d, check_normal);
}

/* ---- integers ---- */

static bool check_integers(const draw *d, const dense *got)
{
    bool wide = wide_dtype(d->dtype);
    __int128 low = d->low, high = d->high;
    if (d->dtype == ND_U64) {
        low = (uint64_t)d->low;
        high = (uint64_t)d->high;
    }
    for (int64_t i = 0; i < got->size; i++) {
        unsigned __int128 scaled =
            (unsigned __int128)word(&d->key, i, wide) * (unsigned __int128)(high - low);
        cell want = cell_int(low + (__int128)(scaled >> (wide ? 64 : 32))), c = dense_cell(got, i);
        if (c.i != want.i || c.i < low || c.i >= high) {
            fail_case("integers of %s from %lld to %lld: element %lld is %lld, not %lld",
                      nd_dtype_name(d->dtype), (long long)low, (long long)high, (long long)i,
                      (long long)c.i, (long long)want.i);
            return false;
        }
    }
    return true;
}

static void integers_case(int i)
{
    draw d = {.op = ND_OP_random_integers, .dtype = legal_dtype(ND_OP_random_integers, i)};
    int bits = 8 * (int)nd_dtype_size(d.dtype);
    bool is_signed = nd_dtype_get(d.dtype)->kind == ND_KIND_INT;
    __int128 most = ((__int128)1 << (bits - is_signed)) - 1, least = is_signed ? -most - 1 : 0;
    __int128 low = least + (__int128)(((unsigned __int128)random_bits() << 64 | random_bits()) %
                                      (unsigned __int128)(most - least));
    __int128 high = low + 1 +
                    (random_below(2) ? (__int128)random_below(1000)
                                     : (__int128)(random_bits() >> random_below(64)));
    if (random_below(6) == 0)
        low = least;
    if (random_below(4) == 0 || high > most + 1)
        high = most + 1; /* exclusive: one more than the dtype holds */
    if (bits == 64 && high > most)
        high = most; /* the highest that the interface can say */
    if (high <= low)
        low = high - 1;
    d.key = random_key();
    d.low = (int64_t)low;
    d.high = (int64_t)high;
    try_draw(&d, check_integers);
}

/* ---- skip and permutation ---- */

/* Two calls one after the other give what one call gives whose first part ends with a block. */
static void skip_case(int i)
{
    static const nd_dtype dtypes[] = {ND_F16, ND_F32, ND_F64, ND_BF16};
    draw d = {.op = ND_OP_random_uniform, .dtype = dtypes[i % 4], .b = 1};
    int64_t per_block = wide_dtype(d.dtype) ? 2 : 4, blocks = random_below(70),
            n = random_below(90);
    int64_t whole = blocks * per_block + n, used = blocks * per_block;
    nd_array *all = NULL, *rest = NULL;
    const nd_index tail[1] = {nd_range(used, ND_END_OPEN, 1)};
    nd_array *want = NULL;
    d.key = random_key();
    nd_random_key next = d.key;
    unsigned __int128 position = counter_of(&d.key) + (unsigned __int128)blocks;
    if (blocks) /* a block begun is a block used */
        nd_random_skip(&next, used - random_below(per_block), d.dtype);
    if (counter_of(&next) != position || next.key != d.key.key)
        fail_case("skipping %lld elements of %s is not %lld blocks", (long long)used,
                  nd_dtype_name(d.dtype), (long long)blocks);
    draw second = d;
    second.key = next;
    if (good(draw_new(&d, 1, &whole, &all), "uniform") &&
        good(nd_slice(all, tail, 1, &want), "slice") &&
        good(draw_new(&second, 1, &n, &rest), "uniform")) {
        char *data = fetch(want);
        dense w = dense_new(d.dtype, 1, &n);
        memcpy(w.data, data, (size_t)n * nd_dtype_size(d.dtype));
        (void)dense_is(&w, rest, "what follows a skip");
        dense_release(&w);
        free(data);
    }
    nd_release(all);
    nd_release(rest);
    nd_release(want);
}

typedef struct {
    uint64_t word;
    int64_t position;
} ticket;

static int by_word(const void *a, const void *b)
{
    const ticket *x = a, *y = b;
    if (x->word != y->word)
        return x->word < y->word ? -1 : 1;
    return x->position < y->position ? -1 : 1;
}

static void permutation_case(int i)
{
    int64_t n = i == 0 ? 0 : random_below(i % 20 ? 50 : 5000);
    nd_random_key key = random_key();
    nd_array *r = NULL;
    ticket *t = malloc((size_t)(n + 1) * sizeof *t);
    dense want = dense_new(ND_I64, 1, &n);
    for (int64_t k = 0; k < n; k++)
        t[k] = (ticket){word(&key, k, true), k};
    qsort(t, (size_t)n, sizeof *t, by_word);
    for (int64_t k = 0; k < n; k++)
        dense_set(&want, k, t[k].position);
    if (good(nd_random_permutation(run.device, n, &key, &r), "permutation"))
        (void)dense_is(&want, r, "permutation");
    nd_release(r);
    free(t);
    dense_release(&want);
}

/* Parameters that make no sense, or whose results the dtype cannot hold. */
static void check_refusals(void)
{
    const int64_t n = 3;
    const nd_random_key key = {1, {0, 0}};
    const double bad[][2] = {{1, 0}, {NAN, 1}, {0, INFINITY}, {-1e308, 1e308}};
    nd_array *r = NULL;
    (void)begin_case(0);
    for (int i = 0; i < 4; i++)
        (void)fails(nd_random_uniform(run.device, ND_F64, 1, &n, &key, bad[i][0], bad[i][1], &r),
                    ND_ERR_ARGUMENT, "uniform with bad bounds");
    (void)fails(nd_random_uniform(run.device, ND_F32, 1, &n, &key, 0, 1e300, &r), ND_ERR_ARGUMENT,
                "uniform f32 up to 1e300");
    (void)fails(nd_random_normal(run.device, ND_F32, 1, &n, &key, 0, -1, &r), ND_ERR_ARGUMENT,
                "normal with a negative deviation");
    (void)fails(nd_random_normal(run.device, ND_F32, 1, &n, &key, 0, 1e300, &r), ND_ERR_ARGUMENT,
                "normal f32 with a deviation of 1e300");
    (void)fails(nd_random_uniform(run.device, ND_I32, 1, &n, &key, 0, 1, &r), ND_ERR_DTYPE,
                "uniform i32");
    (void)fails(nd_random_integers(run.device, ND_F32, 1, &n, &key, 0, 1, &r), ND_ERR_DTYPE,
                "integers f32");
    (void)fails(nd_random_integers(run.device, ND_BOOL, 1, &n, &key, 0, 1, &r), ND_ERR_DTYPE,
                "integers bool");
    (void)fails(nd_random_integers(run.device, ND_I32, 1, &n, &key, 5, 5, &r), ND_ERR_ARGUMENT,
                "integers between equal bounds");
    (void)fails(nd_random_integers(run.device, ND_I8, 1, &n, &key, 0, 129, &r), ND_ERR_OVERFLOW,
                "integers i8 to 129");
    (void)fails(nd_random_integers(run.device, ND_U8, 1, &n, &key, -1, 5, &r), ND_ERR_OVERFLOW,
                "integers u8 from -1");
    nd_release(r);
}

void conform_random(void)
{
    if (wanted("philox")) {
        begin_op("philox");
        check_vectors();
        end_op();
    }
    run_cases("random_uniform", uniform_case);
    run_cases("random_normal", normal_case);
    run_cases("random_integers", integers_case);
    run_cases("random_skip", skip_case);
    run_cases("random_permutation", permutation_case);
    if (wanted("random_refusals")) {
        begin_op("random_refusals");
        check_refusals();
        end_op();
    }
}
