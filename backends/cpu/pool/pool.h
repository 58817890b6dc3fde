/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What pools, resampling, unfold and fold share: rows of images along their last axis, or of
 * channels where these lie side by side, in the type that is computed in. */
#ifndef NDOCK_CPU_POOL_H
#define NDOCK_CPU_POOL_H
#include "conv/conv.h"

/* Loops over rows of float or double, by the dtype of sums. Rows are dense but for x. */
typedef struct {
    /* sum[i] += x[i*step]; best[i] = the larger of it and x[i*step], NaN above all; the same with
     * positions: that of x[i*step] is at + i*by. */
    void (*add)(void *sum, const void *x, int64_t step, int64_t n);
    void (*larger)(void *best, const void *x, int64_t step, int64_t n);
    /* sum[0] += all n of x; best[0] = the largest of it and them. */
    void (*add_run)(void *sum, const void *x, int64_t n);
    void (*larger_run)(void *best, const void *x, int64_t n);
    void (*larger_at)(void *best, int64_t *position, const void *x, int64_t step, int64_t n,
                      int64_t at, int64_t by);
    /* By counts[i]*count, numbers of x's type; counts NULL: by count. */
    void (*divide)(void *x, const void *counts, int64_t count, int64_t n);
    void (*fill)(void *x, double value, int64_t n);
    /* sum[i] += scale*x[i] */
    void (*scaled)(void *sum, const void *x, double scale, int64_t n);
    /* out[i] = x[element[i]], of m elements that do not descend. */
    void (*pick)(void *out, const void *x, int64_t m, const int64_t *element, int64_t n);
    /* out[i] = sum of share[t*n + i]*x[element[t*n + i]] over 2 or 4 taps; and back, of any, added to x. */
    void (*gather)(void *out, const void *x, int64_t m, const int64_t *element, const void *share,
                   int taps, int64_t n);
    void (*scatter)(void *x, const void *out, const int64_t *element, const void *share, int taps,
                    int64_t n);
    /* x[position[i] - base] += grad[i] where that is in [0, width) */
    void (*route)(void *x, const void *grad, const int64_t *position, int64_t base, int64_t width,
                  int64_t n);
    /* sum[i*step] += x[i] */
    void (*spread)(void *sum, int64_t step, const void *x, int64_t n);
    /* x[i] to sum[2*i] and sum[2*i + 1]; and back, the sum of both to sum[i]. */
    void (*spread_twice)(void *sum, const void *x, int64_t n);
    void (*add_pairs)(void *sum, const void *x, int64_t n);
} pl_loops;
typedef struct {
    pl_loops loops[2]; /* f32, f64 */
} pl_isa;
CPU_ISA_DECLARE(extern const pl_isa, cpu_pool_isa);

/* What is the same of all these calls. A slot has rows of `width` elements of the computation. */
typedef struct {
    const mm_kernels *k;
    const pl_loops *loops;
    cv_image in, out;
    int64_t images, channels;
    int64_t element, width, rows, slot_bytes, fixed_bytes;
} pl_frame;

typedef struct {
    const pl_frame *f;
    const void *call;
    char *fixed, *slots;
    atomic_uchar *busy;
    int32_t n_slots;
} pl_run;

/* in and out: images, or NULL. */
void pl_frame_of(pl_frame *f, int32_t dtype, const ndp_view *in, const ndp_view *out);
/* So many rows of at most width elements a slot, and bytes for all slots together. */
void pl_room(pl_frame *f, int64_t rows, int64_t width, int64_t fixed_bytes);
uint64_t pl_scratch(const pl_frame *f);
/* Tasks of work elements each. */
int32_t pl_parallel(const pl_frame *f, const ndp_call *call, const void *plan, int64_t tasks,
                    int64_t work, void (*fn)(void *ctx, int64_t begin, int64_t end));
static inline char *pl_row(const pl_run *r, int slot, int64_t row)
{
    return r->slots + slot * r->f->slot_bytes + row * r->f->width * 8;
}
/* n elements, stride apart, at data: as they lie where they are dense and of the computation's
 * dtype, else loaded into row. */
const char *pl_load(const pl_frame *f, const cv_image *i, const char *data, int64_t stride,
                    int64_t n, char *row);
/* Address of an image's element. */
static inline char *pl_at(const cv_image *i, int64_t image, int64_t channel, int64_t d, int64_t h,
                          int64_t w)
{
    return i->data + (image * i->image + channel * i->channel + d * i->space[0] + h * i->space[1] +
                      w * i->space[2]) *
                         i->size;
}
uint64_t pl_dtypes(int32_t op);
/* All operands but positions have the call's dtype, and these ranks. */
int pl_serves(const ndp_call *like, int in_ndim, int out_ndim, char *why, size_t n);

#endif
