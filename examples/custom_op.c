/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Two operations of a program's own, y = silu(a*x + b) and a mean pooling of images: registered
 * with a shape rule, a form for the CPU and a form for CUDA, then applied like any other. */
#include <getopt.h>
#include <math.h>
#include <ndock/ndock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "custom_op_kernels.h"

enum { BLOCK = 256 };

typedef struct {
    float a, b;
} silu_params;
typedef struct {
    int64_t kernel, step; /* extent of a window and distance of two, in both directions */
} pool_params;

/* What every form of ours begins and ends with. */
#define RETURN_IF(call)             \
    do {                            \
        nd_status status_ = (call); \
        if (status_ != ND_OK)       \
            return status_;         \
    } while (0)

/* ---- the CUDA forms ---- */
/* The function of that name, compiled for the array's device when somebody first asks. */
static nd_status function_for(const nd_array *a, const char *name, nd_function **out)
{
    const nd_module_opts opts = {.size = sizeof opts,
                                 .kind = ND_CODE_SOURCE,
                                 .code = cuda_source,
                                 .name = "custom_op.cu",
                                 .options = "--std=c++17"};
    nd_module *module;
    RETURN_IF(nd_module_get(nd_device_of(a), &opts, &module));
    return nd_module_function(module, name, out);
}

/* One thread for each of n pieces of work; nothing for none. */
static nd_status launch(const nd_array *x, const char *name, const nd_launch_arg *args, int32_t n,
                        int64_t threads)
{
    nd_function *function;
    if (threads == 0)
        return ND_OK;
    if (threads > (int64_t)INT32_MAX * BLOCK)
        return nd_custom_error(ND_ERR_OVERFLOW, "%lld threads are too many for one launch",
                               (long long)threads);
    RETURN_IF(function_for(x, name, &function));
    const nd_launch_opts opts = {
        .size = sizeof opts, .grid = {(uint32_t)((threads + BLOCK - 1) / BLOCK)}, .block = {BLOCK}};
    return nd_launch(function, args, n, &opts);
}

static nd_status silu_cuda(void *ctx, nd_stream *stream, const nd_array *const *in,
                           const void *params, nd_array *const *out)
{
    const silu_params *p = params;
    long long n = nd_size(out[0]);
    nd_array *x; /* in[0] itself where it is dense */
    (void)ctx;
    (void)stream; /* it is the current one */
    RETURN_IF(nd_compact(in[0], &x));
    const nd_launch_arg args[] = {
        nd_launch_in(x), nd_launch_out(out[0]), nd_launch_bytes(&p->a, sizeof p->a),
        nd_launch_bytes(&p->b, sizeof p->b), nd_launch_bytes(&n, sizeof n)};
    nd_status status = launch(x, "fused_silu", args, 5, (n + 3) / 4);
    nd_release(x);
    return status;
}

static nd_status launch_pool(const nd_array *x, const nd_array *y, const pool_params *p)
{
    long long n = nd_size(y), k = p->kernel, step = p->step;
    long long height = nd_shape(x)[2], width = nd_shape(x)[3];
    long long out_height = nd_shape(y)[2], out_width = nd_shape(y)[3];
    uint32_t quads = (uint32_t)(width / 8), threads = (uint32_t)(n / 4);
    if (k == 2 && step == 2 && height % 2 == 0 && width % 8 == 0 && n / 4 <= INT32_MAX) {
        const nd_launch_arg args[] = {nd_launch_in(x), nd_launch_out(y),
                                      nd_launch_bytes(&quads, sizeof quads),
                                      nd_launch_bytes(&threads, sizeof threads)};
        return launch(x, "avg_pool2d_2x2", args, 4, threads);
    }
    const nd_launch_arg args[] = {
        nd_launch_in(x),
        nd_launch_out(y),
        nd_launch_bytes(&height, sizeof height),
        nd_launch_bytes(&width, sizeof width),
        nd_launch_bytes(&out_height, sizeof out_height),
        nd_launch_bytes(&out_width, sizeof out_width),
        nd_launch_bytes(&k, sizeof k),
        nd_launch_bytes(&step, sizeof step),
        nd_launch_bytes(&n, sizeof n),
    };
    return launch(x, "avg_pool2d", args, 9, n);
}

static nd_status pool_cuda(void *ctx, nd_stream *stream, const nd_array *const *in,
                           const void *params, nd_array *const *out)
{
    nd_array *x;
    (void)ctx;
    (void)stream;
    RETURN_IF(nd_compact(in[0], &x));
    nd_status status = launch_pool(x, out[0], params);
    nd_release(x);
    return status;
}

