/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How a call of sort, argsort or topk is carried out. */
#ifndef NDOCK_CUDA_SORT_PLAN_H
#define NDOCK_CUDA_SORT_PLAN_H
#include "host/backend.h"
#include "sort/cub.h"
#include "sort/sort.h"

typedef struct {
    cuda_cub_kind kind;
    sort_by by;
    int bits;
} sort_pass;

typedef enum { PLAN_SMALL, PLAN_VALUES, PLAN_ORDER } plan_kind;
typedef struct {
    plan_kind kind;
    int64_t n, k, rows, rows_at_once;
    int64_t nbytes;
    int as_f32, as_is, wide_keys, wide_order;
    int n_passes;
    sort_pass pass[3];
    /* scratch: offsets, and all of it */
    uint64_t keys[2], order[2], flag, counts, temp, temp_nbytes, total;
} sort_plan;

void cuda_sort_plan(sort_plan *p, const ndp_call *call);
/* How much CUB wants for the most demanding pass. */
int32_t cuda_sort_plan_temp(sort_plan *p, const cuda_kernel *k);

#endif
