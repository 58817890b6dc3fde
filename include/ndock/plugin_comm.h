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

/* What ndp_comm_combine computes with: rows and the result, as memory of the CPU plug-in. */
typedef struct {
    const ndp_comm_cpu *cpu;
    ndp_mem *rows, *out;
    int64_t n, count, apart; /* of elements of the dtype */
    int32_t dtype, reduce;
} ndp_comm_rows;

static inline ndp_call ndp_comm_call(int32_t op, uint32_t n_in, const ndp_view *in,
                                     const ndp_view *out)
{
    ndp_call call;
    memset(&call, 0, sizeof call);
    call.size = sizeof call;
    call.op = op;
    call.n_in = n_in;
    call.n_out = 1;
    call.in = in;
    call.out = out;
    return call;
}

/* f16 and bf16: by a reduction over the rows, which rounds once. */
static inline int32_t ndp_comm_reduce(const ndp_comm_rows *x)
{
    static const int32_t reductions[NDP_COMM_OPS] = {NDP_OP_sum, NDP_OP_prod, NDP_OP_min,
                                                     NDP_OP_max, NDP_OP_mean};
    const int64_t shape[2] = {x->count, x->n}, across[2] = {1, x->apart}, along[1] = {1};
    const ndp_reduce params = {sizeof params, 1, 0};
    const ndp_view in = {x->rows, 0, shape, across, x->dtype, 2, 0};
    const ndp_view out = {x->out, 0, shape, along, x->dtype, 1, NDP_VIEW_CONTIGUOUS};
    ndp_call call = ndp_comm_call(reductions[x->reduce], 1, &in, &out);
    call.params = &params;
    return ndp_comm_run(x->cpu, &call);
}

/* The others: one row after the other, each in one pass over dense operands, which is several times
 * as fast for few rows. Averages are the sum over the number of rows. */
static inline int32_t ndp_comm_fold(const ndp_comm_rows *x)
{
    static const int32_t folds[NDP_COMM_OPS] = {NDP_OP_add, NDP_OP_multiply, NDP_OP_minimum,
                                                NDP_OP_maximum, NDP_OP_add};
    const int64_t along[1] = {1}, none[1] = {0}, item = ndp_dtype_size(x->dtype);
    const double n64 = (double)x->n;
    const float n32 = (float)x->n;
    ndp_mem *divisor = NULL;
    const ndp_view out = {x->out, 0, &x->count, along, x->dtype, 1, NDP_VIEW_CONTIGUOUS};
    ndp_view in[2] = {out, out};
    ndp_call call = ndp_comm_call(folds[x->reduce], 2, in, &out);
    int32_t status = NDP_OK;
    in[1].mem = x->rows;
    for (int64_t r = 1; r < x->n && status == NDP_OK; r++) {
        in[0].mem = r == 1 ? x->rows : x->out;
        in[1].offset_bytes = r * x->apart * item;
        status = ndp_comm_run(x->cpu, &call);
    }
    if (status != NDP_OK || x->reduce != NDP_COMM_AVG)
        return status;
    status = x->cpu->map->wrap(x->cpu->dev,
                               (uint64_t)(x->dtype == NDP_F32 ? (uintptr_t)&n32 : (uintptr_t)&n64),
                               (uint64_t)item, &divisor);
    if (status != NDP_OK)
        return status;
    in[0].mem = x->out;
    const ndp_view by = {divisor, 0, &x->count, none, x->dtype, 1, 0};
    in[1] = by;
    call.op = NDP_OP_divide;
    status = ndp_comm_run(x->cpu, &call);
    x->cpu->free(x->cpu->dev, divisor);
    return status;
}

/* out[i] = the reduction of rows[r * apart + i] over the n rows of count elements, in the order of r;
 * all is host memory. f16 and bf16 are summed in f32 and rounded once. */
static inline int32_t ndp_comm_combine(const ndp_comm_cpu *cpu, int32_t reduce, int32_t dtype,
                                       int64_t n, int64_t count, int64_t apart, void *rows,
                                       void *out)
{
    const int64_t item = ndp_dtype_size(dtype);
    const int32_t small = ndp_dtype_kind(dtype) == NDP_KIND_FLOAT && item < 4;
    ndp_comm_rows x = {cpu, NULL, NULL, n, count, apart, dtype, reduce};
    if (count == 0)
        return NDP_OK;
    if (n == 1 && !small) {
        memcpy(out, rows, (size_t)(count * item));
        return NDP_OK;
    }
    int32_t status = cpu->map->wrap(cpu->dev, (uint64_t)(uintptr_t)rows,
                                    (uint64_t)(((n - 1) * apart + count) * item), &x.rows);
    if (status == NDP_OK)
        status =
            cpu->map->wrap(cpu->dev, (uint64_t)(uintptr_t)out, (uint64_t)(count * item), &x.out);
    if (status == NDP_OK && ndp_dtype_kind(dtype) == NDP_KIND_COMPLEX && reduce != NDP_COMM_PROD) {
        x.dtype = dtype == NDP_C64 ? NDP_F32 : NDP_F64; /* part by part */
        x.count *= 2;
        x.apart *= 2;
    }
    if (status == NDP_OK)
        status = small ? ndp_comm_reduce(&x) : ndp_comm_fold(&x);
    if (x.out)
        cpu->free(cpu->dev, x.out);
    if (x.rows)
        cpu->free(cpu->dev, x.rows);
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
