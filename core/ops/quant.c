/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Quantising, dequantising, products with quantised matrices, and rows of them by index. A kernel
 * sees dense rows. */
#include "core/ops/prepare.h"
#include "core/ops/quant.h"

typedef struct {
    nd_operation of; /* operands: what the op table says, as matrices */
    const nd_quant_info *info;
    int64_t rows[2]; /* the result as the kernel sees it: rows and what is in one */
} quantised;

static nd_status run(const nd_operation *of, const nd_array *dst)
{
    const quantised *p = (const quantised *)of;
    const ndp_quant params = {.size = sizeof params, .format = p->info->format};
    nd_array *out = NULL;
    if (dst->size == 0)
        return ND_OK;
    ND_RETURN_IF(nd_reshape(dst, 2, p->rows, &out));
    nd_status status =
        nd__run_arrays(of->info->op, of->in[1] ? 2 : 1, of->in, 1, &out, &params);
    nd_release(out);
    return status;
}

/* Extents before the last one, multiplied; 0 where that overflows, as only empty arrays can. */
static int64_t rows_of(int ndim, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < ndim - 1; i++)
        if (!nd__mul_size(n, shape[i], &n))
            return 0;
    return n;
}

/* Operand `place` becomes a dense matrix of its rows. */
static nd_status as_rows(nd_operation *of, int place)
{
    const nd_array *a = of->in[place];
    const int64_t last = a->shape[a->ndim - 1];
    const int64_t shape[2] = {rows_of(a->ndim, a->shape), last};
    nd_array *dense = NULL, *matrix = NULL;
    ND_RETURN_IF(nd_compact(a, &dense));
    nd_status status = nd_reshape(dense, 2, shape, &matrix);
    nd_release(dense);
    if (status == ND_OK)
        nd__operand_take(of, place, matrix);
    return status;
}

static void begin(quantised *p, nd_op op, const nd_quant_info *info)
{
    nd__operation_begin(&p->of, op, run);
    p->of.dense = true;
    p->info = info;
}

/* The result's rows are the last of its axes. */
static void set_rows(quantised *p)
{
    p->rows[0] = rows_of(p->of.ndim, p->of.shape);
    p->rows[1] = p->of.shape[p->of.ndim - 1];
}

/* ---- dequantize ---- */

static nd_status start_dequantize(const char *name, const nd_qarray *q, nd_dtype dtype,
                                  quantised *p)
{
    int64_t size;
    begin(p, ND_OP_dequantize, NULL);
    p->of.name = name;
    ND_RETURN_IF(nd__check_qarray(name, q, 0));
    p->info = q->info;
    ND_RETURN_IF(nd__operand(&p->of, 0, q->blocks));
    dtype = dtype ? dtype : ND_F32;
    ND_RETURN_IF(nd__check_dtype(name, dtype));
    if (nd__kind(dtype) != ND_KIND_FLOAT)
        return nd__fail(ND_ERR_DTYPE, name, 1, "quantised elements are floats, not %s",
                        nd_dtype_name(dtype));
    p->of.compute = p->of.result = dtype;
    ND_RETURN_IF(nd__check_shape(name, dtype, q->blocks->ndim, q->shape, &size));
    nd__result_shape(&p->of, q->blocks->ndim, q->shape);
    set_rows(p);
    return as_rows(&p->of, 0);
}

nd_status nd_dequantize(const nd_qarray *q, nd_dtype dtype, nd_array **out)
{
    quantised p;
    ND_OUT("dequantize", 2, out, NULL);
    return nd__into_new(&p.of, start_dequantize("dequantize", q, dtype, &p), out);
}

/* ---- quantize ---- */

static nd_status check_rows(const char *name, const nd_array *a, const nd_quant_info *info)
{
    if (nd__kind(a->dtype) != ND_KIND_FLOAT)
        return nd__fail(ND_ERR_DTYPE, name, 0, "floats are quantised, not %s",
                        nd_dtype_name(a->dtype));
    if (a->ndim == 0 || a->shape[a->ndim - 1] % info->block != 0)
        return nd__fail(ND_ERR_SHAPE, name, 0,
                        "a row of %lld elements is no whole number of blocks of %s, %d elements "
                        "each",
                        a->ndim ? (long long)a->shape[a->ndim - 1] : 0LL, info->name,
                        (int)info->block);
    return ND_OK;
}

