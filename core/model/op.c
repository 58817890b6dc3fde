/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The op table as data, and ops registered at run time. */
#include <stdlib.h>
#include "core/core.h"
#include "core/lib/fork.h"

enum {
#define ND_OP_DOMAIN(NAME, kinds) DOMAIN_##NAME = (kinds),
#include <ndock/opdomain.def>
};
#define ULP(half, single, dbl, complex_) \
    {                                    \
        half, single, dbl, complex_      \
    }

const nd_op_info nd__ops[ND_OP_END] = {
#define ND_OP(op_name, CLASS, DOMAIN, RESULT, ulps, text) \
    [ND_OP_##op_name] = {.op = ND_OP_##op_name,           \
                         .op_class = ND_CLASS_##CLASS,    \
                         .domain = DOMAIN_##DOMAIN,       \
                         .result = ND_RESULT_##RESULT,    \
                         .ulp = ulps,                     \
                         .name = #op_name,                \
                         .doc = text},
#include <ndock/op.def>
};

/* Ops registered at run time: never removed, so readers need no lock once they see the count. */
#define RUNTIME_MAX 4096
typedef struct {
    ndp_kernel kernel;
    nd_op_info info;
    nd_op_cpu_fn cpu;
    void *ctx;
} runtime_op;
static runtime_op *runtime_ops[RUNTIME_MAX];
static atomic_int runtime_count;
static pthread_mutex_t runtime_lock = PTHREAD_MUTEX_INITIALIZER;

static const runtime_op *runtime_get(nd_op op)
{
    int count = atomic_load_explicit(&runtime_count, memory_order_acquire);
    return op >= ND_OP_RUNTIME && op - ND_OP_RUNTIME < count ? runtime_ops[op - ND_OP_RUNTIME]
                                                             : NULL;
}

const nd_op_info *nd_op_get(nd_op op)
{
    if (op > ND_OP_NONE && op < ND_OP_END)
        return &nd__ops[op];
    const runtime_op *r = runtime_get(op);
    return r ? &r->info : NULL;
}

nd_op nd_op_find(const char *name)
{
    for (nd_op op = 1; name && op < ND_OP_END; op++)
        if (strcmp(nd__ops[op].name, name) == 0)
            return op;
    for (nd_op op = ND_OP_RUNTIME; name && runtime_get(op); op++)
        if (strcmp(runtime_get(op)->info.name, name) == 0)
            return op;
    return ND_OP_NONE;
}

uint64_t nd_op_dtypes(nd_op op)
{
    const nd_op_info *info = nd_op_get(op);
    uint64_t mask = 0;
    for (nd_dtype d = 1; info && d < ND_DTYPE_END; d++)
        if (nd__kind(d) & info->domain)
            mask |= (uint64_t)1 << d;
    return mask;
}

/* Calls the program's function on runs of the last dimension. Host memory only: the caller made
 * sure of that. */
static int32_t run_registered(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    const runtime_op *op = (const runtime_op *)kernel;
    const ndp_view *v[4] = {&call->out[0]};
    nd_device *cpu;
    char *base[4], *p[4];
    char scalars[4][16];
    int64_t step[4], at[ND_MAX_NDIM] = {0};
    int n = 1 + (int)call->n_in, ndim = call->out[0].ndim;
    (void)stream;
    ND_RETURN_IF(nd__cpu_device(&cpu));
    for (int i = 1; i < n; i++)
        v[i] = &call->in[i - 1];
    for (int i = 0; i < n; i++) {
        void *host = scalars[i];
        if (!v[i]->mem)
            nd__scalar_store(&call->scalar[v[i]->offset_bytes], scalars[i]);
        else
            ND_RETURN_IF(cpu->map.map(cpu->dev, v[i]->mem, &host));
        base[i] = (char *)host + (v[i]->mem ? v[i]->offset_bytes : 0);
        step[i] = ndim ? v[i]->stride[ndim - 1] * (int64_t)nd_dtype_size(v[i]->dtype) : 0;
    }
    for (;;) {
        for (int i = 0; i < n; i++) {
            int64_t offset = 0;
            for (int d = 0; d + 1 < ndim; d++)
                offset += at[d] * v[i]->stride[d];
            p[i] = base[i] + offset * (int64_t)nd_dtype_size(v[i]->dtype);
        }
        op->cpu(op->ctx, n > 1 ? v[1]->dtype : v[0]->dtype, ndim ? v[0]->shape[ndim - 1] : 1, p,
                step);
        int d = ndim - 2;
        while (d >= 0 && ++at[d] == v[0]->shape[d])
            at[d--] = 0;
        if (d < 0)
            return ND_OK;
    }
}

