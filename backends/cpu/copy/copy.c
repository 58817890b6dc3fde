/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fill and copy, any strides and any pair of dtypes; dense ones here, the others in copy/tiles.c. A
 * fill is a copy whose source never advances. */
#include <stdio.h>
#include <string.h>
#include "copy/cast.h"
#include "copy/copy.h"
#include "host/grain.h"

const cast_bounds cpu_cast_bounds = {
    .f32 = {[CAST_I8] = {-128, 127},
            [CAST_U8] = {0, 255},
            [CAST_I16] = {INT16_MIN, INT16_MAX},
            [CAST_U16] = {0, UINT16_MAX},
            [CAST_I32] = {-0x1p31f, 0x1.fffffep30f},
            [CAST_U32] = {0, 0x1.fffffep31f},
            [CAST_I64] = {-0x1p63f, 0x1.fffffep62f},
            [CAST_U64] = {0, 0x1.fffffep63f}},
    .f64 = {[CAST_I8] = {-128, 127},
            [CAST_U8] = {0, 255},
            [CAST_I16] = {INT16_MIN, INT16_MAX},
            [CAST_U16] = {0, UINT16_MAX},
            [CAST_I32] = {INT32_MIN, INT32_MAX},
            [CAST_U32] = {0, UINT32_MAX},
            [CAST_I64] = {-0x1p63, 0x1.fffffffffffffp62},
            [CAST_U64] = {0, 0x1.fffffffffffffp63}},
};

/* A thread takes at most DENSE_CHUNK bytes of the destination at a time, a multiple of DENSE_STEP. */
enum { DENSE_CHUNK = 256 << 10, DENSE_STEP = 4096 };

void cpu_copy_cast(int32_t src_dtype, int32_t dst_dtype, void *dst, const void *src, int64_t n)
{
    if (src_dtype == dst_dtype)
        memcpy(dst, src, (size_t)(n * ndp_dtype_size(dst_dtype)));
    else
        cpu_copy_level()->cast[src_dtype][dst_dtype](dst, src, n);
}

void cpu_copy_put(const ndp_view *out, int64_t first, int64_t n, int32_t dtype, const void *values)
{
    int64_t size = ndp_dtype_size(out->dtype), at[NDP_MAX_NDIM];
    char converted[CPU_COPY_PUT_BYTES];
    if (out->flags & NDP_VIEW_CONTIGUOUS || out->ndim == 0) {
        cpu_copy_cast(dtype, out->dtype, cpu_ptr(out) + first * size, values, n);
        return;
    }
    cpu_copy_cast(dtype, out->dtype, converted, values, n);
    int last = out->ndim - 1;
    for (int d = last; d >= 0; d--) {
        at[d] = first % out->shape[d];
        first /= out->shape[d];
    }
    const char *src = converted;
    for (int64_t left = n; left > 0;) { /* a run of the last dimension at a time */
        cpu_block b = {.dst = cpu_ptr(out), .src = src, .rows = 1, .src_col = size};
        for (int d = 0; d <= last; d++)
            b.dst += at[d] * out->stride[d] * size;
        b.cols = out->shape[last] - at[last] < left ? out->shape[last] - at[last] : left;
        b.dst_col = out->stride[last] * size;
        cpu_copy_level()->rows[__builtin_ctz((unsigned)size)](&b);
        src += b.cols * size;
        left -= b.cols;
        at[last] += b.cols;
        for (int d = last; d > 0 && at[d] == out->shape[d]; d--) {
            at[d] = 0;
            at[d - 1]++;
        }
    }
}

typedef struct {
    char *dst;
    const char *src;
    int streamed;
} dense_copy;

static void run_dense(void *ctx, int64_t begin, int64_t end)
{
    const dense_copy *c = ctx;
    const cpu_copy_loops *loops = cpu_copy_level();
    if (c->streamed) {
        loops->stream(c->dst + begin, c->src + begin, end - begin);
        loops->fence();
    } else {
        memmove(c->dst + begin, c->src + begin, (size_t)(end - begin));
    }
}

typedef struct {
    char *dst;
    uint64_t pattern[2];
    int streamed, bytes; /* bytes: all of the pattern are equal */
} dense_fill;

