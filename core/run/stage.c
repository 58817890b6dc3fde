/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The fallback ladder's last rung: what a device cannot do, the CPU plug-in does on copies of the
 * bytes the operands reach. Nothing is silent: fallback.c keeps accounts, each (op, device) is
 * logged once, and NDOCK_FALLBACK=error refuses instead. */
#include <stdio.h>
#include <stdlib.h>
#include "core/run/run.h"
#include "core/run/fallback.h"
#include "core/base/env.h"

static atomic_int policy = -1; /* -1: not read from the environment yet */

nd_status nd_fallback_set(int32_t value)
{
    if (value < ND_FALLBACK_ALLOW || value > ND_FALLBACK_ERROR)
        return nd__fail(ND_ERR_ARGUMENT, "fallback_set", 0,
                        "%d is not a policy; ND_FALLBACK_ALLOW, _WARN and _ERROR are 0 to 2",
                        (int)value);
    atomic_store(&policy, value);
    return ND_OK;
}

int32_t nd__fallback_policy(void)
{
    int now = atomic_load_explicit(&policy, memory_order_relaxed);
    if (now >= 0)
        return now;
    now = nd__env_choice(ND_ENV_FALLBACK); /* its words are in the order of ND_FALLBACK_* */
    atomic_store(&policy, now);
    return now;
}

static pthread_mutex_t note_lock = PTHREAD_MUTEX_INITIALIZER;

void nd__fork_stage(nd_fork now)
{
    nd__fork_mutex(&note_lock, now);
}

/* With the first such line of a device: what it costs, and what to do. */
#define ADVICE                                                                                     \
    "; each such call copies its operands to the host and back, and waits. For what it costs run " \
    "the program with NDOCK_FALLBACK_REPORT=FILE, then `ndock info --suggest FILE`; "              \
    "NDOCK_FALLBACK=error refuses it, NDOCK_FALLBACK=allow ends these lines"

/* One log line per op and device. */
static void note_once(nd_device *dev, const char *name, const char *why)
{
    typedef struct seen {
        struct seen *next;
        nd_device *dev;
        const char *name;
    } seen;
    static seen *all;
    pthread_mutex_lock(&note_lock);
    seen *s = all;
    while (s && (s->dev != dev || s->name != name))
        s = s->next;
    bool first = s == NULL, first_of_device = first;
    for (const seen *other = all; other; other = other->next)
        first_of_device = first_of_device && other->dev != dev;
    if (first && (s = malloc(sizeof *s)) != NULL) {
        *s = (seen){all, dev, name};
        all = s;
    }
    pthread_mutex_unlock(&note_lock);
    int32_t level = nd__fallback_policy() == ND_FALLBACK_WARN ? ND_LOG_WARN : ND_LOG_DEBUG;
    if (first)
        nd__log(level, "%s is staged through the CPU on %s: %s%s", name, dev->name, why,
                first_of_device ? ADVICE : "");
}

typedef struct {
    nd_storage *host; /* CPU storage with the bytes the view reaches */
    int64_t first, nbytes;
} mirror;

/* The bytes that a view reaches, copied into CPU memory; the view is rebased onto them, strides
 * unchanged. */
static nd_status mirror_view(nd_device *dev, nd_device *cpu, const ndp_view *v, bool read,
                             mirror *m, ndp_view *out)
{
    int64_t low, high, n = (int64_t)nd_dtype_size(v->dtype);
    if (!nd__extent(v->ndim, v->shape, v->stride, &low, &high))
        return nd__fail(ND_ERR_OVERFLOW, NULL, -1, "a view reaches beyond 2^63 elements");
    m->first = v->offset_bytes + low * n;
    m->nbytes = (high - low) * n;
    ND_RETURN_IF(nd__storage_alloc(cpu, m->nbytes ? (uint64_t)m->nbytes : 1, &m->host));
    *out = *v;
    out->mem = m->host->mem;
    out->offset_bytes = (int64_t)m->host->base - low * n;
    if (!read || m->nbytes == 0)
        return ND_OK;
    nd__count_staged_bytes((uint64_t)m->nbytes);
    return nd__read(dev, "staging", ND_WAIT_STAGING, v->mem, (uint64_t)m->first, m->host->host,
                    (uint64_t)m->nbytes);
}

