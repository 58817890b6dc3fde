/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Attention of the CUDA plug-in and its gradients without a GPU: its kernels for tensor cores are
 * compiled for the host, whose threads hand each other operands as PTX says (emulate_warp.h), and
 * the driver pretends, so that tiles, masks, parts of keys and their joining are the plug-in's own.
 * Random geometries are compared with the definition in doubles. */
#include "tests/cuda/attention_lab.h"

/* What a term is at least for: weights and slopes are rounded to the half type, of f16 by up to 2^-25 =
 * 2^-10 * 2^-15 below the normal numbers. */
static double least_of(const trial *t)
{
    return t->dtype == ND_F16 ? 0x1p-15 : 0;
}

/* What the error of a term of size 1 is a few of: of f32, whose own is far below that of sums. */
static double unit_of(const trial *t)
{
    return t->dtype == ND_F16 ? 0x1p-10 : t->dtype == ND_BF16 ? 0x1p-7 : 0x1p-19;
}

/* The largest error in units of the type's rounding of the sizes that were summed, and of
 * logsumexp over 1e-5. */
static double error_of(const trial *t)
{
    const double unit = unit_of(t);
    float *out = fetch(t->out, t->b * t->h * t->m * t->e), *lse = fetch(t->lse, t->b * t->h * t->m);
    double *w = calloc((size_t)t->n + 1, sizeof *w), worst = 0;
    for (int64_t row = 0; row < t->b * t->h * t->m; row++) {
        const int64_t i = row % t->m, h = row / t->m % t->h, b = row / t->m / t->h;
        const double want = weigh(t, b, h, i, w);
        const double off = want > -HUGE_VAL ? fabs(lse[row] - want) / 1e-5 : lse[row] != want;
        worst = off <= worst ? worst : off;
        for (int64_t c = 0; c < t->e; c++) {
            double sum = 0, size = 0x1p-14;
            for (int64_t j = 0; j < t->n; j++) {
                const double keep = t->o.dropout > 0 ? kept(t, row * t->n + j) : 1,
                             v = keep * at(&t->v, b, h / (t->h / t->hk), j, c);
                sum += w[j] * v;
                size += (w[j] + least_of(t)) * fabs(v);
            }
            const double error = fabs(out[row * t->e + c] - sum) / (unit * size);
            worst = error <= worst ? worst : error;
        }
    }
    free(w);
    free(out);
    free(lse);
    return worst;
}

/* Plain calls, which warpgroups take, by three products for one: of each third one some value is so large that its rounded
 * part is infinite, and blocks begin again. */
static void make_plain(trial *t, int number)
{
    t->plain = 1;
    t->dtype = ND_F32;
    t->o.dropout = 0;
    t->last = number % 3 == 2 ? 3.4028e38f : 0;
}

static int compute(int number, int plain)
{
    trial t;
    choose(&t, number);
    if (plain)
        make_plain(&t, number);
    nd_status status = make_operands(&t);
    status = status == ND_OK ? nd_scaled_dot_product_attention(t.q.array, t.k.array, t.v.array,
                                                               &t.o, &t.out, &t.lse)
                             : status;
    const double error = status == ND_OK ? error_of(&t) : HUGE_VAL;
    if (!(error < 2))
        describe(&t, number, error, status);
    release_operands(&t);
    return error < 2;
}

/* ---- gradients ---- */
enum { DQ, DK, DV };
typedef struct {
    double *want[3], *size[3];
    int64_t rows[3], columns[3], heads[3];
} gradients;

static double *place_of(const trial *t, const gradients *r, double *const *to, int which, int64_t b,
                        int64_t h, int64_t i)
{
    h = which == DQ ? h : h / (t->h / t->hk);
    return to[which] + ((b * r->heads[which] + h) * r->rows[which] + i) * r->columns[which];
}

/* What row (b, h, i) adds to the gradients; w are its weights. */
static void add_row(const trial *t, gradients *r, const operand *g, int64_t b, int64_t h, int64_t i,
                    const double *w)
{
    const double scale = t->o.scale != 0 ? t->o.scale : 1 / sqrt((double)t->d);
    const int64_t kh = h / (t->h / t->hk), row = (b * t->h + h) * t->m + i;
    const double least = least_of(t);
    double *dp = calloc((size_t)t->n + 1, 2 * sizeof *dp), *mag = dp + t->n, delta = 0, all = 0;
    for (int64_t j = 0; j < t->n; j++) {
        const double keep = t->o.dropout > 0 ? kept(t, row * t->n + j) : 1;
        for (int64_t c = 0; c < t->e; c++) {
            const double x = (double)at(g, b, h, i, c) * at(&t->v, b, kh, j, c) * keep;
            dp[j] += x;
            mag[j] += fabs(x);
            place_of(t, r, r->want, DV, b, h, j)[c] += w[j] * keep * at(g, b, h, i, c);
            place_of(t, r, r->size, DV, b, h, j)[c] +=
                (w[j] + least) * keep * fabs(at(g, b, h, i, c));
        }
        delta += w[j] * dp[j];
        all += w[j] * mag[j];
    }
    for (int64_t c = 0; c < t->e; c++) /* the result is rounded, below the normal numbers too */
        all += fabs(at(g, b, h, i, c)) * 0x1p-14;
    for (int64_t j = 0; j < t->n; j++)
        for (int64_t c = 0; c < t->d; c++) {
            const double ds = w[j] * (dp[j] - delta) * scale,
                         size = (w[j] * (mag[j] + all) + least) * fabs(scale),
                         q = at(&t->q, b, h, i, c), k = at(&t->k, b, kh, j, c);
            place_of(t, r, r->want, DQ, b, h, i)[c] += ds * k;
            place_of(t, r, r->size, DQ, b, h, i)[c] += size * fabs(k);
            place_of(t, r, r->want, DK, b, h, j)[c] += ds * q;
            place_of(t, r, r->size, DK, b, h, j)[c] += size * fabs(q);
        }
    free(dp);
}

