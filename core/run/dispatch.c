/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * From a checked, canonical call to a plug-in's kernel: look-up, packing of operands a kernel
 * cannot take, scratch, and the fallback ladder. */
#include <stdlib.h>
#include "core/plugin/service/cache.h"
#include "core/run/dispatch.h"
#include "core/run/fallback.h"

struct nd_kernel_node {
    uint64_t key;
    nd_op op;
    const ndp_kernel *kernel; /* NULL: the device has none */
    char *why;
    nd_kernel_node *next;
};

ndp_view nd__view(const nd_array *a)
{
    nd__used(a->storage);
    return (ndp_view){
        .mem = a->storage->mem,
        .offset_bytes = nd__byte_offset(a),
        .shape = a->shape,
        .stride = a->stride,
        .dtype = a->dtype,
        .ndim = a->ndim,
        .flags = a->flags & ND_FLAG_CONTIGUOUS ? NDP_VIEW_CONTIGUOUS : 0,
    };
}

static const int64_t zero_strides[ND_MAX_NDIM];

ndp_view nd__scalar_view(const ndp_scalar *scalars, int index, int ndim, const int64_t *shape)
{
    return (ndp_view){.offset_bytes = index,
                      .shape = shape,
                      .stride = zero_strides,
                      .dtype = scalars[index].dtype,
                      .ndim = ndim};
}

/* What find() may depend on: op (kept beside), dtypes, rank, scalars, contiguity, mode. 4 + 2
 * operands of 6 bits, rank 3, counts 5, mode 8. */