static nd_status run_on_mirrors(nd_device *dev, nd_device *cpu, ndp_call *call)
{
    ndp_view v[ND_CALL_OPERANDS];
    mirror m[ND_CALL_OPERANDS] = {{0}};
    ndp_call staged = *call;
    nd_status status = ND_OK;
    uint32_t n = call->n_in + call->n_out;
    for (uint32_t i = 0; i < n; i++) {
        const ndp_view *from = i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
        v[i] = *from;
        /* Outputs are read too unless dense: what lies between their elements must come back
         * unchanged, and some ops update in place. */
        bool read =
            i < call->n_in || !(from->flags & NDP_VIEW_CONTIGUOUS) || nd__updates_in_place(call);
        if (from->mem)
            ND_GOTO_IF(done, mirror_view(dev, cpu, from, read, &m[i], &v[i]));
    }
    staged.in = v;
    staged.out = v + call->n_in;
    staged.scratch = staged.status = (ndp_view){0};
    ND_GOTO_IF(done, nd__run(cpu, &staged));
    for (uint32_t i = call->n_in; i < n; i++) {
        if (m[i].nbytes == 0)
            continue;
        nd__count_staged_bytes((uint64_t)m[i].nbytes);
        ND_GOTO_IF(done, nd__write(dev, "staging", ND_WAIT_STAGING, call->out[i - call->n_in].mem,
                                   (uint64_t)m[i].first, m[i].host->host, (uint64_t)m[i].nbytes));
    }
done:
    for (uint32_t i = 0; i < n; i++)
        nd__storage_release(m[i].host);
    return status;
}

/* The dtype that names the call; of a conversion both, as " for f32 into f64". */
static const char *dtypes_text(const ndp_call *call, char *buf, size_t n)
{
    nd_dtype dtype = call->n_in ? call->in[0].dtype : call->out[0].dtype;
    bool converts = call->op == ND_OP_copy && dtype != call->out[0].dtype;
    snprintf(buf, n, " for %s%s%s", nd_dtype_name(dtype), converts ? " into " : "",
             converts ? nd_dtype_name(call->out[0].dtype) : "");
    return buf;
}

nd_status nd__may_stage(nd_device *dev, const char *name, const ndp_call *call, const char *why)
{
    char dtypes[32] = "";
    if (!dev->is_cpu && nd__fallback_policy() != ND_FALLBACK_ERROR) {
        note_once(dev, name, why);
        nd__count_staged();
        return ND_OK;
    }
    nd__fail(ND_ERR_UNSUPPORTED, name, -1, "%s does not support it%s (%s)%s", dev->name,
             call ? dtypes_text(call, dtypes, sizeof dtypes) : dtypes, why,
             dev->is_cpu ? "" : ", and NDOCK_FALLBACK=error forbids staging through the CPU");
    nd__error_context(NULL, dev->name, dev->slot->name);
    return ND_ERR_UNSUPPORTED;
}

nd_status nd__stage(nd_device *dev, ndp_call *call, const char *why)
{
    nd_device *cpu = NULL;
    const char *name = nd_op_get(call->op)->name;
    const nd_fallback_clock clock = nd__fallback_begin();
    if (!dev->is_cpu && nd__fallback_policy() != ND_FALLBACK_ERROR)
        ND_RETURN_IF(nd__cpu_device(&cpu)); /* or it is not counted */
    ND_RETURN_IF(nd__may_stage(dev, name, call, why));
    nd_status status = run_on_mirrors(dev, cpu, call);
    nd__fallback_end(&clock, ND_FALLBACK_STAGED, dev, name, call, why);
    if (status != ND_OK)
        nd__error_context(name, dev->name, dev->slot->name);
    return status;
}