static nd_status check_info(const nd_op_info *info, nd_op_cpu_fn cpu, nd_op *out)
{
    ND_NEED("op_register", 0, info);
    ND_NEED("op_register", 1, cpu);
    ND_NEED("op_register", 3, out);
    if (!info->name || !info->name[0])
        return nd__fail(ND_ERR_ARGUMENT, "op_register", 0, "an op needs a name");
    if (info->op_class != ND_CLASS_UNARY && info->op_class != ND_CLASS_BINARY &&
        info->op_class != ND_CLASS_TERNARY)
        return nd__fail(ND_ERR_ARGUMENT, "op_register", 0,
                        "op \"%s\" has class %d; run-time ops are UNARY, BINARY or TERNARY",
                        info->name, (int)info->op_class);
    if (info->result < ND_RESULT_SAME || info->result > ND_RESULT_SUM || !(info->domain & 31))
        return nd__fail(ND_ERR_ARGUMENT, "op_register", 0,
                        "op \"%s\" has no domain, or the unknown result rule %d", info->name,
                        (int)info->result);
    return ND_OK;
}

void nd__fork_ops(nd_fork now)
{
    nd__fork_mutex(&runtime_lock, now);
}

nd_status nd_op_register(const nd_op_info *info, nd_op_cpu_fn cpu, void *ctx, nd_op *out)
{
    nd_status status = ND_OK;
    runtime_op *r = NULL;
    ND_RETURN_IF(check_info(info, cpu, out));
    *out = ND_OP_NONE;
    pthread_mutex_lock(&runtime_lock);
    int i = atomic_load(&runtime_count);
    if (nd_op_find(info->name) != ND_OP_NONE || nd_custom_find(info->name))
        ND_GOTO_IF(done, nd__fail(ND_ERR_ARGUMENT, "op_register", 0,
                                  "there is an op named \"%s\" already", info->name));
    if (i < RUNTIME_MAX)
        r = calloc(1, sizeof *r);
    if (r) {
        r->info = *info;
        r->info.name = strdup(info->name);
        r->info.doc = strdup(info->doc ? info->doc : "");
    }
    if (!r || !r->info.name || !r->info.doc)
        ND_GOTO_IF(done, nd__fail(ND_ERR_MEMORY, "op_register", 0,
                                  "no room for op \"%s\"; at most %d can be registered", info->name,
                                  RUNTIME_MAX));
    r->info.op = ND_OP_RUNTIME + i;
    r->cpu = cpu;
    r->ctx = ctx;
    r->kernel =
        (ndp_kernel){.size = sizeof(ndp_kernel), .max_ndim = ND_MAX_NDIM, .run = run_registered};
    runtime_ops[i] = r;
    atomic_store_explicit(&runtime_count, i + 1, memory_order_release);
    *out = r->info.op;
    r = NULL;
done:
    pthread_mutex_unlock(&runtime_lock);
    if (r) {
        free((char *)r->info.name);
        free((char *)r->info.doc);
        free(r);
    }
    return status;
}

const ndp_kernel *nd__runtime_kernel(nd_op op, nd_device *device)
{
    const runtime_op *r = device->is_cpu ? runtime_get(op) : NULL;
    return r ? &r->kernel : NULL;
}
