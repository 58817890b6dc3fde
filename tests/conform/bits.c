/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Prints a hash of the bits of one result per line; bits.sh compares runs with other threads and
 * SIMD levels. */
#include <stdio.h>
#include <stdlib.h>
#include <ndock/ndock.h>

static int failed;
/* Where arrays of usual length take minutes (NDOCK_TEST_SLICE), some that still keep four threads
 * busy. */
static int64_t rows = 1000;

static void need(nd_status status, const char *what)
{
    if (status != ND_OK) {
        printf("%s failed: %s\n", what, nd_last_error()->message);
        failed = 1;
    }
}

/* FNV-1a, 64 bits. Gives r back. */
static void print_hash(const char *name, nd_array *r)
{
    size_t n = r ? (size_t)nd_size(r) * nd_dtype_size(nd_dtype_of(r)) : 0;
    unsigned char *data = malloc(n + 1);
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    if (r && data) {
        need(nd_to_host(r, data, n), name);
        for (size_t i = 0; i < n; i++)
            h = (h ^ data[i]) * UINT64_C(0x100000001b3);
        printf("%s %016llx\n", name, (unsigned long long)h);
    }
    free(data);
    nd_release(r);
}

/* Values in (-scale, scale), the same everywhere. */
static nd_array *values(nd_dtype dtype, int ndim, const int64_t *shape, double scale, uint64_t seed)
{
    int64_t n = 1;
    nd_layout layout = {.size = sizeof layout, .dtype = ND_F64, .ndim = ndim, .shape = shape};
    nd_array *wide = NULL, *a = NULL;
    for (int d = 0; d < ndim; d++)
        n *= shape[d];
    double *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; v && i < n; i++) {
        uint64_t x = (seed << 40) + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        v[i] = scale * ((double)(x >> 11) * 0x1p-52 - 1);
    }
    need(nd_from_host(&layout, v, NULL, &wide), "from_host");
    need(nd_astype(wide, dtype, &a), "astype");
    nd_release(wide);
    free(v);
    return a;
}

static void elementwise(nd_dtype dtype)
{
    const int64_t shape[1] = {rows * 1000};
    nd_array *a = values(dtype, 1, shape, 9, 1), *b = values(dtype, 1, shape, 9, 2);
    nd_array *r = NULL, *positive = NULL;
    char name[64];
    need(nd_abs(a, &positive), "abs");
    static const struct {
        const char *name;
        nd_status (*run)(const nd_array *, nd_array **);
    } ops[] = {
        {"exp", nd_exp}, {"tanh", nd_tanh}, {"sin", nd_sin}, {"erf", nd_erf}, {"gelu", nd_gelu}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        snprintf(name, sizeof name, "%s:%s", ops[i].name, nd_dtype_name(dtype));
        need(ops[i].run(a, &r), name);
        print_hash(name, r);
    }
    snprintf(name, sizeof name, "pow:%s", nd_dtype_name(dtype));
    need(nd_pow(positive, b, &r), name);
    print_hash(name, r);
    snprintf(name, sizeof name, "add:%s", nd_dtype_name(dtype));
    need(nd_add(a, b, &r), name);
    print_hash(name, r);
    nd_release(a);
    nd_release(b);
    nd_release(positive);
}

static void reductions(nd_dtype dtype)
{
    static const struct {
        const char *name;
        nd_status (*run)(const nd_array *, const nd_reduce_opts *, nd_array **);
    } ops[] = {{"sum", nd_sum},
               {"mean", nd_mean},
               {"var", nd_var},
               {"logsumexp", nd_logsumexp},
               {"prod", nd_prod}};
    const int64_t shape[2] = {rows, 1003};
    nd_array *a = values(dtype, 2, shape, 2, 3), *r = NULL;
    char name[64];
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int32_t axis = 0; axis < 3; axis++) {
            nd_reduce_opts o = {
                .size = sizeof o, .axes = axis < 2 ? &axis : NULL, .naxes = axis < 2};
            snprintf(name, sizeof name, "%s:%s:axis%d", ops[i].name, nd_dtype_name(dtype), axis);
            need(ops[i].run(a, &o, &r), name);
            print_hash(name, r);
        }
    for (int32_t axis = 0; axis < 2; axis++) {
        nd_scan_opts o = {.size = sizeof o, .axis = axis};
        snprintf(name, sizeof name, "cumulative_sum:%s:axis%d", nd_dtype_name(dtype), axis);
        need(nd_cumulative_sum(a, &o, &r), name);
        print_hash(name, r);
        nd_norm_opts n = {.size = sizeof n, .axes = &axis, .naxes = 1, .eps = -1};
        snprintf(name, sizeof name, "softmax:%s:axis%d", nd_dtype_name(dtype), axis);
        need(nd_softmax(a, &n, &r), name);
        print_hash(name, r);
        snprintf(name, sizeof name, "layer_norm:%s:axis%d", nd_dtype_name(dtype), axis);
        need(nd_layer_norm(a, NULL, NULL, &n, &r), name);
        print_hash(name, r);
    }
    snprintf(name, sizeof name, "sort:%s", nd_dtype_name(dtype));
    need(nd_sort(a, NULL, &r), name);
    print_hash(name, r);
    nd_release(a);
}