/* ---- the CPU forms, which take any strides ---- */
static nd_status silu_cpu(void *ctx, const nd_custom_view *in, const void *params,
                          const nd_custom_view *out)
{
    const silu_params *p = params;
    const float *x = in[0].data;
    float *y = out[0].data;
    int64_t index[ND_MAX_NDIM] = {0}, at = 0, n = 1;
    (void)ctx;
    for (int d = 0; d < in[0].ndim; d++)
        n *= in[0].shape[d];
    for (int64_t i = 0; i < n; i++) { /* outputs are dense, in C order */
        float v = p->a * x[at] + p->b;
        y[i] = v / (1 + expf(-v));
        for (int d = in[0].ndim - 1; d >= 0; d--) {
            at += in[0].stride[d];
            if (++index[d] < in[0].shape[d])
                break;
            at -= in[0].stride[d] * index[d];
            index[d] = 0;
        }
    }
    return ND_OK;
}

static float window_mean(const float *x, const nd_custom_view *in, int64_t k)
{
    float sum = 0;
    for (int64_t r = 0; r < k; r++)
        for (int64_t c = 0; c < k; c++)
            sum += x[r * in->stride[2] + c * in->stride[3]];
    return sum * (1 / (float)(k * k));
}

static nd_status pool_cpu(void *ctx, const nd_custom_view *in, const void *params,
                          const nd_custom_view *out)
{
    const pool_params *p = params;
    const int64_t *s = in[0].stride, *shape = out[0].shape;
    const float *x = in[0].data;
    float *y = out[0].data;
    (void)ctx;
    for (int64_t n = 0; n < shape[0]; n++)
        for (int64_t c = 0; c < shape[1]; c++)
            for (int64_t row = 0; row < shape[2]; row++)
                for (int64_t column = 0; column < shape[3]; column++)
                    *y++ = window_mean(x + n * s[0] + c * s[1] + row * p->step * s[2] +
                                           column * p->step * s[3],
                                       in, p->kernel);
    return ND_OK;
}

/* ---- the shape rules ---- */
static nd_status silu_shape(void *ctx, const nd_custom_shape *in, const void *params,
                            nd_custom_shape *out)
{
    (void)ctx;
    (void)params;
    if (in[0].dtype != ND_F32)
        return nd_custom_error(ND_ERR_DTYPE, "x is %s; it takes f32", nd_dtype_name(in[0].dtype));
    out[0] = in[0];
    return ND_OK;
}

static nd_status pool_shape(void *ctx, const nd_custom_shape *in, const void *params,
                            nd_custom_shape *out)
{
    const pool_params *p = params;
    (void)ctx;
    if (in[0].dtype != ND_F32 || in[0].ndim != 4)
        return nd_custom_error(ND_ERR_SHAPE,
                               "x is %s of rank %d; it takes f32 of 4 dimensions: image, channel, "
                               "row, column",
                               nd_dtype_name(in[0].dtype), (int)in[0].ndim);
    if (p->kernel < 1 || p->step < 1 || p->kernel > in[0].shape[2] || p->kernel > in[0].shape[3])
        return nd_custom_error(ND_ERR_ARGUMENT,
                               "windows of %lld x %lld, %lld apart, do not fit into %lld x %lld",
                               (long long)p->kernel, (long long)p->kernel, (long long)p->step,
                               (long long)in[0].shape[2], (long long)in[0].shape[3]);
    out[0] = in[0];
    for (int d = 2; d < 4; d++)
        out[0].shape[d] = (in[0].shape[d] - p->kernel) / p->step + 1;
    return ND_OK;
}

/* ---- registering ---- */
static const nd_custom_op *silu_op, *pool_op;

static nd_status register_ops(void)
{
    const nd_custom_form silu_forms[] = {{"cuda", silu_cuda}}, pool_forms[] = {{"cuda", pool_cuda}};
    nd_custom_def def = {.size = sizeof def,
                         .n_in = 1,
                         .n_out = 1,
                         .params_nbytes = sizeof(silu_params),
                         .name = "fused_silu",
                         .doc = "silu(a*x + b)",
                         .shape = silu_shape,
                         .cpu = silu_cpu,
                         .forms = silu_forms,
                         .n_forms = 1};
    RETURN_IF(nd_custom_register(&def, &silu_op));
    def.params_nbytes = sizeof(pool_params);
    def.name = "avg_pool2d";
    def.doc = "means of k x k windows of the last two axes";
    def.shape = pool_shape;
    def.cpu = pool_cpu;
    def.forms = pool_forms;
    return nd_custom_register(&def, &pool_op);
}

