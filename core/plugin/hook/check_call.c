/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the core promises of a call record: views within their blocks, flags that are true, operands
 * as the kernel wants them; and that a kernel which refuses has written nothing. */
#include "core/plugin/hook/check.h"

typedef struct {
    hook_call *c;
    const ndp_kernel *kernel; /* NULL: it is being looked for */
    const char *role;         /* "in", "out", "scratch", "status" */
    uint32_t i;
} operand;

static bool broken(const operand *o, const char *rule, const char *what)
{
    return nd__hook_violated(o->c, rule, "%s[%u] %s", o->role, o->i, what);
}

static bool scalar_broken(const operand *o, const ndp_view *v, const ndp_call *call)
{
    if (strcmp(o->role, "in") != 0)
        return broken(o, "operands", "has no memory");
    if (v->offset_bytes < 0 || v->offset_bytes >= (int64_t)call->n_scalar || !call->scalar)
        return broken(o, "operands", "is a scalar that the call does not have");
    if (call->scalar[v->offset_bytes].dtype != v->dtype)
        return broken(o, "operands", "is a scalar of another dtype");
    for (int d = 0; d < v->ndim; d++)
        if (v->stride[d])
            return broken(o, "operands", "is a scalar with a stride");
    return false;
}

static bool bounds_broken(const operand *o, const ndp_view *v)
{
    int64_t low, high, item = nd__itemsize(v->dtype);
    nd__hook_lock();
    hook_object *b = nd__hook_object_get(o->c->of, 'm', v->mem);
    hook_object seen = b ? *b : (hook_object){0};
    bool ended = !b && nd__hook_object_ended(o->c->of, 'm', v->mem);
    nd__hook_unlock();
    if (!b)
        return broken(o, "handles",
                      ended ? "lies in a block that was freed"
                            : "lies in a block that this plug-in did not give");
    if (o->c->dev && seen.dev != o->c->dev->dev)
        return broken(o, "handles", "lies in a block of another device");
    if (!seen.given)
        return false;
    if (!nd__extent(v->ndim, v->shape, v->stride, &low, &high) ||
        __builtin_mul_overflow(low, item, &low) || __builtin_mul_overflow(high, item, &high) ||
        __builtin_add_overflow(low, v->offset_bytes, &low) ||
        __builtin_add_overflow(high, v->offset_bytes, &high))
        return broken(o, "bounds", "reaches beyond 2^63 bytes");
    if (low < 0 || (uint64_t)high > seen.nbytes)
        return broken(o, "bounds", "reaches out of its block");
    if (v->dtype == ND_C64 || v->dtype == ND_C128)
        item /= 2; /* pairs are aligned as their parts are */
    return v->offset_bytes % item != 0 &&
           broken(o, "bounds", "begins where an element of its dtype may not lie");
}

static bool needs_broken(const operand *o, const ndp_view *v)
{
    const ndp_kernel *k = o->kernel;
    if (!k || strcmp(o->role, "status") == 0)
        return false;
    if (v->ndim > k->max_ndim)
        return broken(o, "needs", "has more dimensions than the kernel takes");
    if ((k->needs & NDP_NEEDS_CONTIGUOUS) && !nd__is_c_order(v->ndim, v->shape, v->stride))
        return broken(o, "needs", "is not dense, which the kernel needs");
    for (int d = 0; d < v->ndim; d++) {
        if (v->shape[d] > 1 && (k->needs & NDP_NEEDS_NO_NEGATIVE) && v->stride[d] < 0)
            return broken(o, "needs", "has a negative stride, which the kernel cannot");
        if (v->shape[d] > 1 && (k->needs & NDP_NEEDS_NO_BROADCAST) && v->stride[d] == 0)
            return broken(o, "needs", "has a zero stride, which the kernel cannot");
    }
    return false;
}

