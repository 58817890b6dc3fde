/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What find() promises: a kernel that is whole, and an answer that depends on neither pointers,
 * extents nor values. It is asked once more with others. */
#include <stdlib.h>
#include "core/plugin/hook/check.h"

static bool kernel_broken(hook_call *c, const ndp_kernel *k)
{
    if (k->size < NDP_END(ndp_kernel, run))
        return nd__hook_violated(c, "size", "its kernel has %u bytes, not %zu", k->size,
                                 NDP_END(ndp_kernel, run));
    if (!k->run)
        return nd__hook_violated(c, "kernel", "its kernel has no run()");
    if (k->max_ndim < 1)
        return nd__hook_violated(c, "kernel", "its kernel takes at most %d dimensions, not 1",
                                 (int)k->max_ndim);
    const uint32_t known = NDP_NEEDS_CONTIGUOUS | NDP_NEEDS_NO_NEGATIVE | NDP_NEEDS_NO_BROADCAST;
    return ((k->flags & ~NDP_KERNEL_KEEPS_COUNTS) || (k->needs & ~known)) &&
           nd__hook_violated(c, "kernel", "its kernel has needs %#x and flags %#x", k->needs,
                             k->flags);
}

/* Twice as long, the layout of the same kind. Extents of 1 and 0 stay: they are broadcast,
 * empty. */
static void lengthen(ndp_view *v, int64_t shape[ND_MAX_NDIM], int64_t stride[ND_MAX_NDIM])
{
    int64_t step = 1;
    for (int d = v->ndim - 1; d >= 0; d--) {
        shape[d] = v->shape[d] > 1 && v->shape[d] < INT32_MAX ? 2 * v->shape[d] : v->shape[d];
        stride[d] = v->flags & NDP_VIEW_CONTIGUOUS && v->stride[d] ? step : v->stride[d];
        step *= shape[d];
    }
    v->shape = shape;
    v->stride = stride;
}

/* The same question about other memory, other offsets, other extents and other values. */
static int32_t ask_again(hook_call *c, const ndp_call *like, ndp_mem *mem, const ndp_kernel **out)
{
    char why[256] = "";
    ndp_call other = *like;
    const size_t n = like->n_in + like->n_out;
    ndp_view *view = calloc(n + 1, sizeof *view);
    int64_t(*extents)[2][ND_MAX_NDIM] = calloc(n + 1, sizeof *extents);
    ndp_scalar *scalar = calloc(like->n_scalar + 1, sizeof *scalar);
    int32_t status = NDP_ERR_MEMORY;
    if (view && scalar && extents) {
        for (uint32_t i = 0; i < n; i++) {
            view[i] = i < like->n_in ? like->in[i] : like->out[i - like->n_in];
            view[i].offset_bytes += view[i].mem ? 64 : 0;
            if (view[i].mem && mem)
                view[i].mem = mem;
            lengthen(&view[i], extents[i][0], extents[i][1]);
        }
        for (uint32_t i = 0; i < like->n_scalar; i++)
            scalar[i].dtype = like->scalar[i].dtype; /* of value 0 */
        other.in = view;
        other.out = view + like->n_in;
        other.scalar = scalar;
        uint64_t word[] = {c->word[0], (uint64_t)(uintptr_t)&other, (uint64_t)(uintptr_t)out,
                           (uint64_t)(uintptr_t)why, sizeof why};
        status = (int32_t)nd__hook_real(c, word);
    }
    free(view);
    free(extents);
    free(scalar);
    return status;
}

static bool same_kind(const ndp_kernel *a, const ndp_kernel *b)
{
    return a == b || (a->run == b->run && a->scratch == b->scratch && a->needs == b->needs &&
                      a->max_ndim == b->max_ndim);
}

bool nd__hook_check_find(hook_call *c)
{
    const ndp_call *like = (const ndp_call *)(uintptr_t)c->word[1];
    const ndp_kernel *k = *(const ndp_kernel **)(uintptr_t)c->word[2], *again = NULL;
    int32_t status = (int32_t)c->result;
    if (status == NDP_OK && kernel_broken(c, k))
        return true;
    if ((status != NDP_OK && status != NDP_ERR_UNSUPPORTED) || c->injected || !c->dev)
        return false;
    int32_t second = ask_again(c, like, nd__hook_any_block(c->of, c->dev->dev), &again);
    if (second != status)
        return nd__hook_violated(c, "find_depends",
                                 "%s, and %s for other pointers, extents and values",
                                 nd_status_name(status), nd_status_name(second));
    return status == NDP_OK && again && !same_kind(k, again) &&
           nd__hook_violated(
               c, "find_depends",
               "another kernel for other pointers, extents and values of the same key");
}
