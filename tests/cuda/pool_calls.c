/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pools, resampling, unfold and fold of the CUDA plug-in without a GPU: its kernels are compiled for
 * the host and the driver pretends. Random geometries and layouts, those that have kernels of their own
 * among them, are compared with the CPU's results, which the conformance suite judges. Every kernel
 * must have run. */
#include "tests/cuda/forms.h"
#include "tests/cuda/stubs.h"

enum { TRIALS = 250, TRIALS_SLICE = 30 };
enum { MAX, INDEX, MAX_GRAD, AVG, AVG_GRAD, UPSAMPLE, UPSAMPLE_GRAD, UNFOLD, FOLD, KINDS };
static const char *const names[KINDS] = {
    "max_pool", "max_pool with positions", "max_pool_grad", "avg_pool", "avg_pool_grad",
    "upsample", "upsample_grad",           "unfold",        "fold"};

static int trials; /* of each kind */
/* ---- geometries ---- */
typedef struct {
    int kind, method, plain; /* plain: all arrays are dense */
    nd_dtype dtype;
    int64_t n, c, image[3], grid[3], kernel[3], stride[3], padding[3], dilation[3];
    double scale[3];
    nd_pooling_opts pool;
    nd_upsample_opts up;
    nd_unfold_opts windows;
} trial;

static int64_t windows_of(const trial *t, int d)
{
    const int64_t reach = t->dilation[d] * (t->kernel[d] - 1) + 1;
    return (t->image[d] + 2 * t->padding[d] - reach) / t->stride[d] + 1;
}

/* Kernels that have code of their own, over rows that are cut into vectors. */
static void usual_windows(trial *t, int d)
{
    static const int64_t usual[4][3] = {{2, 2, 0}, {3, 1, 1}, {3, 2, 1}, {5, 1, 2}};
    static int next; /* each in turn */
    const int64_t *u = usual[next++ % 4];
    for (; d < 3; d++) {
        t->kernel[d] = u[0];
        t->stride[d] = u[1];
        t->padding[d] = u[2];
        t->image[d] = u[1] * (d == 2 ? 8 * (1 + below(2)) : u[2] + 1 + below(4));
    }
}

static void any_windows(trial *t, int d)
{
    const int large = below(6) == 0;
    for (; d < 3; d++) {
        t->kernel[d] = 1 + below(large ? 9 : 3);
        t->stride[d] = 1 + below(3);
        t->dilation[d] = t->kind == AVG || t->kind == AVG_GRAD ? 1 : 1 + below(2);
        t->padding[d] = below(t->kernel[d] / 2 + 1);
        t->image[d] = t->dilation[d] * (t->kernel[d] - 1) + 1 + below(8);
    }
}

static void set_pool(trial *t, int lead)
{
    t->pool = (nd_pooling_opts){.size = sizeof t->pool,
                                .kernel = t->kernel + lead,
                                .stride = t->stride + lead,
                                .padding = t->padding + lead,
                                .dilation = t->dilation + lead,
                                .rank = 3 - lead,
                                .exclude_padding = (int32_t)below(2)};
    if ((t->kind == AVG || t->kind == AVG_GRAD) && below(4) == 0)
        t->pool.divisor = 1 + below(9);
    if (t->kind <= AVG_GRAD && below(6) == 0) { /* adaptive; or of the whole image, dense */
        const int whole = below(2) == 0;
        t->plain |= whole;
        t->image[2] = whole ? 64 + 8 * below(3) : t->image[2];
        for (int d = lead; d < 3; d++)
            t->grid[d] = whole ? 1 : 1 + below(4);
        t->pool.output = t->grid + lead;
        return;
    }
    for (int d = lead; d < 3; d++)
        t->grid[d] = windows_of(t, d);
}

static void set_upsample(trial *t, int lead)
{
    const int twice = below(2) == 0, by_scale = below(2) == 0;
    static int next; /* each in turn */
    t->method = next++ / 2 % 4;
    for (int d = lead; d < 3; d++) {
        t->image[d] = twice && d == 2 ? 8 * (1 + below(2)) : 1 + below(7);
        t->scale[d] = twice ? 2 : (double)(1 + below(40)) / 8;
        if ((double)t->image[d] * t->scale[d] < 1)
            t->scale[d] = 1;
        t->grid[d] = (int64_t)((double)t->image[d] * t->scale[d]);
        if (!by_scale && !twice)
            t->grid[d] = 1 + below(20);
    }
    t->up = (nd_upsample_opts){.size = sizeof t->up,
                               .extents = by_scale ? NULL : t->grid + lead,
                               .scale = by_scale ? t->scale + lead : NULL,
                               .method = t->method,
                               .align_corners = t->method > 1 && below(3) == 0};
}

