/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files that choose and launch kernels of convolutions share. */
#ifndef NDOCK_CUDA_CONV_PLAN_H
#define NDOCK_CUDA_CONV_PLAN_H
#include "conv/conv.h"
#include "pool/frame.h"

/* Kernels of a cuda_kernel. */
enum {
    CONV_PRODUCT,
    CONV_DIRECT,
    CONV_THREE,
    CONV_THREE_TWO,
    CONV_SINGLE,
    CONV_PLANES_THREE,
    CONV_PLANES,
    CONV_BESIDE_THREE,
    CONV_BESIDE_THREE_TWO,
    CONV_BESIDE_SQUARE,
    CONV_BESIDE_SQUARE_TWO,
    CONV_BESIDE_MET_SQUARE,
    CONV_BESIDE_ANY,
    CONV_BESIDE_MET,
    CONV_FINISH,
    CONV_SPLITS,
    CONV_GROUPED,
    CONV_UNFOLD,                 /* four: pixels or channels innermost, by elements or vectors */
    CONV_FOLD = CONV_UNFOLD + 4, /* four, likewise */
    CONV_RUNS = CONV_FOLD + 4,
    CONV_PAIRS,
    CONV_SPREAD,
    CONV_SHORT,
    CONV_DIAGONAL_LAST,
    CONV_DIAGONAL_PLANES,
    CONV_GATHER_WEIGHTS,
    CONV_GATHER_PLANES, /* these and the next: two each, of wide and of tall tiles */
    CONV_GATHER_BESIDE = CONV_GATHER_PLANES + 2,
    CONV_GATHER_TERMS = CONV_GATHER_BESIDE + 2,
    CONV_GATHER_TERMS_BESIDE = CONV_GATHER_TERMS + 2,
    CONV_WIDE_TERMS_PLANES = CONV_GATHER_TERMS_BESIDE + 2, /* and of channels side by side */
    CONV_THIN = CONV_WIDE_TERMS_PLANES + 2,
    CONV_FUNCTIONS = CONV_THIN + 2
};
_Static_assert((int)CONV_FUNCTIONS <= (int)CUDA_FUNCTIONS,
               "a kernel has room for a convolution's functions");

/* A call: its operands, and what the product that it is has of rows and terms. */
typedef struct {
    const ndp_view *image, *weight, *grid, *bias, *made;
    int kind, few;           /* few: groups of fewer channels than a product is worth */
    int64_t co, ci;          /* channels of a group */
    int64_t k, part;         /* terms of a sum; of a split */
    int32_t splits, grouped; /* grouped: by kernels for groups of some channels */
    int32_t is_short;        /* the weight's gradient by a kernel for windows of few elements */
    int32_t is_gathered;     /* by products of ours of f32 */
    int32_t is_wide, blocks; /* by warpgroups; part: steps of a block */
    int32_t is_diagonal;     /* groups of some channels of 16 bits by tensor cores */
    int32_t is_thin;         /* images of few channels by tensor cores */
} conv_plan;

static inline int64_t conv_round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static inline int conv_has_two_axes(const conv_plan *q, const ndp_conv *c)
{
    return q->image->shape[2] == 1 && q->weight->shape[2] == 1 && q->grid->shape[2] == 1 &&
           c->before[0] == 0;
}

/* ---- how operands lie, for products of cuBLASLt ---- */
static inline int64_t conv_plane(const ndp_view *v)
{
    return v->shape[2] * v->shape[3] * v->shape[4];
}

/* Axis `first` and those after it as one of steps `step`, the channels left out. */
static inline int conv_is_merged(const ndp_view *v, int first, int64_t step)
{
    int fits = 1;
    for (int d = 4; d >= first; d--) {
        if (d == 1)
            continue;
        fits = fits && (v->shape[d] == 1 || v->stride[d] == step);
        step *= v->shape[d];
    }
    return fits;
}

/* The gradient for the image as a convolution of the grid with the taps turned around. */
void cuda_conv_turn_around(cuda_convolving *p);