/* ---- using them, and checking against plain loops in double ---- */
static void fail(void)
{
    fprintf(stderr, "custom_op: %s\n", nd_last_error()->message);
    exit(1);
}

static void must(nd_status status)
{
    if (status != ND_OK)
        fail();
}

static float *host_copy(const nd_array *a)
{
    size_t nbytes = (size_t)nd_size(a) * sizeof(float);
    float *data = malloc(nbytes + 1);
    if (!data) {
        fputs("custom_op: out of memory\n", stderr);
        exit(1);
    }
    must(nd_to_host(a, data, nbytes));
    return data;
}

/* The same numbers every time, from -4 to 4. */
static nd_array *numbers(nd_device *device, int ndim, const int64_t *shape)
{
    int64_t n = 1;
    uint32_t state = 12345;
    nd_array *a;
    for (int d = 0; d < ndim; d++)
        n *= shape[d];
    float *data = malloc((size_t)n * sizeof *data + 1);
    for (int64_t i = 0; data && i < n; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (float)(state >> 8) * (8.0f / 16777216.0f) - 4.0f;
    }
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = ndim, .shape = shape};
    if (!data)
        exit(1);
    must(nd_from_host(&layout, data, device, &a));
    free(data);
    return a;
}

static int failures;

static void report(const char *what, const char *shape, double worst, double allowed)
{
    int fine = worst <= allowed;
    printf("%-12s %-26s largest difference %.2g%s\n", what, shape, worst,
           fine ? "" : "  MORE THAN ALLOWED");
    failures += !fine;
}

static double worse(double worst, double got, double want)
{
    double difference = fabs(got - want) / fmax(1, fabs(want));
    return difference <= worst ? worst : difference; /* NaN too */
}

/* x dense or not; label for people. */
static void check_silu(const nd_array *x, const char *label)
{
    const silu_params p = {1.5f, -0.25f};
    nd_array *y;
    double worst = 0;
    must(nd_custom_apply(silu_op, &x, &p, NULL, &y));
    float *from = host_copy(x), *got = host_copy(y);
    for (int64_t i = 0; i < nd_size(x); i++) {
        double v = (double)p.a * (double)from[i] + (double)p.b;
        worst = worse(worst, (double)got[i], v / (1 + exp(-v)));
    }
    report("fused_silu", label, worst, 2e-6);
    free(from);
    free(got);
    nd_release(y);
}

static double pool_difference(const nd_array *x, const nd_array *y, const pool_params *p)
{
    const int64_t *in = nd_shape(x), *out = nd_shape(y);
    double worst = 0;
    float *from = host_copy(x), *got = host_copy(y);
    for (int64_t i = 0; i < nd_size(y); i++) {
        int64_t column = i % out[3], row = i / out[3] % out[2], plane = i / out[3] / out[2];
        const float *window = from + (plane * in[2] + row * p->step) * in[3] + column * p->step;
        double sum = 0;
        for (int64_t j = 0; j < p->kernel * p->kernel; j++)
            sum += (double)window[j / p->kernel * in[3] + j % p->kernel];
        worst = worse(worst, (double)got[i], sum / (double)(p->kernel * p->kernel));
    }
    free(from);
    free(got);
    return worst;
}

static void check_pool(const nd_array *x, int64_t kernel, int64_t step, const char *label)
{
    const pool_params p = {kernel, step};
    nd_array *y;
    must(nd_custom_apply(pool_op, &x, &p, NULL, &y));
    report("avg_pool2d", label, pool_difference(x, y, &p), 1e-6);
    nd_release(y);
}

static void check_silus(nd_device *device)
{
    const int64_t shape[] = {37, 1001}, none[] = {0, 5};
    nd_array *x = numbers(device, 2, shape), *view, *scalar = numbers(device, 0, NULL),
             *empty = numbers(device, 2, none);
    check_silu(x, "(37, 1001)");
    must(nd_transpose(x, &view));
    check_silu(view, "(1001, 37), transposed");
    nd_release(view);
    const nd_index last[] = {nd_range(1, 37, 1), nd_range(ND_END_OPEN, ND_END_OPEN, -3)};
    must(nd_slice(x, last, 2, &view));
    check_silu(view, "(36, 334), step -3");
    nd_release(view);
    const nd_index row = nd_at(3);
    must(nd_slice(x, &row, 1, &view));
    check_silu(view, "(1001,), not aligned");
    nd_release(view);
    check_silu(scalar, "()");
    check_silu(empty, "(0, 5)");
    nd_release(x);
    nd_release(scalar);
    nd_release(empty);
}