static uint64_t call_key(const ndp_call *call)
{
    uint64_t key = call->n_in | call->n_out << 3 | (uint64_t)(call->mode & 0xff) << 5;
    int shift = 13, ndim = call->n_out ? call->out[0].ndim : 0;
    for (uint32_t i = 0; i < call->n_in && i < 4; i++, shift += 6)
        key |= ((uint64_t)call->in[i].dtype | (call->in[i].mem ? 0u : 16u) |
                (call->in[i].flags & NDP_VIEW_CONTIGUOUS ? 32u : 0u))
               << shift;
    for (uint32_t i = 0; i < call->n_out && i < 2; i++, shift += 6)
        key |=
            ((uint64_t)call->out[i].dtype | (call->out[i].flags & NDP_VIEW_CONTIGUOUS ? 32u : 0u))
            << shift;
    return key | (uint64_t)(ndim < 7 ? ndim : 7) << 49;
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
    node->kernel = nd__runtime_kernel(call->op, dev);
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

static nd_status find_kernel(nd_device *dev, const ndp_call *call, nd_kernel_node **out)
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

static bool needs_packing(const ndp_kernel *k, const ndp_view *v)
{
    if (!v->mem)
        return false;
    if (v->ndim > k->max_ndim ||
        ((k->needs & NDP_NEEDS_CONTIGUOUS) && !nd__is_c_order(v->ndim, v->shape, v->stride)))
        return true;
    for (int d = 0; d < v->ndim && k->needs; d++)
        if (v->shape[d] > 1 && (((k->needs & NDP_NEEDS_NO_NEGATIVE) && v->stride[d] < 0) ||
                                ((k->needs & NDP_NEEDS_NO_BROADCAST) && v->stride[d] == 0)))
            return true;
    return false;
}

/* The stream's status word, made once, whoever of several threads comes first. */
static nd_status status_word(nd_stream *s, const char *op, nd_storage **out)
{
    static const int64_t none[5];
    nd_storage *made = NULL, *first = NULL;
    *out = atomic_load_explicit(&s->status, memory_order_acquire);
    if (*out)
        return ND_OK;
    ND_RETURN_IF(nd__storage_alloc(s->device, sizeof none, &made));
    nd_status status =
        nd__write(s->device, op, ND_WAIT_FIRST_USE, made->mem, made->base, none, sizeof none);
    if (status == ND_OK && atomic_compare_exchange_strong(&s->status, &first, made)) {
        *out = made;
        return ND_OK;
    }
    nd__storage_release(made);
    *out = first;
    return status;
}

/* Where an operation on the device leaves a bad index, since its caller will be gone by then. */
static nd_status lend_status_word(nd_stream *s, ndp_call *call)
{
    static const int64_t five = 5, one = 1;
    const nd_op_info *info = nd_op_get(call->op);
    nd_storage *word;
    if (!info || (info->op_class != ND_CLASS_TAKE && info->op_class != ND_CLASS_GATHER &&
                  info->op_class != ND_CLASS_SCATTER))
        return ND_OK;
    ND_RETURN_IF(status_word(s, info->name, &word));
    call->status = (ndp_view){.mem = word->mem,
                              .offset_bytes = (int64_t)word->base,
                              .shape = &five,
                              .stride = &one,
                              .dtype = ND_I64,
                              .ndim = 1,
                              .flags = NDP_VIEW_CONTIGUOUS};
    return ND_OK;
}

static nd_status queue_kernel(nd_stream *s, const ndp_kernel *k, ndp_call *call)
{
    const nd_op_info *info = nd_op_get(call->op);
    const char *name = info ? info->name : "operation";
    ND_RETURN_IF(lend_status_word(s, call));
    if (nd__hazards_now())
        ND_RETURN_IF(nd__hazard_call(s, call, name));
    for (bool again = true; again;) {
        ND_RETURN_IF(nd__queue_begin(s, name, &call->out[0]));
        s->status_pending |= call->status.mem != NULL;
        nd__in_run = true;
        nd_status status = k->run(k, s->handle, call);
        nd__in_run = false;
        status = nd__queue_end(s, name, status);
        if (status == ND_OK)
            return nd__follow_call(s, call);
        if (status != ND_ERR_NOT_READY)
            return status;
        ND_RETURN_IF(nd__workspace_make_wanted(&again)); /* the one workspace that run() lacked */
    }
    return ND_ERR_NOT_READY;
}

static nd_status run_kernel(nd_device *dev, const ndp_kernel *k, ndp_call *call)
{
    nd_storage *scratch = NULL;
    int64_t nbytes = 0;
    static const int64_t one = 1;
    if (k->scratch && (nbytes = (int64_t)k->scratch(k, call)) > 0) {
        ND_RETURN_IF(nd__storage_alloc(dev, (uint64_t)nbytes, &scratch));
        call->scratch = (ndp_view){.mem = scratch->mem,
                                   .offset_bytes = (int64_t)scratch->base,
                                   .shape = &nbytes,
                                   .stride = &one,
                                   .dtype = ND_U8,
                                   .ndim = 1,
                                   .flags = NDP_VIEW_CONTIGUOUS};
    }
    nd_stream *s = nd__stream(dev);
    nd_status status = s ? ND_OK : nd__usable(dev, NULL);
    if (status == ND_OK)
        status = s ? queue_kernel(s, k, call) : k->run(k, NULL, call);
    nd__storage_release(scratch);
    if (status != ND_OK && !s) {
        const nd_op_info *info = nd_op_get(call->op);
        nd__error_context(info ? info->name : NULL, dev->name, dev->slot->name);
    }
    return status;
}

static int64_t size_of(const ndp_view *v)
{
    int64_t size = 1;
    for (int d = 0; d < v->ndim; d++)
        size *= v->shape[d];
    return size;
}

/* An operand as an array of its own, dense: a packed copy of an input, or room for an output
 * (filled first where it is updated in place). */
static nd_status pack(nd_device *dev, const ndp_view *v, bool copy_in, nd_storage **s,
                      ndp_view *packed, int64_t *stride)
{
    const int64_t size = size_of(v);
    ND_RETURN_IF(nd__storage_alloc(dev, size ? (uint64_t)size * nd_dtype_size(v->dtype) : 1, s));
    nd__c_strides(v->ndim, v->shape, stride);
    *packed = *v;
    packed->mem = (*s)->mem;
    packed->offset_bytes = (int64_t)(*s)->base;
    packed->stride = stride;
    packed->flags = NDP_VIEW_CONTIGUOUS;
    return copy_in ? nd__copy_views(dev, v, packed) : ND_OK;
}

bool nd__updates_in_place(const ndp_call *call)
{
    const nd_op_info *info = nd_op_get(call->op);
    if (info && info->op_class == ND_CLASS_MATMUL && call->params)
        return ((const ndp_matmul *)call->params)->beta != 0;
    return info && (info->op_class == ND_CLASS_SCATTER || info->op_class == ND_CLASS_COMPRESS ||
                    info->op_class == ND_CLASS_NONZERO);
}

/* Whether a kernel of a lower rank can serve the call once its operands are packed: dense views of
 * one shape are runs of elements. Kernels of other classes, and copies, which pack, take the rank
 * that they were looked up with. */
static bool may_be_flat(const ndp_call *call)
{
    const nd_op_info *info = nd_op_get(call->op);
    return info && (info->op_class == ND_CLASS_UNARY || info->op_class == ND_CLASS_BINARY ||
                    info->op_class == ND_CLASS_TERNARY);
}

static void flatten(ndp_view *v, const int64_t *size)
{
    static const int64_t one = 1;
    if (!v->mem)
        return;
    v->shape = size;
    v->stride = &one;
    v->ndim = 1;
}

static nd_status pack_and_run(nd_device *dev, const ndp_kernel *k, ndp_call *call)
{
    ndp_view v[6] = {{0}}, given[6];
    int64_t stride[6][ND_MAX_NDIM], size = size_of(&call->out[0]);
    nd_storage *storage[6] = {NULL};
    nd_status status = ND_OK;
    uint32_t n = call->n_in + call->n_out;
    ndp_call packed = *call;
    const bool flat = call->out[0].ndim > k->max_ndim;
    if (flat && !may_be_flat(call))
        return nd__fail(ND_ERR_PLUGIN, NULL, -1,
                        "the kernel takes rank %d at most, the call has %d", (int)k->max_ndim,
                        (int)call->out[0].ndim);
    for (uint32_t i = 0; i < n; i++) {
        const ndp_view *from = i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
        v[i] = *from;
        if (needs_packing(k, from))
            ND_GOTO_IF(done, pack(dev, from, i < call->n_in || nd__updates_in_place(call),
                                  &storage[i], &v[i], stride[i]));
    }
    memcpy(given, v, sizeof given);
    for (uint32_t i = 0; flat && i < n; i++)
        flatten(&given[i], &size);
    packed.in = given;
    packed.out = given + call->n_in;
    ND_GOTO_IF(done, run_kernel(dev, k, &packed));
    for (uint32_t i = call->n_in; i < n; i++)
        if (storage[i])
            ND_GOTO_IF(done, nd__copy_views(dev, &v[i], &call->out[i - call->n_in]));
done:
    for (uint32_t i = 0; i < n; i++)
        nd__storage_release(storage[i]);
    return status;
}

bool nd__has_kernel(nd_device *dev, const ndp_call *call)
{
    nd_kernel_node *node;
    return find_kernel(dev, call, &node) == ND_OK && node->kernel;
}

static nd_status fall_back(nd_device *dev, ndp_call *call, const char *why)
{
    bool derived;
    const nd_fallback_clock clock = nd__fallback_begin();
    ND_RETURN_IF(nd__derive(dev, call, &derived));
    if (!derived)
        return nd__stage(dev, call, why);
    nd__fallback_end(&clock, ND_FALLBACK_DERIVED, dev, nd_op_get(call->op)->name, call, why);
    return ND_OK;
}

static nd_status run_node(nd_device *dev, const nd_kernel_node *node, ndp_call *call)
{
    const ndp_kernel *k = node->kernel;
    if (!k)
        return fall_back(dev, call, node->why);
    if (k->needs == 0 && k->max_ndim >= ND_MAX_NDIM)
        return run_kernel(dev, k, call);
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++)
        if (needs_packing(k, i < call->n_in ? &call->in[i] : &call->out[i - call->n_in]))
            return pack_and_run(dev, k, call);
    return run_kernel(dev, k, call);
}

