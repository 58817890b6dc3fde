/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A checked call on its device: by the kernel that the device has for it, through the stream's
 * queue where the device has streams, or down the fallback ladder. */
#include <stdlib.h>
#include "core/run/dispatch.h"
#include "core/run/fallback.h"
#include "core/run/workspace.h"

/* A stream's status word and the memory it lies in. */
typedef struct {
    nd_status_word word;
    nd_storage *storage;
} stored_word;

static void release_word(nd_status_word *word)
{
    nd__storage_release(((stored_word *)word)->storage);
    free(word);
}

static nd_status make_word(nd_stream *s, const char *op, nd_status_word **out)
{
    static const int64_t none[5];
    stored_word *made = malloc(sizeof *made);
    if (!made)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no host memory for a status word");
    nd_status status = nd__storage_alloc(s->device, sizeof none, &made->storage);
    if (status != ND_OK) {
        free(made);
        return status;
    }
    made->word = (nd_status_word){made->storage->mem, made->storage->base, release_word};
    status = nd__write(s->device, op, ND_WAIT_FIRST_USE, made->word.mem, made->word.offset_bytes,
                       none, sizeof none);
    if (status == ND_OK)
        *out = &made->word;
    else
        release_word(&made->word);
    return status;
}

/* The stream's status word, made once, whoever of several threads comes first. */
static nd_status status_word(nd_stream *s, const char *op, nd_status_word **out)
{
    nd_status_word *made = NULL, *first = NULL;
    *out = atomic_load_explicit(&s->status, memory_order_acquire);
    if (*out)
        return ND_OK;
    ND_RETURN_IF(make_word(s, op, &made));
    *out = made;
    if (!atomic_compare_exchange_strong(&s->status, &first, made)) {
        release_word(made);
        *out = first;
    }
    return ND_OK;
}

/* The classes whose kernels may find out on the device that they cannot do what they were asked. */
#define BIT(CLASS) (UINT64_C(1) << ND_CLASS_##CLASS)
static const uint64_t report_later = BIT(TAKE) | BIT(GATHER) | BIT(SCATTER) | BIT(FACTOR) |
                                     BIT(SOLVE) | BIT(EIGEN) | BIT(SVD) | BIT(ENTROPY);
#undef BIT

/* Where an operation on the device leaves a bad index or matrix, since its caller will be gone by
 * then. */
