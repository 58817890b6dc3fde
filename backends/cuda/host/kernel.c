/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels as the core sees them: kept per device, and queued with one struct of parameters. */
#include <stdlib.h>
#include <string.h>
#include "host/backend.h"

static void key_dtypes(const ndp_call *like, int32_t out[CUDA_KEY_DTYPES])
{
    uint32_t n = 0;
    memset(out, 0, CUDA_KEY_DTYPES * sizeof *out);
    for (uint32_t i = 0; i < like->n_in && n < CUDA_KEY_DTYPES; i++)
        out[n++] = like->in[i].dtype;
    for (uint32_t i = 0; i < like->n_out && n < CUDA_KEY_DTYPES; i++)
        out[n++] = like->out[i].dtype;
}

static cuda_kernel *find_made(const ndp_dev *dev, int32_t op, const int32_t *dtypes, int32_t choice)
{
    for (cuda_kernel *k = dev->kernels; k; k = k->next)
        if (k->op == op && k->choice == choice && memcmp(k->dtype, dtypes, sizeof k->dtype) == 0)
            return k;
    return NULL;
}

static int32_t run_found(const ndp_kernel *, ndp_stream *, const ndp_call *);

/* Runs make() on a copy, since other threads may be using the kernel. */
static int32_t find_functions(cuda_kernel *k, const ndp_call *like)
{
    cuda_scope scope;
    cuda_kernel fresh = {.base = {.size = sizeof fresh.base, .max_ndim = NDP_MAX_NDIM},
                         .dev = k->dev,
                         .op = k->op,
                         .choice = k->choice};
    memcpy(fresh.dtype, k->dtype, sizeof fresh.dtype);
    int32_t status = cuda_enter(k->dev, &scope);
    if (status != NDP_OK)
        return status;
    CUstreamCaptureMode mode = cuda_capture_relax(); /* loading code is no part of a graph */
    status = k->make(&fresh, like);
    cuda_capture_restore(mode);
    cuda_leave(&scope);
    if (status != NDP_OK)
        return status;
    memcpy(k->function, fresh.function, sizeof k->function);
    k->at_once = fresh.at_once;
    if (!k->run) {
        k->base = fresh.base;
        k->run = fresh.base.run;
        k->base.run = run_found;
    }
    atomic_store_explicit(&k->epoch, atomic_load(&k->dev->epoch), memory_order_release);
    return NDP_OK;
}

/* The functions of a device that was closed are gone; the kernel is the core's for good. */
static int32_t run_found(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    cuda_kernel *k = (cuda_kernel *)(uintptr_t)base;
    if (atomic_load_explicit(&k->epoch, memory_order_acquire) !=
        atomic_load_explicit(&k->dev->epoch, memory_order_relaxed)) {
        pthread_mutex_lock(&k->dev->lock);
        int32_t status = atomic_load(&k->epoch) == atomic_load(&k->dev->epoch)
                             ? NDP_OK
                             : find_functions(k, call);
        pthread_mutex_unlock(&k->dev->lock);
        if (status != NDP_OK)
            return status;
    }
    return k->run(base, s, call);
}

static int32_t make_kernel(ndp_dev *dev, const ndp_call *like, int32_t choice,
                           int32_t (*make)(cuda_kernel *, const ndp_call *like), cuda_kernel **out)
{
    cuda_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return cuda_error(NDP_ERR_MEMORY, "no host memory for the record of a kernel");
    k->dev = dev;
    k->op = like->op;
    k->choice = choice;
    k->make = make;
    key_dtypes(like, k->dtype);
    int32_t status = find_functions(k, like);
    if (status != NDP_OK) {
        free(k);
        return status;
    }
    k->next = dev->kernels;
    *out = dev->kernels = k;
    return NDP_OK;
}

int32_t cuda_kernel_get(ndp_dev *dev, const ndp_call *like, int32_t choice,
                        int32_t (*make)(cuda_kernel *, const ndp_call *like),
                        const ndp_kernel **out)
{
    int32_t dtypes[CUDA_KEY_DTYPES], status = NDP_OK;
    key_dtypes(like, dtypes);
    pthread_mutex_lock(&dev->lock);
    cuda_kernel *k = find_made(dev, like->op, dtypes, choice);
    if (!k)
        status = make_kernel(dev, like, choice, make, &k);
    pthread_mutex_unlock(&dev->lock);
    *out = k ? &k->base : NULL;
    return status;
}