nd_status nd__run(nd_device *dev, ndp_call *call)
{
    nd_kernel_node *node;
    ND_RETURN_IF(find_kernel(dev, call, &node));
    return run_node(dev, node, call);
}

/* The last operand's dtype, with the op and the scalar's place, tells all of the key of a dense
 * call.
 */
static nd_status run_dense_call(nd_device *dev, ndp_call *call, int scalar)
{
    nd_kernel_node *node = NULL;
    nd_dtype dtype = call->in[call->n_in - 1].dtype;
    _Atomic(nd_kernel_node *) *slot =
        call->op < NDP_OP_END ? &dev->dense[call->op][dtype][scalar] : NULL;
    if (slot)
        node = atomic_load_explicit(slot, memory_order_acquire);
    if (!node) {
        ND_RETURN_IF(find_kernel(dev, call, &node));
        if (slot)
            atomic_store_explicit(slot, node, memory_order_release);
    }
    return run_node(dev, node, call);
}

nd_status nd__copy_views(nd_device *dev, const ndp_view *from, const ndp_view *to)
{
    int64_t shape[ND_MAX_NDIM], stride[2][ND_MAX_NDIM];
    ndp_view in = *from, out = *to;
    memcpy(shape, to->shape, (size_t)to->ndim * sizeof *shape);
    memcpy(stride[0], to->stride, (size_t)to->ndim * sizeof *shape);
    memcpy(stride[1], from->stride, (size_t)to->ndim * sizeof *shape);
    in.ndim = out.ndim = nd__coalesce(to->ndim, shape, 2, stride, false);
    in.shape = out.shape = shape;
    out.stride = stride[0];
    in.stride = stride[1];
    out.flags = nd__is_c_order(out.ndim, shape, stride[0]) ? NDP_VIEW_CONTIGUOUS : 0;
    in.flags = nd__is_c_order(in.ndim, shape, stride[1]) ? NDP_VIEW_CONTIGUOUS : 0;
    if (out.ndim && shape[0] == 0)
        return ND_OK;
    ndp_call call = {
        .size = sizeof call, .op = NDP_OP_copy, .n_in = 1, .n_out = 1, .in = &in, .out = &out};
    return nd__run(dev, &call);
}