/* A length of each way to cut one up, alone and in batches of rows and of columns. */
static void transforms(nd_dtype dtype)
{
    static const int64_t lengths[] = {13, 64, 67, 360, 1009, 4096, 65536, 1 << 17};
    char name[64];
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int form = 0; form < 3; form++) {
            const int64_t n = lengths[i], many = n > 5000 ? 3 : 40;
            const int64_t shape[2] = {form == 2 ? n : form ? many : 1, form == 2 ? many : n};
            const int32_t axis = form == 2 ? 0 : 1;
            const nd_fft_opts o = {.size = sizeof o, .axes = &axis, .naxes = 1};
            nd_array *a = values(dtype, 2, shape, 1, 10), *r = NULL;
            snprintf(name, sizeof name, "fft:%s:%lld:%d", nd_dtype_name(dtype), (long long)n, form);
            need(nd_fft(a, &o, &r), name);
            print_hash(name, r);
            snprintf(name, sizeof name, "rfft:%s:%lld:%d", nd_dtype_name(dtype), (long long)n,
                     form);
            need(nd_rfft(a, &o, &r), name);
            print_hash(name, r);
            snprintf(name, sizeof name, "irfft:%s:%lld:%d", nd_dtype_name(dtype), (long long)n,
                     form);
            need(nd_irfft(a, &o, &r), name);
            print_hash(name, r);
            nd_release(a);
        }
}

/* Moduli whose logarithms add up to about 0, so that long products stay in range. */
static void complex_reductions(nd_dtype dtype)
{
    const int64_t shape[2] = {rows, 1003};
    nd_array *re = values(dtype, 2, shape, 2.5, 8), *im = values(dtype, 2, shape, 1, 9);
    nd_array *turned = NULL, *a = NULL, *r = NULL;
    char name[64];
    need(nd_multiply_scalar(im, nd_complex(0, 1), &turned), "multiply");
    need(nd_add(re, turned, &a), "add");
    for (int32_t axis = 0; axis < 2; axis++) {
        nd_reduce_opts o = {.size = sizeof o, .axes = &axis, .naxes = 1};
        snprintf(name, sizeof name, "prod:%s:axis%d", nd_dtype_name(dtype), axis);
        need(nd_prod(a, &o, &r), name);
        print_hash(name, r);
        snprintf(name, sizeof name, "sum:%s:axis%d", nd_dtype_name(dtype), axis);
        need(nd_sum(a, &o, &r), name);
        print_hash(name, r);
    }
    nd_release(re);
    nd_release(im);
    nd_release(turned);
    nd_release(a);
}

