/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Changing an exec: kernels that the thread launches meanwhile take the places of its nodes. */
#include "host/backend.h"

_Thread_local ndp_exec *cuda_patched;
static _Thread_local struct {
    uint64_t at, end;
    int failed;
} place;

int32_t cuda_patch_begin(ndp_dev *dev, ndp_exec *x, uint64_t first, uint64_t count)
{
    if (x->dev != dev)
        return cuda_error(NDP_ERR_DEVICE, "the graph was captured on cuda:%u, not on cuda:%u",
                          x->dev->index, dev->index);
    if (!cu.cuGraphExecKernelNodeSetParams || !x->graph->node)
        return cuda_error(NDP_ERR_UNSUPPORTED, "the nodes of this graph are not known");
    if (first > x->graph->n || count > x->graph->n - first)
        return cuda_error(NDP_ERR_ARGUMENT, "the graph has %llu nodes, not %llu from %llu on",
                          (unsigned long long)x->graph->n, (unsigned long long)count,
                          (unsigned long long)first);
    cuda_patched = x;
    place.at = first;
    place.end = first + count;
    place.failed = 0;
    return NDP_OK;
}

int32_t cuda_patch_refuse(const char *what)
{
    if (!cuda_patching())
        return NDP_OK;
    place.failed = 1;
    return cuda_error(NDP_ERR_UNSUPPORTED, "%s cannot take a node's place", what);
}

int32_t cuda_patch_kernel(const CUDA_KERNEL_NODE_PARAMS *params)
{
    if (place.at == place.end)
        return cuda_patch_refuse("one more kernel");
    CUresult r = cu.cuGraphExecKernelNodeSetParams(cuda_patched->exec,
                                                   cuda_patched->graph->node[place.at], params);
    if (r == CUDA_SUCCESS) {
        place.at++;
        return NDP_OK;
    }
    return cuda_patch_refuse(
        "this kernel"); /* the node was no kernel, or its function is another */
}

int32_t cuda_patch_end(ndp_dev *dev, ndp_exec *x)
{
    const int whole = cuda_patched == x && !place.failed && place.at == place.end;
    cuda_patched = NULL;
    return whole ? NDP_OK
                 : cuda_error(NDP_ERR_UNSUPPORTED, "cuda:%u: the nodes were not all replaced",
                              dev->index);
}