nd_status nd__run_arrays(nd_op op, int n_in, const nd_array *const *in, int n_out,
                         nd_array *const *out, const void *params)
{
    ndp_view v[6];
    for (int i = 0; i < n_in; i++)
        v[i] = nd__view(in[i]);
    for (int i = 0; i < n_out; i++)
        v[n_in + i] = nd__view(out[i]);
    ndp_call call = {.size = sizeof call,
                     .op = op,
                     .n_in = (uint32_t)n_in,
                     .n_out = (uint32_t)n_out,
                     .in = v,
                     .out = v + n_in,
                     .params = params};
    return nd__run(out[0]->storage->device, &call);
}

static ndp_view flat_view(const nd_array *a)
{
    static const int64_t one = 1;
    return (ndp_view){
        .mem = a->storage->mem,
        .offset_bytes = nd__byte_offset(a),
        .shape = &a->size,
        .stride = &one,
        .dtype = a->dtype,
        .ndim = 1,
        .flags = NDP_VIEW_CONTIGUOUS,
    };
}

/* The operands of a call of flat views, which are so small that nothing may be added to making
 * them.
 */
static __attribute__((noinline)) void note_uses(const nd_array *const *in, int n,
                                                const nd_array *dst)
{
    nd__used(dst->storage);
    for (int i = 0; i < n; i++)
        nd__used(in[i]->storage);
}

nd_status nd__run_dense(nd_op op, const nd_array *const *in, int n, const nd_array *dst)
{
    ndp_view v[4];
    ndp_call call;
    if (dst->size == 0)
        return ND_OK;
    v[0] = flat_view(dst);
    for (int i = 0; i < n; i++)
        v[i + 1] = flat_view(in[i]);
    nd__set_call(&call, op, (uint32_t)n, v + 1, 1, v);
    if (dst->storage->device->async)
        note_uses(in, n, dst);
    return run_dense_call(dst->storage->device, &call, 0);
}

nd_status nd__run_dense_scalar(nd_op op, const nd_array *a, nd_scalar s, int place,
                               const nd_array *dst)
{
    ndp_view v[3];
    ndp_call call;
    ndp_scalar scalar;
    if (dst->size == 0)
        return ND_OK;
    ND_RETURN_IF(nd__scalar_to(nd_op_get(op)->name, s, a->dtype, place, &scalar));
    v[0] = flat_view(dst);
    v[2 - place] = flat_view(a);
    v[1 + place] = nd__scalar_view(&scalar, 0, 1, &dst->size);
    nd__set_call(&call, op, 2, v + 1, 1, v);
    call.n_scalar = 1;
    call.scalar = &scalar;
    if (dst->storage->device->async)
        note_uses(&a, 1, dst);
    return run_dense_call(dst->storage->device, &call, 1 + place);
}

