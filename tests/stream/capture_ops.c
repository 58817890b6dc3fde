/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * G20: an operation of every class in a graph gives, each time the graph runs, the bits that it
 * gives outside. On the simulated device; with CAPTURE_ON_CUDA on cuda:0, of which the same
 * source makes tests/cuda/capture_ops.t. */
#include "core/ops/ops.h"
#include "core/memory/memory.h"
#ifdef CAPTURE_ON_CUDA
#include "tests/cuda/gpu.h"
#else
#include <ndock/sim.h>
#include "tests/tap.h"
#define DO(call) done((call), #call, __LINE__)
static nd_device *gpu;
static ndp_dev *dev;
static void done(nd_status status, const char *what, int line)
{
    if (status == ND_OK)
        return;
    tap_ok(0, __FILE__, line, "%s", what);
    diag("%s: %s", nd_status_name(status), nd_last_error()->message);
}
static void open_gpu(void)
{
    if (nd_device_get("sim:0", &gpu) != ND_OK || nd_device_set_current(gpu) != ND_OK)
        bail("the simulated device is not there");
}
#endif

enum { N = 300, ROWS = 20, COLUMNS = N / ROWS };
/* One-dimensional, but for the matrix, which is the same memory as a. */
static nd_array *a, *matrix, *b, *mask, *sorted, *at, *positions;

/* ---- an operation of each class; new arrays ---- */
static nd_status unary(nd_array **out)
{
    return nd_tanh(a, out);
}
static nd_status binary(nd_array **out)
{
    return nd_add(a, b, out);
}
static nd_status ternary(nd_array **out)
{
    return nd_where(mask, a, b, out);
}
static nd_status fill(nd_array **out)
{
    return nd_full(gpu, ND_F32, 1, (const int64_t[]){N}, nd_float(3), out);
}
static nd_status copy(nd_array **out)
{
    return nd_astype(a, ND_F64, out);
}
static nd_status iota(nd_array **out)
{
    return nd_arange(gpu, ND_F32, nd_float(0), nd_float(N), nd_float(1), out);
}
static nd_status reduce(nd_array **out)
{
    return nd_sum(a, NULL, out);
}
static nd_status argreduce(nd_array **out)
{
    return nd_argmax(a, NULL, out);
}
static nd_status scan(nd_array **out)
{
    return nd_cumulative_sum(a, NULL, out);
}
static nd_status norm(nd_array **out)
{
    return nd_softmax(matrix, NULL, out);
}
static nd_status matmul(nd_array **out)
{
    nd_array *turned = NULL;
    nd_status status = nd_transpose(matrix, &turned);
    if (status == ND_OK)
        status = nd_matmul(matrix, turned, NULL, out);
    nd_release(turned);
    return status;
}
static nd_status take(nd_array **out)
{
    return nd_take(a, at, 0, out);
}
static nd_status gather(nd_array **out)
{
    return nd_take_along_axis(a, positions, 0, out);
}
static nd_status scatter(nd_array **out)
{
    return nd_index_add(b, positions, a, 0, out);
}
/* Their number goes to the end of the same array, so that it is looked at as well. */
static nd_status counted(nd_status (*fn)(const nd_array *dst, const nd_array *count), int ndim,
                         nd_dtype dtype, nd_array **out)
{
    const int64_t shape[2] = {N, 1};
    nd_array *count = NULL;
    nd_status status = nd_zeros(gpu, dtype, ndim, shape, out);
    if (status == ND_OK)
        status = nd_zeros(gpu, ND_I64, 0, NULL, &count);
    if (status == ND_OK)
        status = fn(*out, count);
    if (status == ND_OK) {
        nd_array *both = NULL;
        status = nd_add(*out, count, &both);
        nd_release(*out);
        *out = both;
    }
    nd_release(count);
    return status;
}
static nd_status select_true(const nd_array *dst, const nd_array *count)
{
    return nd_select_into(a, mask, dst, count);
}
static nd_status compress(nd_array **out)
{
    return counted(select_true, 1, ND_F32, out);
}
static nd_status find_nonzero(const nd_array *dst, const nd_array *count)
{
    return nd_nonzero_into(a, dst, count);
}
static nd_status nonzero(nd_array **out)
{
    return counted(find_nonzero, 2, ND_I64, out);
}
static nd_status sort(nd_array **out)
{
    return nd_sort(a, NULL, out);
}
static nd_status search(nd_array **out)
{
    return nd_searchsorted(sorted, a, 0, NULL, out);
}
static nd_status random_numbers(nd_array **out)
{
    const nd_random_key key = {.key = 7};
    return nd_random_normal(gpu, ND_F32, 1, (const int64_t[]){N}, &key, 0, 1, out);
}
static nd_status to_complex(nd_array **out)
{
    return nd_rfftn(matrix, NULL, out);
}
static nd_status to_real(nd_array **out)
{
    return nd_irfft(matrix, NULL, out);
}
/* A square matrix of no symmetry, which changes its sign with a. */
static nd_status square(nd_array **out)
{
    nd_array *other = NULL, *turned = NULL;
    nd_status status = nd_reshape(b, 2, (const int64_t[]){ROWS, COLUMNS}, &other);
    if (status == ND_OK)
        status = nd_transpose(matrix, &turned);
    if (status == ND_OK)
        status = nd_matmul(turned, other, NULL, out);
    nd_release(other);
    nd_release(turned);
    return status;
}
static nd_status qr(nd_array **out)
{
    return nd_qr(matrix, NULL, NULL, out);
}
static nd_status solve(nd_array **out)
{
    const nd_linalg_opts opts = {.size = sizeof opts, .unchecked = 1};
    nd_array *x = NULL, *side = NULL;
    nd_status status = square(&x);
    if (status == ND_OK)
        status = nd_reshape(b, 2, (const int64_t[]){COLUMNS, ROWS}, &side);
    if (status == ND_OK)
        status = nd_solve(x, side, &opts, out);
    nd_release(x);
    nd_release(side);
    return status;
}
static nd_status eigenvalues(nd_array **out)
{
    nd_array *x = NULL;
    nd_status status = square(&x);
    if (status == ND_OK)
        status = nd_eigvalsh(x, NULL, out);
    nd_release(x);
    return status;
}
static nd_status singular_values(nd_array **out)
{
    return nd_svdvals(matrix, NULL, out);
}

