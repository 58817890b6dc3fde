/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * cuDNN's convolutions: the library, which calls it may take, and calls. cudnn_plan.c has the choice of
 * engines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "conv/cudnn_names.h"

enum { MOST_PLANS = 1024, ALLOC_FAILED = 1003, ALLOC_FAILED_8 = 2 };

cudnn_functions cuda_cudnn;

struct cuda_cudnn {
    void *handle;
    pthread_mutex_t lock; /* of all of it */
    cudnn_plan *plans;
    int n;
};

/* ---- the library ---- */
#define INSTALL                                                                                   \
    "install cuDNN 9 (Debian and Ubuntu: libcudnn9-cuda-13; from PyPI: nvidia-cudnn-cu13, whose " \
    "nvidia/cudnn/lib belongs into LD_LIBRARY_PATH)"

static int32_t version_text(const void *table, char *text, size_t n)
{
    (void)table;
    const size_t v = cuda_cudnn.cudnnGetVersion();
    snprintf(text, n, "%zu.%zu.%zu", v / 10000, v % 10000 / 100, v % 100);
    return NDP_OK;
}

static int32_t open_library(void)
{
    static const char *const sonames[] = {"libcudnn.so.9"};
    static const ndh_symbol symbols[] = {
#define CUDNN_FN(type, name, parameters) \
    {#name, (uint32_t)((const char *)&cuda_cudnn.name - (const char *)&cuda_cudnn), 1},
#include "conv/cudnn.def"
    };
    static const ndh_library library = {
        .size = sizeof library,
        .n_sonames = sizeof sonames / sizeof *sonames,
        .n_symbols = sizeof symbols / sizeof *symbols,
        .name = "cuDNN",
        .install = INSTALL,
        .sonames = sonames,
        .symbols = symbols,
        .version = version_text,
    };
    return cuda_open_library(&library, &cuda_cudnn);
}

static int is_there(void)
{
    static cuda_optional cudnn = CUDA_OPTIONAL(open_library, NDP_LOG_INFO,
                                               "no cuDNN: convolutions of GPUs are computed by "
                                               "ndock's own kernels, which are slower; " INSTALL);
    return cuda_optional_open(&cudnn) == NDP_OK;
}

/* ---- keys ---- */

/* The step of axis d of a packed operand: C order, or with the second axis innermost. */
static int64_t packed_step(const ndp_view *v, int d, int last)
{
    int64_t step = last && d != 1 ? v->shape[1] : 1;
    for (int i = d + 1; i < 5 && !(last && d == 1); i++)
        step *= last && i == 1 ? 1 : v->shape[i];
    return step;
}

/* Bit 0: packed in C order; bit 1: packed with the second axis innermost. */
static int packings_of(const ndp_view *v)
{
    int fits = 3;
    for (int last = 0; last < 2; last++)
        for (int d = 0; d < 5; d++)
            if (v->shape[d] != 1 && v->stride[d] != packed_step(v, d, last))
                fits &= ~(1 << last);
    return fits;
}

/* Extents and packed strides of an operand, without its third axis where ndim is 4. */
static int take_operand(cudnn_key *key, int i, const ndp_view *v, int last)
{
    for (int d = 0, to = 0; d < 5; d++) {
        if (key->ndim == 4 && d == 2)
            continue;
        key->extent[i][to] = v->shape[d];
        key->stride[i][to++] = packed_step(v, d, last);
    }
    return ndp_view_size(v) <= INT32_MAX;
}

static int is_flat(const ndp_call *call, const ndp_view *image, const ndp_view *weight,
                   const ndp_view *grid)
{
    const ndp_conv *c = call->params;
    return image->shape[2] == 1 && weight->shape[2] == 1 && grid->shape[2] == 1 &&
           c->before[0] == 0;
}

/* Padding after the elements that gives as many windows as the grid has, as much as before if that does;
 * -1: there is none. */
static int64_t padding_after(const ndp_conv *c, int d, int64_t image, int64_t weight, int64_t grid)
{
    const int64_t all = image + c->before[d] - (weight - 1) * c->dilation[d] - 1;
    const int64_t least = (grid - 1) * c->stride[d] - all;
    int64_t after = c->before[d];
    if ((all + after) / c->stride[d] + 1 != grid)
        after = least > 0 ? least : 0;
    return all + after >= 0 && (all + after) / c->stride[d] + 1 == grid ? after : -1;
}

/* The layout of operands that may have either is that of the others. */
static void take_packings(const int fits[3], int last[3])
{
    const int all = fits[0] & fits[1] & fits[2], some = fits[0] & fits[2];
    for (int i = 0; i < 3; i++)
        last[i] = all    ? !(all & 1)
                  : some ? (i == 1 ? !(fits[i] & 1) : !(some & 1))
                         : !(fits[i] & 1);
}

int cuda_cudnn_key(cudnn_key *key, const ndp_call *call, const ndp_view *image,
                   const ndp_view *weight, const ndp_view *grid)
{
    const ndp_conv *c = call->params;
    const ndp_view *const v[3] = {image, weight, grid};
    const int fits[3] = {packings_of(image), packings_of(weight), packings_of(grid)};
    int last[3];
    memset(key, 0, sizeof *key);
    if (!fits[0] || !fits[1] || !fits[2])
        return 0;
    take_packings(fits, last);
    key->op = call->op;
    key->dtype = image->dtype;
    key->tf32 = image->dtype == NDP_F32 && call->mode & NDP_MODE_FAST_MATH;
    key->ndim = is_flat(call, image, weight, grid) ? 4 : 5;
    for (int d = 5 - key->ndim, to = 0; d < 3; d++, to++) {
        key->before[to] = c->before[d];
        key->after[to] =
            padding_after(c, d, image->shape[2 + d], weight->shape[2 + d], grid->shape[2 + d]);
        key->step[to] = c->stride[d];
        key->dilation[to] = c->dilation[d];
        if (key->after[to] < 0)
            return 0;
    }
    for (int i = 0; i < 3; i++)
        if (!take_operand(key, i, v[i], last[i]))
            return 0;
    return 1;
}

/* ---- plans ---- */

static void drop_plans(struct cuda_cudnn *c)
{
    while (c->plans) {
        cudnn_plan *p = c->plans;
        c->plans = p->next;
        cuda_cudnn_drop(p);
        free(p);
    }
    c->n = 0;
}

/* Inside cuda_enter(), under the lock. NULL: no host memory. */
static cudnn_plan *find_plan(struct cuda_cudnn *c, const cudnn_key *key)
{
    for (cudnn_plan *p = c->plans; p; p = p->next)
        if (memcmp(&p->key, key, sizeof *key) == 0)
            return p;
    if (c->n == MOST_PLANS)
        drop_plans(c);
    cudnn_plan *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->key = *key;
    cuda_cudnn_plan(p, c->handle);
    p->next = c->plans;
    c->plans = p;
    c->n++;
    return p;
}

/* The device's handle; NULL: it cannot be made. Inside cuda_enter(). */
static struct cuda_cudnn *handle_of(ndp_dev *dev)
{
    pthread_mutex_lock(&dev->lock);
    if (!dev->cudnn) {
        struct cuda_cudnn *c = calloc(1, sizeof *c);
        if (c && cuda_cudnn.cudnnCreate(&c->handle) == 0) {
            pthread_mutex_init(&c->lock, NULL);
            dev->cudnn = c;
        } else {
            free(c);
        }
    }
    struct cuda_cudnn *c = dev->cudnn;
    pthread_mutex_unlock(&dev->lock);
    return c;
}

int cuda_cudnn_has(ndp_dev *dev, const cudnn_key *key, uint64_t *nbytes)
{
    cuda_scope scope;
    int has = 0;
    if (!is_there() || cuda_enter(dev, &scope) != NDP_OK)
        return 0;
    CUstreamCaptureMode mode = cuda_capture_relax(); /* what is loaded is no part of a graph */
    struct cuda_cudnn *c = handle_of(dev);
    if (c) {
        pthread_mutex_lock(&c->lock);
        const cudnn_plan *p = find_plan(c, key);
        has = p && p->usable;
        *nbytes = has ? p->nbytes : 0;
        pthread_mutex_unlock(&c->lock);
    }
    cuda_capture_restore(mode);
    cuda_leave(&scope);
    return has;
}

/* ---- calls ---- */

static int queue(const struct cuda_cudnn *c, const cudnn_plan *p, CUdeviceptr image,
                 CUdeviceptr weight, CUdeviceptr grid, CUdeviceptr work)
{
    const void *at[3] = {(void *)(uintptr_t)image, (void *)(uintptr_t)weight,
                         (void *)(uintptr_t)grid};
    const void *room = (void *)(uintptr_t)work;
    const int64_t ids[3] = {1, 2, 3};
    void *pack = NULL;
    int r = cuda_cudnn.cudnnBackendCreateDescriptor(CUDNN_PACK, &pack);
    if (r != 0)
        return r;
    r = cuda_cudnn.cudnnBackendSetAttribute(pack, CUDNN_PACK_IDS, CUDNN_IS_INT64, 3, ids);
    if (r == 0)
        r = cuda_cudnn.cudnnBackendSetAttribute(pack, CUDNN_PACK_POINTERS, CUDNN_IS_POINTER, 3, at);
    if (r == 0)
        r = cuda_cudnn.cudnnBackendSetAttribute(pack, CUDNN_PACK_WORK, CUDNN_IS_POINTER, 1, &room);
    if (r == 0)
        r = cuda_cudnn.cudnnBackendFinalize(pack);
    if (r == 0)
        r = cuda_cudnn.cudnnBackendExecute(c->handle, p->plan, pack);
    cuda_cudnn.cudnnBackendDestroyDescriptor(pack);
    return r;
}

int32_t cuda_cudnn_run(ndp_dev *dev, ndp_stream *s, const cudnn_key *key, CUdeviceptr image,
                       CUdeviceptr weight, CUdeviceptr grid, CUdeviceptr work, uint64_t nbytes)
{
    cuda_scope scope;
    int32_t status = cuda_patch_refuse("a convolution of cuDNN");
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    struct cuda_cudnn *c = handle_of(dev);
    int r = ALLOC_FAILED_8;
    if (c) {
        pthread_mutex_lock(&c->lock);
        const cudnn_plan *p = find_plan(c, key);
        if (p && p->usable && p->nbytes <= nbytes) {
            r = cuda_cudnn.cudnnSetStream(c->handle, cuda_stream(dev, s));
            if (r == 0)
                r = queue(c, p, image, weight, grid, p->nbytes ? work : 0);
        }
        pthread_mutex_unlock(&c->lock);
    }
    cuda_leave(&scope);
    if (r == 0)
        return NDP_OK;
    return cuda_host->error(
        cuda_host->ctx,
        r == ALLOC_FAILED_8 || r == ALLOC_FAILED ? NDP_ERR_MEMORY : NDP_ERR_INTERNAL, r,
        "%s on cuda:%u: cuDNN says %d", cuda_op_name(key->op), dev->index, r);
}

void cuda_cudnn_close(ndp_dev *dev)
{
    struct cuda_cudnn *c = dev->cudnn;
    cuda_scope scope;
    if (!c || cuda_enter(dev, &scope) != NDP_OK)
        return;
    dev->cudnn = NULL;
    drop_plans(c);
    cuda_cudnn.cudnnDestroy(c->handle);
    pthread_mutex_destroy(&c->lock);
    free(c);
    cuda_leave(&scope);
}