nd_status nd__run_dense_fill(const ndp_scalar *value, const nd_array *dst)
{
    ndp_view v[2];
    ndp_call call;
    if (dst->size == 0)
        return ND_OK;
    v[0] = flat_view(dst);
    v[1] = nd__scalar_view(value, 0, 1, &dst->size);
    nd__set_call(&call, ND_OP_fill, 1, v + 1, 1, v);
    call.n_scalar = 1;
    call.scalar = value;
    if (dst->storage->device->async)
        note_uses(NULL, 0, dst);
    return run_dense_call(dst->storage->device, &call, 0);
}

nd_status nd__run_dense_reduce(nd_op op, const nd_array *a, const nd_array *dst)
{
    const ndp_reduce params = {.size = sizeof params, .n_reduced = 1};
    ndp_view in = flat_view(a), out = nd__view(dst);
    ndp_call call;
    nd__set_call(&call, op, 1, &in, 1, &out);
    call.params = &params;
    if (dst->storage->device->async)
        note_uses(&a, 1, dst);
    return run_dense_call(dst->storage->device, &call, 0);
}

static bool all_dense(const nd_arg *args, int n, const nd_array *dst)
{
    for (int i = 0; i < n; i++) {
        const nd_array *a = args[i].array;
        if (!a || !(a->flags & ND_FLAG_CONTIGUOUS) ||
            !nd__same_shape(a->ndim, a->shape, dst->ndim, dst->shape))
            return false;
    }
    return dst->flags & ND_FLAG_CONTIGUOUS;
}

nd_status nd__run_elementwise(nd_op op, nd_dtype compute, const nd_arg *args, int n,
                              const nd_array *dst)
{
    ndp_view v[4];
    ndp_scalar scalars[3];
    int64_t shape[ND_MAX_NDIM], stride[4][ND_MAX_NDIM];
    uint32_t n_scalar = 0;
    if (dst->size == 0)
        return ND_OK;
    const nd_op_form *form = nd__op_form(op, dst->storage->device);
    if (form)
        return nd__run_op_form(form, op, compute, args, n, dst);
    for (int i = 0; n == 2 && i < 2; i++)
        if (!args[i].array && all_dense(&args[1 - i], 1, dst))
            return nd__run_dense_scalar(op, args[1 - i].array, args[i].scalar, i, dst);
    if (all_dense(args, n, dst)) {
        const nd_array *in[3] = {args[0].array, n > 1 ? args[1].array : NULL,
                                 n > 2 ? args[2].array : NULL};
        return nd__run_dense(op, in, n, dst);
    }
    memcpy(shape, dst->shape, (size_t)dst->ndim * sizeof *shape);
    memcpy(stride[0], dst->stride, (size_t)dst->ndim * sizeof *shape);
    for (int i = 0; i < n; i++)
        if (args[i].array)
            nd__broadcast_strides(dst->ndim, shape, args[i].array->ndim, args[i].array->shape,
                                  args[i].array->stride, stride[i + 1]);
        else
            memset(stride[i + 1], 0, (size_t)dst->ndim * sizeof *shape);
    int rank = nd__coalesce(dst->ndim, shape, n + 1, stride, false);
    v[0] = nd__view(dst);
    for (int i = 0; i < n; i++) {
        if (args[i].array) {
            v[i + 1] = nd__view(args[i].array);
            continue;
        }
        nd_dtype dtype = op == ND_OP_where && i == 0 ? ND_BOOL : compute;
        ND_RETURN_IF(
            nd__scalar_to(nd_op_get(op)->name, args[i].scalar, dtype, i, &scalars[n_scalar]));
        v[i + 1] = nd__scalar_view(scalars, (int)n_scalar++, rank, shape);
    }
    for (int i = 0; i <= n; i++) {
        v[i].shape = shape;
        v[i].ndim = rank;
        if (!v[i].mem)
            continue;
        v[i].stride = stride[i];
        v[i].flags = nd__is_c_order(rank, shape, stride[i]) ? NDP_VIEW_CONTIGUOUS : 0;
    }
    ndp_call call;
    nd__set_call(&call, op, (uint32_t)n, v + 1, 1, v);
    call.n_scalar = n_scalar;
    call.scalar = scalars;
    return nd__run(dst->storage->device, &call);
}