static int64_t count_of(const trial *t, const gradients *r, int which)
{
    return t->b * r->heads[which] * r->rows[which] * r->columns[which];
}

/* The gradients by definition. */
static void define(const trial *t, gradients *r, const operand *g)
{
    *r = (gradients){
        .rows = {t->m, t->n, t->n}, .columns = {t->d, t->d, t->e}, .heads = {t->h, t->hk, t->hk}};
    double *w = calloc((size_t)t->n + 1, sizeof *w);
    for (int which = DQ; which <= DV; which++) {
        r->want[which] = calloc((size_t)count_of(t, r, which) + 1, sizeof(double));
        r->size[which] = calloc((size_t)count_of(t, r, which) + 1, sizeof(double));
    }
    for (int64_t row = 0; row < t->b * t->h * t->m; row++) {
        const int64_t i = row % t->m, h = row / t->m % t->h, b = row / t->m / t->h;
        weigh(t, b, h, i, w);
        add_row(t, r, g, b, h, i, w);
    }
    free(w);
}

static int compute_gradient(int number)
{
    trial t;
    operand g;
    gradients r;
    nd_array *out[3] = {NULL, NULL, NULL};
    choose(&t, number);
    t.m = t.m > 100 ? t.m - 60 : t.m; /* the host is slow */
    t.n = t.n > 300 ? t.n / 3 : t.n;
    nd_status status = make_operands(&t);
    status = status == ND_OK ? make(&g, t.dtype, t.b, t.h, t.m, t.e) : status;
    define(&t, &r, &g);
    status = status == ND_OK ? nd_scaled_dot_product_attention(t.q.array, t.k.array, t.v.array,
                                                               &t.o, &t.out, &t.lse)
                             : status;
    if (status == ND_OK)
        status =
            nd_scaled_dot_product_attention_grad(g.array, t.q.array, t.k.array, t.v.array, t.out,
                                                 t.lse, &t.o, &out[DQ], &out[DK], &out[DV]);
    double worst = status == ND_OK ? 0 : HUGE_VAL;
    for (int which = DQ; which <= DV; which++) {
        const int64_t n = count_of(&t, &r, which);
        float *got = status == ND_OK ? fetch(out[which], n) : NULL;
        for (int64_t i = 0; got && i < n; i++) {
            const double unit = unit_of(&t) * (r.size[which][i] + 0x1p-14),
                         error = fabs(got[i] - r.want[which][i]) / unit;
            worst = error <= worst ? worst : error;
        }
        free(got);
        free(r.want[which]);
        free(r.size[which]);
        nd_release(out[which]);
    }
    if (!(worst < 2))
        describe(&t, number, worst, status);
    release_operands(&t);
    drop(&g);
    return worst < 2;
}

static int trials(void)
{
    const char *text = getenv("ATTENTION_TRIALS");
    return text ? atoi(text) : getenv("NDOCK_TEST_SLICE") ? 4 : getenv("NDOCK_TEST_LONG") ? 24 : 16;
}

static int look(void)
{
    int close = 0, plain_close = 0, gradients_close = 0;
    if (nd_device_get("cuda:0", &dev) != ND_OK || nd_device_get("cpu", &cpu) != ND_OK) {
        puts(nd_last_error()->message);
        return 1;
    }
    for (int i = 0; i < trials(); i++) {
        close += compute(i, 0);
        if (!getenv("STUB_CUDA_PROCESSORS"))
            plain_close += compute(i, 1);
        gradients_close += compute_gradient(i);
    }
    printf("close: %d\nplain: %d\ngradients: %d\n", close, plain_close, gradients_close);
    return 0;
}

/* `plain`: what is said of plain calls; NULL: these were not made. */
static void check(const char *what, const char *plain, const char *gradients)
{
    const char *const words[3] = {"close", "plain", "gradients"}, *const whats[3] = {what, plain,
                                                                                     gradients};
    for (int i = 0; i < 3; i++) {
        char all[40];
        snprintf(all, sizeof all, "%s: %d\n", words[i], trials());
        if (whats[i] && !has_text(answer, all, whats[i]))
            diag("%s", answer);
    }
}

static void results(void)
{
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1",
                "NDOCK_FALLBACK=error"),
        NO_NVML);
    check("attention is what its definition says", "so is that of f32 without masks",
          "so are its gradients");
    /* One block takes all tiles: without await_place() of flash_wide.cuh three trials fail. */
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1",
                "STUB_CUDA_PROCESSORS=1", "NDOCK_FALLBACK=error"),
        NO_NVML);
    check("on one multiprocessor too", NULL, "and its gradients");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"results", results}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
