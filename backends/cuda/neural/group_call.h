/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A call of group_norm or of *_grads on the host: its dimensions, and how it is cut up. */
#ifndef NDOCK_CUDA_GROUP_CALL_H
#define NDOCK_CUDA_GROUP_CALL_H
#include "host/backend.h"
#include "neural/group.h"

enum {
    GROUP_X,
    GROUP_OUT,
    GROUP_G,
    GROUP_SCALE,
    GROUP_BIAS,
    GROUP_MEANS,
    GROUP_VARIANCES,
    GROUP_DSCALE,
    GROUP_DBIAS,
    GROUP_OPERANDS
};

typedef struct {
    int64_t extent, stride[GROUP_OPERANDS];
    int reduced, weighted;
} group_extent;

typedef struct {
    const ndp_view *view[GROUP_OPERANDS]; /* NULL: absent */
    group_extent dim[NDP_MAX_NDIM];       /* the densest first */
    int n, grad;
    int64_t bytes, V, processors; /* V: elements of 16 bytes */
} group_call;

typedef struct {
    group_call call;
    group_params p;
    int columns, vectors, warp, held;
    int resident; /* 1 + which width of cluster holds a row; 0: none */
    int64_t column_blocks, held_threads, resident_blocks, resident_threads, resident_bytes;
} group_plan;

/* ---- group_plan.c ---- */
/* How a call that has elements is computed, and the parameters without addresses. */
void group_plan_make(group_plan *, const ndp_call *, const ndp_dev *, int grad);
/* Of a gradient with weights of all reduced dimensions and no others: the plan of their sums, cells
 * being weights and items rows. 0: it is none such. */
int group_plan_rows(group_plan *, const ndp_call *, const ndp_dev *);
/* Which cells of the plan each weight sums over. */
void group_plan_weights(const group_plan *, group_weights *);

/* ---- group.c: what cuda_norm and cuda_norm_grad leave to it ---- */
int32_t cuda_group_find(ndp_dev *, const ndp_call *like, const ndp_kernel **out, char *why,
                        size_t n);

/* ---- group_resident.c ---- */
enum { GROUP_RESIDENT_WIDTHS = 4 };
/* Fills in so many functions; NULL: the device has none such. */
void cuda_group_resident_find(cuda_kernel *, int32_t dtype, int grad, CUfunction *);
/* Sets what a plan of group_plan_make has for it, where rows can be held, and how many parts the sums of a gradient's
 * cells have. */
void cuda_group_resident_plan(group_plan *, const cuda_kernel *, const CUfunction *);
int32_t cuda_group_resident_queue(const cuda_kernel *, const CUfunction *, ndp_stream *,
                                  group_plan *);

/* ---- batch_norm.c: the same ---- */
int32_t cuda_batch_norm_find(ndp_dev *, const ndp_call *like, const ndp_kernel **out, char *why,
                             size_t n);

/* ---- norm_grad.c ---- */
enum { CUDA_NORM_GRADS = 9 };
/* Fills in so many functions of the gradient for x of the op. */
int32_t cuda_norm_grad_functions(ndp_dev *, int32_t op, int32_t dtype, CUfunction *);
/* Queues it; rows_at, if not 0: GROUP_ROW doubles of each row, of which mean and factor are set. */
int32_t cuda_norm_grad_queue(const cuda_kernel *, const CUfunction *, ndp_stream *,
                             const ndp_call *, uint64_t rows_at);
/* The same with gradients for weights in one pass, which leaves sums of each weight: as many parts of
 * them as the first says; 0: it does not suit the call. */
int32_t cuda_norm_grad_parts(const cuda_kernel *, const CUfunction *, const ndp_call *);
int32_t cuda_norm_grad_weighed(const cuda_kernel *, const CUfunction *, ndp_stream *,
                               const ndp_call *, uint64_t partial);

#endif