/* In a function of its own, so that launches pay for nothing but a look. */
static __attribute__((noinline)) int32_t patch(const cuda_kernel *k, CUDA_KERNEL_NODE_PARAMS *node)
{
    cuda_scope scope;
    int32_t status = cuda_enter(k->dev, &scope);
    if (status != NDP_OK)
        return status;
    status = cuda_patch_kernel(node);
    cuda_leave(&scope);
    return status;
}

int32_t cuda_launch_2d(const cuda_kernel *k, CUfunction f, ndp_stream *s, uint32_t blocks_x,
                       uint32_t blocks_y, uint32_t threads, uint32_t shared_bytes, void *params)
{
    cuda_scope scope;
    void *arguments[] = {params};
    if (cuda_patching())
        return patch(k, &(CUDA_KERNEL_NODE_PARAMS){.func = f,
                                                   .gridDimX = blocks_x,
                                                   .gridDimY = blocks_y,
                                                   .gridDimZ = 1,
                                                   .blockDimX = threads,
                                                   .blockDimY = 1,
                                                   .blockDimZ = 1,
                                                   .sharedMemBytes = shared_bytes,
                                                   .kernelParams = arguments});
    int32_t status = cuda_enter(k->dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuLaunchKernel(f, blocks_x, blocks_y, 1, threads, 1, 1, shared_bytes,
                                   cuda_stream(k->dev, s), arguments, NULL);
    cuda_leave(&scope);
    return r == CUDA_SUCCESS ? NDP_OK
                             : cuda_fail(r, "%s on cuda:%u", cuda_op_name(k->op), k->dev->index);
}

int32_t cuda_launch(const cuda_kernel *k, CUfunction f, ndp_stream *s, uint32_t blocks,
                    uint32_t threads, uint32_t shared_bytes, void *params)
{
    return cuda_launch_2d(k, f, s, blocks, 1, threads, shared_bytes, params);
}

/* Drivers that order kernels so in graphs, tell such an order. */
static int may_begin_early(const ndp_dev *dev, const ndp_stream *s)
{
    return s && atomic_load_explicit(&s->captured, memory_order_relaxed) && dev->capability >= 90 &&
           cu.cuLaunchKernelEx && cu.cuGraphNodeGetDependencies_v2 && cuda_graphs_overlap();
}

CUresult cuda_queue_early(ndp_dev *dev, CUfunction f, ndp_stream *s, uint32_t blocks,
                          uint32_t threads, uint32_t shared_bytes, void *params)
{
    void *arguments[] = {params};
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value.programmaticStreamSerializationAllowed = 1};
    if (!may_begin_early(dev, s))
        return cu.cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, shared_bytes, cuda_stream(dev, s),
                                 arguments, NULL);
    return cu.cuLaunchKernelEx(&(CUlaunchConfig){.gridDimX = blocks,
                                                 .gridDimY = 1,
                                                 .gridDimZ = 1,
                                                 .blockDimX = threads,
                                                 .blockDimY = 1,
                                                 .blockDimZ = 1,
                                                 .sharedMemBytes = shared_bytes,
                                                 .hStream = cuda_stream(dev, s),
                                                 .attrs = &early,
                                                 .numAttrs = 1},
                               f, arguments, NULL);
}

int32_t cuda_launch_early(const cuda_kernel *k, CUfunction f, ndp_stream *s, uint32_t blocks,
                          uint32_t threads, uint32_t shared_bytes, void *params)
{
    cuda_scope scope;
    if (cuda_patching())
        return cuda_launch(k, f, s, blocks, threads, shared_bytes, params);
    int32_t status = cuda_enter(k->dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cuda_queue_early(k->dev, f, s, blocks, threads, shared_bytes, params);
    cuda_leave(&scope);
    return r == CUDA_SUCCESS ? NDP_OK
                             : cuda_fail(r, "%s on cuda:%u", cuda_op_name(k->op), k->dev->index);
}
