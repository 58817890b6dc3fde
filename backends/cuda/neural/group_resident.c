/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Norms whose rows a cluster of blocks holds in shared memory (group_resident.cuh): which calls are such,
 * and how many blocks hold a row. On an H200 (us, before and after; 32x64x112x112): group_norm bf16 45 and 33,
 * batch_norm bf16 56 and 43, f32 97 and 83; with launches, gradients of group_norm bf16 104 and 69, f32 163 and
 * 108, of batch_norm f32 158 and 134. */
#include <stdio.h>
#include "neural/group_call.h"

enum { WIDTHS = GROUP_RESIDENT_WIDTHS, LEAST_VECTORS = 1024, OWN_BYTES = 4096 };
enum { PART_VECTORS = 8 /* of a thread */ };
static const int32_t widths[WIDTHS] = {1, 2, 4, GROUP_CLUSTER};

/* Whether rows are of one piece of memory, or of pieces at one distance that have one weight. */
static int is_piecewise(const group_plan *r)
{
    const group_call *c = &r->call;
    const group_params *p = &r->p;
    const group_dim *in = &p->dim[p->n_cell];
    const int64_t span = p->items * c->V;
    if (!r->vectors || c->bytes == 8 || !p->centred || p->n_item < 1 || p->n_item > 2 ||
        in->at.in != c->V || in->at.out != c->V || (c->grad && in->g != c->V) ||
        p->per_row * p->items > INT32_MAX / 32)
        return 0;
    if (p->per_row == 1)
        return 1;
    return p->n_item == 1 && p->dim[0].at.extent == p->per_row && p->dim[0].at.in == span &&
           p->dim[0].at.out == span && (!c->grad || p->dim[0].g == span);
}

/* Whether each cell is a block's or several blocks' alone. Only sums of gradients need it. */
static int is_shared_out(const group_params *p, int32_t width)
{
    return p->per_row * p->items % width == 0 &&
           (p->per_row % width == 0 || width % p->per_row == 0);
}

/* Statistics of rows are wanted where rows have one dimension alone. */
static int set_statistics(group_plan *r)
{
    const group_call *c = &r->call;
    if (c->grad || !c->view[GROUP_MEANS])
        return 1;
    if (r->p.n_cell > 1 || r->p.per_row > 1 || !c->view[GROUP_VARIANCES])
        return 0;
    for (int d = 0; d < c->n; d++)
        if (!c->dim[d].reduced) {
            r->p.mean_step = c->dim[d].stride[GROUP_MEANS];
            r->p.variance_step = c->dim[d].stride[GROUP_VARIANCES];
        }
    return 1;
}

/* Parts of a share, each of as many vectors for all threads. A block that has a processor to itself needs them, so that memory
 * is busy while it computes; where others take turns with it, the barriers of parts cost more than they win. */
static void set_parts(group_plan *r, int alone)
{
    group_params *p = &r->p;
    const int32_t threads = (int32_t)r->resident_threads;
    p->gate = alone ? PART_VECTORS * threads : p->share;
    while ((p->share + p->gate - 1) / p->gate > GROUP_GATES)
        p->gate += threads;
}