/* Axes before `lead` have one element. Dense planes of the usual windows have kernels of their own. */
static int random_trial(trial *t, int kind)
{
    static const nd_dtype dtypes[3] = {ND_F32, ND_F64, ND_BF16};
    const int planes = kind <= UPSAMPLE && below(4) == 0;
    /* means that planes leave to pools are given back by a kernel of their own where there are layers */
    const int layers = kind == AVG_GRAD && below(2) == 0;
    const int lead = planes ? 1 : layers ? 0 : (int)below(3);
    *t = (trial){.kind = kind,
                 .dtype = dtypes[below(3)],
                 .n = 1 + below(2),
                 .plain = planes || below(2) == 0};
    t->c = below(2) ? 8 * (1 + below(2)) : 1 + below(3);
    for (int d = 0; d < 3; d++)
        t->image[d] = t->grid[d] = t->kernel[d] = t->stride[d] = t->dilation[d] = 1;
    if (kind == UPSAMPLE || kind == UPSAMPLE_GRAD) {
        set_upsample(t, lead);
        return lead;
    }
    if (planes || below(2))
        usual_windows(t, lead);
    else
        any_windows(t, lead);
    set_pool(t, lead);
    t->windows = (nd_unfold_opts){.size = sizeof t->windows,
                                  .kernel = t->kernel + lead,
                                  .stride = t->stride + lead,
                                  .padding = t->padding + lead,
                                  .dilation = t->dilation + lead,
                                  .rank = 3 - lead};
    return lead;
}

/* Of the image, or of the result. */
static form side_of(const trial *t, int lead, int result)
{
    int64_t shape[5] = {t->n, t->c};
    if (!result || t->kind < UNFOLD) {
        memcpy(shape + 2, (result ? t->grid : t->image) + lead, (size_t)(3 - lead) * 8);
        return form_of(t->dtype, 5 - lead, shape, t->plain ? PLANES : (int)below(LAYOUTS));
    }
    shape[1] = t->c * t->kernel[0] * t->kernel[1] * t->kernel[2];
    shape[2] = t->grid[0] * t->grid[1] * t->grid[2];
    return form_of(t->dtype, 3, shape, below(4) ? PLANES : GAPS);
}

/* ---- calls ---- */
static nd_status call(const trial *t, const nd_array *a, const nd_array *positions,
                      const nd_array *dst)
{
    switch (t->kind) {
    case MAX:
        return nd_max_pool_into(a, &t->pool, dst, NULL);
    case INDEX:
        return nd_max_pool_into(a, &t->pool, dst, positions);
    case MAX_GRAD:
        return nd_max_pool_grad_into(a, positions, &t->pool, dst);
    case AVG:
        return nd_avg_pool_into(a, &t->pool, dst);
    case AVG_GRAD:
        return nd_avg_pool_grad_into(a, &t->pool, dst);
    case UPSAMPLE:
        return nd_upsample_into(a, &t->up, dst);
    case UPSAMPLE_GRAD:
        return nd_upsample_grad_into(a, &t->up, dst);
    case UNFOLD:
        return nd_unfold_into(a, &t->windows, dst);
    default:
        return nd_fold_into(a, &t->windows, dst);
    }
}

/* The call on one device, of data in memory; to and at get what lies in memory afterwards. */
static nd_status run_on(int which, const trial *t, const form *from, const void *data,
                        const form *made, void *to, const form *positions, void *at)
{
    nd_array *base[3] = {NULL, NULL, NULL}, *view[3] = {NULL, NULL, NULL};
    nd_status status = place_array(from, data, which, &base[0], &view[0]);
    if (status == ND_OK)
        status = place_array(made, to, which, &base[1], &view[1]);
    if (status == ND_OK && positions)
        status = place_array(positions, at, which, &base[2], &view[2]);
    if (status == ND_OK)
        status = call(t, view[0], view[2], view[1]);
    if (status == ND_OK)
        status = nd_to_host(base[1], to, (size_t)made->room * nd_dtype_size(made->dtype));
    if (status == ND_OK && positions)
        status = nd_to_host(base[2], at, (size_t)positions->room * 8);
    for (int i = 0; i < 3; i++) {
        nd_release(view[i]);
        nd_release(base[i]);
    }
    return status;
}