static nd_status lend_status_word(nd_stream *s, ndp_call *call)
{
    static const int64_t five = 5, one = 1;
    const nd_op_info *info = nd_op_get(call->op);
    nd_status_word *word;
    if (!info || !(UINT64_C(1) << info->op_class & report_later))
        return ND_OK;
    ND_RETURN_IF(status_word(s, info->name, &word));
    call->status = (ndp_view){.mem = word->mem,
                              .offset_bytes = (int64_t)word->offset_bytes,
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
    const char *name = info ? info->name : "expression";
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

/* On a device that captures streams itself the call is queued as ever, and noted; on others it does
 * not run now. */
static nd_status capture_kernel(nd_tape *t, const ndp_kernel *k, ndp_call *call)
{
    nd_stream *s = nd__stream_current(t->device);
    nd_node *node;
    uint64_t first = nd__tape_native_nodes(t, s);
    if (t->native) {
        nd_status status = queue_kernel(s, k, call);
        if (status == ND_ERR_CAPTURE && !t->offence)
            t->offence = nd_op_get(call->op) ? nd_op_get(call->op)->name : "an operation";
        ND_RETURN_IF(status);
    } else if (t->device->async)
        ND_RETURN_IF(lend_status_word(s, call));
    ND_RETURN_IF(nd__tape_kernel(t, s, k, call, &node));
    node->first = first;
    node->count = nd__tape_native_nodes(t, s) - first;
    return ND_OK;
}

static __attribute__((noinline)) nd_status named(nd_device *dev, const ndp_call *call,
                                                 nd_status status)
{
    const nd_op_info *info = nd_op_get(call->op);
    nd__error_context(info ? info->name : NULL, dev->name, dev->slot->name);
    return status;
}

/* On a device that queues nothing, and notes nothing now. */
static nd_status run_now(nd_device *dev, const ndp_kernel *k, ndp_call *call)
{
    nd_status status = nd__usable(dev, NULL);
    if (status == ND_OK)
        status = k->run(k, NULL, call);
    return status == ND_OK ? status : named(dev, call, status);
}

static nd_status run_noted(nd_device *dev, const ndp_kernel *k, ndp_call *call)
{
    nd_stream *s = nd__stream(dev);
    nd_tape *tape = nd__captures_now() ? nd__tape_here(dev) : NULL;
    if (s && !tape)
        return queue_kernel(s, k, call);
    if (!tape)
        return run_now(dev, k, call);
    nd_status status = nd__usable(dev, NULL);
    if (status == ND_OK)
        status = capture_kernel(tape, k, call);
    return status == ND_OK ? status : named(dev, call, status);
}

/* In scratch memory that is *scratch, or made if there is none yet. */
static nd_status run_with(nd_device *dev, const ndp_kernel *k, ndp_call *call, nd_storage **scratch)
{
    const int64_t nbytes = (int64_t)k->scratch(k, call);
    static const int64_t one = 1;
    if (nbytes > 0) {
        if (!*scratch)
            ND_RETURN_IF(nd__storage_alloc(dev, (uint64_t)nbytes, scratch));
        call->scratch = (ndp_view){.mem = (*scratch)->mem,
                                   .offset_bytes = (int64_t)(*scratch)->base,
                                   .shape = &nbytes,
                                   .stride = &one,
                                   .dtype = ND_U8,
                                   .ndim = 1,
                                   .flags = NDP_VIEW_CONTIGUOUS};
    }
    return nd__is_noted(dev) ? run_noted(dev, k, call) : run_now(dev, k, call);
}

static nd_status run_with_scratch(nd_device *dev, const ndp_kernel *k, ndp_call *call)
{
    nd_storage *scratch = NULL;
    const nd_status status = run_with(dev, k, call, &scratch);
    nd__storage_release(scratch);
    return status;
}

nd_status nd__run_kernel(nd_device *dev, const ndp_kernel *k, ndp_call *call)
{
    return k->scratch          ? run_with_scratch(dev, k, call)
           : nd__is_noted(dev) ? run_noted(dev, k, call)
                               : run_now(dev, k, call);
}

bool nd__updates_in_place(const ndp_call *call)
{
    const nd_op_info *info = nd_op_get(call->op);
    if (info && info->op_class == ND_CLASS_MATMUL && call->params)
        return ((const ndp_matmul *)call->params)->beta != 0;
    return info && (info->op_class == ND_CLASS_SCATTER || info->op_class == ND_CLASS_COMPRESS ||
                    info->op_class == ND_CLASS_NONZERO);
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

static bool packs(const ndp_kernel *k, const ndp_call *call)
{
    if (k->needs == 0 && k->max_ndim >= ND_MAX_NDIM)
        return false;
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++)
        if (nd__needs_packing(k, i < call->n_in ? &call->in[i] : &call->out[i - call->n_in]))
            return true;
    return false;
}

static nd_status run_node(nd_device *dev, const nd_kernel_node *node, ndp_call *call)
{
    const ndp_kernel *k = node->kernel;
    if (!k)
        return fall_back(dev, call, node->why);
    return packs(k, call) ? nd__pack_and_run(dev, k, call) : nd__run_kernel(dev, k, call);
}

nd_status nd__run(nd_device *dev, ndp_call *call)
{
    nd_kernel_node *node;
    ND_RETURN_IF(nd__find_kernel(dev, call, &node));
    return run_node(dev, node, call);
}

nd_status nd__run_to_count(nd_device *dev, ndp_call *call, nd_counted *counted)
{
    nd_kernel_node *node;
    *counted = (nd_counted){NULL, NULL, 0};
    ND_RETURN_IF(nd__find_kernel(dev, call, &node));
    const ndp_kernel *k = node->kernel;
    if (!k || !(k->flags & NDP_KERNEL_KEEPS_COUNTS) || !k->scratch || packs(k, call))
        return ND_OK;
    *counted = (nd_counted){k, NULL, k->scratch(k, call)};
    return run_with(dev, k, call, &counted->scratch);
}

nd_status nd__run_counted(nd_device *dev, ndp_call *call, nd_counted *counted)
{
    static const ndp_select params = {.size = sizeof params, .counted = 1};
    nd_kernel_node *node;
    ND_RETURN_IF(nd__find_kernel(dev, call, &node));
    const ndp_kernel *k = counted->kernel;
    if (!counted->scratch || node->kernel != k || packs(k, call) ||
        k->scratch(k, call) != counted->nbytes)
        return run_node(dev, node, call);
    call->params = &params;
    return run_with(dev, k, call, &counted->scratch);
}

/* The first call of its form. */
static __attribute__((noinline)) nd_status find_and_run(nd_device *dev, ndp_call *call,
                                                        _Atomic(nd_kernel_node *) *slot)
{
    nd_kernel_node *node = NULL;
    ND_RETURN_IF(nd__find_kernel(dev, call, &node));
    if (slot)
        atomic_store_explicit(slot, node, memory_order_release);
    return run_node(dev, node, call);
}

/* The last operand's dtype, with the op and the scalar's place, tells all of the key of a dense
 * call. */
static nd_status run_dense_call(nd_device *dev, ndp_call *call, int scalar)
{
    nd_dtype dtype = call->in[call->n_in - 1].dtype;
    _Atomic(nd_kernel_node *) *slot =
        call->op < NDP_OP_END ? &dev->dense[call->op][dtype][scalar] : NULL;
    const nd_kernel_node *node = slot ? atomic_load_explicit(slot, memory_order_acquire) : NULL;
    return node ? run_node(dev, node, call) : find_and_run(dev, call, slot);
}

/* ---- calls of flat views ---- */
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
 * them. */
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
    if (nd__is_noted(dst->storage->device))
        note_uses(in, n, dst);
    return run_dense_call(dst->storage->device, &call, 0);
}

nd_status nd__run_dense_scalar(nd_op op, const nd_array *a, nd_scalar s, int place,
                               const nd_array *dst)
{
    ndp_view v[3];
    ndp_call call;
    ndp_scalar scalar;
    ND_RETURN_IF(nd__scalar_to(nd_op_get(op)->name, s, a->dtype, place, &scalar));
    if (dst->size == 0)
        return ND_OK;
    v[0] = flat_view(dst);
    v[2 - place] = flat_view(a);
    v[1 + place] = nd__scalar_view(&scalar, 0, 1, &dst->size);
    nd__set_call(&call, op, 2, v + 1, 1, v);
    call.n_scalar = 1;
    call.scalar = &scalar;
    if (nd__is_noted(dst->storage->device))
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
    if (nd__is_noted(dst->storage->device))
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
    if (nd__is_noted(dst->storage->device))
        note_uses(&a, 1, dst);
    return run_dense_call(dst->storage->device, &call, 0);
}