/* Random numbers that are tried until accepted. */
static void draws(void)
{
    static const struct {
        nd_distribution id;
        nd_dtype dtype;
        double param[4];
    } subjects[] = {{ND_DRAW_gamma, ND_F64, {2.5, 3}},
                    {ND_DRAW_gamma, ND_F32, {0.25, 1}},
                    {ND_DRAW_beta, ND_F64, {0.5, 2}},
                    {ND_DRAW_truncated_normal, ND_F64, {1, 3, 0, 1}},
                    {ND_DRAW_standard_t, ND_F64, {3}},
                    {ND_DRAW_poisson, ND_I64, {4}},
                    {ND_DRAW_poisson, ND_I32, {1000}},
                    {ND_DRAW_binomial, ND_I64, {100, 0.4}},
                    {ND_DRAW_negative_binomial, ND_I64, {3, 0.2}},
                    {ND_DRAW_geometric, ND_I64, {0.01}},
                    {ND_DRAW_hypergeometric, ND_I64, {100, 80, 50}}};
    const int64_t shape[2] = {rows, 103};
    const nd_random_key key = {.key = 7};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        const nd_distribution_info *info = nd_distribution_get(subjects[i].id);
        nd_arg args[4];
        nd_array *r = NULL;
        char name[64];
        for (int p = 0; p < info->n_params; p++)
            args[p] = nd_scalar_arg(nd_float(subjects[i].param[p]));
        snprintf(name, sizeof name, "random_%s:%s", info->name, nd_dtype_name(subjects[i].dtype));
        need(nd_random_draw(subjects[i].id, args, info->n_params, NULL, subjects[i].dtype, 2, shape,
                            &key, &r),
             name);
        print_hash(name, r);
    }
}

/* m x k by k x n; turned: of transposed views. */
static void product(nd_dtype dtype, int64_t m, int64_t k, int64_t n, int turned)
{
    const int64_t left[2] = {turned ? k : m, turned ? m : k}, right[2] = {k, n};
    nd_array *a = values(dtype, 2, left, 5, 4), *b = values(dtype, 2, right, 5, 5), *t = NULL,
             *r = NULL;
    char name[64];
    snprintf(name, sizeof name, "matmul:%s:%s%dx%dx%d", nd_dtype_name(dtype),
             turned ? "turned:" : "", (int)m, (int)k, (int)n);
    if (turned)
        need(nd_matrix_transpose(a, &t), "transpose");
    need(nd_matmul(turned ? t : a, b, NULL, &r), name);
    print_hash(name, r);
    nd_release(a);
    nd_release(b);
    nd_release(t);
}

/* Convolutions as products and channel by channel, and what goes with them. */
static void windows(nd_dtype dtype, int64_t groups)
{
    const int64_t image[4] = {3, 16, 19, 21}, weight[4] = {32, 16 / groups, 3, 3};
    const int64_t two[2] = {2, 2}, three[2] = {3, 3}, extents[2] = {40, 13};
    const nd_conv_opts opts = {
        .size = sizeof opts, .stride = two, .padding = two, .groups = groups};
    const nd_pooling_opts pool = {.size = sizeof pool, .rank = 2, .kernel = three, .stride = two};
    const nd_upsample_opts up = {
        .size = sizeof up, .extents = extents, .method = ND_UPSAMPLE_CUBIC};
    nd_array *x = values(dtype, 4, image, 5, 21), *w = values(dtype, 4, weight, 5, 22), *y = NULL,
             *r = NULL, *at = NULL, *largest = NULL;
    char name[64];
    snprintf(name, sizeof name, "conv:%s:%d", nd_dtype_name(dtype), (int)groups);
    need(nd_conv(x, w, NULL, &opts, &y), name);
    need(nd_conv_grad_input(y, w, 4, image, &opts, &r), name);
    print_hash("conv_input", r);
    need(nd_conv_grad_weight(x, y, 4, weight, &opts, &r), name);
    print_hash("conv_weight", r);
    print_hash(name, y);
    need(nd_max_pool(x, &pool, &largest, &at), "max_pool");
    need(nd_max_pool_grad(largest, at, 4, image, &pool, &r), "max_pool_grad");
    nd_release(largest);
    print_hash("max_pool_grad", r);
    print_hash("max_pool", at);
    need(nd_avg_pool(x, &pool, &r), "avg_pool");
    print_hash("avg_pool", r);
    need(nd_upsample(x, &up, &r), "upsample");
    print_hash("upsample", r);
    nd_release(x);
    nd_release(w);
}

/* Hashes of all results; n of them. */
static void print_hashes(const char *name, nd_dtype dtype, int n, nd_array *const *r)
{
    char text[64];
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%s:%s:%d", name, nd_dtype_name(dtype), i);
        print_hash(text, r[i]);
    }
}