static nd_status norm_grad(nd_array **out)
{
    return nd_softmax_grad(matrix, matrix, NULL, out);
}
static nd_status entropy(nd_array **out)
{
    nd_array *targets = NULL;
    nd_status status = nd_zeros(gpu, ND_I64, 1, (const int64_t[]){ROWS}, &targets);
    if (status == ND_OK)
        status = nd_cross_entropy(matrix, targets, NULL, out);
    nd_release(targets);
    return status;
}
static nd_status attention(nd_array **out)
{
    return nd_scaled_dot_product_attention(matrix, matrix, matrix, NULL, out, NULL);
}
static nd_status rope(nd_array **out)
{
    nd_array *heads = NULL, *tables = NULL, *angles = NULL;
    const nd_index first[1] = {nd_at(0)};
    nd_status status = nd_reshape(a, 3, (const int64_t[]){3, 10, 10}, &heads);
    if (status == ND_OK)
        status = nd_reshape(b, 3, (const int64_t[]){6, 10, 5}, &tables);
    if (status == ND_OK)
        status = nd_slice(tables, first, 1, &angles);
    if (status == ND_OK)
        status = nd_rope(heads, angles, angles, NULL, out);
    nd_release(heads);
    nd_release(tables);
    nd_release(angles);
    return status;
}
static nd_status dropout(nd_array **out)
{
    const nd_random_key key = {1, {0, 0}};
    return nd_dropout(a, 0.5, &key, out);
}

