/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients of layer_norm and rms_norm of the CUDA plug-in without a GPU: kernels are compiled for
 * the host (emulate_warp.h), and the driver pretends. Rows that a warp, a few warps or a block hold,
 * and those that none does, are compared with the definition in doubles. */
#include "tests/cuda/neural_lab.h"

typedef struct {
    int64_t rows, n;
    int centred;
    const float *x, *g, *w;
    double eps;
} norm;

/* The gradient of row r for x, and the sizes of its terms. */
static void norm_row(const norm *t, int64_t r, double *want, double *size)
{
    const float *x = t->x + r * t->n, *g = t->g + r * t->n;
    double mean = 0, variance = 0, a = 0, b = 0, sa = 0, sb = 0;
    for (int64_t i = 0; i < t->n; i++)
        mean += t->centred ? x[i] / (double)t->n : 0;
    for (int64_t i = 0; i < t->n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (double)t->n;
    const double f = 1 / sqrt(variance + t->eps);
    for (int64_t i = 0; i < t->n; i++) {
        const double y = g[i] * (double)(t->w ? t->w[i] : 1) / (double)t->n;
        a += t->centred ? y : 0;
        b += y * (x[i] - mean) * f;
        sa += fabs(y);
        sb += fabs(y * (x[i] - mean) * f);
    }
    for (int64_t i = 0; i < t->n; i++) {
        const double y = g[i] * (double)(t->w ? t->w[i] : 1), d = (x[i] - mean) * f;
        want[i] = (y - a - d * b) * f;
        size[i] = (fabs(y) + sa + fabs(d) * sb) * f;
    }
}

static nd_status norm_array(float **x, nd_array **a, int64_t rows, int64_t n, float shift)
{
    const int64_t shape[2] = {rows, n};
    const nd_layout layout = {.size = sizeof layout,
                              .dtype = ND_F32,
                              .ndim = rows ? 2 : 1,
                              .shape = rows ? shape : shape + 1};
    const int64_t size = (rows ? rows : 1) * n;
    *x = calloc((size_t)size + 1, sizeof **x);
    for (int64_t i = 0; i < size; i++)
        (*x)[i] = (float)(below(4097) - 2048) / 1024 + shift;
    return nd_from_host(&layout, *x, dev, a);
}

static int norm_trial(int number)
{
    static const int64_t lengths[] = {4,    36,   508,  512,   516,   1000,
                                      2048, 8192, 8196, 16384, 16388, 77};
    norm t = {
        .rows = 1 + below(3), .n = lengths[number % 12], .centred = (int)below(2), .eps = 1e-5};
    nd_array *x = NULL, *g = NULL, *w = NULL, *r = NULL;
    float *from[3] = {NULL, NULL, NULL};
    const nd_norm_opts o = {.size = sizeof o, .naxes = 1, .eps = t.eps};
    nd_status status = norm_array(&from[0], &x, t.rows, t.n, below(2) ? 100 : 0);
    status = status == ND_OK ? norm_array(&from[1], &g, t.rows, t.n, 0) : status;
    if (status == ND_OK && below(3))
        status = norm_array(&from[2], &w, 0, t.n, 0);
    t.x = from[0], t.g = from[1], t.w = from[2];
    if (status == ND_OK)
        status = t.centred ? nd_layer_norm_grad(g, x, w, &o, &r, NULL, NULL)
                           : nd_rms_norm_grad(g, x, w, &o, &r, NULL);
    double *want = calloc((size_t)t.n, 2 * sizeof *want), worst = status == ND_OK ? 0 : HUGE_VAL;
    float *got = status == ND_OK ? fetch(r, t.rows * t.n) : NULL;
    for (int64_t row = 0; got && row < t.rows; row++) {
        norm_row(&t, row, want, want + t.n);
        for (int64_t i = 0; i < t.n; i++) {
            const double e = fabs(got[row * t.n + i] - want[i]) / (want[t.n + i] * 0x1p-23);
            worst = e <= worst ? worst : e;
        }
    }
    if (!(worst < 8))
        printf("norm %d of %d x %d, centred %d: %g units %s\n", number, (int)t.rows, (int)t.n,
               t.centred, worst, status == ND_OK ? "" : nd_last_error()->message);
    nd_release(x), nd_release(g), nd_release(w), nd_release(r);
    free(from[0]), free(from[1]), free(from[2]), free(want), free(got);
    return worst < 8;
}

static int look(void)
{
    int norms = 0;
    if (nd_device_get("cuda:0", &dev) != ND_OK || nd_device_get("cpu", &cpu) != ND_OK) {
        puts(nd_last_error()->message);
        return 1;
    }
    for (int i = 0; i < 24; i++)
        norms += norm_trial(i);
    printf("norms: %d\n", norms);
    return 0;
}

static void results(void)
{
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1",
                "NDOCK_FALLBACK=error"),
        NO_NVML);
    if (!has_text(answer, "norms: 24\n", "gradients of norms are what their definitions say"))
        diag("%s", answer);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"results", results}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