/* One large matrix, on which all threads work, and many of middling size, one for each. */
static void decompositions(nd_dtype dtype, int64_t count, int64_t n)
{
    const int64_t shape[3] = {count, n, n};
    nd_array *re = values(ND_F64, 3, shape, 1, 10), *im = values(ND_F64, 3, shape, 1, 11),
             *turned = NULL, *both = NULL, *a = NULL, *t = NULL, *spd = NULL, *r[3] = {NULL};
    need(nd_multiply_scalar(im, nd_complex(0, 1), &turned), "multiply");
    need(nd_add(re, turned, &both), "add");
    need(nd_astype(dtype >= ND_C64 ? both : re, dtype, &a), "astype");
    need(nd_matrix_transpose(a, &t), "transpose");
    need(nd_lu(a, NULL, &r[0], &r[1], &r[2]), "lu");
    print_hashes("lu", dtype, 3, r);
    need(nd_qr(a, NULL, &r[0], &r[1]), "qr");
    print_hashes("qr", dtype, 2, r);
    need(nd_solve(a, t, NULL, &r[0]), "solve");
    print_hashes("solve", dtype, 1, r);
    need(nd_eigh(a, NULL, &r[0], &r[1]), "eigh");
    print_hashes("eigh", dtype, 2, r);
    need(nd_svd(a, NULL, &r[0], &r[1], &r[2]), "svd");
    print_hashes("svd", dtype, 3, r);
    nd_release(t);
    need(nd_conj(a, &spd), "conj");
    need(nd_matrix_transpose(spd, &t), "transpose");
    nd_release(spd);
    need(nd_matmul(a, t, NULL, &spd), "matmul");
    need(nd_cholesky(spd, NULL, &r[0]), "cholesky");
    print_hashes("cholesky", dtype, 1, r);
    nd_release_all(7, (nd_array *[]){re, im, turned, both, a, t, spd});
}

/* Products with quantised matrices, whose sums of integers are added up in one order of lanes. */
static void quantised(nd_quant_format format)
{
    char name[64];
    nd_array *x = values(ND_F32, 2, (int64_t[]){11, 1280}, 3, 21), *r = NULL,
             *weights = values(ND_F32, 2, (int64_t[]){100, 1280}, 1, 22);
    nd_qarray *q = NULL;
    snprintf(name, sizeof name, "quantize %s", nd_quant_get(format)->name);
    need(nd_quantize(weights, format, &q), name);
    print_hash(name, nd_retain((nd_array *)(uintptr_t)nd_qarray_blocks(q)));
    need(nd_dequantize(q, ND_F32, &r), name);
    print_hash("dequantize", r);
    need(nd_matmul_q(x, q, &r), name);
    print_hash("matmul_q", r);
    nd_release(x);
    nd_release(weights);
    nd_qarray_release(q);
}

int main(void)
{
    static const nd_dtype products[] = {ND_F32, ND_F64, ND_F16, ND_I32, ND_C64};
    rows = getenv("NDOCK_TEST_SLICE") ? 200 : rows;
    const int64_t shape[2] = {rows, 1003};
    const nd_random_key key = {.key = 7};
    nd_array *r = NULL;
    elementwise(ND_F32);
    elementwise(ND_F64);
    transforms(ND_F32);
    transforms(ND_F64);
    reductions(ND_F32);
    reductions(ND_F64);
    complex_reductions(ND_C64);
    complex_reductions(ND_C128);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        product(products[i], 130, 257, 65, 0);
        product(products[i], 170, 160, 160, 0);
    }
    product(ND_F32, 128, 784, 128, 0); /* a training step on images of 28 x 28 */
    product(ND_F32, 128, 128, 10, 0);
    product(ND_F32, 784, 128, 128, 1);
    product(ND_F32, 1, 784, 512, 0);
    product(ND_F32, 400, 300, 410, 0);
    windows(ND_F32, 1);
    windows(ND_F32, 16);
    windows(ND_F64, 2);
    windows(ND_BF16, 1);
    for (size_t i = 0; i < 4; i++) {
        static const nd_dtype dtypes[] = {ND_F32, ND_F64, ND_C64, ND_C128};
        decompositions(dtypes[i], 1, 301);
        decompositions(dtypes[i], 9, 50);
    }
    need(nd_random_normal(NULL, ND_F32, 2, shape, &key, 0, 1, &r), "random_normal");
    print_hash("random_normal:f32", r);
    need(nd_random_normal(NULL, ND_F64, 2, shape, &key, 0, 1, &r), "random_normal");
    print_hash("random_normal:f64", r);
    draws();
    quantised(ND_Q8_0);
    quantised(ND_Q4_0);
    quantised(ND_Q4_K);
    quantised(ND_Q6_K);
    return failed;
}