/* Positions of a pool's largest elements, for its gradient. */
static nd_status find_positions(const trial *t, int lead, const form *positions, char *at)
{
    trial forward = *t;
    forward.kind = INDEX;
    const form image = side_of(&forward, lead, 0), grid = side_of(&forward, lead, 1);
    char *data = random_data(&image, 0), *result = random_data(&grid, 0);
    const nd_status status = run_on(1, &forward, &image, data, &grid, result, positions, at);
    free(data);
    free(result);
    return status;
}

static void show(const trial *t, const form *from, const form *made)
{
    printf("%s of %s, n %d c %d, method %d, layouts %d %d", names[t->kind], nd_dtype_name(t->dtype),
           (int)t->n, (int)t->c, t->method, from->layout, made->layout);
    for (int d = 0; d < 3; d++)
        printf(", %d to %d (%d, %d, %d, %d)", (int)t->image[d], (int)t->grid[d], (int)t->kernel[d],
               (int)t->stride[d], (int)t->padding[d], (int)t->dilation[d]);
    printf(": %s\n", nd_last_error()->message);
}

static int one_trial(int kind)
{
    trial t;
    const int lead = random_trial(&t, kind);
    const int back = kind == MAX_GRAD || kind == AVG_GRAD || kind == UPSAMPLE_GRAD || kind == FOLD;
    const form from = side_of(&t, lead, back), made = side_of(&t, lead, !back);
    const int indexed = kind == INDEX || kind == MAX_GRAD;
    const form positions = form_of(ND_I64, 5 - lead, (back ? &from : &made)->shape,
                                   t.plain ? PLANES : (int)below(LAYOUTS));
    char *data = random_data(&from, kind <= INDEX), *at[2], *to[2];
    /* Sums of another order may be rounded to the neighbour, which lies 2^-7 apart in bf16. */
    const double unit = t.dtype == ND_BF16 ? 0x1p-7 : t.dtype == ND_F32 ? 0x1p-18 : 0x1p-46;
    for (int i = 0; i < 2; i++) {
        to[i] = calloc((size_t)made.room + 1, 8);
        at[i] = calloc((size_t)positions.room + 1, 8);
    }
    nd_status status = kind == MAX_GRAD ? find_positions(&t, lead, &positions, at[0]) : ND_OK;
    memcpy(at[1], at[0], (size_t)positions.room * 8);
    for (int i = 0; i < 2 && status == ND_OK; i++)
        status = run_on(i, &t, &from, data, &made, to[i], indexed ? &positions : NULL, at[i]);
    int good = status == ND_OK && same(&made, to[0], to[1], kind <= INDEX ? 0 : unit);
    if (good && kind == INDEX)
        good = same(&positions, at[0], at[1], 0);
    for (int64_t i = 0; good && made.layout == GAPS && i < made.room; i += 2) {
        static const char zero[8];
        good = memcmp(to[0] + (i + 1) * (int64_t)nd_dtype_size(made.dtype), zero,
                      (size_t)nd_dtype_size(made.dtype)) == 0;
    }
    if (!good)
        show(&t, &from, &made);
    free(data);
    for (int i = 0; i < 2; i++) {
        free(to[i]);
        free(at[i]);
    }
    return good;
}

static int look(void)
{
    int done = 0;
    const char *first = "";
    if (nd_device_get("cuda:0", &devices[0]) != ND_OK ||
        nd_device_get("cpu", &devices[1]) != ND_OK) {
        puts(nd_last_error()->message);
        return 1;
    }
    for (int i = 0; i < trials * KINDS; i++)
        done += one_trial(i % KINDS);
    printf("computed: %d\n", done);
    const int left = idle_kernels("stub_pool_idle", &first);
    printf("idle: %d %s\n", left, first);
    return 0;
}

static void results(void)
{
    char all[40];
    snprintf(all, sizeof all, "computed: %d\n", trials * KINDS);
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1",
                "NDOCK_FALLBACK=error"),
        NO_NVML);
    if (!has_text(answer, all, "random windows give what they give on the CPU") ||
        (trials == TRIALS && !has_text(answer, "idle: 0 \n", "each kernel was run")))
        diag("%s", answer);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"results", results}};
    trials = getenv("NDOCK_TEST_SLICE") ? TRIALS_SLICE : TRIALS;
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