static nd_status images(const nd_array *of, nd_array **out)
{
    return nd_reshape(of, 4, (const int64_t[]){3, 4, 5, 5}, out);
}
static nd_status conv(nd_array **out)
{
    const nd_conv_opts opts = {.size = sizeof opts, .padding_mode = ND_PADDING_SAME};
    nd_array *x = NULL, *weight = NULL;
    nd_status status = images(a, &x);
    if (status == ND_OK)
        status = images(b, &weight);
    if (status == ND_OK)
        status = nd_conv(x, weight, NULL, &opts, out);
    nd_release(x);
    nd_release(weight);
    return status;
}
static nd_status pool(nd_array **out)
{
    const nd_pooling_opts opts = {
        .size = sizeof opts, .rank = 2, .kernel = (const int64_t[]){2, 2}};
    nd_array *x = NULL;
    nd_status status = images(a, &x);
    if (status == ND_OK)
        status = nd_max_pool(x, &opts, out, NULL);
    nd_release(x);
    return status;
}
static nd_status resample(nd_array **out)
{
    const nd_upsample_opts opts = {
        .size = sizeof opts, .method = ND_UPSAMPLE_LINEAR, .extents = (const int64_t[]){7, 4}};
    nd_array *x = NULL;
    nd_status status = images(a, &x);
    if (status == ND_OK)
        status = nd_upsample(x, &opts, out);
    nd_release(x);
    return status;
}
static nd_status unfold(nd_array **out)
{
    const nd_unfold_opts opts = {.size = sizeof opts, .rank = 2, .kernel = (const int64_t[]){3, 3}};
    nd_array *x = NULL;
    nd_status status = images(a, &x);
    if (status == ND_OK)
        status = nd_unfold(x, &opts, out);
    nd_release(x);
    return status;
}
static nd_status dequantize(nd_array **out)
{
    nd_array *blocks = NULL;
    nd_qarray *q = NULL;
    nd_status status = nd_full(gpu, ND_U8, 2, (const int64_t[]){2, 34}, nd_int(60), &blocks);
    if (status == ND_OK)
        status = nd_qarray_wrap(blocks, nd_quant_find("q8_0"), &q);
    if (status == ND_OK)
        status = nd_dequantize(q, ND_F32, out);
    nd_qarray_release(q);
    nd_release(blocks);
    return status;
}

static const struct {
    int32_t op_class;
    const char *name;
    nd_status (*fn)(nd_array **out);
} rows[] = {{ND_CLASS_UNARY, "tanh", unary},
            {ND_CLASS_BINARY, "add", binary},
            {ND_CLASS_TERNARY, "where", ternary},
            {ND_CLASS_FILL, "full", fill},
            {ND_CLASS_COPY, "astype", copy},
            {ND_CLASS_IOTA, "arange", iota},
            {ND_CLASS_REDUCE, "sum", reduce},
            {ND_CLASS_ARGREDUCE, "argmax", argreduce},
            {ND_CLASS_SCAN, "cumulative_sum", scan},
            {ND_CLASS_NORM, "softmax", norm},
            {ND_CLASS_MATMUL, "matmul", matmul},
            {ND_CLASS_TAKE, "take", take},
            {ND_CLASS_GATHER, "take_along_axis", gather},
            {ND_CLASS_SCATTER, "index_add", scatter},
            {ND_CLASS_COMPRESS, "select_into", compress},
            {ND_CLASS_NONZERO, "nonzero_into", nonzero},
            {ND_CLASS_SORT, "sort", sort},
            {ND_CLASS_SEARCH, "searchsorted", search},
            {ND_CLASS_RANDOM, "random_normal", random_numbers},
            {ND_CLASS_FFT, "rfftn", to_complex},
            {ND_CLASS_FFT, "irfft", to_real},
            {ND_CLASS_FACTOR, "qr", qr},
            {ND_CLASS_SOLVE, "solve", solve},
            {ND_CLASS_EIGEN, "eigvalsh", eigenvalues},
            {ND_CLASS_SVD, "svdvals", singular_values},
            {ND_CLASS_NORM_GRAD, "softmax_grad", norm_grad},
            {ND_CLASS_ENTROPY, "cross_entropy", entropy},
            {ND_CLASS_ATTENTION, "attention", attention},
            {ND_CLASS_ROPE, "rope", rope},
            {ND_CLASS_DROPOUT, "dropout", dropout},
            {ND_CLASS_CONV, "conv", conv},
            {ND_CLASS_POOL, "max_pool", pool},
            {ND_CLASS_RESAMPLE, "upsample", resample},
            {ND_CLASS_UNFOLD, "unfold", unfold},
            {ND_CLASS_QUANT, "dequantize", dequantize}};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* ---- operands ---- */