static void check_pools(nd_device *device)
{
    static const struct {
        int64_t shape[4], kernel, step;
        const char *label;
    } rows[] = {
        {{2, 3, 8, 16}, 2, 2, "(2, 3, 8, 16), 2 by 2"},
        {{4, 8, 224, 224}, 2, 2, "(4, 8, 224, 224), 2 by 2"},
        {{2, 3, 9, 17}, 3, 2, "(2, 3, 9, 17), 3 by 2"},
        {{1, 2, 7, 6}, 2, 1, "(1, 2, 7, 6), 2 by 1"},
        {{2, 1, 5, 5}, 5, 7, "(2, 1, 5, 5), 5 by 7"},
        {{0, 3, 8, 8}, 2, 2, "(0, 3, 8, 8), 2 by 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        nd_array *x = numbers(device, 4, rows[i].shape), *view;
        check_pool(x, rows[i].kernel, rows[i].step, rows[i].label);
        const int32_t axes[] = {1, 0, 2, 3}, flipped = 3;
        nd_array *permuted;
        must(nd_permute(x, 4, axes, &permuted));
        must(nd_flip(permuted, 1, &flipped, &view));
        check_pool(view, rows[i].kernel, rows[i].step, "  the same, as a view");
        nd_release(view);
        nd_release(permuted);
        nd_release(x);
    }
}

/* ---- how fast ---- */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void time_op(nd_device *device, const nd_custom_op *op, const nd_array *x, const void *p,
                    const char *label)
{
    nd_device_info info;
    nd_array *y;
    nd_device_describe(device, &info);
    int repeats = info.async ? 200 : 3;
    must(nd_custom_apply(op, &x, p, NULL, &y)); /* compiles, takes memory */
    const nd_array *dst = y;
    for (int i = 0; i < repeats / 10; i++)
        must(nd_custom_apply_into(op, &x, p, NULL, &dst));
    must(nd_synchronize(device));
    double start = seconds();
    for (int i = 0; i < repeats; i++)
        must(nd_custom_apply_into(op, &x, p, NULL, &dst));
    must(nd_synchronize(device));
    double each = (seconds() - start) / repeats;
    double bytes = (double)(nd_size(x) + nd_size(y)) * sizeof(float);
    printf("%-12s %-26s %9.3f ms %8.0f GB/s on %s\n", nd_custom_name(op), label, each * 1e3,
           bytes / each * 1e-9, nd_device_name(device));
    nd_release(y);
}

static void bench(nd_device *device)
{
    const int64_t images[] = {64, 64, 224, 224};
    const pool_params pool = {2, 2};
    const silu_params silu = {1.5f, -0.25f};
    nd_array *x;
    must(nd_full(device, ND_F32, 4, images, nd_float(0.5), &x));
    time_op(device, pool_op, x, &pool, "(64, 64, 224, 224), 2 by 2");
    time_op(device, silu_op, x, &silu, "(64, 64, 224, 224)");
    nd_release(x);
}

static void usage(FILE *to)
{
    fputs("Usage: custom_op [--device NAME] [--bench]\n"
          "Applies two operations of its own and compares them with plain loops; ends with 0 if\n"
          "they agree, 1 if not, 2 after wrong options. --bench measures them as well.\n",
          to);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"device", required_argument, NULL, 'd'},
                                            {"bench", no_argument, NULL, 'b'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *name = "auto";
    nd_device *device;
    nd_fallback_stats staged;
    int c, with_bench = 0;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (c == 'h' || c == '?')
            usage(c == 'h' ? stdout : stderr);
        if (c == 'h' || c == '?')
            return c == 'h' ? 0 : 2;
        name = c == 'd' ? optarg : name;
        with_bench |= c == 'b';
    }
    must(nd_device_get(name, &device));
    must(nd_device_set_current(device));
    must(register_ops());
    check_silus(device);
    check_pools(device);
    nd_fallback_get(&staged);
    printf("%s on %s: %s form, %llu calls staged through the CPU\n",
           failures ? "different results" : "all results agree", nd_device_name(device),
           nd_custom_has_form(pool_op, device) ? "its own" : "the CPU's",
           (unsigned long long)staged.staged_calls);
    if (with_bench)
        bench(device);
    return failures != 0;
}