/* ---- grouped.c: groups of some channels, in f32 and f64; in 16 bits where tensor cores cannot take them ---- */

enum { CONV_WHOLE = 8 }; /* channels of narrow numbers that tensor cores take at once */
/* Whether 16 bits in groups of so few channels are not cuDNN's: an engine gave 7.5 for 7.71 (tests/cuda/conform.sh). */
static inline int cuda_conv_is_narrow(const conv_plan *q)
{
    return (q->co < CONV_WHOLE || q->ci < CONV_WHOLE) && q->kind != CONV_WEIGHT;
}

/* Whether kernels of ours for groups compute the call; sets how many parts the weight's gradient has. */
int cuda_conv_is_grouped(conv_plan *q, const ndp_call *call, const ndp_dev *dev);
int32_t cuda_conv_grouped_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                              cuda_convolving *p);

/* ---- diagonal.c: groups of some channels of 16 bits by tensor cores ---- */

int cuda_conv_is_diagonal(conv_plan *q, const ndp_call *call, const ndp_dev *dev);
int32_t cuda_conv_diagonal_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                               cuda_convolving *p);

/* ---- gathered.c: products of f32 that gather the image's elements as they go ---- */

/* Whether they compute the call; sets the parts of the weight's gradient. */
int cuda_conv_is_gathered(conv_plan *q, const ndp_call *call, const ndp_dev *dev);
/* Finds the kernels. Inside cuda_enter(). */
int32_t cuda_conv_gathered_make(cuda_kernel *k);
/* Bytes for the weights in the order that they are read in. */
uint64_t cuda_conv_gathered_scratch(const conv_plan *q);
int32_t cuda_conv_gathered_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                               cuda_convolving *p);

/* How results are written, or grids read: by vectors of pixels or of channels, where memory has them whole. */
int32_t cuda_conv_whole_of(const ndp_view *to);

/* ---- terms_wide.c: the weight's gradient of f32 by products of warpgroups ---- */

/* Whether they compute a call that is gathered; sets the parts of its sums. */
int cuda_conv_is_wide(conv_plan *q, const ndp_dev *dev);
/* Finds the kernels. Inside cuda_enter(). */
int32_t cuda_conv_wide_make(cuda_kernel *k);
int32_t cuda_conv_wide_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                           cuda_convolving *p);

/* ---- thin.c: images of few channels by tensor cores ---- */

int cuda_conv_is_thin(conv_plan *q, const ndp_call *call, const ndp_dev *dev);
/* Finds the kernels. Inside cuda_enter(). */
int32_t cuda_conv_thin_make(cuda_kernel *k, int32_t dtype);
int32_t cuda_conv_thin_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                           cuda_convolving *p, const ndp_call *call);

/* ---- short.c: the weight's gradient of windows of few elements, in f32 ---- */

/* Whether a kernel of ours for them computes the call; sets the parts of its sums. */
int cuda_conv_is_short(conv_plan *q, const ndp_call *call, const ndp_dev *dev);
int32_t cuda_conv_short_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                            cuda_convolving *p);

/* ---- few.c: groups of few channels ---- */

/* Whether a kernel of ours for single channels computes the call, which no library is asked for then. */
int cuda_conv_is_single(const conv_plan *q, const ndp_conv *c);
/* Finds the kernels. Inside cuda_enter(). */
int32_t cuda_conv_few_make(cuda_kernel *k, int32_t op, int32_t dtype);
int32_t cuda_conv_few_run(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                          cuda_convolving *p, const ndp_conv *c);
/* The grid from sums at p->partial that have a line for each channel of all images, and bias and epilogue. */
int32_t cuda_conv_spread(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                         cuda_convolving *p);
/* Bias and epilogue of what is in the result. */
int32_t cuda_conv_finish(const cuda_kernel *k, ndp_stream *s, const conv_plan *q,
                         cuda_convolving *p);

#endif