/* Clusters of so many blocks, for rows enough to keep the device busy. */
static int try_width(group_plan *r, const cuda_kernel *k, int which)
{
    group_params *p = &r->p;
    const int32_t width = widths[which];
    const int64_t total = p->per_row * p->items, share = (total + width - 1) / width;
    const int64_t nbytes = share * (r->call.grad ? 32 : 16), most = k->dev->shared_most - OWN_BYTES;
    const int64_t rows = p->cells / p->per_row, processors = r->call.processors;
    /* Blocks of a processor compute and wait for memory by turns; four of few threads do better than fewer. */
    const int64_t together = 4 * nbytes <= most - 4 * OWN_BYTES   ? 4
                             : 2 * nbytes <= most - 2 * OWN_BYTES ? 2
                                                                  : 1;
    if (nbytes > most || (together < 2 && width < GROUP_CLUSTER) ||
        (r->call.grad && !is_shared_out(p, width)) || rows * width < processors * 3 / 4)
        return 0;
    const int64_t at_once = together * (width < GROUP_CLUSTER ? processors / width : k->at_once);
    const int64_t turns = (rows + at_once - 1) / at_once;
    p->share = (int32_t)share;
    r->resident_threads = together == 4 ? GROUP_RESIDENT_THREADS / 2 : GROUP_RESIDENT_THREADS;
    set_parts(r, together == 1);
    /* A block that holds rows by itself has one: the device then starts the next where one has ended, and blocks do not
     * read and write all at once. */
    r->resident_blocks = width == 1 ? rows : (rows + turns - 1) / turns * width;
    r->resident_bytes = nbytes;
    r->resident = which + 1;
    if (r->call.grad) {
        p->parts = (int32_t)(width > p->per_row ? width / p->per_row : 1);
        p->cell_step = p->parts;
        p->part_step = 1;
    }
    return 1;
}

void cuda_group_resident_plan(group_plan *r, const cuda_kernel *k, const CUfunction *function)
{
    r->resident = 0;
    if (!function[0] || !is_piecewise(r) || r->p.per_row * r->p.items < LEAST_VECTORS ||
        !set_statistics(r))
        return;
    for (int which = 0; which < WIDTHS; which++)
        if (function[which] && try_width(r, k, which))
            return;
}

int32_t cuda_group_resident_queue(const cuda_kernel *k, const CUfunction *function, ndp_stream *s,
                                  group_plan *r)
{
    r->p.mean = r->call.view[GROUP_MEANS] ? cuda_ptr(r->call.view[GROUP_MEANS]) : 0;
    r->p.variance = r->call.view[GROUP_VARIANCES] ? cuda_ptr(r->call.view[GROUP_VARIANCES]) : 0;
    return cuda_launch(k, function[r->resident - 1], s, (uint32_t)r->resident_blocks,
                       (uint32_t)r->resident_threads, (uint32_t)r->resident_bytes, &r->p);
}

/* Clusters of the widest that run at once, each of whose blocks has a processor to itself. */
static int32_t clusters_at_once(const ndp_dev *dev, CUfunction f)
{
    int n = 0;
    const CUlaunchConfig one = {.gridDimX = GROUP_CLUSTER,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = GROUP_RESIDENT_THREADS,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = (unsigned)(dev->shared_most - OWN_BYTES)};
    if (!cu.cuOccupancyMaxActiveClusters ||
        cu.cuOccupancyMaxActiveClusters(&n, f, &one) != CUDA_SUCCESS)
        return 0;
    return n;
}

/* Code for clusters is there where it was compiled for such a device, not for an earlier one. Whatever keeps
 * it from loading, the other ways serve. */
void cuda_group_resident_find(cuda_kernel *k, int32_t dtype, int grad, CUfunction *function)
{
    char name[48];
    for (int i = 0; i < WIDTHS; i++) {
        function[i] = NULL;
        if (k->dev->capability < 90 || dtype == NDP_F64)
            continue;
        snprintf(name, sizeof name, "group_resident%d%s_%s", (int)widths[i], grad ? "_grad" : "",
                 cuda_dtype_word(dtype));
        if (cuda_function(k->dev, cuda_module_of("group", dtype), name, &function[i]) != NDP_OK ||
            cu.cuFuncSetAttribute(function[i], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  k->dev->shared_most - OWN_BYTES) != CUDA_SUCCESS ||
            (widths[i] > 8 &&
             cu.cuFuncSetAttribute(function[i], CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                                   1) != CUDA_SUCCESS))
            function[i] = NULL;
    }
    if (function[WIDTHS - 1]) {
        k->at_once = clusters_at_once(k->dev, function[WIDTHS - 1]);
        if (k->at_once < 1)
            function[WIDTHS - 1] = NULL;
    }
}
