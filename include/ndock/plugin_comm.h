/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * For plug-ins whose communicators meet in host memory: what the ranks brought is reduced by
 * operations of the CPU plug-in, so that every such communicator has the same bits. Static inline,
 * links nothing of ndock. */
#ifndef NDOCK_PLUGIN_COMM_H
#define NDOCK_PLUGIN_COMM_H
#include <ndock/plugin_facts.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The CPU plug-in as ndp_host.plugin lends it: its device, and of that the groups and the function
 * that frees blocks. */
typedef struct {
    ndp_dev *dev;
    const ndp_op_1 *op;
    const ndp_map_1 *map;
    void (*free)(ndp_dev *dev, ndp_mem *mem);
} ndp_comm_cpu;

/* The dtypes of a reduction that ndp_comm_combine computes: sums, products of all (bool: or, and),
 * extremes of what has an order, averages of what is floating. */
static inline uint64_t ndp_comm_combines(int32_t reduce)
{
    const int32_t kinds = NDP_KIND_BOOL | NDP_KIND_INT | NDP_KIND_UINT | NDP_KIND_FLOAT;
    if (reduce == NDP_COMM_AVG)
        return ndp_dtypes_of_kinds(NDP_KIND_FLOAT | NDP_KIND_COMPLEX);
    return ndp_dtypes_of_kinds(
        reduce == NDP_COMM_SUM || reduce == NDP_COMM_PROD ? kinds | NDP_KIND_COMPLEX : kinds);
}

/* Runs one operation of the CPU plug-in whose operands are there; scratch is not lent. */
static inline int32_t ndp_comm_run(const ndp_comm_cpu *cpu, const ndp_call *call)
{
    const ndp_kernel *kernel = NULL;
    char why[200] = "";
    int32_t status = cpu->op->find(cpu->dev, call, &kernel, why, sizeof why);
    if (status == NDP_OK && kernel->scratch && kernel->scratch(kernel, call) != 0)
        status = NDP_ERR_UNSUPPORTED;
    return status == NDP_OK ? kernel->run(kernel, NULL, call) : status;
}

/* out[i] = the reduction of rows[r * apart + i] over the n rows of count elements, in the order of r;
 * all is host memory. f16 and bf16 are summed in f32 and rounded once. */
static inline int32_t ndp_comm_combine(const ndp_comm_cpu *cpu, int32_t reduce, int32_t dtype,
                                       int64_t n, int64_t count, int64_t apart, void *rows,
                                       void *out)
{
    static const int32_t folds[NDP_COMM_OPS] = {NDP_OP_add, NDP_OP_multiply, NDP_OP_minimum,
                                                NDP_OP_maximum, NDP_OP_NONE};
    static const int32_t reductions[NDP_COMM_OPS] = {NDP_OP_sum, NDP_OP_prod, NDP_OP_min,
                                                     NDP_OP_max, NDP_OP_mean};
    const int32_t kind = ndp_dtype_kind(dtype);
    const int32_t whole = kind == NDP_KIND_FLOAT || kind == NDP_KIND_COMPLEX;
    const int64_t item = ndp_dtype_size(dtype), row_bytes = count * item;
    const int64_t shape[2] = {count, n}, across[2] = {1, apart}, along[1] = {1};
    ndp_mem *from = NULL, *to = NULL;
    if (count == 0)
        return NDP_OK;
    int32_t status = cpu->map->wrap(cpu->dev, (uint64_t)(uintptr_t)rows,
                                    (uint64_t)(((n - 1) * apart + count) * item), &from);
    if (status == NDP_OK)
        status = cpu->map->wrap(cpu->dev, (uint64_t)(uintptr_t)out, (uint64_t)row_bytes, &to);
    ndp_reduce params = {sizeof params, 1, 0};
    ndp_view result = {to, 0, shape, along, dtype, 1, NDP_VIEW_CONTIGUOUS};
    ndp_view in[2] = {{from, 0, shape, across, dtype, 2, 0}, result};
    ndp_call call;
    memset(&call, 0, sizeof call);
    call.size = sizeof call;
    call.n_out = 1;
    call.in = in;
    call.out = &result;
    if (status == NDP_OK && whole) {
        call.op = reductions[reduce];
        call.n_in = 1;
        call.params = &params;
        status = ndp_comm_run(cpu, &call);
    } else if (status == NDP_OK) {
        memcpy(out, rows, (size_t)row_bytes);
        call.op = folds[reduce];
        call.n_in = 2;
        in[0] = result;
        for (int64_t r = 1; r < n && status == NDP_OK; r++) {
            in[1] = result;
            in[1].mem = from;
            in[1].offset_bytes = r * apart * item;
            status = ndp_comm_run(cpu, &call);
        }
    }
    if (to)
        cpu->free(cpu->dev, to);
    if (from)
        cpu->free(cpu->dev, from);
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
