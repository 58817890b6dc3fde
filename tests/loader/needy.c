/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in whose kernels, the CPU's, have any NDP_NEEDS_* and any highest rank, and see that the
 * core keeps to them; and whose device can be busy and slow. See needy.h. */
#include <stdlib.h>
#include "tests/asleep.h"
#include "tests/borrowed.h"
#include "tests/loader/needy.h"

static needy_state state = {.max_ndim = NDP_MAX_NDIM};

static void trace(const char *what)
{
    const char *path = getenv("NEEDY_TRACE");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f)
        return;
    fprintf(f, "%s\n", what);
    fclose(f);
}

__attribute__((constructor)) static void began(void)
{
    trace("loaded");
}

static int32_t needy_open(uint32_t index, ndp_dev **out)
{
    trace("opening");
    while (!others_sleep()) /* until every thread of a test has come and waits */
        continue;
    if (getenv("NEEDY_BUSY"))
        return host->error(host->ctx, NDP_ERR_DEVICE, 16, "device %u is busy", index);
    return borrowed_open(index, out);
}

typedef struct {
    ndp_kernel base;
    const ndp_kernel *inner;
} needy_kernel;

static int keeps(const ndp_kernel *k, const ndp_view *v)
{
    int64_t step = 1;
    int good = v->ndim <= k->max_ndim;
    for (int d = v->ndim - 1; d >= 0; d--) {
        const int long_one = v->shape[d] > 1;
        good &= !(long_one && (k->needs & NDP_NEEDS_NO_NEGATIVE) && v->stride[d] < 0);
        good &= !(long_one && (k->needs & NDP_NEEDS_NO_BROADCAST) && v->stride[d] == 0);
        good &= !(long_one && (k->needs & NDP_NEEDS_CONTIGUOUS) && v->stride[d] != step);
        step *= v->shape[d];
    }
    return good;
}

static int32_t run(const ndp_kernel *k, ndp_stream *s, const ndp_call *call)
{
    const ndp_kernel *inner = ((const needy_kernel *)k)->inner;
    atomic_fetch_add(&state.runs, 1);
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++) {
        const ndp_view *v = i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
        if (v->mem && !keeps(k, v))
            atomic_fetch_add(&state.broken, 1);
    }
    return inner->run(inner, s, call);
}

static uint64_t dtypes(ndp_dev *dev, int32_t op)
{
    return cpu_op->dtypes(dev, op);
}

/* Copies take any strides: packing itself is one. */
static int32_t find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why, size_t n)
{
    const ndp_kernel *inner;
    *out = NULL;
    int32_t status = cpu_op->find(dev, like, &inner, why, n);
    if (status != NDP_OK)
        return status;
    if (like->op == NDP_OP_copy || like->op == NDP_OP_fill) {
        *out = inner;
        return NDP_OK;
    }
    atomic_fetch_add(&state.finds, 1);
    while (atomic_load(&state.slow_find) && !others_sleep())
        continue;
    needy_kernel *k = host->alloc(host->ctx, sizeof *k, 16);
    if (!k)
        return host->error(host->ctx, NDP_ERR_MEMORY, 0, "no memory for a kernel");
    memset(k, 0, sizeof *k);
    k->base.size = sizeof k->base;
    k->base.needs = atomic_load(&state.needs);
    k->base.max_ndim = atomic_load(&state.max_ndim);
    k->base.scratch = inner->scratch;
    k->base.run = run;
    k->inner = inner;
    *out = &k->base;
    return NDP_OK;
}

static const ndp_op_1 op_group = {.size = sizeof(ndp_op_1), .dtypes = dtypes, .find = find};

static const void *group(ndp_dev *dev, const char *id)
{
    (void)dev;
    if (strcmp(id, NEEDY_GROUP) == 0)
        return &state;
    return strcmp(id, "ndp.op/1") == 0 ? &op_group : NULL;
}

NDP_PLUGIN_NOTE("needy", "1.0", -1, (UINT64_C(1) << NDP_DTYPE_END) - 2, "ndp.op/1")

static const ndp_plugin table = {
    .size = sizeof(ndp_plugin),
    .major = NDP_ABI_MAJOR,
    .minor = NDP_ABI_MINOR,
    .name = "needy",
    .version = "1.0",
    .vendor = "tests",
    .probe = borrowed_probe,
    .open = needy_open,
    BORROWED_SLOTS,
    .group = group,
};

NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *h)
{
    host = h;
    return &table;
}
