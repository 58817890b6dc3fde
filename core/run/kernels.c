/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernels of a device by what a plug-in's find() may depend on: each is looked for once. */
#include <stdlib.h>
#include "core/run/dispatch.h"

/* What find() may depend on: op (kept beside), dtypes, rank, scalars, contiguity, mode. Counts 5
 * bits, mode 8, 4 + 2 operands of 8 each, rank 3. */
enum { DTYPE_BITS = 6, IS_SCALAR = 1 << DTYPE_BITS, IS_DENSE = IS_SCALAR << 1 };
_Static_assert((int)ND_DTYPE_END <= (int)IS_SCALAR, "a dtype's id fits into its bits of the key");

static uint64_t operand_key(const ndp_view *v)
{
    return (uint64_t)v->dtype | (v->mem ? 0u : IS_SCALAR) |
           (v->flags & NDP_VIEW_CONTIGUOUS ? IS_DENSE : 0u);
}

static uint64_t call_key(const ndp_call *call)
{
    uint64_t key = call->n_in | call->n_out << 3 | (uint64_t)(call->mode & 0xff) << 5;
    int shift = 13, ndim = call->n_out ? call->out[0].ndim : 0;
    for (uint32_t i = 0; i < call->n_in && i < 4; i++, shift += DTYPE_BITS + 2)
        key |= operand_key(&call->in[i]) << shift;
    for (uint32_t i = 0; i < call->n_out && i < 2; i++, shift += DTYPE_BITS + 2)
        key |= operand_key(&call->out[i]) << shift;
    return key | (uint64_t)(ndim < 7 ? ndim : 7) << 61;
}

static nd_kernel_node *find_node(nd_kernel_node *n, nd_op op, uint64_t key)
{
    while (n && (n->key != key || n->op != op))
        n = n->next;
    return n;
}

static nd_status ask_plugin(nd_device *dev, const ndp_call *call, nd_kernel_node *node)
{
    char why[512] = "";
    node->kernel = nd__registered_kernel(call->op, dev);
    if (node->kernel)
        return ND_OK;
    const nd_op_info *info = nd_op_get(call->op);
    if (dev->async && dev->has_op) /* the plug-in may load or compile code now */
        nd__note_wait(ND_WAIT_MODULE_LOAD, dev, info ? info->name : NULL);
    nd_status status = dev->has_op ? dev->op.find(dev->dev, call, &node->kernel, why, sizeof why)
                                   : ND_ERR_UNSUPPORTED;
    why[sizeof why - 1] = 0;
    if (status == ND_OK && node->kernel)
        return ND_OK;
    node->kernel = NULL;
    node->why = strdup(why[0]        ? why
                       : dev->has_op ? "the plug-in gave no reason"
                                     : "the plug-in has no kernels");
    return status == ND_ERR_UNSUPPORTED || status == ND_OK ? ND_OK : status;
}

nd_status nd__find_kernel(nd_device *dev, const ndp_call *call, nd_kernel_node **out)
{
    uint64_t key = call_key(call),
             hash = (key ^ (uint64_t)call->op << 53) * UINT64_C(0x9e3779b97f4a7c15);
    _Atomic(nd_kernel_node *) *bucket =
        &dev->kernels[(hash ^ (uint64_t)call->op * UINT64_C(0xd6e8feb86659fd93)) >> 54];
    *out = find_node(atomic_load_explicit(bucket, memory_order_acquire), call->op, key);
    if (*out)
        return ND_OK;
    nd_status status = ND_OK;
    pthread_mutex_lock(&dev->kernel_lock); /* one find per key, however many threads race */
    nd_kernel_node *head = atomic_load_explicit(bucket, memory_order_acquire),
                   *node = find_node(head, call->op, key);
    if (!node && (node = calloc(1, sizeof *node)) == NULL)
        status = nd__fail(ND_ERR_MEMORY, NULL, -1, "no memory for a kernel entry");
    if (status == ND_OK && !node->key && !node->op) {
        node->key = key;
        node->op = call->op;
        node->next = head;
        status = ask_plugin(dev, call, node);
        if (status == ND_OK) {
            atomic_store_explicit(bucket, node, memory_order_release);
        } else {
            free(node->why);
            free(node); /* a failed look-up may be tried again */
            node = NULL;
        }
    }
    pthread_mutex_unlock(&dev->kernel_lock);
    *out = node;
    return status;
}

bool nd__has_kernel(nd_device *dev, const ndp_call *call)
{
    nd_kernel_node *node;
    return nd__find_kernel(dev, call, &node) == ND_OK && node->kernel;
}
