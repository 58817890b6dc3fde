/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: quantised arrays over any bytes, in any format: wrapped, sliced, dequantised,
 * multiplied, looked up, and written again. */
#include "tests/fuzz/fuzz.h"

static nd_array *blocks_of(fuzz_reader *r, int64_t rows, int64_t bytes)
{
    const int64_t shape[2] = {rows, bytes};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_U8, .ndim = 2, .shape = shape};
    uint8_t *data = malloc((size_t)(rows * bytes) + 1);
    nd_array *a = NULL;
    for (int64_t i = 0; data && i < rows * bytes; i++)
        data[i] = fuzz_byte(r);
    if (!data || nd_from_host(&layout, data, NULL, &a) != ND_OK)
        abort();
    free(data);
    return a;
}

static void multiply(const nd_qarray *q, nd_dtype dtype, int64_t rows)
{
    const int ndim = nd_qarray_ndim(q);
    const int64_t shape[2] = {rows, nd_qarray_shape(q)[ndim - 1]};
    nd_array *x = NULL, *out = NULL;
    if (nd_full(NULL, dtype, 2, shape, nd_float(0.5), &x) != ND_OK)
        return; /* the dtype is none, or takes no fraction */
    const nd_status status = nd_matmul_q(x, q, &out);
    fuzz_result(status, out);
    nd_release(x);
}

static void look_up(fuzz_reader *r, const nd_qarray *q)
{
    const int64_t at[2] = {fuzz_number(r, 2, 14), fuzz_number(r, 2, 14)}, shape[1] = {2};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_I64, .ndim = 1, .shape = shape};
    nd_array *indices = NULL, *out = NULL;
    if (nd_from_host(&layout, at, NULL, &indices) != ND_OK)
        abort();
    const nd_status status = nd_embedding_q(q, indices, ND_F32, &out);
    fuzz_result(status, out);
    nd_release(indices);
}

static void write_again(fuzz_reader *r, const nd_qarray *q)
{
    nd_array *a = NULL;
    nd_qarray *other = NULL;
    if (nd_dequantize(q, ND_F32, &a) != ND_OK)
        return;
    const nd_status status = nd_quantize(a, (nd_quant_format)fuzz_number(r, 1, 23), &other);
    if ((status == ND_OK) != (other != NULL))
        abort();
    nd_qarray_release(other);
    nd_release(a);
}

static void use(fuzz_reader *r, nd_qarray *q)
{
    nd_qarray *view = NULL;
    nd_array *out = NULL;
    const nd_index idx[2] = {
        nd_range(fuzz_number(r, 4, 4), fuzz_number(r, 4, 4), fuzz_number(r, 2, 2)),
        nd_at(fuzz_number(r, 2, 2))};
    nd_status status = nd_dequantize(q, (nd_dtype)fuzz_number(r, 1, 15), &out);
    fuzz_result(status, out);
    multiply(q, (nd_dtype)(1 + fuzz_byte(r) % (ND_DTYPE_END - 1)), 1 + fuzz_byte(r) % 4);
    look_up(r, q);
    write_again(r, q);
    status = nd_qarray_slice(q, idx, fuzz_byte(r) % 3, &view);
    if ((status == ND_OK) != (view != NULL))
        abort();
    out = NULL;
    if (view) {
        status = nd_dequantize(view, 0, &out);
        fuzz_result(status, out);
    }
    nd_qarray_release(view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reader r = {data, size};
    const nd_quant_format format = (nd_quant_format)fuzz_number(&r, 1, 23);
    const nd_quant_info *info = nd_quant_get(format);
    const int64_t rows = fuzz_byte(&r) % 4, whole = fuzz_byte(&r) % 3,
                  more = fuzz_byte(&r) % 16 == 0; /* mostly whole blocks */
    nd_array *blocks = blocks_of(&r, rows, (info ? whole * info->nbytes : whole) + more);
    nd_qarray *q = NULL;
    const nd_status status = nd_qarray_wrap(blocks, format, &q);
    if ((status == ND_OK) != (q != NULL) || (status == ND_OK && !info))
        abort();
    if (q)
        use(&r, q);
    nd_qarray_release(q);
    nd_release(blocks);
    return 0;
}