static nd_array *from_host(nd_dtype dtype, const void *data)
{
    const nd_layout layout = {
        .size = sizeof layout, .dtype = dtype, .ndim = 1, .shape = (const int64_t[]){N}};
    nd_array *x = NULL;
    DO(nd_from_host(&layout, data, gpu, &x));
    return x;
}

static void make_operands(void)
{
    const int64_t shape[2] = {ROWS, COLUMNS};
    float f[N], ascending[N], other[N];
    uint8_t yes[N];
    int64_t some[N], turned[N];
    for (int i = 0; i < N; i++) {
        f[i] = (float)(i * 37 % 41) - 15;
        other[i] = (float)(i % 17) / 4;
        ascending[i] = (float)i / 8 - 12;
        yes[i] = i % 3 == 0;
        some[i] = i * 7 % N;
        turned[i] = N - 1 - i;
    }
    a = from_host(ND_F32, f);
    b = from_host(ND_F32, other);
    sorted = from_host(ND_F32, ascending);
    mask = from_host(ND_BOOL, yes);
    at = from_host(ND_I64, some);
    positions = from_host(ND_I64, turned);
    DO(nd_reshape(a, 2, shape, &matrix));
    DO(nd_synchronize(gpu));
}

static void release_operands(void)
{
    nd_array *const all[] = {a, matrix, b, mask, sorted, at, positions};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        nd_release(all[i]);
}

/* ---- graphs ---- */
static int advised; /* errors that said how to go on */

/* The simulator runs graphs by its control table, real devices by their group. */
static void run_graph(const nd_captured *graph, nd_stream *s)
{
    const void *table = NULL;
    ndp_exec *x = NULL;
    DO(nd_device_group(gpu, "ndp.graph/1", &table, &dev));
    const ndp_graph_1 *g = table;
    if (g->instantiate) {
        DO(g->instantiate(dev, nd__captured_graph(graph), &x));
        DO(g->launch(dev, x, s->handle));
    } else {
#ifndef CAPTURE_ON_CUDA
        DO(nd_device_group(gpu, NDSIM_GROUP, &table, &dev));
        const ndsim_control_1 *control = table;
        DO(control->graph_launch(dev, nd__captured_graph(graph), s->handle));
#endif
    }
    DO(nd_stream_synchronize(s));
    if (x)
        g->exec_destroy(dev, x);
}

static int same_bits(const nd_array *x, const nd_array *y)
{
    size_t n = (size_t)nd_size(x) * nd_dtype_size(nd_dtype_of(x));
    char *p = malloc(n + 1), *q = malloc(n + 1);
    if (!p || !q || nd_size(x) != nd_size(y) || nd_dtype_of(x) != nd_dtype_of(y))
        bail("no memory, or another shape");
    DO(nd_to_host(x, p, n));
    DO(nd_to_host(y, q, n));
    int same = memcmp(p, q, n) == 0;
    free(p);
    free(q);
    return same;
}

/* Captures what fn queues; its status, and that of the capture in *ended. */
static nd_status capture(nd_stream *s, nd_status (*fn)(nd_array **), nd_array **out, nd_pool **pool,
                         nd_captured **graph, nd_status *ended)
{
    nd_backend *backend = NULL;
    DO(nd__device_backend(gpu, &backend));
    DO(nd_synchronize(gpu));
    DO(nd__capture_begin(s, NDP_CAPTURE_RELAXED));
    uint64_t id = nd__capture_id(s);
    DO(nd__caching_capture_begin(backend, id, NULL, pool));
    DO(nd_stream_push(s));
    nd_status status = fn(out);
    DO(nd_stream_pop(s));
    char *said = strdup(nd_last_error()->message);
    *ended = nd__capture_end(s, graph);
    DO(nd__caching_capture_end(backend, id));
    if (status != ND_OK && said)
        diag("%s", said);
    if (status != ND_OK && said && strstr(said, "once on this stream before the capture"))
        advised++;
    free(said);
    return status;
}

/* Transforms of a GPU are a library's that not every machine has. */
static bool is_served(int32_t op_class)
{
    const nd_warmup_item item = {ND_OP_fft, ND_C64, gpu};
    nd_status status = ND_OK;
    return op_class != ND_CLASS_FFT || (nd_warmup(&item, 1, &status) == ND_OK && status == ND_OK);
}