static bool view_broken(const operand *o, const ndp_view *v, const ndp_call *call)
{
    if (v->dtype <= 0 || v->dtype >= NDP_DTYPE_END)
        return broken(o, "operands", "has no dtype");
    if (v->ndim < 0 || v->ndim > NDP_MAX_NDIM || (v->ndim && (!v->shape || !v->stride)))
        return broken(o, "operands", "has no sensible rank, shape and strides");
    for (int d = 0; d < v->ndim; d++) {
        if (v->shape[d] < 0)
            return broken(o, "operands", "has a negative extent");
        if (strcmp(o->role, "out") == 0 && v->shape[d] > 1 && v->stride[d] == 0)
            return broken(o, "operands", "overlaps itself");
    }
    if (!v->mem)
        return scalar_broken(o, v, call);
    if ((v->flags & NDP_VIEW_CONTIGUOUS) && !nd__is_c_order(v->ndim, v->shape, v->stride))
        return broken(o, "contiguous", "says that it is dense, and is not");
    return bounds_broken(o, v) || needs_broken(o, v);
}

static bool scratch_broken(hook_call *c, const ndp_kernel *k, const ndp_call *call)
{
    uint64_t want = k->scratch ? k->scratch(k, call) : 0;
    const ndp_view *s = &call->scratch;
    uint64_t have = s->mem && s->ndim == 1 ? (uint64_t)s->shape[0] : 0;
    return want > have &&
           nd__hook_violated(c, "scratch", "the kernel asked for %llu bytes and gets %llu",
                             (unsigned long long)want, (unsigned long long)have);
}

bool nd__hook_check_call(hook_call *c, const ndp_call *call)
{
    bool runs = c->id == HOOK_SLOT_kernel_run;
    const ndp_kernel *k = runs ? (const ndp_kernel *)(uintptr_t)c->word[0] : NULL;
    if (call->size < NDP_END(ndp_call, status))
        return nd__hook_violated(c, "size", "a call record of %u bytes", call->size);
    for (uint32_t i = 0; i < call->n_in; i++)
        if (view_broken(&(operand){c, k, "in", i}, &call->in[i], call))
            return true;
    for (uint32_t i = 0; i < call->n_out; i++)
        if (view_broken(&(operand){c, k, "out", i}, &call->out[i], call))
            return true;
    if (call->scratch.mem && view_broken(&(operand){c, NULL, "scratch", 0}, &call->scratch, call))
        return true;
    if (call->status.mem && view_broken(&(operand){c, NULL, "status", 0}, &call->status, call))
        return true;
    return runs && scratch_broken(c, k, call);
}

/* ---- what a kernel that refuses may not touch ---- */
enum { SMALL = 4096 };

/* Only where memory is the host's own and no other thread writes it: the output itself. */
static uint64_t sum_output(const hook_call *c, const ndp_view *v, bool *can)
{
    const ndp_map_1 *map = &c->dev->group[HOOK_TABLE_map].real.map;
    int64_t low, high, item = nd__itemsize(v->dtype);
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    void *host = NULL;
    *can = v->mem && map->map && map->map(c->dev->dev, v->mem, &host) == NDP_OK && host &&
           nd__extent(v->ndim, v->shape, v->stride, &low, &high) && (high - low) * item <= SMALL &&
           nd__is_c_order(v->ndim, v->shape, v->stride);
    for (int64_t b = *can ? low * item : 0; *can && b < high * item; b++)
        h = (h ^ ((const unsigned char *)host)[v->offset_bytes + b]) * UINT64_C(0x100000001b3);
    return h;
}

void nd__hook_check_outputs(hook_call *c, const ndp_call *call, bool before)
{
    bool refused = (int32_t)c->result == NDP_ERR_UNSUPPORTED || (int32_t)c->result == NDP_ERR_INDEX;
    uint32_t wants = NDP_DEV_HOST_VISIBLE;
    uint64_t sum = 0;
    if (!c->dev || (c->dev->info.flags & (NDP_DEV_HOST_VISIBLE | NDP_DEV_ASYNC)) != wants ||
        (!before && (!c->has_seen || !refused)))
        return;
    c->has_seen = call->n_out > 0;
    for (uint32_t i = 0; i < call->n_out; i++) {
        bool can;
        sum = sum * 31 + sum_output(c, &call->out[i], &can);
        c->has_seen &= can;
    }
    if (before)
        c->seen = sum;
    else if (c->has_seen && sum != c->seen)
        (void)nd__hook_violated(c, "untouched", "it said %s and had written to its output",
                                nd_status_name((int32_t)c->result));
}