static nd_status start_quantize(const nd_array *a, nd_quant_format format, quantised *p)
{
    int64_t size;
    begin(p, ND_OP_quantize, NULL);
    ND_RETURN_IF(nd__operand(&p->of, 0, a));
    ND_RETURN_IF(nd__check_quant(p->of.name, format, 1, &p->info));
    if (!p->info->can_quantize)
        return nd__fail(ND_ERR_UNSUPPORTED, p->of.name, 1,
                        "%s is read and not written; q4_0, q8_0, q4_K and q6_K are",
                        p->info->name);
    ND_RETURN_IF(check_rows(p->of.name, a, p->info));
    p->of.compute = ND_F32;
    p->of.result = ND_U8;
    nd__result_shape(&p->of, a->ndim, a->shape);
    if (!nd__quant_row_bytes(p->info, a->shape[a->ndim - 1], &p->of.shape[a->ndim - 1]))
        return nd__fail(ND_ERR_OVERFLOW, p->of.name, 0, "the blocks do not fit 63 bits");
    ND_RETURN_IF(nd__check_shape(p->of.name, ND_U8, p->of.ndim, p->of.shape, &size));
    set_rows(p);
    ND_RETURN_IF(nd__operand_cast(&p->of, 0, ND_F32));
    return as_rows(&p->of, 0);
}

nd_status nd_quantize(const nd_array *a, nd_quant_format format, nd_qarray **out)
{
    quantised p;
    nd_array *blocks = NULL;
    ND_OUT("quantize", 2, out, NULL);
    ND_RETURN_IF(nd__into_new(&p.of, start_quantize(a, format, &p), &blocks));
    nd_status status = nd__qarray_wrap("quantize", blocks, format, out);
    nd_release(blocks);
    return status;
}

/* ---- products ---- */

static nd_status check_product(const char *name, const nd_array *x, const nd_qarray *w)
{
    if (nd__kind(x->dtype) != ND_KIND_FLOAT || x->dtype == ND_F64)
        return nd__fail(ND_ERR_DTYPE, name, 0, "x is f16, bf16 or f32, not %s",
                        nd_dtype_name(x->dtype));
    if (w->blocks->ndim != 2)
        return nd__fail(ND_ERR_SHAPE, name, 1, "w is a matrix, not of rank %d", w->blocks->ndim);
    if (x->ndim == 0 || x->shape[x->ndim - 1] != w->shape[1])
        return nd__fail(ND_ERR_SHAPE, name, 0,
                        "rows of x have %lld elements and those of w %lld; x is (..., n), w (r, n)",
                        x->ndim ? (long long)x->shape[x->ndim - 1] : 0LL, (long long)w->shape[1]);
    return ND_OK;
}

static nd_status start_product(const nd_array *x, const nd_qarray *w, quantised *p)
{
    int64_t size;
    begin(p, ND_OP_matmul_q, NULL);
    ND_RETURN_IF(nd__operand(&p->of, 0, x));
    ND_RETURN_IF(nd__check_qarray(p->of.name, w, 1));
    p->info = w->info;
    ND_RETURN_IF(nd__operand(&p->of, 1, w->blocks));
    ND_RETURN_IF(check_product(p->of.name, x, w));
    p->of.compute = p->of.result = x->dtype;
    nd__result_shape(&p->of, x->ndim, x->shape);
    p->of.shape[x->ndim - 1] = w->shape[0];
    ND_RETURN_IF(nd__check_shape(p->of.name, x->dtype, p->of.ndim, p->of.shape, &size));
    set_rows(p);
    ND_RETURN_IF(as_rows(&p->of, 0));
    return as_rows(&p->of, 1);
}

nd_status nd_matmul_q(const nd_array *x, const nd_qarray *w, nd_array **out)
{
    quantised p;
    ND_OUT("matmul_q", 2, out, NULL);
    return nd__into_new(&p.of, start_product(x, w, &p), out);
}

/* ---- rows ---- */

nd_status nd_embedding_q(const nd_qarray *w, const nd_array *indices, nd_dtype dtype,
                         nd_array **out)
{
    const char *op = "embedding_q";
    quantised p;
    nd_array *blocks = NULL;
    nd_qarray *rows = NULL;
    nd_status status;
    ND_OUT(op, 3, out, NULL);
    ND_RETURN_IF(nd__check_qarray(op, w, 0));
    if (w->blocks->ndim != 2)
        return nd__fail(ND_ERR_SHAPE, op, 0, "w is a matrix, not of rank %d", w->blocks->ndim);
    ND_RETURN_IF(nd__error_as(op, nd_take(w->blocks, indices, 0, &blocks)));
    ND_GOTO_IF(done, nd__qarray_wrap(op, blocks, w->info->format, &rows));
    status = nd__into_new(&p.of, start_dequantize(op, rows, dtype, &p), out);
done:
    nd_qarray_release(rows);
    nd_release(blocks);
    return status;
}
