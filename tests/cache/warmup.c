/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Warming up: what is looked up then need not be looked up by the operations that follow. */
#include "core/run/workspace.h"
#include "tests/tap.h"

static nd_device *cpu(void)
{
    nd_device *d;
    if (nd_device_get("cpu", &d) != ND_OK)
        bail(nd_last_error()->message);
    return d;
}

/* Calls of find() since the start, for which the plug-in's own is hidden behind a counter. */
static int finds;
static int32_t (*own_find)(ndp_dev *, const ndp_call *, const ndp_kernel **, char *, size_t);
static int32_t counted_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                            size_t n)
{
    finds++;
    return own_find(dev, like, out, why, n);
}

static void count_finds(void)
{
    if (own_find)
        return;
    own_find = cpu()->op.find;
    cpu()->op.find = counted_find;
}

static nd_array *array(nd_dtype dtype, int ndim)
{
    const int64_t shape[3] = {4, 4, 4};
    nd_array *a;
    if (nd_zeros(cpu(), dtype, ndim, shape, &a) != ND_OK)
        bail(nd_last_error()->message);
    return a;
}

static nd_status warm(nd_op op, nd_dtype dtype)
{
    const nd_warmup_item item = {op, dtype, cpu()};
    nd_status status = -1;
    if (nd_warmup(&item, 1, &status) != ND_OK)
        bail(nd_last_error()->message);
    return status;
}

static void no_more_finds(void)
{
    const nd_reduce_opts rows = {.size = sizeof rows, .axes = (const int32_t[]){1}, .naxes = 1};
    nd_array *a = array(ND_F32, 1), *m = array(ND_F32, 2), *i = array(ND_I32, 1), *r = NULL,
             *t = NULL;
    if (nd_matrix_transpose(m, &t) != ND_OK)
        bail(nd_last_error()->message);
    count_finds();
    finds = 0;
    is_int(warm(ND_OP_add, ND_F32), ND_OK, "W13 add on f32");
    ok(finds >= 6, "W13 looks up %d kernels", finds);
    int before = finds;
    is_int(warm(ND_OP_add, ND_F32), ND_OK, "W13 again");
    is_int(finds, before, "W13 looks up none");
    is_int(nd_add(a, a, &r), ND_OK, "add of dense arrays");
    nd_release(r);
    is_int(nd_add_scalar(a, nd_float(2), &r), ND_OK, "add of a scalar");
    nd_release(r);
    is_int(nd_add(m, t, &r), ND_OK, "add of strided arrays");
    nd_release(r);
    is_int(finds, before, "W13 after warming up, none of them looks anything up");
    is_int(nd_subtract(a, a, &r), ND_OK, "subtract was not warmed");
    nd_release(r);
    is_int(finds, before + 1, "W13 so it looks one up");
    is_int(warm(ND_OP_exp, ND_I32), ND_OK, "W13 exp on i32, computed in f64");
    before = finds;
    is_int(nd_exp(i, &r), ND_OK, "exp of integers");
    nd_release(r);
    is_int(finds, before, "W13 its conversion was looked up as well");
    is_int(warm(ND_OP_sum, ND_F32), ND_OK, "W13 sum");
    is_int(warm(ND_OP_matmul, ND_F32), ND_OK, "W13 matmul");
    is_int(warm(ND_OP_fill, ND_F32), ND_OK, "W13 fill");
    before = finds;
    is_int(nd_sum(m, NULL, &r), ND_OK, "sum of all");
    nd_release(r);
    is_int(nd_sum(m, &rows, &r), ND_OK, "sum of rows");
    nd_release(r);
    is_int(nd_matmul(m, m, NULL, &r), ND_OK, "a product");
    nd_release(r);
    is_int(finds, before, "W13 sums and products look nothing up");
    nd_release(a), nd_release(m), nd_release(i), nd_release(t);
}

static void every_op(void)
{
    int wrong = 0, warmed = 0;
    for (nd_op op = 1; op < ND_OP_END; op++)
        for (nd_dtype dtype = 1; dtype < ND_DTYPE_END; dtype++) {
            nd_status status = warm(op, dtype);
            bool legal = nd_device_op_dtypes(cpu(), op) >> dtype & 1;
            /* eig is a LAPACK's affair; halves are transformed in f32, by the core's choice. */
            const bool by_core = op == ND_OP_eig || (nd_op_get(op)->op_class == ND_CLASS_FFT &&
                                                     nd_dtype_size(dtype) == 2);
            if (!by_core && legal != (nd_op_dtypes(op) >> dtype & 1)) {
                diag("%s on %s is not the CPU's", nd_op_get(op)->name, nd_dtype_name(dtype));
                wrong++;
            }
            warmed += status == ND_OK;
            if (legal ? status != ND_OK
                      : status != ND_OK && status != ND_ERR_DTYPE && op != ND_OP_eig) {
                diag("%s on %s: %s", nd_op_get(op)->name, nd_dtype_name(dtype),
                     nd_last_error()->message);
                wrong++;
            }
        }
    is_int(wrong, 0, "W13 the CPU, which has every kernel, warms every op and dtype");
    diag("%d cells", warmed);
}

static void statuses(void)
{
    nd_device *d = cpu();
    const nd_warmup_item items[4] = {{ND_OP_add, ND_F64, d},
                                     {ND_OP_bitwise_and, ND_F32, d},
                                     {9999, ND_F32, d},
                                     {ND_OP_add, 77, NULL}};
    nd_status s[4] = {-1, -1, -1, -1};
    is_int(nd_warmup(items, 4, s), ND_OK, "W13 one item's failure is not the whole's");
    is_int(s[0], ND_OK, "W13 good");
    is_int(s[1], ND_ERR_DTYPE, "W13 undefined for the dtype");
    is_int(s[2], ND_ERR_ARGUMENT, "W13 no such op");
    is_int(s[3], ND_ERR_DTYPE, "W13 no such dtype");
    is_int(nd_warmup(items, 4, NULL), ND_OK, "W13 statuses may be left out");
    is_int(nd_warmup(NULL, 0, NULL), ND_OK, "W13 nothing to do");
    is_int(nd_warmup(NULL, 2, NULL), ND_ERR_ARGUMENT, "W13 no items");
    is_int(nd_warmup(items, -1, NULL), ND_ERR_ARGUMENT, "W13 a negative number");
    static nd_device bare; /* the same without kernels */
    memcpy(&bare, d, sizeof bare);
    memset(bare.kernels, 0, sizeof bare.kernels);
    bare.has_op = false;
    const nd_warmup_item lacking = {ND_OP_add, ND_F64, &bare};
    is_int(nd_warmup(&lacking, 1, s), ND_OK, "W13 a device without kernels");
    is_int(s[0], ND_ERR_UNSUPPORTED, "W13 is told in the status");
    has_text(nd_last_error()->message, "add on f64", "W13 the error says for what");
}

TAP_MAIN({"no_more_finds", no_more_finds}, {"every_op", every_op}, {"statuses", statuses})