static void run_dense_fill(void *ctx, int64_t begin, int64_t end)
{
    const dense_fill *f = ctx;
    const cpu_copy_loops *loops = cpu_copy_level();
    /* The processor writes equal bytes without reading the lines before. */
    if (f->bytes && !f->streamed)
        memset(f->dst + begin, (int)(f->pattern[0] & 255), (size_t)(end - begin));
    else
        loops->fill(f->dst + begin, end - begin, f->pattern[0], f->pattern[1], f->streamed);
    if (f->streamed)
        loops->fence();
}

/* Repeats an element of 1, 2, 4, 8 or 16 bytes over 16. */
static void fill_pattern(const uint64_t element[2], int64_t size, uint64_t pattern[2])
{
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    memcpy(&u8, element, 1);
    memcpy(&u16, element, 2);
    memcpy(&u32, element, 4);
    uint64_t word = size == 1   ? u8 * UINT64_C(0x0101010101010101)
                    : size == 2 ? u16 * UINT64_C(0x0001000100010001)
                    : size == 4 ? u32 * UINT64_C(0x0000000100000001)
                                : element[0];
    pattern[0] = word;
    pattern[1] = size == 16 ? element[1] : word;
}

static int32_t fill_run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    const ndp_view *out = &call->out[0];
    dense_fill f;
    int64_t size = ndp_dtype_size(out->dtype);
    uint64_t element[2];
    cpu_store_scalar(&call->scalar[call->in[0].offset_bytes], element);
    if (!(out->flags & NDP_VIEW_CONTIGUOUS)) {
        cpu_copy_strided(out, out->dtype, (const char *)element, NULL);
        return NDP_OK;
    }
    fill_pattern(element, size, f.pattern);
    int64_t nbytes = ndp_view_size(out) * size;
    f.dst = cpu_ptr(out);
    f.streamed = nbytes >= CPU_FILL_STREAM_BYTES;
    f.bytes = f.pattern[0] == f.pattern[1] &&
              f.pattern[0] == (f.pattern[0] & 255) * UINT64_C(0x0101010101010101);
    if (nbytes <= DENSE_CHUNK)
        cpu_copy_level()->fill(f.dst, nbytes, f.pattern[0], f.pattern[1], 0);
    else
        cpu_parallel(nbytes, cpu_even_grain(nbytes, DENSE_CHUNK, DENSE_STEP), run_dense_fill, &f);
    return NDP_OK;
}

static int32_t copy_run(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call)
{
    (void)kernel;
    (void)stream;
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    char element[16];
    if (!in->mem) {
        const ndp_scalar *s = &call->scalar[in->offset_bytes];
        cpu_store_scalar(s, element);
        cpu_copy_strided(out, s->dtype, element, NULL);
        return NDP_OK;
    }
    if (!(in->flags & out->flags & NDP_VIEW_CONTIGUOUS)) {
        cpu_copy_strided(out, in->dtype, cpu_ptr(in), in->stride);
        return NDP_OK;
    }
    int64_t n = ndp_view_size(out), nbytes = n * ndp_dtype_size(out->dtype);
    if (in->dtype == out->dtype) {
        dense_copy c = {
            .dst = cpu_ptr(out), .src = cpu_ptr(in), .streamed = nbytes >= CPU_COPY_STREAM_BYTES};
        if (nbytes <= DENSE_CHUNK)
            memmove(c.dst, c.src, (size_t)nbytes);
        else
            cpu_parallel(nbytes, cpu_even_grain(nbytes, DENSE_CHUNK, DENSE_STEP), run_dense, &c);
    } else if (nbytes <= DENSE_CHUNK) {
        cpu_copy_level()->cast[in->dtype][out->dtype](cpu_ptr(out), cpu_ptr(in), n);
    } else {
        cpu_copy_strided(out, in->dtype, cpu_ptr(in), in->stride);
    }
    return NDP_OK;
}

static const ndp_kernel fill_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = fill_run};
static const ndp_kernel copy_kernel = {
    .size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = copy_run};

static int known_dtype(int32_t dtype)
{
    return dtype > 0 && dtype < NDP_DTYPE_END;
}

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    if (like->n_in != 1 || like->n_out != 1 || !known_dtype(like->out[0].dtype) ||
        !known_dtype(like->in[0].dtype)) {
        snprintf(why, n, "%s takes one operand and one destination of known dtypes",
                 cpu_op_name(like->op));
        return NULL;
    }
    return like->op == NDP_OP_fill ? &fill_kernel : &copy_kernel;
}

const cpu_class cpu_copy = {cpu_domain_dtypes, find};