static void test_row(int i)
{
    nd_stream *s = NULL;
    nd_pool *pool = NULL;
    nd_captured *graph = NULL;
    nd_array *before = NULL, *after = NULL, *captured = NULL;
    nd_status ended;
    if (!is_served(rows[i].op_class)) {
        skip(3, "no library of Fourier transforms");
        return;
    }
    DO(nd_stream_create(gpu, NULL, &s));
    DO(nd_stream_push(s));
    DO(rows[i].fn(&before)); /* and what is made at a first use on the stream is made outside */
    DO(nd_stream_pop(s));
    DO(capture(s, rows[i].fn, &captured, &pool, &graph, &ended));
    if (ok(ended == ND_OK && graph && captured, "G20: %s is captured", rows[i].name)) {
        run_graph(graph, s);
        ok(same_bits(captured, before), "G20: %s in a graph gives the same bits", rows[i].name);
        DO(nd_negative_into(a, a));
        DO(rows[i].fn(&after));
        DO(nd_synchronize(gpu));
        run_graph(graph, s);
        ok(same_bits(captured, after), "G20: %s again, of other operands", rows[i].name);
        DO(nd_negative_into(a, a));
        DO(nd_synchronize(gpu));
    }
    nd_release(before);
    nd_release(after);
    nd_release(captured);
    nd__captured_free(graph);
    nd_pool_release(pool);
    nd_stream_release(s);
}

/* An operation that may find a bad index notes it in a word of its stream, made at a first use. */
static void first_use(void)
{
    nd_stream *s = NULL;
    nd_pool *pool = NULL;
    nd_array *out = NULL;
    nd_captured *graph = NULL;
    nd_status ended;
    make_operands();
    DO(nd_stream_create(gpu, NULL, &s));
    is_int(capture(s, take, &out, &pool, &graph, &ended), ND_ERR_CAPTURE,
           "G2: the first take of a stream is refused in a capture");
    is_int(advised, 1, "G2: and the error says what to do");
    is_int(ended, ND_OK, "G2: the capture is still valid");
    nd_release(out);
    nd__captured_free(graph);
    nd_pool_release(pool);
    nd_stream_release(s);
    release_operands();
}

static bool has_row(int32_t op_class)
{
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].op_class == op_class)
            return true;
    return false;
}

/* Whether the list of the frozen ABI has the class. */
static bool was_released(int32_t op_class)
{
    static const char *const names[] = {
#define ND_OP_CLASS(NAME, id, doc) [id] = "ND_CLASS_" #NAME " ",
#include <ndock/opclass.def>
    };
    char line[256];
    const char *srcdir = getenv("srcdir");
    bool found = false;
    snprintf(line, sizeof line, "%s/tests/data/abi-0.lst", srcdir ? srcdir : ".");
    FILE *list = fopen(line, "r");
    if (!list)
        bail("tests/data/abi-0.lst cannot be read");
    while (!found && fgets(line, sizeof line, list))
        found = strncmp(line, names[op_class], strlen(names[op_class])) == 0;
    fclose(list);
    return found;
}

/* A class needs a row where the device has kernels of its own for it; the simulator, which has the
 * CPU's, says nothing about that, so there it needs one from its release on. */
static bool wants_row(int32_t op_class)
{
#ifdef CAPTURE_ON_CUDA
    for (nd_op op = 1; op < ND_OP_END; op++)
        if (nd_op_get(op)->op_class == op_class && nd_device_op_dtypes(gpu, op))
            return true;
#endif
    return was_released(op_class);
}

static void every_class(void)
{
    int missing = 0;
    make_operands();
    for (int i = 0; i < N_ROWS; i++)
        test_row(i);
    for (nd_op op = 1; op < ND_OP_END; op++) {
        int32_t op_class = nd_op_get(op)->op_class;
        if (has_row(op_class))
            continue;
        missing += wants_row(op_class);
        diag("the class of %s has no row%s", nd_op_get(op)->name,
             wants_row(op_class) ? "" : " yet");
    }
    is_int(missing, 0, "G20: every class that needs a row has one");
    release_operands();
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"every_class", every_class}, {"first_use", first_use}};
    open_gpu();
    return tap_main(argc, argv, cases, 2);
}
