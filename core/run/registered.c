/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels of elementwise operations that programs register: their function for the CPU, called on
 * runs of the last dimension. */
#include <stdlib.h>
#include "core/run/run.h"

typedef struct {
    ndp_kernel kernel;
    nd_op_info info;
    nd_op_cpu_fn cpu;
    void *ctx;
} registered_op;

/* The operands of one call, the result first: where each lies and how far its elements are
 * apart. */
typedef struct {
    const ndp_view *view[4];
    char *base[4];
    int64_t step[4]; /* bytes from one element of the last dimension to the next */
    char scalar[4][16];
    int n;
} operands;

/* Host memory only: the caller made sure of that. */
static nd_status find_operands(const ndp_call *call, operands *of)
{
    nd_device *cpu;
    const int ndim = call->out[0].ndim;
    ND_RETURN_IF(nd__cpu_device(&cpu));
    of->n = 1 + (int)call->n_in;
    of->view[0] = &call->out[0];
    for (int i = 1; i < of->n; i++)
        of->view[i] = &call->in[i - 1];
    for (int i = 0; i < of->n; i++) {
        const ndp_view *v = of->view[i];
        void *host = of->scalar[i];
        if (!v->mem)
            nd__scalar_store(&call->scalar[v->offset_bytes], of->scalar[i]);
        else
            ND_RETURN_IF(cpu->map.map(cpu->dev, v->mem, &host));
        of->base[i] = (char *)host + (v->mem ? v->offset_bytes : 0);
        of->step[i] = ndim ? v->stride[ndim - 1] * (int64_t)nd_dtype_size(v->dtype) : 0;
    }
    return ND_OK;
}

static void place_operands(const operands *of, const int64_t *at, char **place)
{
    for (int i = 0; i < of->n; i++) {
        int64_t offset = 0;
        for (int d = 0; d + 1 < of->view[0]->ndim; d++)
            offset += at[d] * of->view[i]->stride[d];
        place[i] = of->base[i] + offset * (int64_t)nd_dtype_size(of->view[i]->dtype);
    }
}

/* The next line along the last dimension; false past the last one. */
static bool next_line(const ndp_view *v, int64_t *at)
{
    int d = v->ndim - 2;
    while (d >= 0 && ++at[d] == v->shape[d])
        at[d--] = 0;
    return d >= 0;
}

static int32_t run_registered(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    const registered_op *op = (const registered_op *)kernel;
    const ndp_view *out = &call->out[0];
    int64_t at[ND_MAX_NDIM] = {0};
    char *place[4];
    operands of;
    (void)stream;
    ND_RETURN_IF(find_operands(call, &of));
    do {
        place_operands(&of, at, place);
        op->cpu(op->ctx, of.view[of.n > 1]->dtype, out->ndim ? out->shape[out->ndim - 1] : 1, place,
                of.step);
    } while (next_line(out, at));
    return ND_OK;
}

nd_status nd__registered_add(const nd_op_info *info, nd_op_cpu_fn cpu, void *ctx)
{
    const nd_op op = nd__op_next();
    registered_op *r = op != ND_OP_NONE ? calloc(1, sizeof *r) : NULL;
    if (r) {
        r->info = *info;
        r->info.name = strdup(info->name);
        r->info.doc = strdup(info->doc ? info->doc : "");
    }
    if (!r || !r->info.name || !r->info.doc) {
        if (r) {
            free((char *)r->info.name);
            free((char *)r->info.doc);
        }
        free(r);
        return nd__fail(ND_ERR_MEMORY, "op_register", 0,
                        "no room for op \"%s\"; at most %d can be registered", info->name,
                        ND_OP_REGISTERED_MAX);
    }
    r->info.op = op;
    r->cpu = cpu;
    r->ctx = ctx;
    r->kernel =
        (ndp_kernel){.size = sizeof(ndp_kernel), .max_ndim = ND_MAX_NDIM, .run = run_registered};
    nd__op_add(&r->info);
    return ND_OK;
}

const ndp_kernel *nd__registered_kernel(nd_op op, const nd_device *device)
{
    const nd_op_info *info = device->is_cpu && op >= ND_OP_RUNTIME ? nd_op_get(op) : NULL;
    return info ? (const ndp_kernel *)((const char *)info - offsetof(registered_op, info)) : NULL;
}

uint64_t nd_device_op_dtypes(nd_device *device, nd_op op)
{
    ND_NEED_OR("device_op_dtypes", 0, device, 0);
    if (nd__registered_kernel(op, device) || nd__op_form(op, device))
        return nd_op_dtypes(op);
    return nd_op_get(op) && device->has_op ? device->op.dtypes(device->dev, op) : 0;
}
