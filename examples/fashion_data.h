/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What programs that learn Fashion-MNIST share: its files as arrays, and how far an epoch is. */
#ifndef FASHION_DATA_H
#define FASHION_DATA_H
#include <string.h>
#include <unistd.h>

#include "program.h"

enum { CLASSES = 10, SIDE = 28, PIXELS = SIDE * SIDE };
static const double pixel_mean = 0.2860, pixel_std = 0.3530;

typedef struct {
    int64_t n;
    nd_array *pixels, *labels; /* u8, as in the files */
    nd_array *x;               /* f32 (n, 784), normalised */
} dataset;

/* dst = op(a, value) */
static void apply_scalar(nd_op op, const nd_array *a, double value, const nd_array *dst)
{
    nd_arg args[] = {nd_array_arg(a), nd_scalar_arg(nd_float(value))};
    CHECK(nd_apply_into(op, args, 2, NULL, dst));
}

static nd_array *load_idx(const char *folder, const char *set, const char *what)
{
    char path[4096];
    nd_array *a;
    snprintf(path, sizeof path, "%s/%s-%s-ubyte.gz", folder, set, what);
    if (access(path, F_OK) != 0)
        path[strlen(path) - strlen(".gz")] = '\0';
    CHECK(nd_idx_load(path, NULL, &a));
    return keep(a);
}

static dataset load_set(const char *folder, const char *set)
{
    dataset d = {.pixels = load_idx(folder, set, "images-idx3")};
    nd_array *flat;
    d.labels = load_idx(folder, set, "labels-idx1");
    d.n = nd_size(d.labels);
    if (d.n == 0 || nd_size(d.pixels) != d.n * PIXELS) {
        fprintf(stderr,
                PROGRAM ": %s: the %s set's images are not as many as its labels, or not 28x28\n",
                folder, set);
        exit(1);
    }
    CHECK(nd_reshape(d.pixels, 2, (int64_t[]){d.n, PIXELS}, &flat));
    CHECK(nd_astype(flat, ND_F32, &d.x));
    nd_release(flat);
    keep(d.x);
    apply_scalar(ND_OP_divide, d.x, 255, d.x);
    apply_scalar(ND_OP_subtract, d.x, pixel_mean, d.x);
    apply_scalar(ND_OP_divide, d.x, pixel_std, d.x);
    return d;
}

static void show_progress(long epoch, int64_t done, int64_t n)
{
    static const char bar[] = "########################################";
    static int last = -1;
    int all = (int)sizeof bar - 1, width = (int)(done * all / n);
    if (width == last || !isatty(STDERR_FILENO))
        return;
    last = width;
    fprintf(stderr, "\repoch %ld [%.*s%*s]", epoch, width, bar, all - width, "");
    if (done == n)
        fputs("\r\033[K", stderr);
}

#endif
