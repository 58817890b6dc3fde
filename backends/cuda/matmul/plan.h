/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How a matrix product is computed: by the library or by our own kernel, in what layout, and with
 * which passes before and after. */
#ifndef NDOCK_CUDA_MATMUL_PLAN_H
#define NDOCK_CUDA_MATMUL_PLAN_H
#include <stddef.h>
#include "matmul/blaslt.h"
#include "matmul/matmul.h"

enum { MM_BATCH_MAX = 65535 }; /* of one launch: grid dimensions, the library's too */

/* Operands by number. */
enum { A, B, OUT, BIAS, SCALE_A, SCALE_B, OPERANDS };

typedef struct {
    mm_params p; /* of one step of the outer dimensions */
    int32_t compute;
    int n_outer; /* batch dimensions but the longest */
    int use_library, packed[2], finish;
    mm_matrix from[2];                            /* packed operands, as they are */
    mm_params final;                              /* of the last pass */
    uint64_t sums_at;                             /* in scratch; sums in place: UINT64_MAX */
    uint64_t packed_at[2], workspace_at, scratch; /* in scratch; its size */
    blaslt_key key;
    /* Of the first n_outer alone, the steps in bytes; last, for a small product is planned faster than two
     * kilobytes are cleared. */
    int64_t outer[NDP_MAX_NDIM], outer_stride[OPERANDS][NDP_MAX_NDIM];
} mm_plan;

void mm_plan_call(mm_plan *p, ndp_dev *dev, const ndp_call *call);
/* By our own kernel, which needs no scratch memory. */
void mm_plan_own(mm_plan *p, const ndp_call *call);

/* ---- plan.c, for bytes.c ---- */
enum { MM_ALIGN = 256 }; /* of pieces of scratch memory */
/* The largest power of two, up to MM_ALIGN, that divides every address of the operand. */
int32_t mm_alignment(const mm_plan *plan, int i, uint64_t at);
uint64_t mm_take_scratch(mm_plan *plan, uint64_t nbytes);
/* A bias that the library adds itself: one line for all, of the result's dtype. */
int mm_bias_fits(const mm_plan *plan);

/* ---- bytes.c ---- */
/* A large product of 8-bit operands, which the library may take. */
int mm_takes_bytes(const mm_plan *plan, ndp_dev *dev);
/* Plans it there; 0: the library does not take it, and what the plan says is of no use. */
int mm_plan_bytes(mm_plan *plan, ndp_dev *dev, const ndp_call *call);

/* There is nothing to write; nothing but the shapes is planned then. */
int mm_is_empty(const mm_plan *p);
/* The dtype that sums are in. */
int32_t mm_compute_dtype(int32_t in, int32_t out);

static inline mm_matrix *mm_operand(mm_plan *plan, int i)
{
    static const size_t at[OPERANDS] = {offsetof(mm_params, a),       offsetof(mm_params, b),
                                        offsetof(mm_params, out),     offsetof(mm_params, bias),
                                        offsetof(mm_params, scale_a), offsetof(mm_params, scale_b)};
    return (mm_matrix *)((char *)&plan->p + at[i]);
}

static inline void mm_swap(int64_t *a, int64_t *b)
{
    int64_t was = *a;
    *a = *b;
    *b = was;
}

#endif
